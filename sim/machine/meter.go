package machine

// Meter integrates a rate over the time from FromNs on. The rate is in seconds of work per second, the integral in
// nanoseconds of work.
type Meter struct {
	FromNs int64 // what is before does not count

	rate   float64
	sum    float64 // up to lastNs
	lastNs int64
}

// Set changes the rate from now on.
func (m *Meter) Set(nowNs int64, rate float64) {
	m.sum = m.Sum(nowNs)
	m.rate, m.lastNs = rate, nowNs
}

// Sum returns the integral up to now.
func (m *Meter) Sum(nowNs int64) float64 {
	return m.sum + m.rate*float64(max(0, nowNs-max(m.lastNs, m.FromNs)))
}
