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
	// Gain is the increase of the log-likelihood of the arrivals over a Poisson process with one rate; infinite if
	// arrivals are not random.
	Gain     float64
	Notes    []string
	periodNs float64 // of the requests of a client, if they are constant
}

// What an arrival process must be to be chosen.
const (
	constantVariation = 0.25 // greatest squared coefficient of variation of constant intervals
	burstyVariation   = 1.5  // least one, and least index of dispersion, of an on-off process
	bursty            = 50   // least number of intervals of one
	mostSegments      = 12   // with more changes of the rate, an on-off process is preferred
	mostStages        = 32   // with more, those of the finest changes are as good
)

// FitArrivals chooses the process of a workload's first attempts: bursts if they come in groups of equal size
// at equal distances; closed if a client sends the less the more of its requests are in progress; constant if the intervals
// between a client's requests are nearly equal. The others are random: Poisson, on-off, or with a rate that changes. Of
// these, it is the first whose counts vary as those of the first attempts do.
func (o *Observations) FitArrivals() Arrivals {
	if o.fitted == nil {
		a := o.fit()
		o.fitted = &a
	}
	a := *o.fitted
	a.Notes = slices.Clone(a.Notes)
	return a
}

func (o *Observations) fit() Arrivals {
	if o.First == 0 { // the log begins after the first attempts
		a := poissonArrivals(float64(o.Again) / o.seconds(0, o.durationNs))
		a.Notes = append(a.Notes, "no first attempt is in the log; every attempt counts as one")
		return a
	}
	var candidates []Arrivals
	if a, ok := o.fitBursts(); ok {
		a.Gain = math.Inf(1)
		if o.distance(&a) <= acceptable {
			return a
		}
		candidates = append(candidates, a)
	}
	local := o.localDispersion()
	segments, startNs, endNs := o.active(max(1, local))
	a, ok := o.fitClosed(segments, startNs, endNs)
	if v := o.gaps.variance(); ok && !(v < constantVariation*o.gaps.Mean()*o.gaps.Mean() && v < o.think.variance()) {
		return o.between(a, startNs, endNs)
	}
	for _, a := range o.fitOpen(segments, local, startNs, endNs) {
		candidates = append(candidates, o.between(a, startNs, endNs))
	}
	return o.choose(candidates)
}

// between sets when the workload begins and ends.
func (o *Observations) between(a Arrivals, startNs, endNs int64) Arrivals {
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

// fitOpen fits the processes that do not depend on the responses, the simpler ones first.
func (o *Observations) fitOpen(segments []segment, local float64, startNs, endNs int64) (all []Arrivals) {
	perClient := float64(o.First) / o.seconds(startNs, endNs)
	variation, n := o.gaps.variation2(), o.gaps.N
	one := len(segments) == 1
	if n >= fewest && variation < constantVariation && one && o.evenly(startNs, endNs) {
		perClient = 1e9 / o.gaps.Mean()
		return []Arrivals{{Value: map[string]any{"constant": map[string]any{"rate": rate(perClient)}}, Text: "constant, " + rate(perClient),
			Gain: math.Inf(1), periodNs: o.gaps.Mean()}}
	}
	if one {
		a := poissonArrivals(perClient)
		switch d := o.Dispersion(startNs, endNs); {
		case o.First >= bursty && d > 2:
			a.Notes = append(a.Notes, fmt.Sprintf("the counts vary more than those of the fitted process; their index of dispersion is %.3g", d))
		case n >= bursty && variation < 0.6:
			a.Notes = append(a.Notes, fmt.Sprintf("the intervals vary less than those of a Poisson process, and more than equal ones; their squared coefficient of variation is %.2g", variation))
		}
		all = append(all, a)
	}
	if n >= bursty && variation > burstyVariation && o.Dispersion(startNs, endNs) > burstyVariation {
		all = append(all, o.fitOnOff(startNs, endNs)...)
	}
	coarse := o.ramping(segments, local, startNs, endNs)
	if simple := len(segments) <= mostSegments; !one && simple {
		all = append([]Arrivals{coarse}, all...)
	} else if !one && len(segments) <= mostStages {
		all = append(all, coarse)
	}
	blocks, changes := o.blocks(startNs, endNs), 1
	for _, significance := range []float64{1, 1. / 2, 1. / 4} { // a rate that changes all the time needs more than is significant
		if parts := partition(blocks, startNs, significance*changePenalty); len(parts) > changes {
			all, changes = append(all, o.ramping(parts, local, startNs, endNs)), len(parts)
		}
	}
	if len(all) == 0 { // many changes that are not significant one by one
		all = append(all, poissonArrivals(perClient))
	}
	return all
}

// ramping returns the process whose rate changes from segment to segment.
func (o *Observations) ramping(segments []segment, local float64, startNs, endNs int64) Arrivals {
	var stages []any
	ramping := map[string]any{}
	least, most := math.Inf(1), 0.0
	beginNs := startNs
	for i, s := range segments {
		r := float64(s.n) / o.seconds(0, s.lengthNs)
		change := r * s.slope(beginNs) / 2 // from the middle
		beginNs += s.lengthNs
		least, most = min(least, r-math.Abs(change)), max(most, r+math.Abs(change))
		if i > 0 {
			stages = append(stages, map[string]any{"duration": "0s", "rate": rate(r - change)})
		} else {
			ramping["startRate"] = rate(r - change)
		}
		stages = append(stages, map[string]any{"duration": Duration(float64(s.lengthNs)), "rate": rate(r + change)})
	}
	ramping["stages"] = stages
	process := "Poisson"
	if local < 0.5 && len(o.Clients) == 1 && o.First > 2*bins {
		ramping["process"], process = "constant", "constant"
	}
	return Arrivals{Value: map[string]any{"ramping": ramping}, Gain: o.changes(segments, startNs, endNs) - changePenalty*float64(len(segments)-1),
		Text: fmt.Sprintf("%s, %d rates from %s to %s", process, len(segments), rate(least), rate(most))}
}

// evenly says whether the clients sent requests during the whole time at the mean interval, as far as the number of
// requests shows.
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

// segment is a part of the time in which the rate is constant.
type segment struct {
	lengthNs int64
	n        int64   // first attempts
	sumNs    float64 // of their times, by the middles of fine bins; 0 if it is not known
}

// slope returns how much the rate of the segment, which begins at a time, changes from its begin to its end, as a part of
// its mean; 0 if that may be by chance. It follows from the mean of the times, which has a standard deviation of length/√12n
// at a constant rate.
func (s *segment) slope(beginNs int64) float64 {
	if s.n == 0 {
		return 0
	}
	const significant = 2
	late := s.late(beginNs)
	if math.Abs(late) < significant/math.Sqrt(12*float64(s.n)) {
		return 0
	}
	return 12 * late
}

// late returns how far the mean arrival time lies behind the middle of the segment, as a part of its length. It is at
// most 1/6, which is the value of a rate that grows linearly from 0.
func (s *segment) late(beginNs int64) float64 {
	if s.n == 0 || s.sumNs == 0 {
		return 0
	}
	late := (s.sumNs/float64(s.n)-float64(beginNs))/float64(s.lengthNs) - 0.5
	return max(-1./6, min(1./6, late))
}

// changePenalty is the increase of the log-likelihood of the counts that a change of the rate must bring.
var changePenalty = 2 * math.Log(bins)

// segments divides the time into parts of constant rates. Each change must increase the logarithm of the
// likelihood of the counts, if they were those of a Poisson process, by changePenalty times the dispersion.
func (o *Observations) segments(dispersion float64) []segment {
	blocks := make([]segment, bins)
	at := func(i int) int64 { return int64(math.Round(float64(o.durationNs) * float64(i) / bins)) }
	for i, n := range o.bins {
		blocks[i] = segment{lengthNs: at(i+1) - at(i), n: n}
	}
	return partition(blocks, 0, changePenalty*dispersion)
}

// partition joins neighbouring blocks, the first of which begins at a time, so that the logarithm of the likelihood of their counts less the penalty of each
// change is greatest (optimal partitioning: Jackson and others, "An Algorithm for Optimal Partitioning of Data on an
// Interval", 2005).
func partition(blocks []segment, beginNs int64, penalty float64) (all []segment) {
	n := len(blocks)
	before := make([]segment, n+1) // the sums of the blocks before each
	for i, b := range blocks {
		before[i+1] = segment{before[i].lengthNs + b.lengthNs, before[i].n + b.n, before[i].sumNs + b.sumNs}
	}
	cost := make([]float64, n+1)
	from := make([]int, n+1)
	cost[0] = -penalty
	for j := 1; j <= n; j++ {
		cost[j] = math.Inf(1)
		for i := range j {
			s := segment{before[j].lengthNs - before[i].lengthNs, before[j].n - before[i].n, before[j].sumNs - before[i].sumNs}
			if c := cost[i] + penalty - s.likelihood(beginNs+before[i].lengthNs); c < cost[j] {
				cost[j], from[j] = c, i
			}
		}
	}
	for j := n; j > 0; j = from[j] {
		var joined segment
		for _, b := range blocks[from[j]:j] {
			joined.lengthNs += b.lengthNs
			joined.n += b.n
			joined.sumNs += b.sumNs
		}
		all = append(all, joined)
	}
	slices.Reverse(all)
	return all
}

// likelihood returns the logarithm of the likelihood of a segment that begins at a time, in which the rate changes linearly
// if the times of its requests are known.
func (s *segment) likelihood(beginNs int64) float64 {
	late := s.late(beginNs)
	return likelihood(float64(s.n), float64(s.lengthNs)) + 6*float64(s.n)*late*late
}

// likelihood returns the greatest log-likelihood of a count of a Poisson process, without the terms that do not depend
// on how the time is divided.
func likelihood(n, length float64) float64 {
	if n == 0 {
		return 0
	}
	return n * math.Log(n/length)
}

// Of blocks: their number, and the first penalty of a division.
const (
	mostBlocks   = 1024
	blockPenalty = 2.0
)

// blocks returns parts of the time between two moments in which the rate is constant, of lengths that are as short as the
// arrivals show: a burst of a few requests is one. The time is divided into halves as long as this increases the likelihood
// (Kolaczyk and Nowak, "Multiscale Likelihood Analysis and Complexity Penalized Estimation", 2004). There are few where
// the rate is steady, so that it does not take long to join those that differ by chance.
func (o *Observations) blocks(startNs, endNs int64) (all []segment) {
	var ends []int
	for penalty := blockPenalty; ends == nil || len(ends) > mostBlocks; penalty *= 2 {
		_, _, ends = o.halves(0, fineBins, penalty)
	}
	from := 0
	at := func(i int) int64 { return int64(math.Round(float64(o.durationNs) * float64(i) / fineBins)) }
	for _, to := range ends {
		b := segment{lengthNs: min(at(to), endNs) - max(at(from), startNs)}
		for i, n := range o.fine[from:to] {
			b.n += int64(n)
			b.sumNs += float64(n) * (float64(from+i) + 0.5) / fineBins * float64(o.durationNs)
		}
		from = to
		if b.lengthNs > 0 {
			all = append(all, b)
		}
	}
	return all
}

// halves divides a part of the fine bins. It returns the count, the logarithm of the likelihood less the penalties, and
// where the parts end.
func (o *Observations) halves(from, to int, penalty float64) (n, gain float64, ends []int) {
	if to-from == 1 {
		n = float64(o.fine[from])
		return n, likelihood(n, 1), []int{to}
	}
	middle := (from + to) / 2
	left, leftGain, ends := o.halves(from, middle, penalty)
	right, rightGain, more := o.halves(middle, to, penalty)
	n = left + right
	whole := likelihood(n, float64(to-from))
	if divided := leftGain + rightGain - penalty; n > 1 && divided > whole {
		return n, divided, append(ends, more...)
	}
	return n, whole, []int{to}
}

// changes returns the increase of the log-likelihood of the arrivals when they have the rates of the segments instead
// of one rate.
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

// merged joins neighbouring segments whose rates differ by no more than chance. The first and last segments can be
// such, because the workload began or ended within a bin.
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
