package workload

import (
	"apfsim/sim/random"
)

// RateLimit is the token bucket that a client's requests pass before they are sent. As in client-go, a negative QPS means
// that there is none.
type RateLimit struct {
	QPS   float64 `json:"qps" document:"required,maximum=1e9" jsonschema_description:"Tokens that arrive per second; a negative number means no limit."`
	Burst int     `json:"burst,omitempty" document:"maximum=2147483647" jsonschema:"minimum=0" jsonschema_description:"Tokens that the bucket holds; at least 1, unless qps is negative."`
}

// limits returns whether there is a bucket.
func (l *RateLimit) limits() bool { return l != nil && l.QPS > 0 }

// rateLimit checks the limit of a workload.
func (c *checker) rateLimit(path string, l *RateLimit) {
	if l == nil {
		return
	}
	if l.QPS == 0 {
		c.Fail(path+".qps", "0: want more than 0, or a negative number for no limit")
	}
	if l.QPS > 0 && l.Burst < 1 {
		c.Fail(path+".burst", "%d: want at least 1 with a limit", l.Burst)
	}
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
