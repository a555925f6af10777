package judge

import (
	"cmp"
	"fmt"
	"math"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// heldShare is the part of the time with queued requests for which a wide request must have been next without fitting,
// for this to matter.
const heldShare = 0.2

// fullLoad is the load of a level from which on requests wait because of it, whatever their seats are.
const fullLoad = 0.95

// leastWidth is the mean number of seats from which on requests are wide.
const leastWidth = 1.5

// wide returns the cause that requests of many seats held up others, and its part of the harm; nil without. explained is the
// part that follows from the work and the seats alone.
func (d *diagnosis) wide(index int, flows []*result.Flow, f *fluid, explained float64) (c *cause, share float64) {
	if d.Evidence == nil {
		return nil, 0
	}
	l := &d.Summary.PriorityLevels[index]
	var widest *result.WorkloadLevel
	name := ""
	for i := range d.Evidence.Workloads {
		levels := d.Evidence.Workloads[i].Levels
		for k := range levels {
			w := &levels[k]
			if w.Level != l.Name || w.Arrived == 0 || w.Width() < leastWidth {
				continue
			}
			// Those that are held back wait themselves. Others may ask for more seats in the whole window, when there are enough.
			if widest == nil || cmp.Or(cmp.Compare(w.WaitedNs, widest.WaitedNs), cmp.Compare(w.Seats, widest.Seats)) > 0 {
				widest, name = w, d.Summary.Workloads[i].Name
			}
		}
	}
	if widest == nil {
		return nil, 0
	}
	waiting, most, work, used, seats := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range f.steps {
		if s := &f.steps[i]; s.waiting > 0 {
			waiting += s.seconds
			work, used, seats = work+s.work, used+s.used*s.seconds, seats+s.limit*s.seconds
		}
		most = max(most, f.steps[i].limit)
	}
	held := 0.0
	if waiting > 0 {
		held = min(1, float64(d.Evidence.Levels[index].HeldBackNs)/1e9/waiting)
	}
	tooWide := widest.Width() > most && float64(l.PeakSeats) > most
	unused, uniform := d.unused(l.Name, widest, most)
	byWidth := 0.0
	if l.Rejected > 0 {
		byWidth = float64(d.Evidence.Levels[index].RejectedByWidth) / float64(l.Rejected)
	}
	if uniform && unused < leastShare*most { // wide requests are all that there is, and nearly all seats are of use to them: that is demand
		byWidth = 0
	}
	if unused > 0 && held >= heldShare { // it could have no more work than that of the seats that are of use
		usable := func(s *step) float64 { return workOf(s) * (most - unused) / most }
		share = f.run(all, usable).relief(f.run(all, workOf))
	}
	if !tooWide && byWidth < leastShare && share < leastShare && (held < heldShare || work > fullLoad*seats) {
		return nil, 0
	}
	var narrow, whole float64 // how long requests waited that are not wide
	for i := range d.Evidence.Workloads {
		for _, w := range d.Evidence.Workloads[i].Levels {
			if w.Level == l.Name {
				whole += w.WaitedNs
				if w.Width() < widest.Width()/2 {
					narrow += w.WaitedNs
				}
			}
		}
	}
	c = &cause{}
	c.Workloads = []string{name}
	var own []*result.Flow
	demand := 0.0
	for _, flow := range flows {
		demand += flow.DemandSeatSeconds
		if flow.Workload == name {
			own = append(own, flow)
		}
	}
	c.Flows = d.causeFlows(l, own, demand)
	c.Figures = []result.Figure{figure("seatsOfARequest", widest.Width()), figure("heldBackShare", held), figure("limit", most)}
	if tooWide {
		c.Sentence = fmt.Sprintf("A request of %s takes %s seats, more than the %s of %s: while it executes, no other request of the level does.",
			name, format.Number(widest.Width()), format.Number(most), l.Name)
		return c, 1
	}
	if unused >= leastShare*most {
		c.Figures = append(c.Figures, figure("unusedSeats", unused))
		c.Sentence = fmt.Sprintf("Each request of %s takes %s of the %s seats of %s, so that %s %s of no use.", name, format.Number(widest.Width()), format.Number(most), l.Name,
			format.Number(unused), map[bool]string{true: "seat is", false: "seats are"}[unused == 1])
	}
	if byWidth >= leastShare {
		c.Figures = append(c.Figures, figure("rejectedByWidth", byWidth))
		if unused < leastShare*most {
			c.Sentence = fmt.Sprintf("Requests of %s take %s of the %s seats of %s: for %s of the rejected requests there would have been a seat if each took one.",
				name, format.Number(widest.Width()), format.Number(most), l.Name, format.Percent(byWidth))
		}
		return c, byWidth
	}
	if unused < leastShare*most {
		c.Sentence = fmt.Sprintf("For %s of the time with queued requests, the next request of %s needed more seats than were free, though some were; those of %s take %s seats.",
			format.Percent(held), l.Name, name, format.Number(widest.Width()))
	}
	if work <= fullLoad*seats {
		share = max(share, held*narrow/max(whole, 1)) // they waited behind wide ones
		if used < (1-leastShare)*seats {              // and all waited for seats that were free
			share = max(share, min(held, 1-explained))
		}
	}
	return c, share
}

// unused returns how many seats of a full level stay free when all of its requests are as wide as the widest. uniform
// says that all requests have that width.
func (d *diagnosis) unused(level string, widest *result.WorkloadLevel, seats float64) (unused float64, uniform bool) {
	width := widest.Width()
	for i := range d.Evidence.Workloads {
		for _, w := range d.Evidence.Workloads[i].Levels {
			if w.Level == level && w.Arrived > 0 && w.Width() != width {
				return 0, false
			}
		}
	}
	if width != math.Trunc(width) || seats != math.Trunc(seats) || width > seats {
		return 0, true
	}
	return math.Mod(seats, width), true
}
