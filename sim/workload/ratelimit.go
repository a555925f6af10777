package workload

import (
	"apfsim/sim/random"
)

// RateLimit is the token bucket that a client's requests pass before they are sent.
type RateLimit struct {
	QPS   float64 `json:"qps" document:"required,maximum=1e9" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Tokens that arrive per second."`
	Burst int     `json:"burst" document:"required,maximum=2147483647" jsonschema:"minimum=1" jsonschema_description:"Tokens that the bucket holds."`
}

// bucket is a token bucket: it holds up to burst tokens, gains qps a second, and everything that it limits takes
// one, in advance if need be, and waits for it (golang.org/x/time/rate, as k8s.io/client-go uses it in
// util/flowcontrol and util/workqueue).
type bucket struct {
	qps    float64
	burst  float64
	tokens float64 // negative: promised to those that wait
	atNs   int64
}

// New returns a full bucket.
func newBucket(qps float64, burst int) *bucket {
	return &bucket{qps: qps, burst: float64(burst), tokens: float64(burst)}
}

// Take takes a token, and returns the time from which on it counts.
func (b *bucket) Take(nowNs int64) (atNs int64) {
	b.tokens = min(b.burst, b.tokens+float64(nowNs-b.atNs)/second*b.qps)
	b.atNs = nowNs
	b.tokens--
	if b.tokens >= 0 {
		return nowNs
	}
	return nowNs + int64(min(-b.tokens/b.qps*second, random.LongestNs))
}
