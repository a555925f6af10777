package page

import (
	"slices"

	"apfsim/reports/plots"
)

func plotsOf(sections []Section) []*plots.Plot {
	plots := []*plots.Plot{}
	for _, s := range sections {
		for _, part := range s.Parts {
			if part.Plot != nil {
				plots = append(plots, part.Plot)
			}
		}
	}
	return plots
}

// thinned returns the sections with plots that are not too large. The caption of one that
// was says what was done to it.
func thinned(sections []Section) []Section {
	maps := 0
	for _, p := range plotsOf(sections) {
		if p.Queues != nil {
			maps++
		}
	}
	sections = slices.Clone(sections)
	for i := range sections {
		sections[i].Parts = slices.Clone(sections[i].Parts)
		for k := range sections[i].Parts {
			if p := &sections[i].Parts[k].Plot; *p == nil {
				continue
			} else if (*p).Queues != nil {
				*p = (*p).WithoutColumns(plots.MostCells / maps)
			} else {
				*p = (*p).WithoutPoints(plots.MostPoints)
			}
		}
	}
	return sections
}
