package reports

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
)

//go:embed report.html.tmpl
var reportTemplate string

//go:embed report.css
var reportStyle string

//go:embed report.js
var reportScript string

// uPlot draws the lines (github.com/leeoniya/uPlot; the version stands at the head of the
// script, the licence beside it).
var (
	//go:embed uplot/uPlot.iife.min.js
	uplotScript string
	//go:embed uplot/uPlot.min.css
	uplotStyle string
	//go:embed uplot/LICENSE
	uplotLicence string
)

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"style":     func() template.CSS { return template.CSS(uplotStyle + reportStyle) },
	"script":    func() template.JS { return template.JS("/*\n" + uplotLicence + "*/\n" + uplotScript + reportScript) },
	"printable": printable,
	"paragraph": func(text string) string { return printable(strings.Join(strings.Fields(text), " ")) },
	"breakable": breakable,
	"shown":     shownRows,
	"hidden":    hiddenRows,
	// A section of the page may have the name of a group of findings.
	"uncapitalized": func(text string) string { return strings.ToLower(text[:1]) + text[1:] },
	"sentence":      func(text string) template.HTML { return breakable(beforeUnit.ReplaceAllString(text, "$1\u00a0$2")) },
}).Parse(reportTemplate))

// WriteReport writes a page as one HTML file that needs nothing but itself: no network, no
// other file. The same page gives the same bytes.
func WriteReport(w io.Writer, p Page) error {
	p.Sections = thinned(p.Sections)
	plots, err := json.Marshal(plotsOf(p.Sections))
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := reportPage.Execute(&page, struct {
		Page
		Glossary []Term
		Plots    template.JS // json.Marshal leaves nothing in it that would end a script
	}{p, p.glossary(), template.JS(plots)}); err != nil {
		return err
	}
	_, err = w.Write(page.Bytes())
	return err
}

// WriteHTML writes the report of a run.
func WriteHTML(w io.Writer, r *Result) error { return WriteReport(w, runPage(r)) }

// Long says whether the table has rows that are not shown at first.
func (t *Table) Long() bool { return t.shown() < len(t.Rows) }

// shownRows returns the rows that are visible from the beginning, as HTML.
func shownRows(t *Table) template.HTML { return t.rows(0, t.shown()) }

// hiddenRows returns the rows that the reader has to ask for, as HTML.
func hiddenRows(t *Table) template.HTML { return t.rows(t.shown(), len(t.Rows)) }

func (t *Table) shown() int {
	if t.First == 0 || t.First >= len(t.Rows) {
		return len(t.Rows)
	}
	return t.First
}

// Named says whether the rows are named by code, as statistics are. Such names are long, and
// stand above their rows where the page is narrow.
func (t *Table) Named() bool { return len(t.Rows) > 0 && t.Rows[0][0].Code }

// Figures is how many columns there are beside the names.
func (t *Table) Figures() int { return len(t.Columns) - 1 }

// Measure is how wide the names are, in characters; very long ones break.
func (t *Table) Measure() int {
	measure := 0
	for _, row := range t.Rows {
		measure = max(measure, uniseg.StringWidth(row[0].Text))
	}
	return min(measure, 34)
}

// rows writes rows as HTML. There may be tens of thousands of cells, for which a template
// is slow.
func (t *Table) rows(from, to int) template.HTML {
	var b strings.Builder
	for i, row := range t.Rows[from:to] {
		b.WriteString("<tr")
		if from+i >= len(t.Rows)-t.Last {
			b.WriteString(` class="total"`)
		}
		b.WriteString(">")
		for k := range row {
			row[k].write(&b, k == 0, t.Columns[k].Left)
		}
		b.WriteString("</tr>\n")
	}
	return template.HTML(b.String())
}

// capitalized begins the head of a column as pages do.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// breakable returns text whose long names may break behind what separates their parts.
func breakable(text string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(printable(text))))
}

// beforeUnit is the space between a number and its unit, where a line is not to end.
var beforeUnit = regexp.MustCompile(`(\d) ((?:%|[nµm]?s|min|h|[kMG])(?:\W|$))`)

var breaks = strings.NewReplacer(":", ":<wbr>", "/", "/<wbr>", "{", "{<wbr>")

func (c *Cell) write(b *strings.Builder, names, left bool) {
	element := "td"
	if names {
		element = "th"
		b.WriteString(`<th scope="row"`)
	} else {
		b.WriteString("<td")
		if left {
			b.WriteString(` class="left"`)
		}
	}
	if c.Number {
		b.WriteString(` data-v="` + strconv.FormatFloat(c.Value, 'g', 6, 64) + `"`)
	}
	b.WriteString(">")
	text := template.HTMLEscapeString(printable(c.Text))
	if names {
		text = string(breakable(c.Text))
	}
	switch {
	case c.Code:
		text = "<code>" + text + "</code>"
	case c.Mood != Neutral:
		text = `<span class="` + string(c.Mood) + `">` + text + "</span>"
	}
	b.WriteString(text)
	if c.Margin != "" {
		b.WriteString(` <span class="margin">` + template.HTMLEscapeString(c.Margin) + "</span>")
	}
	if c.Bar != nil {
		width := func(share float64) string { return strconv.FormatFloat(min(max(share, 0), 1)*100, 'f', 1, 64) }
		class := "bar"
		if c.Bar.Value < hurtRatio*c.Bar.Mark {
			class += " low"
		}
		b.WriteString(`<span class="` + class + `"><span style="width:` + width(c.Bar.Value) + `%"></span><i style="left:` + width(c.Bar.Mark) + `%"></i></span>`)
	}
	b.WriteString("</" + element + ">")
}
