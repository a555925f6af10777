package render

import (
	"bytes"
	_ "embed" // for go:embed
	"encoding/json"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

//go:embed report.html.tmpl
var reportTemplate string

// Palette is the style sheet with the colours of reports in light and dark, and what else all pages share.
//
//go:embed palette.css
var Palette string

//go:embed report.css
var reportStyle string

//go:embed report.js
var reportScript string

// uPlot draws the lines (github.com/leeoniya/uPlot). Its version is in the first line of the script,
// its licence in the same folder.
var (
	//go:embed uplot/uPlot.iife.min.js
	uplotScript string
	//go:embed uplot/uPlot.min.css
	uplotStyle string
	//go:embed uplot/LICENSE
	UplotLicence string
)

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"style":       func() template.CSS { return template.CSS(uplotStyle + Palette + reportStyle) },
	"script":      func() template.JS { return template.JS("/*\n" + UplotLicence + "*/\n" + uplotScript + reportScript) },
	"printable":   format.Printable,
	"paragraph":   func(text string) string { return format.Printable(strings.Join(strings.Fields(text), " ")) },
	"breakable":   breakable,
	"shown":       shownRows,
	"screenPlots": func(s report.Section) []*report.Plot { return plotsOf([]report.Section{s}) },
	"hidden":      hiddenRows,
	// A number and its unit are not broken into two lines.
	"nonbreaking": func(text string) template.HTML {
		return breakable(beforeUnit.ReplaceAllString(text, "$1\u00a0$2"))
	},
}).Parse(reportTemplate))

// HTML writes a document as one HTML file that needs no other file and no network. The same document gives
// the same bytes.
func HTML(w io.Writer, d *report.Document) error {
	d = d.In(report.HTML)
	d.Sections = thinned(d.Sections)
	beside(d.Sections)
	drawings := []drawing{}
	for _, plot := range plotsOf(d.Sections) {
		if plot.Constant() != "" {
			continue
		}
		drawings = append(drawings, drawingOf(plot))
	}
	plots, err := json.Marshal(drawings)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := reportPage.Execute(&text, struct {
		*report.Document
		Glossary  []report.Term
		Described bool
		Plots     template.JS // json.Marshal escapes what could end the script element
	}{d, d.Glossary(), strings.Join(d.Description, "") != "" || d.Setting != "", template.JS(plots)}); err != nil {
		return err
	}
	_, err = w.Write(text.Bytes())
	return err
}

// beside leaves out what has no room in the tables of the first screen, which stand side by side.
func beside(sections []report.Section) {
	for i := range sections {
		for k := range sections[i].Parts {
			if p := &sections[i].Parts[k]; sections[i].Screen && p.Table != nil {
				p.Table = p.Table.Narrow()
			}
		}
	}
}

// breakable returns text as HTML in which a line may end behind the separators in names.
func breakable(text string) template.HTML {
	return template.HTML(separators.Replace(template.HTMLEscapeString(format.Printable(text))))
}

var separators = strings.NewReplacer(":", ":<wbr>", "/", "/<wbr>", "{", "{<wbr>")

// beforeUnit matches a number's last digit, the space behind it, where a line must not end, and a
// unit.
var beforeUnit = regexp.MustCompile(`(\d) ((?:%|[nµm]?s|min|h|[kMG])(?:\W|$))`)

// shownRows returns the rows that are visible from the beginning, as HTML.
func shownRows(t *report.Table) template.HTML { return rows(t, 0, t.Shown()) }

// hiddenRows returns the rows that are visible once the reader asks for all rows, as HTML.
func hiddenRows(t *report.Table) template.HTML { return rows(t, t.Shown(), len(t.Rows)) }

// rows returns rows as HTML. It is no template, as templates are slow for the tens of thousands of
// cells that a table may have.
func rows(t *report.Table, from, to int) template.HTML {
	var b strings.Builder
	for i, row := range t.Rows[from:to] {
		b.WriteString("<tr")
		if from+i >= len(t.Rows)-t.Last {
			b.WriteString(` class="total"`)
		}
		b.WriteString(">")
		for k := range row {
			writeCell(&b, &row[k], k == 0, t.Columns[k].Left)
		}
		b.WriteString("</tr>\n")
	}
	return template.HTML(b.String())
}

// writeCell writes a cell; names says whether it names its row, left whether its column is flush left.
func writeCell(b *strings.Builder, c *report.Cell, names, left bool) {
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
	if c.Whole != "" {
		b.WriteString(` title="` + template.HTMLEscapeString(format.Printable(c.Whole)) + `"`)
	}
	if c.Number {
		b.WriteString(` data-v="` + strconv.FormatFloat(c.Value, 'g', 6, 64) + `"`)
	}
	b.WriteString(">")
	text := template.HTMLEscapeString(format.Printable(c.Text))
	switch {
	case names:
		name := c.Text
		if c.Also != "" {
			name += " (also: " + c.Also + ")"
		}
		text = string(breakable(name))
	case left: // words, among them names
		text = string(breakable(c.Text))
	}
	switch {
	case c.Code:
		text = "<code>" + text + "</code>"
	case c.Few > 0:
		text = `<span class="few">` + text + "</span>"
	case c.Judgement != report.Neutral:
		text = `<span class="` + string(c.Judgement) + `">` + text + "</span>"
	}
	b.WriteString(text)
	if c.Margin != "" {
		b.WriteString(` <span class="margin">` + template.HTMLEscapeString("± "+c.Margin) + "</span>")
	}
	if c.Interval != "" {
		b.WriteString(` <span class="margin interval">(` + template.HTMLEscapeString(c.Interval) + ")</span>")
	}
	if c.Range != "" {
		b.WriteString(` <span class="margin interval">[` + template.HTMLEscapeString(c.Range) + "]</span>")
	}
	if c.Few > 0 {
		b.WriteString(` <small class="few">` + c.FewText() + "</small>")
	}
	if c.Bar != nil {
		width := func(share float64) string { return strconv.FormatFloat(min(max(share, 0), 1)*100, 'f', 1, 64) }
		class := "bar"
		if c.Bar.Low() {
			class += " low"
		}
		b.WriteString(`<span class="` + class + `"><span style="width:` + width(c.Bar.Value) + `%"></span><i style="left:` + width(c.Bar.Mark) + `%"></i></span>`)
	}
	b.WriteString("</" + element + ">")
}
