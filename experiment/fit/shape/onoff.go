package shape

import (
	"fmt"
	"math"
)

// leastPeriods is the least number of periods of which a distribution is fitted.
const leastPeriods = 10

// phases are those of the intervals between the requests of a client that pauses: short ones within its periods, and long
// ones between them. Together they have a hyperexponential distribution.
type phases struct {
	short      float64 // the share of the short ones
	fast, slow float64 // their rates, per ns
}

// fitPhases fits the phases to intervals, by expectation maximization.
func fitPhases(gaps []float64) (h phases, ok bool) {
	mean := 0.0
	for _, x := range gaps {
		mean += x / float64(len(gaps))
	}
	if mean <= 0 {
		return h, false
	}
	h = phases{0.9, 5 / mean, 0.2 / mean}
	for range 300 {
		weight, inFast, inSlow := 0.0, 0.0, 0.0
		for _, x := range gaps {
			f, s := h.short*h.fast*math.Exp(-h.fast*x), (1-h.short)*h.slow*math.Exp(-h.slow*x)
			r := 0.0
			if f > 0 {
				r = f / (f + s)
			}
			weight += r
			inFast += r * x
			inSlow += (1 - r) * x
		}
		slowWeight := float64(len(gaps)) - weight
		if weight < 1 || slowWeight < 1 || inFast <= 0 || inSlow <= 0 {
			return h, false
		}
		h = phases{weight / float64(len(gaps)), weight / inFast, slowWeight / inSlow}
	}
	return h, h.fast >= 3*h.slow
}

// gain returns by how much the logarithm of the likelihood of intervals is greater than that of exponential ones.
func (h *phases) gain(gaps *Sample) (gain float64) {
	mean := gaps.Mean()
	for _, x := range gaps.Values {
		gain += math.Log(h.short*h.fast*math.Exp(-h.fast*x)+(1-h.short)*h.slow*math.Exp(-h.slow*x)) + x/mean + math.Log(mean)
	}
	return gain
}

// longest returns the interval that is as likely to be a pause as not.
func (h *phases) longest() float64 {
	return math.Log(h.short*h.fast/((1-h.short)*h.slow)) / (h.fast - h.slow)
}

// fitOnOff fits processes that pause to the intervals between the requests of a client: first one whose periods have
// exponential lengths, and then one with the lengths that the requests show.
func (o *Observations) fitOnOff(startNs, endNs int64) (all []Arrivals) {
	h, ok := fitPhases(o.gaps.Values)
	if !ok {
		return nil
	}
	gain := h.gain(&o.gaps)
	if a, ok := h.interrupted(o.durationNs); ok {
		a.Gain = gain
		all = append(all, a)
	}
	if a, ok := o.fitPeriods(h.longest(), startNs, endNs); ok {
		a.Gain = gain
		all = append(all, a)
	}
	return all
}

// interrupted returns the interrupted Poisson process whose intervals have the phases (Kuczura, "The Interrupted Poisson
// Process as an Overflow Process", 1973).
func (h *phases) interrupted(durationNs int64) (a Arrivals, ok bool) {
	on := h.short*h.fast + (1-h.short)*h.slow
	begin := h.fast * h.slow / on
	end := h.fast + h.slow - on - begin
	if !(begin > 0 && end > 0) || 1/begin > float64(durationNs) || 1/end > float64(durationNs) {
		return a, false
	}
	d := func(perNs float64) any {
		return map[string]any{"exponential": map[string]any{"mean": Duration(max(1, 1/perNs))}}
	}
	return Arrivals{Value: map[string]any{"onOff": map[string]any{"rate": rate(on * 1e9), "on": d(end), "off": d(begin)}},
		Text: fmt.Sprintf("on-off, %s for %s, pauses of %s", rate(on*1e9), Duration(1/end), Duration(1/begin))}, true
}

// fitPeriods fits the lengths of the periods and of the pauses, which are the intervals that are longer than the longest
// one of a period. A period begins before its first request and ends after its last one, each by the mean interval within
// it. The first and the last period of a client are not known whole. The number of requests is the recorded one.
func (o *Observations) fitPeriods(longest float64, startNs, endNs int64) (a Arrivals, ok bool) {
	begin, last := make([]float64, len(o.Clients)), make([]float64, len(o.Clients))
	paused := make([]bool, len(o.Clients)) // before the period
	for i := range last {
		last[i] = -1
	}
	var within, spans, pauses Sample
	for i, at := range o.arrivals {
		c := o.senders[i]
		switch gap := at - last[c]; {
		case last[c] < 0:
			begin[c], paused[c] = at, at-float64(startNs) > longest
		case gap > longest:
			if paused[c] {
				spans.Add(last[c] - begin[c])
			}
			pauses.Add(gap)
			begin[c], paused[c] = at, true
		default:
			within.Add(gap)
		}
		last[c] = at
	}
	interval := within.Mean()
	if !(longest > 0 && interval > 0) || spans.N < leastPeriods || pauses.N < leastPeriods {
		return a, false
	}
	var on, off Sample
	for _, x := range spans.Values {
		on.Add(x + 2*interval)
	}
	for _, x := range pauses.Values {
		off.Add(max(0, x-2*interval))
	}
	if on.Mean() <= 0 || off.Mean() <= 0 {
		return a, false
	}
	perSecond := float64(o.First) / o.seconds(startNs, endNs) * (on.Mean() + off.Mean()) / on.Mean()
	onLength, offLength := periodLength(&on, interval), periodLength(&off, interval)
	return Arrivals{Value: map[string]any{"onOff": map[string]any{"rate": rate(perSecond), "on": onLength.Value, "off": offLength.Value}},
		Text: fmt.Sprintf("on-off, %s for %s, pauses of %s", rate(perSecond), onLength.Text, offLength.Text)}, true
}

// periodLength fits a distribution to lengths that are known up to two intervals between requests. The sum of two
// exponential ones has 80 % of its values within a range of 3.4 of their mean.
func periodLength(s *Sample, interval float64) Distribution {
	values := s.sorted()
	middle := values[len(values)/10 : len(values)-len(values)/10]
	if middle[len(middle)-1]-middle[0] > 4.5*interval {
		return FitDistribution(s)
	}
	sum := 0.0
	for _, x := range middle {
		sum += x
	}
	d := Duration(sum / float64(len(middle)))
	return Distribution{Value: d, Text: "constant " + d}
}
