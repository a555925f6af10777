package client

import (
	"apfsim/sim/random"
	"apfsim/sim/scenario/traffic"
)

// limiter is a client's token bucket: it holds up to burst tokens, gains qps a second,
// and every request takes one, in advance if need be, and waits for it
// (golang.org/x/time/rate, as k8s.io/client-go/util/flowcontrol uses it).
type limiter struct {
	qps    float64
	burst  float64
	tokens float64 // negative: promised to requests that wait
	atNs   int64
}

func newLimiter(l *traffic.RateLimit) *limiter {
	return &limiter{qps: l.QPS, burst: float64(l.Burst), tokens: float64(l.Burst)}
}

// take returns when a request that wants to be sent now may be.
func (l *limiter) take(nowNs int64) int64 {
	l.tokens = min(l.burst, l.tokens+float64(nowNs-l.atNs)/second*l.qps)
	l.atNs = nowNs
	l.tokens--
	if l.tokens >= 0 {
		return nowNs
	}
	return nowNs + int64(min(-l.tokens/l.qps*second, random.LongestNs))
}
