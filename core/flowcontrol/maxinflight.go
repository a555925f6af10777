package flowcontrol

// MaxInFlight is the filter that API Priority and Fairness replaces: two counters with a
// limit each, for read-only and for mutating requests. It is not to be called for long-running
// requests, nor for those of system:masters
// (k8s.io/apiserver, server/filters/maxinflight.go).
type MaxInFlight struct {
	ReadOnlyLimit, MutatingLimit int // requests; 0 is no limit
	readOnly, mutating           int // requests in flight
}

// MaxInFlightRetryAfterSeconds is when a client that MaxInFlight rejects may come back.
const MaxInFlightRetryAfterSeconds = 1

// Arrive admits a request, or returns false when the limit is reached.
func (m *MaxInFlight) Arrive(readOnly bool) bool {
	if m.Full(readOnly) {
		return false
	}
	count, _ := m.counter(readOnly)
	*count++
	return true
}

// Full says whether the limit is reached.
func (m *MaxInFlight) Full(readOnly bool) bool {
	count, limit := m.counter(readOnly)
	return limit > 0 && *count >= limit
}

// Finish ends an admitted request.
func (m *MaxInFlight) Finish(readOnly bool) {
	count, _ := m.counter(readOnly)
	*count--
}

// InFlight returns how many admitted requests have not finished.
func (m *MaxInFlight) InFlight() (readOnly, mutating int) { return m.readOnly, m.mutating }

func (m *MaxInFlight) counter(readOnly bool) (count *int, limit int) {
	if readOnly {
		return &m.readOnly, m.ReadOnlyLimit
	}
	return &m.mutating, m.MutatingLimit
}
