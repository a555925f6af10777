package workload

import (
	"strings"

	"apfsim/document"
	"apfsim/sim/random"
)

// RateLimit is the token bucket that a client's requests pass before they are sent. As in client-go, a negative QPS means
// that there is none.
type RateLimit struct {
	QPS   float64 `json:"qps" document:"required,maximum=1e9" jsonschema_description:"Tokens that arrive per second; a negative number means no limit."`
	Burst int     `json:"burst,omitempty" document:"maximum=2147483647" jsonschema:"minimum=0" jsonschema_description:"Tokens that the bucket holds; at least 1, unless qps is negative."`

	// Shared is the name of a bucket that clients of several workloads pass together, as the controllers of a process do that
	// have one client of client-go. With {i}, clients of the same index share it, otherwise all.
	Shared string `json:"shared,omitempty" also:"sharedWith,bucket" jsonschema_description:"Name of one bucket for all clients of all workloads that name it; with {i}, one for those of the same index."`
}

// limits returns whether there is a bucket.
func (l *RateLimit) limits() bool { return l != nil && l.QPS > 0 }

// Limit returns the rate limit of the clients, nil if they have none: what the workload gives, or that of the behaviour.
func (w *Workload) Limit() *RateLimit {
	l := w.RateLimit
	if l == nil && w.Behaviour != nil {
		l = w.Behaviour.rateLimit()
	}
	if !l.limits() {
		return nil
	}
	return l
}

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
	c.template(path+".shared", l.Shared)
	if l.Shared != "" && l.QPS < 0 {
		c.Fail(path+".shared", "%q: there is no bucket to share without a limit; want a qps of more than 0", document.Abridge(l.Shared))
	}
}

// sharedBuckets checks that workloads that share a bucket agree on it.
func (c *checker) sharedBuckets(path string, all []Workload) {
	first := map[string]int{}
	for i := range all {
		l := all[i].RateLimit
		if l == nil || l.Shared == "" {
			continue
		}
		k, known := first[l.Shared]
		if !known {
			first[l.Shared] = i
			continue
		}
		at, other := document.Index(path, i)+".rateLimit", all[k].RateLimit
		if l.QPS != other.QPS {
			c.Fail(at+".qps", "%v: workload %q shares the bucket %q and has %v; want the same", l.QPS, document.Abridge(all[k].Name), document.Abridge(l.Shared), other.QPS)
		}
		if l.Burst != other.Burst {
			c.Fail(at+".burst", "%d: workload %q shares the bucket %q and has %d; want the same", l.Burst, document.Abridge(all[k].Name), document.Abridge(l.Shared), other.Burst)
		}
	}
}

// sharedBucket identifies a bucket that several clients pass: the name in the scenario and, if it has {i}, their index.
type sharedBucket struct {
	name  string
	index int32
}

// newLimiter returns the rate limiter of the client: its own, or the one that it shares.
func (cl *sender) newLimiter() *bucket {
	l := cl.RateLimit
	if l.Shared == "" {
		return newBucket(l.QPS, l.Burst)
	}
	key := sharedBucket{name: l.Shared}
	if strings.Contains(l.Shared, "{i}") {
		key.index = cl.index
	}
	b := cl.all.buckets[key]
	if b == nil {
		b = newBucket(l.QPS, l.Burst)
		cl.all.buckets[key] = b
	}
	return b
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
