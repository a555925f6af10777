package randomscenario

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// given says whether the scenario gives the executions: nothing that happens at the servers changes them.
func given(spec *scenario.Spec) bool {
	return spec.Store == nil && spec.Servers.Capacity == nil && !spec.Servers.Handover.IsSet() && !slices.ContainsFunc(spec.Workload, func(w workload.Workload) bool {
		return w.Delay.IsSet() || w.ClientTimeout.IsSet() || slices.ContainsFunc(w.Requests, func(r workload.WeightedRequest) bool { return len(r.Calls) > 0 })
	})
}

// kind is what requests have in common whose mean counts for those that have not been executed.
type kind struct{ workload, verb, group, resource, subresource string }

func (l *Line) kind() kind {
	if l.Resource == "" {
		return kind{workload: l.Workload, verb: l.Verb}
	}
	return kind{l.Workload, l.Verb, l.APIGroup, l.Resource, l.Subresource}
}

// mean is a sum of so many.
type mean struct{ sum, n float64 }

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func (m *mean) value() float64 { return m.sum / m.n }

// flowOfLog is the requests of a flow, and what it was served, demanded and was entitled to in the window, by the log: in
// seat-seconds.
type flowOfLog struct {
	level, name            string
	lines                  []int
	service, demand, share float64
	summed                 *float64 // the ratio in the summary, once it has been compared
}

// ratio returns the service divided by the fair share; not ok without a share.
func (f *flowOfLog) ratio() (ratio float64, ok bool) {
	if f.summed != nil {
		return *f.summed, true
	}
	return f.service / f.share, f.share > 0
}

// flowsOfLog returns all flows, by flowKey.
func (c *check) flowsOfLog() map[string]*flowOfLog {
	flows, levels := map[string]*flowOfLog{}, map[string][]*flowOfLog{}
	for i := range c.lines {
		l := &c.lines[i]
		if l.Flow == "" {
			continue
		}
		key := flowKey(l.PriorityLevel, l.Flow)
		f := flows[key]
		if f == nil {
			f = &flowOfLog{level: l.PriorityLevel, name: l.Flow}
			flows[key] = f
			levels[f.level] = append(levels[f.level], f)
		}
		f.lines = append(f.lines, i)
		f.service += c.stays[i].occupiedNs(c.fromNs, c.toNs)
	}
	c.demands(flows)
	for _, f := range flows { // the sums of nanoseconds are exact
		f.service, f.demand = f.service/1e9, f.demand/1e9
	}
	for _, all := range levels {
		shareFairly(all)
	}
	return flows
}

// occupied returns the seat-nanoseconds of a request that has been executed: its server may have ended since.
func (c *check) occupied(i int) float64 {
	l := &c.lines[i]
	return float64(c.stays[i].seats) * float64(*l.FinishNs-*l.DispatchNs+l.AdditionalLatencyNs)
}

// asksFor returns the seat-nanoseconds of a request by what was estimated when it arrived.
func (s *stay) asksFor() float64 {
	return float64(s.asked) * float64(s.executionNs+s.additionalLatencyNs)
}

// demands sets the demands of the flows, in seat-nanoseconds.
func (c *check) demands(flows map[string]*flowOfLog) {
	// Means by flow and kind, by level and kind, by flow, and by level.
	means := map[any]*mean{}
	type ofKind struct {
		name string
		kind
	}
	type ofLevel string
	keysOf := func(l *Line) []any {
		flow := flowKey(l.PriorityLevel, l.Flow)
		return []any{ofKind{flow, l.kind()}, ofKind{"level " + l.PriorityLevel, l.kind()}, flow, ofLevel(l.PriorityLevel)}
	}
	for i := range c.lines {
		if l := &c.lines[i]; l.Flow != "" && l.ArrivalNs >= c.fromNs && l.Outcome == "executed" {
			for _, key := range keysOf(l) {
				if means[key] == nil {
					means[key] = &mean{}
				}
				means[key].add(c.occupied(i))
			}
		}
	}
	given := given(&c.ran.Scenario.Spec)
	for i := range c.lines {
		l, s := &c.lines[i], &c.stays[i]
		if l.Flow == "" || l.ArrivalNs < c.fromNs {
			continue
		}
		f := flows[flowKey(l.PriorityLevel, l.Flow)]
		switch {
		case given && l.Outcome == "executed":
			f.demand += float64(s.asked) * float64(*l.FinishNs-*l.DispatchNs+s.additionalLatencyNs)
		case given:
			f.demand += s.asksFor()
		case l.Outcome == "executed":
			f.demand += c.occupied(i)
		default:
			x := s.asksFor()
			for _, key := range keysOf(l) {
				if m := means[key]; m != nil {
					x = m.value()
					break
				}
			}
			if l.Outcome == "executing" {
				x = max(x, s.occupiedNs(0, c.toNs))
			}
			f.demand += x
		}
	}
}

// shareFairly sets the fair shares of the flows of a level: there is a height that no share exceeds, and each flow has its
// demand or that much.
func shareFairly(flows []*flowOfLog) {
	slices.SortFunc(flows, func(a, b *flowOfLog) int { return cmp.Compare(a.demand, b.demand) })
	total, lower := 0.0, 0.0
	for _, f := range flows {
		total += f.service
	}
	height := math.Inf(1)
	for i, f := range flows {
		if even := (total - lower) / float64(len(flows)-i); even < f.demand {
			height = even
			break
		}
		lower += f.demand
	}
	for _, f := range flows {
		f.share = min(f.demand, height)
	}
}

// fairOfLog is the indexes of a level's fairness.
type fairOfLog struct {
	n                      int
	jain, maxError, least  float64
	sumOfRatios, ofSquares float64
}

func (f *fairOfLog) add(service, share float64) {
	if share <= 0 {
		return
	}
	ratio := service / share
	if f.n == 0 || ratio < f.least {
		f.least = ratio
	}
	f.n++
	f.maxError = max(f.maxError, math.Abs(ratio-1))
	f.sumOfRatios, f.ofSquares = f.sumOfRatios+ratio, f.ofSquares+ratio*ratio
	f.jain = f.sumOfRatios * f.sumOfRatios / (float64(f.n) * f.ofSquares)
}

// fairnessOf returns the indexes of a level.
func (c *check) fairnessOf(level string) (fair fairOfLog) {
	for _, key := range slices.Sorted(maps.Keys(c.flows)) {
		if f := c.flows[key]; f.level == level {
			fair.add(f.service, f.share)
		}
	}
	return fair
}

// fairness compares services, demands, fair shares, their ratios and the indexes with those of the log.
func (c *check) fairness() {
	if len(c.flows) != len(c.ran.Flows) {
		c.fail("%d flows, in the log %d", len(c.ran.Flows), len(c.flows))
	}
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		key := flowKey(f.PriorityLevel, f.Name)
		want := c.flows[key]
		if want == nil {
			c.fail("flow %s is not in the log", key)
			continue
		}
		c.near("service of "+key, f.ServiceSeatSeconds, want.service)
		c.near("demand of "+key, f.DemandSeatSeconds, want.demand)
		c.near("fair share of "+key, f.FairShareSeatSeconds, want.share)
		ratio, ok := want.ratio()
		if (f.Ratio != nil) != ok {
			c.fail("flow %s: a ratio is there: %v, want %v", key, f.Ratio != nil, ok)
		} else if ok {
			c.near("ratio of "+key, *f.Ratio, ratio)
		}
		if len(c.found) == 0 { // the last digits decide where a value is at a limit, or in the middle between two texts
			want.service, want.demand, want.share, want.summed = f.ServiceSeatSeconds, f.DemandSeatSeconds, f.FairShareSeatSeconds, f.Ratio
		}
	}
	for i := range c.ran.Result.Summary.PriorityLevels {
		l := &c.ran.Result.Summary.PriorityLevels[i]
		got, want := l.Fairness, c.fairnessOf(l.Name)
		if (got != nil) != (want.ofSquares > 0) {
			c.fail("level %s: fairness %+v, of the log %+v", l.Name, got, want)
		}
		if got == nil {
			continue
		}
		if got.Flows != want.n {
			c.fail("level %s: fairness of %d flows, of the log %d", l.Name, got.Flows, want.n)
		}
		c.near("Jain's index of "+l.Name, got.Jain, want.jain)
		c.near("max-min error of "+l.Name, got.MaxMinError, want.maxError)
		c.near("least ratio of "+l.Name, got.LeastRatio, want.least)
		if f := c.flows[flowKey(l.Name, got.LeastRatioFlow)]; f == nil || f.share <= 0 || !isNear(f.service/f.share, want.least) {
			c.fail("level %s: the least ratio is that of %q, of the log %+v", l.Name, got.LeastRatioFlow, f)
		}
	}
}

// fairnessSeries compares Jain's index in each interval of the series of a level. The demand of a flow is what is
// outstanding at the beginning of the interval and what is expected of the requests that arrive in it, at least what the flow
// was served in it.
func (c *check) fairnessSeries(s *result.Series, lines []int) {
	expected, at := c.expectations(lines)
	eachNs := c.eachNs()
	byFlow := map[string][]int{}
	for _, i := range lines {
		if l := &c.lines[i]; l.Flow != "" {
			byFlow[l.Flow] = append(byFlow[l.Flow], i)
		}
	}
	names := slices.Sorted(maps.Keys(byFlow))
	for interval := range s.Points {
		fromNs := int64(interval) * eachNs
		toNs := min(fromNs+eachNs, c.toNs)
		var flows []*flowOfLog
		for _, name := range names {
			f := &flowOfLog{name: name, demand: c.outstanding(byFlow[name], fromNs, at)}
			for _, i := range byFlow[name] {
				f.service += c.stays[i].occupiedNs(fromNs, toNs)
				if ns := c.stays[i].arrivedNs; fromNs <= ns && ns < toNs {
					f.demand += expected[i]
				}
			}
			f.demand = max(f.demand, f.service)
			flows = append(flows, f)
		}
		shareFairly(flows)
		var want fairOfLog
		for _, f := range flows {
			want.add(f.service, f.share)
		}
		got := s.Points[interval].Jain
		if (got != nil) != (want.ofSquares > 0) || got != nil && !isNear(*got, want.jain) {
			index := math.NaN()
			if got != nil {
				index = *got
			}
			c.fail("series of level %s, interval %d: Jain's index %v, of the log %+v", s.Level, interval, index, want)
		}
	}
}

// meansAt returns what a request of a kind is expected to occupy, by what is known before a time.
type meansAt func(k kind, ns int64) (seatNs float64)

// expectations returns what each request of a level was expected to occupy when it arrived, by line, and what others of
// its kind would have been at other times: if the scenario gives the executions, what it says; otherwise the mean of the
// requests of the kind that have been executed up to then, or, before the first, the mean of what the scenario says of
// those that have arrived.
func (c *check) expectations(lines []int) (map[int]float64, meansAt) {
	expected := map[int]float64{}
	if given(&c.ran.Scenario.Spec) {
		for _, i := range lines {
			expected[i] = c.stays[i].asksFor()
		}
		return expected, nil
	}
	type change struct {
		atNs int64
		mean float64
	}
	history := map[kind][]change{}
	arrived, executed := map[kind]mean{}, map[kind]mean{}
	is := map[int64]bool{}
	for _, i := range lines {
		is[int64(i)] = true
	}
	for _, e := range c.ran.Seen.Requests {
		l := &c.lines[e.Line]
		if !is[e.Line] {
			continue
		}
		k, of := l.kind(), executed
		x := 0.0
		switch e.What {
		case Arrived:
			of, x = arrived, c.stays[e.Line].asksFor()
		case Executed, Initialised:
			x = c.occupied(int(e.Line))
		default:
			continue
		}
		m := of[k]
		m.add(x)
		of[k] = m
		now := arrived[k]
		if m := executed[k]; m.n > 0 {
			now = m
		}
		history[k] = append(history[k], change{e.AtNs, now.value()})
		if e.What == Arrived {
			expected[int(e.Line)] = now.value()
		}
	}
	return expected, func(k kind, ns int64) float64 {
		n, _ := slices.BinarySearchFunc(history[k], ns, func(h change, ns int64) int { return cmp.Compare(h.atNs, ns) })
		if n == 0 {
			return 0
		}
		return history[k][n-1].mean
	}
}

// outstanding returns what the requests of a flow that are present at a time are still to occupy. means is nil if the
// scenario gives the executions.
func (c *check) outstanding(lines []int, ns int64, means meansAt) float64 {
	if means == nil {
		return c.outstandingOfGiven(lines, ns)
	}
	type ofKind struct{ waiting, executing, occupied float64 }
	kinds := map[kind]ofKind{}
	for _, i := range lines {
		s := &c.stays[i]
		if s.arrivedNs >= ns || s.releasedNs < ns {
			continue
		}
		k := c.lines[i].kind()
		of := kinds[k]
		if c.lines[i].DispatchNs != nil && s.dispatchedNs < ns {
			of.executing++
			of.occupied += s.occupiedNs(0, ns)
		} else {
			of.waiting++
		}
		kinds[k] = of
	}
	sum := 0.0
	for k, of := range kinds {
		mean := means(k, ns)
		sum += of.waiting*mean + max(0, of.executing*mean-of.occupied)
	}
	return sum
}

// outstandingOfGiven is outstanding if the scenario gives the executions. What dispatch has cut off final phases is
// outstanding until the flow has no requests.
func (c *check) outstandingOfGiven(lines []int, ns int64) float64 {
	sum, present := 0.0, 0
	type change struct {
		atNs  int64
		delta int
	}
	var changes []change
	for _, i := range lines {
		l, s := &c.lines[i], &c.stays[i]
		if s.arrivedNs < ns {
			changes = append(changes, change{s.arrivedNs, 1})
		}
		if s.releasedNs < ns {
			changes = append(changes, change{s.releasedNs, -1})
		}
		if s.arrivedNs >= ns || s.releasedNs < ns {
			continue
		}
		present++
		switch {
		case l.DispatchNs == nil || s.dispatchedNs >= ns:
			sum += s.asksFor()
		case l.FinishNs != nil && *l.FinishNs < ns:
			sum += float64(s.seats) * float64(*l.FinishNs+l.AdditionalLatencyNs-ns)
		default:
			sum += float64(s.seats) * float64(s.executionNs+l.AdditionalLatencyNs-(ns-s.dispatchedNs))
		}
	}
	if present == 0 {
		return 0
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.atNs, b.atNs), -cmp.Compare(a.delta, b.delta)) })
	n, sinceNs := 0, int64(0) // since when there have been requests
	for _, d := range changes {
		if n == 0 {
			sinceNs = d.atNs
		}
		n += d.delta
	}
	for _, i := range lines {
		if l, s := &c.lines[i], &c.stays[i]; l.DispatchNs != nil && s.arrivedNs >= sinceNs && s.dispatchedNs < ns {
			sum += s.asksFor() - float64(s.seats)*float64(s.executionNs+l.AdditionalLatencyNs)
		}
	}
	return max(0, sum)
}
