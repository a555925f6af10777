package incident

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/trace/requests"
	"apfsim/sim/trace/serverlog"
)

// Slow says where the time of requests went that took so long that the server annotates them in its audit log: 500 ms. The parts
// overlap: an admission webhook is a part of the execution, as etcd is.
type Slow struct {
	Requests  int64   `json:"requests"`
	TotalNs   float64 `json:"totalNs"`
	WaitNs    float64 `json:"waitNs"` // in queues
	WebhookNs float64 `json:"webhookNs"`
	EtcdNs    float64 `json:"etcdNs"`
	SendingNs float64 `json:"sendingNs"` // writing the response
}

const annotatedNs = second / 2

// take adds a request, if the audit log says where its time went.
func (s *Slow) take(q *requests.Request) {
	if q.TotalNs < annotatedNs || q.WebhookNs < 0 && q.EtcdNs < 0 && q.SendingNs < 0 {
		return
	}
	s.add(&Slow{1, float64(q.TotalNs), float64(max(0, q.WaitNs)), float64(max(0, q.WebhookNs)), float64(max(0, q.EtcdNs)), float64(max(0, q.SendingNs))})
}

func (s *Slow) add(o *Slow) {
	s.Requests += o.Requests
	s.TotalNs, s.WaitNs, s.WebhookNs = s.TotalNs+o.TotalNs, s.WaitNs+o.WaitNs, s.WebhookNs+o.WebhookNs
	s.EtcdNs, s.SendingNs = s.EtcdNs+o.EtcdNs, s.SendingNs+o.SendingNs
}

// Limits from which on time that was lost elsewhere is a cause.
const (
	lostShare = 0.25 // part of what slow requests took
	leastSlow = 3    // such requests
	// Part of the executions of all requests from which on it is the first cause: without it, less than half of the seats would be
	// occupied.
	mostlyLost = 0.5
)

// causes returns webhooks and etcd, if slow requests spent much of their time there. executedNs is how long all requests executed.
func (s *Slow) causes(level string, executedNs float64) (all []result.Cause, first bool) {
	for _, lost := range []struct {
		kind       result.Kind
		ns         float64
		what, name string
	}{{result.ByWebhook, s.WebhookNs, "in admission webhooks", "webhookNs"}, {result.ByEtcd, s.EtcdNs, "in etcd", "etcdNs"}} {
		if s.Requests < leastSlow || lost.ns < lostShare*s.TotalNs {
			continue
		}
		at := ""
		if level != "" {
			at = " at " + level
		}
		all = append(all, result.Cause{ID: string(lost.kind) + "-log", Kind: lost.kind, Level: level, Workloads: []string{"recorded"}, Flows: []result.CauseFlow{},
			Figures: []result.Figure{{Name: lost.name, Value: lost.ns, Unit: "ns"}, {Name: "totalNs", Value: s.TotalNs, Unit: "ns"}, {Name: "slowRequests", Value: float64(s.Requests)}},
			Sentence: fmt.Sprintf("The log says that %s%s of 500 ms or more spent %s of their time %s: %s of %s.", result.RequestCount(s.Requests), at,
				format.Percent(lost.ns/s.TotalNs), lost.what, format.Duration(lost.ns), format.Duration(s.TotalNs))})
		first = first || lost.ns >= mostlyLost*executedNs
	}
	return all, first
}

// stamps finds out whether the times of a log say how long requests took.
type stamps struct{ ended, same, whole int64 }

// Values of Report.Stamps.
const (
	StampsEqual   = "equal"         // requests are received and completed at the same time
	StampsSeconds = "whole seconds" // all times are whole seconds
)

// only reports whether the time stamps alone say how long a request took.
func only(q *requests.Request) bool {
	a := q.Attributes()
	return q.EndNs >= 0 && q.TotalNs < 0 && q.ExecutionNs < 0 && !a.LongRunning()
}

func (s *stamps) learn(q *requests.Request) {
	if !only(q) {
		return
	}
	s.ended++
	if q.EndNs == q.ArrivalNs {
		s.same++
	}
	if q.ArrivalNs%second == 0 && q.EndNs%second == 0 {
		s.whole++
	}
}

// mostStamps is the part of the requests from which on their stamps say nothing.
const mostStamps = 0.9

func (s *stamps) text() string {
	switch least := mostStamps * float64(s.ended); {
	case s.ended == 0:
	case float64(s.same) >= least:
		return StampsEqual
	case float64(s.whole) >= least:
		return StampsSeconds
	}
	return ""
}

// forget removes an end that says nothing. Of a rejected request whole seconds still say whether it was queued.
func (s *stamps) forget(q *requests.Request) {
	if text := s.text(); text == StampsEqual && only(q) || text == StampsSeconds && only(q) && whose429(q) != byFlowControl {
		q.EndNs = serverlog.Unknown
	}
}

// The wait limit of a server with the default --request-timeout, and how much longer a wait in a log may be.
const (
	promisedWaitNs = 60 * second / 4
	lateNs         = second
)

// KnownFault is a fault of a release that the log shows.
type KnownFault struct {
	ID        string `json:"id"`
	Sentence  string `json:"sentence"`
	Requests  int64  `json:"requests"`
	LongestNs int64  `json:"longestNs"`
	MendedIn  string `json:"mendedIn"` // the release; "" if none is known
}

// knownFaults returns what requests of clients show that waited for longer than their release promises.
func knownFaults(r *rules.Rules, about []*LoggedClient) []KnownFault {
	f := KnownFault{ID: "wait-limit"}
	for _, c := range about {
		f.Requests, f.LongestNs = f.Requests+c.overdue, max(f.LongestNs, c.overdueNs)
	}
	if f.Requests == 0 {
		return []KnownFault{}
	}
	f.Sentence = fmt.Sprintf("%s waited for longer than 15 s, up to %s. A queued request should be rejected after a quarter of --request-timeout, which is 60 s by default",
		result.RequestCount(f.Requests), format.Duration(float64(f.LongestNs)))
	if r.LazyWaitLimit {
		f.MendedIn = "1.28.5"
		f.Sentence += fmt.Sprintf(", but in Kubernetes %s it leaves only when another request comes to its queue, or at its deadline. This is a known fault of the releases before 1.28.5, and of all of 1.27; 1.28.5 and 1.29.0 mend it.", r.Version)
	} else {
		f.Sentence += ": --request-timeout may be longer, or time was lost before flow control."
	}
	return []KnownFault{f}
}

// executions are the execution times of a priority level over time, in logarithms: of each kind of request, so that a change of what
// is sent is no change of how long it takes.
type executions struct {
	kinds map[drawKey]*kindTimes
}

// kindTimes are those of one verb and resource.
type kindTimes struct {
	n            int64
	sum, squares float64
	over         []timesIn
}

type timesIn struct {
	index int32
	n     int64
	sum   float64
}

// Limits of the search for a slowdown.
const (
	mostKinds    = 256
	leastTimes   = 20  // executions inside, and outside of it
	leastSlower  = 1.5 // times as long
	leastSlowZ   = 6   // standard errors; it is the greatest of many, so that this is more than for one
	shortestTime = 1e5 // added, in nanoseconds: shorter times are no different ones
)

func (e *executions) add(q *requests.Request, executionNs int64, index int32) {
	key, _ := drawKeyOf(q, byResource)
	k := e.kinds[key]
	if k == nil {
		if len(e.kinds) == mostKinds {
			return
		}
		k = &kindTimes{}
		e.kinds[drawKey{verb: strings.Clone(key.verb), apiGroup: strings.Clone(key.apiGroup), resource: strings.Clone(key.resource), subresource: strings.Clone(key.subresource)}] = k
	}
	x := math.Log(float64(executionNs) + shortestTime)
	k.n++
	k.sum, k.squares = k.sum+x, k.squares+x*x
	if n := len(k.over); n == 0 || k.over[n-1].index != index {
		k.over = append(k.over, timesIn{index: index})
	}
	in := &k.over[len(k.over)-1]
	in.n, in.sum = in.n+1, in.sum+x
}

// slowdown is a time in which executions took longer.
type slowdown struct {
	from, to int // intervals
	times    float64
}

// slowdown returns the time in which the executions of a level were most significantly longer than otherwise, if they were. The
// number of intervals is given.
func (e *executions) slowdown(intervals int) (s slowdown, found bool) {
	// Of all kinds together, the difference of each execution from the mean of its kind.
	n, sum := make([]float64, intervals+1), make([]float64, intervals+1) // of the intervals before
	squares := 0.0
	add := func(k *kindTimes) {
		mean := k.sum / float64(k.n)
		squares += k.squares - k.sum*mean
		for i := range k.over {
			o := &k.over[i]
			n[o.index+1] += float64(o.n)
			sum[o.index+1] += o.sum - float64(o.n)*mean
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(e.kinds), func(a, b drawKey) int {
		return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.apiGroup, b.apiGroup), cmp.Compare(a.resource, b.resource), cmp.Compare(a.subresource, b.subresource))
	}) { // the order of a sum decides its last digits
		add(e.kinds[key])
	}
	for i := range intervals {
		n[i+1], sum[i+1] = n[i+1]+n[i], sum[i+1]+sum[i]
	}
	all := n[intervals]
	variance := squares / max(1, all)
	best := 0.0
	for from := range intervals {
		for to := from + 1; to <= intervals; to++ {
			in := n[to] - n[from]
			if in < leastTimes || all-in < leastTimes {
				continue
			}
			above := sum[to] - sum[from]
			z := above / math.Sqrt(variance*in*(all-in)/all)
			if times := math.Exp(above/in + above/(all-in)); z > best && times >= leastSlower {
				best, s = z, slowdown{from, to, times}
			}
		}
	}
	return s, best >= leastSlowZ
}
