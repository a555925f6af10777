package scrape

import (
	"fmt"
	"slices"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/sim/metric"
)

// Section is the statistics of one priority level or FlowSchema.
type Section struct {
	Title      string
	Statistics []Statistic
}

// sections returns the statistics by priority level and FlowSchema.
func (c *Comparison) sections() (all []Section) {
	for i, s := range c.Statistics {
		if i == 0 || s.PriorityLevel != c.Statistics[i-1].PriorityLevel || s.FlowSchema != c.Statistics[i-1].FlowSchema {
			title := "Priority level " + s.PriorityLevel
			if s.FlowSchema != "" {
				title = "FlowSchema " + s.FlowSchema
			}
			all = append(all, Section{Title: title})
		}
		last := &all[len(all)-1]
		last.Statistics = append(last.Statistics, s)
	}
	return all
}

// Listed returns the priority levels and FlowSchemas to be listed. Unless all are asked for, it leaves out
// the priority levels without requests whose nominal limits do not differ, and the FlowSchemas that have
// the numbers of a priority level because they are its only ones. idle are the names of the levels that
// are left out.
func (c *Comparison) Listed(all bool) (listed []Section, idle []string) {
	sections := c.sections()
	if all {
		return sections, nil
	}
	ofLevels := map[string]bool{}
	for _, s := range sections {
		first := &s.Statistics[0]
		switch {
		case first.FlowSchema != "":
			if !s.idle() && !ofLevels[s.requests()] {
				listed = append(listed, s)
			}
		case s.idle():
			idle = append(idle, first.PriorityLevel)
		default:
			listed = append(listed, s)
			ofLevels[s.requests()] = true
		}
	}
	return listed, idle
}

// idle says whether there are no requests on either side, and no difference of the nominal limit.
func (s *Section) idle() bool {
	return !slices.ContainsFunc(s.Statistics, func(statistic Statistic) bool {
		has := func(x *float64) bool { return x != nil && *x > 0 }
		switch statistic.Name {
		case Dispatched, "rejected":
			return has(statistic.Server) || has(statistic.Run)
		case NominalLimit:
			return statistic.Outcome != Equal && statistic.Outcome != ""
		}
		return false
	})
}

// requests returns a text with the numbers of the requests.
func (s *Section) requests() string {
	text := ""
	for _, statistic := range s.Statistics {
		if statistic.Unit == metric.Requests || statistic.Unit == metric.Nanoseconds {
			text += fmt.Sprintln(statistic.Name, format.AllDigits(statistic.Server), format.AllDigits(statistic.ServerLow), format.AllDigits(statistic.Run), statistic.Runs)
		}
	}
	return text
}

// Title states how many numbers agree.
func (c *Comparison) Title() string {
	n := c.Equal + c.Within + c.Outside + c.Untested
	if len(c.Run.Seeds) == 1 {
		return fmt.Sprintf("%d numbers: %d equal, %d percentiles in the server's buckets and %d not, %d different", n, c.Equal, c.Within, c.Outside, c.Untested)
	}
	return fmt.Sprintf("%d numbers of the server: %d equal, %d within the intervals of the runs, %d outside", n, c.Equal, c.Within, c.Outside)
}

// How states what the outcomes mean.
func (c *Comparison) How() string {
	const buckets = "Percentiles of the server are buckets of its histogram."
	if len(c.Run.Seeds) == 1 {
		return "One run: its variation by chance is unknown, so differences are not judged; use --replications. " + buckets
	}
	return "Intervals of the runs: 95 % prediction intervals by Student's t, in which one more run is expected. About one number in twenty is outside by chance. " +
		"The server was observed once, so that this is not a test of significance. " + buckets
}

// RunText states the scenario and the runs.
func (c *Comparison) RunText() string { return compare.SideText(&c.Run) }

// ServerText states the files, and the time between them.
func (c *Comparison) ServerText() (files, length string) {
	files = c.Server.After
	if c.Server.Before != "" {
		files = c.Server.Before + " to " + c.Server.After
	}
	if c.Server.LengthNs == nil {
		return files, "unknown length"
	}
	return files, format.Duration(float64(*c.Server.LengthNs))
}
