package incident

import (
	"apfsim/sim/trace/requests"
	"container/heap"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

const second = int64(1_000_000_000)

const (
	longestRetryAfter = 32          // seconds; flow control does not ask for more
	retryToleranceNs  = second / 10 // how much later than asked a retry may arrive
)

// retries recognizes retries: a client of Kubernetes sends a rejected request again exactly as many
// seconds after the response 429 as its Retry-After says, which no log has.
type retries struct {
	waiting map[uint64][]rejection // rejected requests by what they asked for
	ends    ends                   // when rejected requests are forgotten
}

type rejection struct {
	endNs   int64
	attempt int
}

// attempt returns which attempt a request is: 1 unless it is a retry.
func (r *retries) attempt(q *requests.Request) int {
	r.forget(q.ArrivalNs)
	key := askedFor(q)
	for i, before := range r.waiting[key] {
		since := q.ArrivalNs - before.endNs
		if since >= second && since%second <= retryToleranceNs {
			r.waiting[key] = append(r.waiting[key][:i], r.waiting[key][i+1:]...)
			return before.attempt + 1
		}
	}
	return 1
}

// rejected takes a rejected request, which may be sent again.
func (r *retries) rejected(q *requests.Request, attempt int) {
	if r.waiting == nil {
		r.waiting = map[uint64][]rejection{}
	}
	key := askedFor(q)
	end := max(q.EndNs, q.ArrivalNs)
	r.waiting[key] = append(r.waiting[key], rejection{end, attempt})
	heap.Push(&r.ends, ending{atNs: end + longestRetryAfter*second + retryToleranceNs, key: key})
}

// forget removes the rejected requests that are not retried any more.
func (r *retries) forget(nowNs int64) {
	for len(r.ends) > 0 && r.ends[0].atNs < nowNs {
		key := heap.Pop(&r.ends).(ending).key
		left := r.waiting[key][:0]
		for _, w := range r.waiting[key] {
			if w.endNs+longestRetryAfter*second+retryToleranceNs >= nowNs {
				left = append(left, w)
			}
		}
		if r.waiting[key] = left; len(left) == 0 {
			delete(r.waiting, key)
		}
	}
}

// askedFor returns a hash of who asks for what. A retry has the same.
func askedFor(q *requests.Request) uint64 {
	h := xxhash.New()
	var length [8]byte
	for _, s := range []string{q.User, q.UserAgent, q.SourceIP, q.Verb, q.Path, q.Query} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.WriteString(s)
	}
	return h.Sum64()
}

// ending is when something ends.
type ending struct {
	atNs int64
	key  uint64
	end  func() // may be nil
}

// ends is a heap of endings.
type ends []ending

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].atNs < h[j].atNs }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(ending)) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
