package collect

import (
	"apfsim/reports/result"
)

// stall follows the time in which requests of a workload wait and none of them is dispatched.
type stall struct {
	waiting   int
	sinceNs   int64 // since when something waits and nothing was dispatched
	at        *level
	before    int64 // requests that the level had dispatched
	count     int64
	totalNs   int64 // of those counted
	longest   int64 // nanoseconds, within the window
	fromNs    int64 // when the longest began
	longestAt *level
	others    int64 // requests that the level dispatched during the longest
}

func (s *stall) enter(nowNs int64, at *level) {
	if s.waiting == 0 {
		s.begin(nowNs, at)
	}
	s.waiting++
}

// dispatch and refuse take one request off those that wait.
func (s *stall) dispatch(nowNs, windowNs int64, at *level) {
	s.waiting--
	s.note(nowNs, windowNs)
	s.begin(nowNs, at)
	s.before++ // the level counts this dispatch after this
}

func (s *stall) begin(nowNs int64, at *level) { s.sinceNs, s.at, s.before = nowNs, at, at.dispatched }

func (s *stall) refuse(nowNs, windowNs int64) {
	if s.waiting--; s.waiting == 0 {
		s.note(nowNs, windowNs)
	}
}

// end ends a stall that lasts to the end of the run.
func (s *stall) end(nowNs, windowNs int64) {
	if s.waiting > 0 {
		s.note(nowNs, windowNs)
	}
}

func (s *stall) note(nowNs, windowNs int64) {
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

// summary returns what has come out of a window of a run.
func (s *stall) summary(windowNs int64) *result.Stall {
	out := &result.Stall{MaxNs: s.longest, FromNs: s.fromNs, Count: s.count, Share: float64(s.totalNs) / float64(windowNs)}
	if l := s.longestAt; l != nil {
		out.PriorityLevel, out.Others = l.name, s.others
		out.Limit, out.NominalLimit, out.Raised = l.limitsDuring(s.fromNs, s.fromNs+s.longest)
	}
	return out
}

// limitStep is a level's limits from a moment on.
type limitStep struct {
	atNs           int64
	limit, nominal int
	gone           bool // the configuration has removed the level
}

// noteLimits remembers the limits from now on, in a few bytes for each adjustment that changes
// them.
func (l *level) noteLimits(nowNs int64) {
	if n := len(l.limitSteps); n > 0 {
		last := &l.limitSteps[n-1]
		if last.limit == l.limit && last.nominal == l.nominal && last.gone != l.there {
			return
		}
		if last.atNs == nowNs {
			last.limit, last.nominal, last.gone = l.limit, l.nominal, !l.there
			return
		}
	}
	l.limitSteps = append(l.limitSteps, limitStep{nowNs, l.limit, l.nominal, !l.there})
}

// limitsDuring returns the limits at the beginning of a time, and the first rise of the current
// limit before its end or at it.
func (l *level) limitsDuring(fromNs, toNs int64) (limit, nominal int, raised *result.LimitChange) {
	for _, step := range l.limitSteps {
		switch {
		case step.atNs <= fromNs:
			limit, nominal = step.limit, step.nominal
		case step.atNs <= toNs && step.limit > limit:
			return limit, nominal, &result.LimitChange{AtNs: step.atNs, Limit: step.limit}
		}
	}
	return limit, nominal, nil
}

// noSeats returns when the limit was 0 while the level was there, nil if it never was. A level that
// rejects instead of queueing executes one request at a time then, and an exempt one all.
func (l *level) noSeats(fromNs, toNs int64) *result.NoSeats {
	if l.spec.Queuing() == nil {
		return nil
	}
	var out *result.NoSeats
	for i, step := range l.limitSteps {
		endNs := toNs
		if i+1 < len(l.limitSteps) {
			endNs = l.limitSteps[i+1].atNs
		}
		startNs := max(step.atNs, fromNs)
		if step.limit > 0 || step.gone || endNs <= startNs {
			continue
		}
		if out == nil {
			out = &result.NoSeats{}
		}
		out.TotalNs += endNs - startNs
		if endNs-startNs > out.MaxNs {
			out.MaxNs, out.FromNs, out.ToNs = endNs-startNs, startNs, nil
			if endNs < toNs {
				out.ToNs = &endNs
			}
		}
	}
	return out
}
