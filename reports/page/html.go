package page

import (
	"bytes"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/reports/tables"

	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
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
	UplotLicence string
)

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"style":     func() template.CSS { return template.CSS(uplotStyle + reportStyle) },
	"script":    func() template.JS { return template.JS("/*\n" + UplotLicence + "*/\n" + uplotScript + reportScript) },
	"printable": format.Printable,
	"paragraph": func(text string) string { return format.Printable(strings.Join(strings.Fields(text), " ")) },
	"breakable": format.Breakable,
	"shown":     shownRows,
	"hidden":    hiddenRows,
	// A section of the page may have the name of a group of findings.
	"uncapitalized": func(text string) string { return strings.ToLower(text[:1]) + text[1:] },
	"sentence": func(text string) template.HTML {
		return format.Breakable(format.BeforeUnit.ReplaceAllString(text, "$1\u00a0$2"))
	},
}).Parse(reportTemplate))

// Write writes a page as one HTML file that needs nothing but itself: no network, no
// other file. The same page gives the same bytes.
func Write(w io.Writer, p Page) error {
	p = p.inForm(tables.Page)
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
	}{p, p.Glossary(), template.JS(plots)}); err != nil {
		return err
	}
	_, err = w.Write(page.Bytes())
	return err
}

// WriteRun writes the report of a run.
func WriteRun(w io.Writer, r *result.Result) error { return Write(w, Run(r)) }

// inForm returns the page with tables that have only the columns of a form.
func (p Page) inForm(form tables.Form) Page {
	if p.Verdict != nil && p.Verdict.Table != nil {
		verdict := *p.Verdict
		verdict.Table = verdict.Table.In(form)
		p.Verdict = &verdict
	}
	p.Sections = slices.Clone(p.Sections)
	for i := range p.Sections {
		s := &p.Sections[i]
		s.Parts = slices.Clone(s.Parts)
		for k := range s.Parts {
			if t := s.Parts[k].Table; t != nil {
				s.Parts[k].Table = t.In(form)
			}
		}
	}
	return p
}

// shownRows returns the rows that are visible from the beginning, as HTML.
func shownRows(t *tables.Table) template.HTML { return rows(t, 0, t.Shown()) }

// hiddenRows returns the rows that the reader has to ask for, as HTML.
func hiddenRows(t *tables.Table) template.HTML { return rows(t, t.Shown(), len(t.Rows)) }

// rows writes rows as HTML. There may be tens of thousands of cells, for which a template
// is slow.
func rows(t *tables.Table, from, to int) template.HTML {
	var b strings.Builder
	for i, row := range t.Rows[from:to] {
		b.WriteString("<tr")
		if from+i >= len(t.Rows)-t.Last {
			b.WriteString(` class="total"`)
		}
		b.WriteString(">")
		for k := range row {
			write(&row[k], &b, k == 0, t.Columns[k].Left)
		}
		b.WriteString("</tr>\n")
	}
	return template.HTML(b.String())
}

func write(c *tables.Cell, b *strings.Builder, names, left bool) {
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
	text := template.HTMLEscapeString(format.Printable(c.Text))
	if names {
		name := c.Text
		if c.Also != "" {
			name += " (also: " + c.Also + ")"
		}
		text = string(format.Breakable(name))
	}
	switch {
	case c.Code:
		text = "<code>" + text + "</code>"
	case c.Judgement != judge.Neutral:
		text = `<span class="` + string(c.Judgement) + `">` + text + "</span>"
	}
	b.WriteString(text)
	if c.Margin != "" {
		b.WriteString(` <span class="margin">` + template.HTMLEscapeString("± "+c.Margin) + "</span>")
	}
	if c.Bar != nil {
		width := func(share float64) string { return strconv.FormatFloat(min(max(share, 0), 1)*100, 'f', 1, 64) }
		class := "bar"
		if c.Bar.Value < judge.UnderservedRatio*c.Bar.Mark {
			class += " low"
		}
		b.WriteString(`<span class="` + class + `"><span style="width:` + width(c.Bar.Value) + `%"></span><i style="left:` + width(c.Bar.Mark) + `%"></i></span>`)
	}
	b.WriteString("</" + element + ">")
}
