package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"apfsim/core/config"
)

//go:embed report.html.tmpl
var reportTemplate string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"duration":   func(ns int64) string { return duration(float64(ns)) },
	"quantity":   quantity,
	"share":      shareOf,
	"percent":    percent,
	"number":     number,
	"digits":     digits,
	"found":      func(v Verdict) string { return v.found() },
	"ran":        ran,
	"sentence":   sentence,
	"limited":    func(l Level) bool { return l.Type != config.TypeExempt },
	"printable":  printable,
	"levelNamed": levelTitle,
}).Parse(reportTemplate))

// reportData is what the page is made from.
type reportData struct {
	*Summary
	Failed int // thresholds
	Levels []Level
	Quiet  []string // levels without requests
	Worst  []*Flow
	Charts []reportChart
}

type reportChart struct {
	*Chart
	SVG template.HTML
}

// WriteHTML writes a page that needs nothing but itself: the thresholds' verdict, what
// became of each workload, tables, and the given charts.
func WriteHTML(w io.Writer, r *Result, charts []*Chart) error {
	data := reportData{Summary: r.Summary, Worst: worst(r.Summary, flowsDrawn)}
	for _, v := range r.Summary.Thresholds {
		if !v.Passed {
			data.Failed++
		}
	}
	for _, l := range r.Summary.PriorityLevels {
		if l.Arrived == 0 && l.PeakSeats == 0 {
			data.Quiet = append(data.Quiet, l.Name)
			continue
		}
		data.Levels = append(data.Levels, l)
	}
	for _, c := range charts {
		var svg bytes.Buffer
		if err := c.WriteSVG(&svg); err != nil {
			return err
		}
		data.Charts = append(data.Charts, reportChart{c, inline(svg.String(), c)})
	}
	var page bytes.Buffer
	if err := reportPage.Execute(&page, data); err != nil {
		return err
	}
	_, err := w.Write(page.Bytes())
	return err
}

// inline turns an SVG file into an element of a page that fits its width. The text within
// was escaped when it was drawn.
func inline(svg string, c *Chart) template.HTML {
	from := strings.Index(svg, "<svg ")
	view := strings.Index(svg, "viewBox")
	return template.HTML(`<svg role="img" aria-label="` + template.HTMLEscapeString(c.Title) + `" ` + svg[max(from+5, view):])
}

// sentence says in plain words what became of a workload's requests.
func sentence(g Group) string {
	if g.Arrived == 0 {
		return "No request arrived."
	}
	var parts []string
	switch {
	case g.Executed == g.Arrived:
		parts = append(parts, fmt.Sprintf("All %s requests were executed.", quantity(g.Arrived)))
	default:
		text := fmt.Sprintf("Of %s requests %s were executed", quantity(g.Arrived), shareOf(g.Executed, g.Arrived))
		if g.Rejected > 0 {
			text += fmt.Sprintf(" and %s rejected", shareOf(g.Rejected, g.Arrived))
		}
		if left := g.Waiting + g.Executing; left > 0 {
			text += fmt.Sprintf("; %s had not finished at the end", quantity(left))
		}
		parts = append(parts, text+".")
	}
	switch d := g.Wait; {
	case d == nil:
	case d.MaxNs == 0:
		parts = append(parts, "None had to wait.")
	case d.P50Ns == 0 && d.P99Ns == 0:
		parts = append(parts, fmt.Sprintf("Fewer than one in a hundred had to wait, %s at most.", duration(float64(d.MaxNs))))
	case d.P50Ns == 0:
		parts = append(parts, fmt.Sprintf("At least half did not wait; one in a hundred waited %s or longer.", duration(float64(d.P99Ns))))
	default:
		parts = append(parts, fmt.Sprintf("Half waited %s or longer, one in a hundred %s or longer.",
			duration(float64(d.P50Ns)), duration(float64(d.P99Ns))))
	}
	return strings.Join(parts, " ")
}
