package report

import (
	"iter"
	"slices"

	"apfsim/reports/files"
	"apfsim/reports/result"
)

// Picture is the content of one image file. It has one of Panels, Bars and Grid.
type Picture struct {
	Name   string // of its files, without extension
	Title  string
	Legend []legendEntry
	Panels []*Plot // one plot, or several over the same time, one below the other
	Bars   *Bars
	Grid   *Grid

	Columns int // of Panels that do not have a common time; 0 if they have
}

// legendEntry explains how lines or marks of one kind are drawn.
type legendEntry struct {
	Name  string
	Kind  PlotKind
	Index int // of the line among those of its kind
}

// TilesPicture returns a picture of plots in several columns. The legend has each name of a line once.
func TilesPicture(name, title string, columns int, plots []*Plot) *Picture {
	p := &Picture{Name: name, Title: title, Panels: plots, Columns: columns}
	for _, panel := range plots {
		for _, l := range panel.Lines {
			if e := (legendEntry{l.Name, l.Kind, l.Index}); !slices.Contains(p.Legend, e) {
				p.Legend = append(p.Legend, e)
			}
		}
	}
	return p
}

func (p *Picture) unlessEmpty() *Picture {
	if len(p.Panels) == 0 {
		return nil
	}
	return p
}

// pictures makes pictures one after another, and leaves out those that are nil.
func pictures(all ...func() *Picture) iter.Seq[*Picture] {
	return func(yield func(*Picture) bool) {
		for _, picture := range all {
			if p := picture(); p != nil && !yield(p) {
				return
			}
		}
	}
}

// runPictures returns the pictures of a run. There is none of what did not happen.
func runPictures(r *result.Result) iter.Seq[*Picture] {
	var all []func() *Picture
	for _, of := range []func(*result.Result) *Picture{waitPicture, waitsPicture, seatsPicture, requestsPicture, serversPicture, clientsPicture} {
		all = append(all, func() *Picture { return of(r) })
	}
	for i := range r.Series {
		all = append(all, func() *Picture { return queuesPicture(r, i) })
	}
	for i := range r.Summary.PriorityLevels {
		all = append(all, func() *Picture { return servicePicture(r.Summary, r.Summary.PriorityLevels[i].Name) })
	}
	return pictures(all...)
}

func queuesPicture(r *result.Result, series int) *Picture {
	p := queuesPlot(r, series)
	if p == nil {
		return nil
	}
	return &Picture{Name: queuesName(r.Series[series].Level), Title: p.Title + ": " + p.Subject, Panels: []*Plot{p}}
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
