// Package retries recognizes the requests of a log that repeat rejected ones. It is a subject of its own: a matching of
// arrivals to earlier rejections, by the times at which clients retry, that knows nothing of scenarios.
package retries

import (
	"math"
	"slices"
)

// Client-go sends a rejected request again when exactly the time of its Retry-After has passed. The server
// sees it later by the time that both messages were under way, which no log says. It is therefore learned:
// for each of the tolerances, how many rejected requests were followed by a request of the same user for the
// same object within the tolerance after they were due. That is compared with two numbers of coincidences: how
// many were followed within the same time after a moment at which nothing was due, and how many requests that
// were not rejected were followed as if they had been, as those of a client who sends requests periodically are.

// tolerancesNs are the times that a retry may be late.
var tolerancesNs = [...]int64{20_000, 1_000_000, 5_000_000, 20_000_000, widestNs}

const (
	widestNs    = 100_000_000
	leastSlack  = 10_000 // times in logs are rounded: a retry may seem to be early by this
	leastShare  = 0.5    // of the rejected requests that must have been retried
	leastErrors = 2.5    // standard errors by which retries after one of the times must exceed coincidences
	sweepMargin = 1024
)

// Second is the unit of Retry-After, in nanoseconds.
const Second = 1_000_000_000

// ControlNs is the time from when a retry is due to a control moment, at which none is due.
const ControlNs = 457_000_000

// retryAftersNs are the times of Retry-After that flow control asks for. The logs of real servers do not say
// which.
var retryAftersNs = [...]int64{1 * Second, 2 * Second, 4 * Second, 8 * Second, 16 * Second, 32 * Second}

// Followed counts the rejected requests of a stream, and how many of them were followed by another request when a retry
// was due. If the Retry-After of all rejections is known, only the first due time is used.
type Followed struct {
	Rejected int64
	Asked    int64 // of the rejected ones, those whose Retry-After is known
	Executed int64 // requests that were not rejected, with which the rejected ones are compared
	// Counts after the due times, after moments at which nothing was due, and after requests that were
	// not rejected.
	Due, Control, Periodic Counts
}

// Merge adds the numbers of another stream.
func (f *Followed) Merge(g *Followed) {
	f.Rejected += g.Rejected
	f.Asked += g.Asked
	f.Executed += g.Executed
	for k := range f.Due {
		for i := range tolerancesNs {
			f.Due[k][i] += g.Due[k][i]
			f.Control[k][i] += g.Control[k][i]
			f.Periodic[k][i] += g.Periodic[k][i]
		}
	}
}

// Counts are numbers of requests by Retry-After and by tolerance.
type Counts [len(retryAftersNs)][len(tolerancesNs)]int64

// Rule says which requests are retries.
type Rule struct {
	toleranceNs int64
	aftersNs    []int64 // the times of Retry-After, if it is unknown
}

// Rule returns the tolerance that separates retries from coincidences best. It is not ok if most rejected
// requests were not retried.
func (f *Followed) Rule() (r Rule, ok bool) {
	best, most := 0, 0.0
	for i := range tolerancesNs {
		net := 0.0
		for k := range f.Due {
			net += f.excess(k, i)
		}
		// A little more at a tolerance that is many times larger is not worth its coincidences.
		if net > 1.02*most {
			best, most = i, net
		}
	}
	r.toleranceNs = tolerancesNs[best]
	for k, after := range retryAftersNs {
		if f.excess(k, best) > 0 {
			r.aftersNs = append(r.aftersNs, after)
		}
	}
	return r, f.Rejected > 0 && most >= leastShare*float64(f.Rejected)
}

// excess returns how many more rejected requests were followed after one of the times than by coincidence, 0 if
// the difference may be by chance.
func (f *Followed) excess(k, tolerance int) float64 {
	due, coincidences := float64(f.Due[k][tolerance]), float64(f.Control[k][tolerance])
	if f.Executed > 0 {
		coincidences = max(coincidences, float64(f.Periodic[k][tolerance])*float64(f.Rejected)/float64(f.Executed))
	}
	if due-coincidences <= leastErrors*math.Sqrt(due+coincidences+1) {
		return 0
	}
	return due - coincidences
}

// count counts a request that is so late after a time at each tolerance that it is within.
func count(at *[len(tolerancesNs)]int64, lateNs int64) {
	for i, t := range tolerancesNs {
		if lateNs <= t {
			at[i]++
		}
	}
}

// Matcher finds the requests that follow rejected ones. A request is matched with at most one of them.
type Matcher struct {
	// SlackNs is by how much a retry may seem to be early, because the log has the end of the rejected request later
	// than its client; at least 10 µs.
	SlackNs int64

	rejected map[string]*rejections // by stream and name
	next     int                    // the number of keys at which outdated ones are removed
}

// rejections are the times at which retries of some requests are due, or if the Retry-After is unknown, of
// their rejections. Both are in order.
type rejections struct{ dueNs, endNs []int64 }

func (m *Matcher) slack() int64 { return max(m.SlackNs, leastSlack) }

// Reject takes note that a request with the key was rejected at a time; retryAfterNs is 0 if it is unknown.
func (m *Matcher) Reject(key string, endNs, retryAfterNs, nowNs int64) {
	if m.rejected == nil {
		m.rejected, m.next = map[string]*rejections{}, sweepMargin
	}
	r := m.rejected[key]
	if r == nil {
		r = &rejections{}
		m.rejected[key] = r
	}
	list, at := &r.endNs, endNs
	if retryAfterNs > 0 {
		list, at = &r.dueNs, endNs+retryAfterNs
	}
	i, _ := slices.BinarySearch(*list, at)
	*list = slices.Insert(*list, i, at)
	if len(m.rejected) > m.next {
		for key, r := range m.rejected {
			if r.forget(nowNs, widestNs); len(r.dueNs)+len(r.endNs) == 0 {
				delete(m.rejected, key)
			}
		}
		m.next = 2*len(m.rejected) + sweepMargin
	}
}

// forget removes rejections whose retry can no longer arrive.
func (r *rejections) forget(nowNs, toleranceNs int64) {
	for len(r.dueNs) > 0 && r.dueNs[0]+toleranceNs < nowNs {
		r.dueNs = r.dueNs[1:]
	}
	for len(r.endNs) > 0 && r.endNs[0]+retryAftersNs[len(retryAftersNs)-1]+toleranceNs < nowNs {
		r.endNs = r.endNs[1:]
	}
}

// Follow counts a request that arrives now in the first pass, when the rule is not known yet.
func (m *Matcher) Follow(key []byte, nowNs int64, at *Counts) {
	r := m.rejected[string(key)]
	if r == nil {
		return
	}
	if lateNs, ok := r.due(nowNs, widestNs, m.slack()); ok {
		count(&at[0], lateNs)
	}
	for k, after := range retryAftersNs {
		if _, lateNs, ok := r.before(nowNs-after, m.slack()); ok {
			count(&at[k], lateNs)
		}
	}
}

// Match says whether a request that arrives now is a retry by the rule.
func (m *Matcher) Match(key []byte, nowNs int64, rule Rule) bool {
	r := m.rejected[string(key)]
	if r == nil {
		return false
	}
	if _, ok := r.due(nowNs, rule.toleranceNs, m.slack()); ok {
		return true
	}
	found, best, least := false, 0, int64(0)
	for _, after := range rule.aftersNs {
		if i, lateNs, ok := r.before(nowNs-after, m.slack()); ok && lateNs <= rule.toleranceNs && (!found || lateNs < least) {
			found, best, least = true, i, lateNs
		}
	}
	if found {
		r.endNs = slices.Delete(r.endNs, best, best+1)
	}
	return found
}

// due takes the first retry that is due now, and returns how late it is.
func (r *rejections) due(nowNs, toleranceNs, slackNs int64) (lateNs int64, ok bool) {
	r.forget(nowNs, toleranceNs)
	if len(r.dueNs) == 0 || r.dueNs[0] > nowNs+slackNs {
		return 0, false
	}
	lateNs = max(0, nowNs-r.dueNs[0])
	r.dueNs = r.dueNs[1:]
	return lateNs, true
}

// before returns the last rejection up to a time, and how much earlier it was.
func (r *rejections) before(ns, slackNs int64) (i int, earlierNs int64, ok bool) {
	i, found := slices.BinarySearch(r.endNs, ns+slackNs)
	if !found {
		i--
	}
	if i < 0 {
		return 0, 0, false
	}
	return i, max(0, ns-r.endNs[i]), true
}
