package page

import (
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/plots"
	"apfsim/reports/result"
)

// waitPlots returns the waits of workloads over time as parts of a page, none where nothing waited.
func waitPlots(r *result.Result) []Part {
	drawn, leftOut := plots.DrawnCourses(r)
	a := plots.TimeAxisOf(r.Summary)
	var parts []Part
	for i, s := range drawn {
		var at plots.Figures
		for k := range s.Points {
			at = append(at, float64(s.Points[k].StartNs)/a.UnitNs)
		}
		at = append(at, float64(s.Points[len(s.Points)-1].EndNs)/a.UnitNs)
		values := func(value func(*result.WorkloadPoint) float64) plots.Figures {
			var values plots.Figures
			for k := range s.Points {
				values = append(values, value(&s.Points[k]))
			}
			return append(values, values[len(values)-1])
		}
		name := format.Shorten(format.Printable(s.Workload), 60)
		p := &plots.Plot{Name: "waits-" + strconv.Itoa(i), Title: "Wait over time: " + name,
			Caption: plots.WaitsCaption + "Intervals of " + format.Duration(float64(s.Points[0].EndNs-s.Points[0].StartNs)) + ". " + plots.MarksCaption,
			X:       a.Axis(), Y: plots.Axis{Label: "wait", Unit: "ns"}, Linked: true, Steps: true, Shaded: a.Warmup, At: at,
			Lines: []plots.Line{
				{Name: plots.OldestWaiting, Style: plots.LineStyle{Filled: true}, Values: values((*result.WorkloadPoint).OldestWait)},
				{Name: "99th percentile", Style: plots.LineStyle{Colour: 2}, Values: values((*result.WorkloadPoint).P99)},
				{Name: "median", Style: plots.LineStyle{Colour: 1}, Values: values((*result.WorkloadPoint).P50)},
			}}
		for _, m := range s.Marks {
			p.Marks = append(p.Marks, plots.AtMark{At: float64(m.AtNs) / a.UnitNs, Text: m.Text, Dashed: !m.Event})
		}
		parts = append(parts, Part{Plot: p})
	}
	if len(parts) > 0 {
		parts[0].Heading = "Waits of workloads"
		parts[len(parts)-1].Plot.Caption += leftOut
	}
	return parts
}
