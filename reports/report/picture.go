package report

import (
	"apfsim/reports/files"
	"apfsim/reports/result"
)

// Picture is what fills one file. It has one of Panels, Bars and Grid.
type Picture struct {
	Name   string // of its files, without extension
	Title  string
	Legend []legendEntry
	Panels []*Plot // one plot, or several over the same time, one below the other
	Bars   *Bars
	Grid   *Grid
}

// legendEntry explains how lines or marks of one kind are drawn.
type legendEntry struct {
	Name  string
	Kind  PlotKind
	Index int // of the line among those of its kind
}

func (p *Picture) unlessEmpty() *Picture {
	if len(p.Panels) == 0 {
		return nil
	}
	return p
}

// RunPictures returns the pictures of a run. There is none of what did not happen.
func RunPictures(r *result.Result) (pictures []*Picture) {
	add := func(p *Picture) {
		if p != nil {
			pictures = append(pictures, p)
		}
	}
	add(waitPicture(r))
	add(waitsPicture(r))
	add(seatsPicture(r))
	add(requestsPicture(r))
	add(serversPicture(r))
	add(clientsPicture(r))
	for i, s := range r.Series {
		if p := queuesPlot(r, i); p != nil {
			add(&Picture{Name: queuesName(s.Level), Title: p.Title + ": " + p.Subject, Panels: []*Plot{p}})
		}
	}
	for i := range r.Summary.PriorityLevels {
		add(servicePicture(r.Summary, r.Summary.PriorityLevels[i].Name))
	}
	return pictures
}

// RunPictureNames returns the names of the pictures that a run may have, given its priority levels.
func RunPictureNames(levels []string) []string {
	names := []string{"wait", "wait-over-time", "seats", "requests", "servers", "clients"}
	for _, level := range levels {
		names = append(names, queuesName(level), serviceName(level))
	}
	return names
}

func queuesName(level string) string  { return "queues-" + files.Name(level) }
func serviceName(level string) string { return "service-" + files.Name(level) }
