package collect

import (
	"slices"

	"apfsim/core/classify"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// The demand of a flow is the seat-seconds that its requests occupy. Where the scenario gives the executions, each request
// says when it arrives what it will occupy. Where executions follow from what the servers do, because they have a store or
// share a machine, or because of calls, delays or clients that give up, that is only known of a request that has been
// executed: demand is then measured, and the other requests count with the mean of their kind.

// measuresDemand says whether executions in a run of the scenario can take other times than the scenario gives.
func measuresDemand(spec *scenario.Spec) bool {
	return spec.Store != nil || spec.Servers.Capacity.IsSet() || spec.Servers.Handover.IsSet() || slices.ContainsFunc(spec.Workload, func(w workload.Workload) bool {
		return w.Delay.IsSet() || w.ClientTimeout.IsSet() || slices.ContainsFunc(w.Requests, func(r workload.WeightedRequest) bool { return len(r.Calls) > 0 })
	})
}

// kindKey identifies a kind of requests: the workload, the verb and the resource, which is empty for requests without
// one.
type kindKey struct {
	workload                           int
	verb, group, resource, subresource string
}

func kindKeyOf(t *server.Template) kindKey {
	a := &t.Attributes
	if !a.IsResource() {
		return kindKey{workload: t.Workload, verb: a.Verb}
	}
	return kindKey{t.Workload, a.Verb, a.APIGroup, a.Resource, a.Subresource}
}

// kinds numbers the kinds of requests, from 1.
type kinds struct {
	numbers     map[kindKey]int32
	byTemplate  []int32         // by TemplateID; 0 if not known
	replaceable []numberedOfOne // by minus the TemplateID
}

// numberedOfOne is the kind of a replaceable template. It holds only as long as the attributes are those of the present
// template.
type numberedOfOne struct {
	attributes *classify.Attributes
	kind       int32
}

// kindOf returns the kind of a request.
func (ks *kinds) kindOf(r *server.Request) int32 {
	if id := int(r.TemplateID); id > 0 && id < len(ks.byTemplate) && ks.byTemplate[id] != 0 {
		return ks.byTemplate[id]
	}
	return ks.find(r)
}

// find is kindOf for a request whose kind is not in byTemplate.
func (ks *kinds) find(r *server.Request) int32 {
	if id := int(r.TemplateID); id >= 0 { // 0 is of templates that are not of a run
		for len(ks.byTemplate) <= id {
			ks.byTemplate = append(ks.byTemplate, 0)
		}
		ks.byTemplate[id] = ks.number(kindKeyOf(r.Template))
		return ks.byTemplate[id]
	}
	id := -int(r.TemplateID)
	for len(ks.replaceable) <= id {
		ks.replaceable = append(ks.replaceable, numberedOfOne{})
	}
	known, a := &ks.replaceable[id], &r.Attributes
	if b := known.attributes; b == nil || b != a && (a.Verb != b.Verb || a.Resource != b.Resource || a.Subresource != b.Subresource || a.APIGroup != b.APIGroup) {
		known.kind = ks.number(kindKeyOf(r.Template))
	}
	known.attributes = a
	return known.kind
}

func (ks *kinds) number(key kindKey) int32 {
	n, ok := ks.numbers[key]
	if !ok {
		if ks.numbers == nil {
			ks.numbers = map[kindKey]int32{}
		}
		n = int32(len(ks.numbers) + 1)
		ks.numbers[key] = n
	}
	return n
}

// kindUsage sums what the executed requests of one kind, or of several, have occupied. It counts requests that arrived
// in the window.
type kindUsage struct {
	measured int64   // requests that have been executed
	seatNs   float64 // that these have occupied
	serveNs  float64 // from their arrivals to the ends of their executions, summed
}

func (o *kindUsage) add(seatNs float64, serveNs int64) {
	o.measured++
	o.seatNs += seatNs
	o.serveNs += float64(serveNs)
}

func (o *kindUsage) mean() float64 { return o.seatNs / float64(o.measured) }

// flowKind is the part of a flow that is of one kind of requests.
type flowKind struct {
	kindUsage
	kind    int32
	arrived int64 // in the window
	holding []holding

	// Those that are present, for the series: how many wait and how many hold seats, and the seat-nanoseconds that the
	// latter have occupied since they were dispatched.
	waiting, seated int32
	held            integral
}

// holding is a request that arrived in the window and executes at the end of the run, in seat-nanoseconds.
type holding struct {
	occupied float64 // so far
	given    float64 // by the scenario
}

// takeSeats counts the dispatch of a request that waited.
func (k *flowKind) takeSeats(nowNs int64, seats int) {
	k.waiting--
	k.seated++
	k.held.add(nowNs, seats)
}

// leave removes a request that was dispatched.
func (k *flowKind) leave(r *server.Request) {
	k.seated--
	k.held.add(r.DispatchNs, -r.SeatsHeld()) // what it has occupied since then is not of those that are present
}

// levelKind is the part of a level that is of one kind of requests.
type levelKind struct {
	kindUsage

	// Since the run began: of the requests that have arrived, what the scenario gives, and of those that have been executed,
	// what they have occupied.
	given, all expectation
}

// expectation is a sum over requests, in seat-nanoseconds.
type expectation struct {
	n      int64
	seatNs float64
}

func (e *expectation) add(seatNs float64) { e.n, e.seatNs = e.n+1, e.seatNs+seatNs }

// expected returns the seat-nanoseconds that a request of the kind is expected to occupy, from the requests so far.
func (k *levelKind) expected() float64 {
	switch {
	case k.all.n > 0:
		return k.all.seatNs / float64(k.all.n)
	case k.given.n > 0:
		return k.given.seatNs / float64(k.given.n)
	}
	return 0
}

// ofKind returns what the flow has of a kind.
func (f *flow) ofKind(kind int32) *flowKind {
	if f.kinds == nil {
		f.kinds = &flowKinds{}
	}
	all := f.kinds.all
	if f.kinds.latest < len(all) && all[f.kinds.latest].kind == kind {
		return &all[f.kinds.latest]
	}
	i := slices.IndexFunc(all, func(k flowKind) bool { return k.kind == kind })
	if i < 0 {
		i = len(all)
		f.kinds.all = append(all, flowKind{kind: kind})
	}
	f.kinds.latest = i
	return &f.kinds.all[i]
}

// flowKinds are the kinds of requests of a flow. Most flows have one.
type flowKinds struct {
	all    []flowKind
	latest int // index of the one that was looked for at last
}

// outstanding returns the seat-nanoseconds that the flow's present requests are still expected to occupy. Requests that
// exceed the expectation count as 0, so that they do not reduce the demand of those that wait.
func (ks *flowKinds) outstanding(nowNs int64, l *level) (sum float64) {
	for i := range ks.all {
		if k := &ks.all[i]; k.waiting > 0 || k.seated > 0 {
			expected := l.ofKind(k.kind).expected()
			sum += float64(k.waiting)*expected + positive(float64(k.seated)*expected-float64(k.held.valueAt(nowNs)))
		}
	}
	return sum
}

// ofKind returns what the level has of a kind.
func (l *level) ofKind(kind int32) *levelKind {
	for len(l.kinds) <= int(kind) {
		l.kinds = append(l.kinds, levelKind{})
	}
	return &l.kinds[kind]
}

// demandOf returns the seat-nanoseconds that a request will occupy if its execution takes what the scenario gives.
func demandOf(r *server.Request) float64 {
	return float64(r.SeatsHeld()) * float64(r.ExecutionNs+r.Work.AdditionalLatencyNs)
}

// unserved returns the seat-nanoseconds that a request of a server that ends would still have occupied.
func unserved(nowNs int64, r *server.Request) float64 {
	finishNs := r.FinishNs
	if finishNs < 0 {
		finishNs = r.DispatchNs + r.ExecutionNs
	}
	return float64(r.SeatsHeld()) * float64(finishNs+r.Work.AdditionalLatencyNs-nowNs)
}

// expect counts an arriving request and returns the seat-nanoseconds that it is expected to occupy. Where demand is
// measured, that is the expectation of its kind.
func (c *Collector) expect(r *server.Request, f *flow) float64 {
	demand := demandOf(r)
	if c.kinds == nil {
		return demand
	}
	kind := c.kinds.kindOf(r)
	k := f.ofKind(kind)
	k.waiting++
	if c.counts(r) {
		k.arrived++
	}
	at := f.level.ofKind(kind)
	at.given.add(demand)
	return at.expected()
}

// occupy counts the seat-nanoseconds that an executed request occupied.
func (c *Collector) occupy(nowNs int64, r *server.Request, f *flow) {
	heldNs := nowNs - r.DispatchNs
	if c.kinds == nil {
		if heldNs != r.ExecutionNs { // the execution ended at its deadline, or waited for a cache
			f.outstanding += float64(r.SeatsHeld()) * float64(heldNs-r.ExecutionNs)
			if c.counts(r) {
				f.demand += float64(r.SeatsWanted()) * float64(heldNs-r.ExecutionNs)
			}
		}
		return
	}
	if r.KeepsSeats() {
		heldNs += r.Work.AdditionalLatencyNs
	}
	seatNs, kind := float64(r.SeatsHeld())*float64(heldNs), c.kinds.kindOf(r)
	at := f.level.ofKind(kind)
	at.all.add(seatNs)
	if !c.counts(r) {
		return
	}
	spent := spentBy(nowNs, r)
	c.inGroupOf(r, f).spent.Add(&spent, float64(r.SeatsHeld()))
	f.level.spend(nowNs, c.intervalNs, r, &spent)
	f.ofKind(kind).add(seatNs, nowNs-r.ArrivalNs)
	at.add(seatNs, nowNs-r.ArrivalNs)
	f.level.allKinds.add(seatNs, nowNs-r.ArrivalNs)
}

// endDemand completes the demands of the flows where they are measured.
func (c *Collector) endDemand(servers []*server.Server) {
	if c.kinds == nil {
		return
	}
	for _, s := range servers {
		s.InFlight(func(r *server.Request) {
			if c.counts(r) && r.DispatchNs >= 0 && r.FinishNs < 0 && !r.Lost {
				spent := spentBy(c.toNs, r)
				c.flowOf(r).level.spend(c.toNs, c.intervalNs, r, &spent)
				k := c.flowOf(r).ofKind(c.kinds.kindOf(r))
				k.holding = append(k.holding, holding{
					occupied: float64(r.SeatsHeld()) * float64(c.toNs-r.DispatchNs),
					given:    float64(r.SeatsWanted()) * float64(givenNs(r)+r.Work.AdditionalLatencyNs),
				})
			}
		})
	}
	for f := range c.flows() {
		f.endDemand()
	}
}

// givenNs returns the execution that the scenario gives a request, 0 if it follows from what is stored.
func givenNs(r *server.Request) int64 {
	d := r.Details
	switch {
	case d == nil || d.RegistryOp == 0:
		return r.ExecutionNs
	case d.Execution:
		return d.GivenNs
	}
	return 0
}

// endDemand computes the demand: what was measured, and of each other request the mean of its kind in the flow; without
// one at the level, then in all kinds of the flow, then in those of the level. If nothing was measured at all, each counts
// with what the scenario gives. A request that executes at the end counts with what it has occupied if that is more.
func (f *flow) endDemand() {
	if f.kinds == nil {
		return
	}
	var all kindUsage
	for i := range f.kinds.all {
		k := &f.kinds.all[i]
		all.measured, all.seatNs = all.measured+k.measured, all.seatNs+k.seatNs
	}
	known, sum := all.measured > 0 || f.level.allKinds.measured > 0, 0.0
	for i := range f.kinds.all {
		k := &f.kinds.all[i]
		if !known {
			for _, h := range k.holding {
				f.demand += positive(h.occupied - h.given)
			}
			continue
		}
		mean, others := 0.0, k.arrived-k.measured
		for _, samples := range []*kindUsage{&k.kindUsage, &f.level.ofKind(k.kind).kindUsage, &all, &f.level.allKinds} {
			if samples.measured > 0 {
				mean = samples.mean()
				break
			}
		}
		sum += k.seatNs
		for _, h := range k.holding {
			if h.occupied > mean {
				sum += h.occupied
				others--
			}
		}
		sum += float64(others) * mean
	}
	if known {
		f.demand = sum
	}
}
