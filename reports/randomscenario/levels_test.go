package randomscenario

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// linesBy returns the indices of the lines that have reached flow control, by what key returns.
func (c *check) linesBy(key func(*Line) string) map[string][]int {
	all := map[string][]int{}
	for i := range c.lines {
		if l := &c.lines[i]; l.Outcome != "refused" {
			all[key(l)] = append(all[key(l)], i)
		}
	}
	return all
}

// levels compares how the seats and the queues of each level were used, at all servers and at each, with the stays of the
// log and the limits that were in force at each moment.
func (c *check) levels() {
	s := c.ran.Result.Summary
	lines := c.linesBy(func(l *Line) string { return l.PriorityLevel })
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		c.use("level "+l.Name, l, lines[l.Name], c.limitsOf(l.Name, allServers))
	}
	atServers := c.linesBy(atServer)
	for i := range s.Servers {
		for j := range s.Servers[i].Levels {
			l := &s.Servers[i].Levels[j]
			own := &result.Level{Limits: l.Limits, Utilisation: l.Utilisation, PeakSeats: l.PeakSeats, MeanWaiting: l.MeanWaiting, ServiceSeatSeconds: l.ServiceSeatSeconds}
			c.use(fmt.Sprintf("level %s at server %d", l.Name, i), own, atServers[keyAtServer(i, l.Name)], c.limitsOf(l.Name, i))
		}
	}
}

func keyAtServer(server int, level string) string { return fmt.Sprint(server, " ", level) }

func atServer(l *Line) string { return keyAtServer(l.Server, l.PriorityLevel) }

// use compares the use of a level at all servers or at one.
func (c *check) use(what string, got *result.Level, lines []int, limits []limitStep) {
	u, _ := c.useOf(lines, limits)
	if got.PeakSeats != u.peak {
		c.fail("%s: a peak of %d seats, of the log %d", what, got.PeakSeats, u.peak)
	}
	c.near(what+": service", got.ServiceSeatSeconds, u.seats/1e9)
	if got.Limits.Current != u.limit {
		c.fail("%s: a limit of %d seats at the end, by the server %d", what, got.Limits.Current, u.limit)
	}
	waiting := 0.0
	if u.existed > 0 {
		waiting = u.waiting / u.existed
	}
	c.near(what+": waiting requests", got.MeanWaiting, waiting)
	has := u.known && !u.exempt && u.existed > 0
	if (got.Utilisation != nil) != has || has && (got.Utilisation.Mean != nil) != (u.withLimit > 0) {
		c.fail("%s: utilisation %+v, of the log %+v", what, got.Utilisation, u)
		return
	}
	if has {
		c.near(what+": saturated", got.Utilisation.Saturated, u.saturated/u.existed)
	}
	if has && u.withLimit > 0 {
		c.near(what+": utilisation", *got.Utilisation.Mean, u.relative/u.withLimit)
	}
}

// levelTexts checks the figures that the findings about levels name, which levels and fairness have compared with the log.
func (c *check) levelTexts(all *claims) {
	s := c.ran.Result.Summary
	lines := c.linesBy(func(l *Line) string { return l.PriorityLevel })
	for _, finding := range all.all {
		at := slices.IndexFunc(s.PriorityLevels, func(l result.Level) bool { return l.Name == finding.Subject })
		if finding.Group != "Priority levels" || at < 0 {
			continue
		}
		l := &s.PriorityLevels[at]
		part := func(text string, want bool) {
			if strings.Contains(finding.Text, text) != want {
				c.fail("level %s: %q in %q, want %v", l.Name, text, finding.Text, want)
			}
		}
		if u := l.Utilisation; u != nil && u.Mean != nil {
			part(fmt.Sprintf("seats in use %s (mean), saturated %s of the time", format.Percent(*u.Mean), format.Percent(u.Saturated)), true)
		} else {
			part("seats in use ", false)
		}
		queued := slices.ContainsFunc(lines[l.Name], func(i int) bool {
			line := &c.lines[i]
			return line.ArrivalNs >= c.fromNs && (line.Outcome == "rejected" || line.Outcome == "waiting" || line.DispatchNs != nil && *line.DispatchNs > line.ArrivalNs)
		})
		if f := l.Fairness; f != nil && f.Flows >= 2 && queued {
			part(fmt.Sprintf("Jain's index %.3f (%s flows); lowest service of a flow ", f.Jain, format.Quantity(int64(f.Flows))), true)
			if f.LeastRatio < 0.95 {
				part("lowest service of a flow "+judge.RatioText(f.LeastRatio)+" of its fair share", true)
			}
		} else {
			part("Jain's index ", false)
		}
	}
}
