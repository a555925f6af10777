package collect

import (
	"apfsim/reports/result"
)

// noDispatch tracks the times during which requests of a workload are queued and none of them is dispatched.
type noDispatch struct {
	waiting   int
	sinceNs   int64 // since when requests are queued and none was dispatched
	at        *level
	before    int64 // requests that the level had dispatched at sinceNs
	count     int64
	totalNs   int64 // of the stalls counted
	longest   int64 // nanoseconds, within the window
	fromNs    int64 // when the longest began
	longestAt *level
	others    int64 // requests that the level dispatched during the longest
}

func (s *noDispatch) enter(nowNs int64, at *level) {
	if s.waiting == 0 {
		s.begin(nowNs, at)
	}
	s.waiting++
}

// dispatch removes a request from the queued ones, which ends a stall. reject removes one without ending it, unless
// none is left.
func (s *noDispatch) dispatch(nowNs, windowNs int64, at *level) {
	s.waiting--
	s.record(nowNs, windowNs)
	s.begin(nowNs, at)
	s.before++ // the level counts this dispatch after this
}

func (s *noDispatch) begin(nowNs int64, at *level) {
	s.sinceNs, s.at, s.before = nowNs, at, at.dispatched
}

func (s *noDispatch) reject(nowNs, windowNs int64) {
	if s.waiting--; s.waiting == 0 {
		s.record(nowNs, windowNs)
	}
}

// end ends a stall that lasts until the end of the run.
func (s *noDispatch) end(nowNs, windowNs int64) {
	if s.waiting > 0 {
		s.record(nowNs, windowNs)
	}
}

func (s *noDispatch) record(nowNs, windowNs int64) {
	fromNs := max(s.sinceNs, windowNs)
	ns := nowNs - fromNs
	if ns > s.longest {
		s.longest, s.fromNs, s.longestAt, s.others = ns, fromNs, s.at, s.at.dispatched-s.before
	}
	if ns >= result.StallNs {
		s.count++
		s.totalNs += ns
	}
}

// summary returns the stalls of a window of that length.
func (s *noDispatch) summary(windowNs int64) *result.Stall {
	out := &result.Stall{MaxNs: s.longest, FromNs: s.fromNs, Count: s.count, Share: float64(s.totalNs) / float64(windowNs)}
	if l := s.longestAt; l != nil {
		out.PriorityLevel, out.Others = l.name, s.others
		out.Limit, out.NominalLimit, out.Raised = l.limitsDuring(s.fromNs, s.fromNs+s.longest)
	}
	return out
}

// limitStep is the limits of a level from a point in time on.
type limitStep struct {
	atNs           int64
	limit, nominal int
	removed        bool   // the configuration has removed the level
	queues         bool   // the level queues requests
	by             string // see result.LimitChange
}

// recordLimits records the limits from now on. Memory grows by a few bytes for each adjustment that
// changes them.
func (l *level) recordLimits(nowNs int64, by string) {
	step := limitStep{nowNs, l.limit, l.nominal, !l.exists, l.spec.Queuing() != nil, by}
	if n := len(l.limitSteps); n > 0 {
		last := &l.limitSteps[n-1]
		if last.limit == step.limit && last.nominal == step.nominal && last.removed == step.removed && last.queues == step.queues {
			return
		}
		if last.atNs == nowNs {
			*last = step
			return
		}
	}
	l.limitSteps = append(l.limitSteps, step)
}

// limitsDuring returns the limits at the start of a period, and the first increase of the current
// limit up to its end.
func (l *level) limitsDuring(fromNs, toNs int64) (limit, nominal int, raised *result.LimitChange) {
	for _, step := range l.limitSteps {
		switch {
		case step.atNs <= fromNs:
			limit, nominal = step.limit, step.nominal
		case step.atNs <= toNs && step.limit > limit:
			return limit, nominal, &result.LimitChange{AtNs: step.atNs, Limit: step.limit, By: step.by}
		}
	}
	return limit, nominal, nil
}

// noSeats returns the times at which the limit of an existing level was 0; nil if there were none. Only
// a level that queues dispatches nothing then: one of type Reject executes one request at a time,
// and an exempt level executes all requests.
func (l *level) noSeats(fromNs, toNs int64) *result.NoSeats {
	var out *result.NoSeats
	for i := 0; i < len(l.limitSteps); i++ {
		step := &l.limitSteps[i]
		if !step.noSeats() {
			continue
		}
		for i+1 < len(l.limitSteps) && l.limitSteps[i+1].noSeats() {
			i++ // only the nominal limit changes
		}
		endNs := toNs
		if i+1 < len(l.limitSteps) {
			endNs = l.limitSteps[i+1].atNs
		}
		startNs := max(step.atNs, fromNs)
		if endNs <= startNs {
			continue
		}
		if out == nil {
			out = &result.NoSeats{}
		}
		out.TotalNs += endNs - startNs
		if endNs-startNs > out.MaxNs {
			out.MaxNs, out.FromNs, out.ToNs, out.NominalLimit = endNs-startNs, startNs, nil, step.nominal
			if endNs < toNs {
				out.ToNs = &endNs
			}
		}
	}
	return out
}

func (s *limitStep) noSeats() bool { return s.limit == 0 && s.queues && !s.removed }
