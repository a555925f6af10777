package maintain

// The times between passes, in nanoseconds.
const (
	retryNs  = 1_000_000_000
	PeriodNs = 60_000_000_000
	giveUpNs = 300_000_000_000
)

// Schedule says when a server makes its passes. When it starts, as soon as it has read the objects, it
// tries each second until a pass succeeds. Then it makes another one at once, and one each minute after
// that, whether they succeed or not; there is no jitter, so that the server's phase within the minute
// is that of its start. A server that has not succeeded within 5 minutes ends, except before 1.22.
type Schedule struct {
	beginNs int64
	running bool // it has succeeded once
	exits   bool // it ends if it does not
}

// Start returns the schedule of a server of the release that has just read the objects. Its first pass
// is due now.
func (r *Release) Start(nowNs int64) Schedule {
	return Schedule{beginNs: nowNs, exits: r.rules.Objects.Maintained}
}

// Running returns the schedule of a server that has started before, whose next pass is one of those that
// it makes each minute.
func Running() Schedule { return Schedule{running: true} }

// Starting reports whether the next pass is one that has to succeed before the server makes one each
// minute. Before 1.22, suggested objects are created only then, and mandatory ones afterwards.
func (s *Schedule) Starting() bool { return !s.running }

// Next returns when the next pass is due after one at nowNs, which has succeeded or not. If ends is
// true, the process of the server ends then instead.
func (s *Schedule) Next(nowNs int64, succeeded bool) (nextNs int64, ends bool) {
	switch {
	case s.running:
		return nowNs + PeriodNs, false
	case succeeded:
		s.running = true
		return nowNs, false
	case s.exits && nowNs+retryNs >= s.beginNs+giveUpNs:
		return s.beginNs + giveUpNs, true
	}
	return nowNs + retryNs, false
}
