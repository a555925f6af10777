package shape

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Arrivals is a fitted arrival process.
type Arrivals struct {
	Value          any    // in the format of a scenario
	Text           string // for people
	StartNs, EndNs int64  // of the workload; 0: that of the run
	Closed         bool   // requests are sent after responses
	// Gain is by how much the logarithm of the likelihood of the arrivals is greater than that of a Poisson process
	// with one rate, infinite if arrivals are not random.
	Gain     float64
	periodNs float64 // of the requests of a client, if they are constant
	Notes    []string
}

// What an arrival process must be to be chosen.
const (
	constantVariation = 0.25 // greatest squared coefficient of variation of constant intervals
	burstyVariation   = 1.5  // least one, and least index of dispersion, of an on-off process
	bursty            = 50   // least number of intervals of one
	mostSegments      = 12   // with more changes of the rate, an on-off process is preferred
	mostStages        = 32
)

// FitArrivals chooses the process of a workload's first attempts: bursts if they come in groups of equal size
// at equal distances; closed if a client sends the less the more of its requests are in progress; and else by the variation of the intervals between a client's requests constant,
// on-off or Poisson, with a rate that may change.
func (o *Observations) FitArrivals() Arrivals {
	if o.First == 0 { // the log begins after the first attempts
		a := poissonArrivals(float64(o.Again) / o.seconds(0, o.durationNs))
		a.Notes = append(a.Notes, "no first attempt is in the log; every attempt counts as one")
		return a
	}
	if a, ok := o.fitBursts(); ok {
		a.Gain = math.Inf(1)
		return a
	}
	local := o.localDispersion()
	segments, startNs, endNs := o.active(max(1, local))
	a, ok := o.fitClosed(segments, startNs, endNs)
	if v := o.gaps.variance(); !ok || v < constantVariation*o.gaps.Mean()*o.gaps.Mean() && v < o.think.variance() {
		a = o.fitOpen(segments, local, startNs, endNs)
	}
	a.StartNs = startNs
	if a.periodNs > 0 && endNs < o.durationNs { // as many requests as there are, whenever the first is sent
		endNs = min(endNs, startNs+int64(math.Round(a.periodNs*float64(o.First)/float64(len(o.Clients)))))
	}
	if endNs < o.durationNs {
		a.EndNs = endNs
	}
	return a
}

// seconds returns the time of all clients together between two moments.
func (o *Observations) seconds(startNs, endNs int64) float64 {
	return float64(len(o.Clients)) * float64(max(1, endNs-startNs)) / 1e9
}

// fitOpen fits a process that does not depend on the responses.
func (o *Observations) fitOpen(segments []segment, local float64, startNs, endNs int64) Arrivals {
	perClient := float64(o.First) / o.seconds(startNs, endNs)
	variation, n := o.gaps.variation2(), o.gaps.N
	one := len(segments) == 1
	switch {
	case n >= fewest && variation < constantVariation && one && o.evenly(startNs, endNs):
		perClient = 1e9 / o.gaps.Mean()
		return Arrivals{Value: map[string]any{"constant": map[string]any{"rate": rate(perClient)}}, Text: "constant, " + rate(perClient),
			Gain: math.Inf(1), periodNs: o.gaps.Mean()}
	case n >= bursty && variation > burstyVariation && o.Dispersion(startNs, endNs) > burstyVariation && (one || len(segments) > mostSegments):
		if a, ok := fitOnOff(o.gaps.Values, o.durationNs); ok {
			return a
		}
	}
	if one {
		a := poissonArrivals(perClient)
		switch d := o.Dispersion(startNs, endNs); {
		case o.First >= bursty && d > 2:
			a.Notes = append(a.Notes, fmt.Sprintf("the counts vary more than those of the fitted process; their index of dispersion is %.3g", d))
		case n >= bursty && variation < 0.6:
			a.Notes = append(a.Notes, fmt.Sprintf("the intervals vary less than those of a Poisson process, and more than equal ones; their squared coefficient of variation is %.2g", variation))
		}
		return a
	}
	for penalty := 2 * max(1, local); len(segments) > mostStages; penalty *= 2 {
		segments, _, _ = o.active(penalty)
	}
	var stages []any
	least, most := math.Inf(1), 0.0
	for i, s := range segments {
		r := float64(s.n) / o.seconds(0, s.lengthNs)
		least, most = min(least, r), max(most, r)
		if i > 0 {
			stages = append(stages, map[string]any{"duration": "0s", "rate": rate(r)})
		}
		stages = append(stages, map[string]any{"duration": Duration(float64(s.lengthNs)), "rate": rate(r)})
	}
	first := stages[0].(map[string]any)["rate"]
	ramping := map[string]any{"startRate": first, "stages": stages}
	process := "Poisson"
	if local < 0.5 && len(o.Clients) == 1 && o.First > 2*bins {
		ramping["process"], process = "constant", "constant"
	}
	return Arrivals{Value: map[string]any{"ramping": ramping}, Gain: o.changes(segments, startNs, endNs),
		Text: fmt.Sprintf("%s, %d rates from %s to %s", process, len(segments), rate(least), rate(most))}
}

// evenly says whether the clients sent requests all the time at the mean of the intervals between these, as far
// as the number of requests shows.
func (o *Observations) evenly(startNs, endNs int64) bool {
	mean := o.gaps.Mean()
	if mean <= 0 {
		return false
	}
	expected := o.seconds(startNs, endNs) * 1e9 / mean
	return math.Abs(expected-float64(o.First)) <= float64(len(o.Clients))+0.05*expected
}

func poissonArrivals(perClient float64) Arrivals {
	return Arrivals{Value: map[string]any{"poisson": map[string]any{"rate": rate(perClient)}}, Text: "Poisson, " + rate(perClient)}
}

// rate returns a rate as a scenario has it, with five significant digits.
func rate(perSecond float64) string {
	if perSecond <= 0 {
		return "0/s"
	}
	x, _ := strconv.ParseFloat(strconv.FormatFloat(min(perSecond, 1e9), 'g', 5, 64), 64)
	if x >= 0.01 {
		return strconv.FormatFloat(x, 'f', -1, 64) + "/s"
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(perSecond*3600, 'g', 5, 64), 64)
	return strconv.FormatFloat(x, 'f', -1, 64) + "/h"
}

// fitBursts recognises requests that all clients send at once, one time or periodically.
func (o *Observations) fitBursts() (a Arrivals, ok bool) {
	times := o.arrivals
	n, clients := len(times), len(o.Clients)
	burst := func(size, startNs, spanNs, everyNs float64) (Arrivals, bool) {
		each := size / float64(clients)
		requests := int(math.Round(each))
		if requests < 1 || math.Abs(each-float64(requests)) > 0.05*each {
			return Arrivals{}, false
		}
		value := map[string]any{"at": Duration(startNs), "requests": requests}
		text := fmt.Sprintf("burst of %d at %s", requests, Duration(startNs))
		if requests > 1 && spanNs > 0 {
			over := spanNs * float64(requests) / float64(requests-1)
			if everyNs > 0 {
				over = min(over, everyNs)
			}
			value["over"] = Duration(over)
			text += " over " + Duration(over)
		}
		if everyNs > 0 {
			value["every"] = Duration(everyNs)
			text += " every " + Duration(everyNs)
		}
		return Arrivals{Value: map[string]any{"burst": value}, Text: text}, true
	}
	if span := times[n-1] - times[0]; int64(n) == o.First && n >= 2 && span <= max(1e6, 1e-4*float64(o.durationNs)) {
		return burst(float64(n), times[0], span, 0)
	}
	// The gaps within bursts are those below the greatest step in the sizes of the gaps.
	const least = 1e3 // smaller gaps are equal
	gaps := make([]float64, n-1)
	for i := range gaps {
		gaps[i] = max(least, times[i+1]-times[i])
	}
	sorted := slices.Sorted(slices.Values(gaps))
	step, limit := 3.0, 0.0
	for i := 1; i < len(sorted); i++ {
		if r := sorted[i] / sorted[i-1]; r > step {
			step, limit = r, sorted[i-1]
		}
	}
	if limit == 0 {
		return a, false
	}
	var starts, sizes, spans Sample
	begin, last := 0, -1.0
	for i := range n {
		if i < n-1 && gaps[i] <= limit {
			continue
		}
		if last >= 0 {
			starts.Add(times[begin] - last)
		}
		last = times[begin]
		sizes.Add(float64(i + 1 - begin))
		spans.Add(times[i] - times[begin])
		begin = i + 1
	}
	every := starts.Mean()
	if sizes.N < 3 || sizes.sum < 9 || sizes.Mean() < 1.8 || sizes.variation2() > 0.04 || starts.variation2() > 0.0025 || spans.Mean() > every/2 {
		return a, false
	}
	return burst(slices.Max(sizes.Values), times[0], spans.Mean(), every)
}

// fitOnOff fits an interrupted Poisson process to the intervals between requests. These are hyperexponential
// with two phases, from which the rates of the process follow (Kuczura, "The Interrupted Poisson Process as an
// Overflow Process", 1973). The phases are found by expectation maximization.
func fitOnOff(gaps []float64, durationNs int64) (a Arrivals, ok bool) {
	mean := 0.0
	for _, x := range gaps {
		mean += x / float64(len(gaps))
	}
	if mean <= 0 {
		return a, false
	}
	p, fast, slow := 0.9, 5/mean, 0.2/mean
	for range 300 {
		weight, inFast, inSlow := 0.0, 0.0, 0.0
		for _, x := range gaps {
			f, s := p*fast*math.Exp(-fast*x), (1-p)*slow*math.Exp(-slow*x)
			r := 0.0
			if f > 0 {
				r = f / (f + s)
			}
			weight += r
			inFast += r * x
			inSlow += (1 - r) * x
		}
		rest := float64(len(gaps)) - weight
		if weight < 1 || rest < 1 || inFast <= 0 || inSlow <= 0 {
			return a, false
		}
		p, fast, slow = weight/float64(len(gaps)), weight/inFast, rest/inSlow
	}
	if fast < 3*slow {
		return a, false
	}
	on := p*fast + (1-p)*slow
	begin := fast * slow / on
	end := fast + slow - on - begin
	if !(begin > 0 && end > 0) || 1/begin > float64(durationNs) || 1/end > float64(durationNs) {
		return a, false
	}
	gain := 0.0
	for _, x := range gaps {
		gain += math.Log(p*fast*math.Exp(-fast*x)+(1-p)*slow*math.Exp(-slow*x)) + x/mean + math.Log(mean)
	}
	d := func(perNs float64) any {
		return map[string]any{"exponential": map[string]any{"mean": Duration(max(1, 1/perNs))}}
	}
	return Arrivals{Value: map[string]any{"onOff": map[string]any{"rate": rate(on * 1e9), "on": d(end), "off": d(begin)}}, Gain: gain,
		Text: fmt.Sprintf("on-off, %s for %s, pauses of %s", rate(on*1e9), Duration(1/end), Duration(1/begin))}, true
}

// segment is a part of the time in which the rate is constant.
type segment struct {
	lengthNs int64
	n        int64 // first attempts
}

// segments divides the time into parts of constant rates. Each change must increase the logarithm of the
// likelihood of the counts, if they were those of a Poisson process, by 2·ln(bins) times the dispersion
// (optimal partitioning: Jackson and others, "An Algorithm for Optimal Partitioning of Data on an Interval",
// 2005).
func (o *Observations) segments(dispersion float64) []segment {
	penalty := 2 * math.Log(bins) * dispersion
	before := make([]float64, bins+1) // cumulative counts
	for i, n := range o.bins {
		before[i+1] = before[i] + float64(n)
	}
	cost := make([]float64, bins+1)
	from := make([]int, bins+1)
	cost[0] = -penalty
	for j := 1; j <= bins; j++ {
		cost[j] = math.Inf(1)
		for i := range j {
			c := cost[i] + penalty
			if n := before[j] - before[i]; n > 0 {
				c -= n * math.Log(n/float64(j-i))
			}
			if c < cost[j] {
				cost[j], from[j] = c, i
			}
		}
	}
	var all []segment
	at := func(i int) int64 { return int64(math.Round(float64(o.durationNs) * float64(i) / bins)) }
	for j := bins; j > 0; j = from[j] {
		all = append(all, segment{at(j) - at(from[j]), int64(before[j] - before[from[j]])})
	}
	slices.Reverse(all)
	return all
}

// changes returns how much greater the logarithm of the likelihood of the arrivals is with the rates of the segments
// than with one rate.
func (o *Observations) changes(segments []segment, startNs, endNs int64) (gain float64) {
	for _, s := range segments {
		if s.n > 0 {
			gain += float64(s.n) * math.Log(float64(s.n)/float64(o.First)*float64(max(1, endNs-startNs))/float64(s.lengthNs))
		}
	}
	return gain
}

// active returns the segments between the first and the last requests, and when they begin and end.
func (o *Observations) active(dispersion float64) (segments []segment, startNs, endNs int64) {
	segments, endNs = o.segments(dispersion), o.durationNs
	if first := segments[0]; first.n == 0 && len(segments) > 1 {
		segments = segments[1:]
		gap := max(1, segments[0].lengthNs/max(1, segments[0].n))
		startNs = first.lengthNs + min(segments[0].lengthNs-1, max(0, o.firstNs-gap-first.lengthNs))
		segments[0].lengthNs -= startNs - first.lengthNs
	}
	if last := len(segments) - 1; last > 0 && segments[last].n == 0 {
		silent := segments[last].lengthNs
		segments = segments[:last]
		gap := max(1, segments[last-1].lengthNs/max(1, segments[last-1].n))
		endNs = min(o.durationNs, o.endNs+gap)
		segments[last-1].lengthNs = max(1, segments[last-1].lengthNs+endNs-(o.durationNs-silent))
	}
	return merged(segments), startNs, endNs
}

// merged joins neighbours whose rates do not differ by more than chance: those at the bounds can be such, because
// the workload began or ended within a bin.
func merged(segments []segment) []segment {
	joined := segments[:1]
	for _, b := range segments[1:] {
		a := &joined[len(joined)-1]
		n, m := float64(a.n), float64(b.n)
		share := float64(a.lengthNs) / float64(a.lengthNs+b.lengthNs)
		if expected := (n + m) * share; math.Abs(n-expected) <= 4*math.Sqrt((n+m)*share*(1-share)) {
			a.n += b.n
			a.lengthNs += b.lengthNs
			continue
		}
		joined = append(joined, b)
	}
	return joined
}

// Dispersion returns the index of dispersion of the counts of first attempts between two moments, the second
// of which may be 0 for the end: their variance by their mean.
func (o *Observations) Dispersion(startNs, endNs int64) float64 {
	if endNs == 0 {
		endNs = o.durationNs
	}
	var s Sample
	for i, n := range o.bins {
		if at := func(i int) int64 { return int64(float64(o.durationNs) * float64(i) / bins) }; at(i) >= startNs && at(i+1) <= endNs {
			s.Add(float64(n))
		}
	}
	return s.variation2() * s.Mean()
}

// localDispersion is the dispersion by the differences of neighbours, on which slow changes of the rate have
// little effect.
func (o *Observations) localDispersion() float64 {
	sum := 0.0
	for i := 1; i < bins; i++ {
		d := float64(o.bins[i] - o.bins[i-1])
		sum += d * d / 2
	}
	return sum * bins / (bins - 1) / float64(max(1, o.First))
}
