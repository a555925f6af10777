package compare

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/trial"
	"apfsim/reports/compare"
)

// Check is one comparison that must hold.
type Check struct {
	What   string `json:"what"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"` // what was compared, or how it differs
}

// What a run may differ in from its replay. Below leastRequests, chance is larger than that. To the share of a wait
// comes the error with which it is measured: noiseFactor times the same statistic of requests that never wait,
// and leastSlack at least. The share is that of the bounds between which
// chance leaves the live value.
const (
	leastRequests  = 500
	leastSlack     = 2 * time.Millisecond
	noiseFactor    = 2
	p90Share       = 0.10
	p99Share       = 0.20
	rejectionShare = 0.15
	rejectionSlack = 5 // requests
	meanShare      = 0.05
	limitSeats     = 1
	// With seats to spare, a level's limit follows the largest number of its requests at a time, which is chance.
	idleLimitSeats = 3
)

// meanShares are the shares by which the mean waits of a case may differ, where that is not meanShare. At few and
// short queues, two live runs of one trace differ that much.
var meanShares = map[string]float64{"overload": 0.15}

// A run in which more than this was late or slow says nothing about flow control.
const (
	mostLate      = 20 * time.Millisecond // p90 of the sender
	mostOverhead  = 15 * time.Millisecond // p90 of the webhook
	overheadShare = 0.03                  // of the mean execution, if that is more
)

// Void returns why a live run says nothing, or "".
func Void(t *trial.Trial) string {
	if late := Percentile(t.Late, 90); late > mostLate {
		return fmt.Sprintf("the sender was %v late at p90; want at most %v", late.Round(time.Millisecond/10), mostLate)
	}
	most := max(mostOverhead, time.Duration(overheadShare*float64(meanExecution(t))))
	if over := Percentile(t.Overheads, 90); over > most {
		return fmt.Sprintf("executions took %v longer than the webhook slept at p90; want at most %v", over.Round(time.Millisecond/10), most.Round(time.Millisecond/10))
	}
	return ""
}

// meanExecution returns the mean execution of the requests for which the webhook slept.
func meanExecution(t *trial.Trial) time.Duration {
	var all []time.Duration
	if t.Live != nil {
		for i := range t.Live.Requests {
			if r := &t.Live.Requests[i]; r.Verb == "create" && r.Outcome == outcome.Executed {
				all = append(all, time.Duration(r.ExecutionNs))
			}
		}
	}
	return Mean(all)
}

// Checks compares the live run with the replay of what was measured.
func Checks(t *trial.Trial) []Check {
	checks := []Check{
		{"nothing lost", len(t.Missing) == 0, list(t.Missing, fmt.Sprintf("%d requests in both logs", len(t.Live.Requests)))},
		{"users", len(t.WrongUsers) == 0, list(t.WrongUsers, "all as sent")},
		decisions(t), counts(t), limits(t),
	}
	replay := Summarize(t.Replay.Requests)
	for _, live := range Summarize(t.Live.Requests) {
		if live.Requests >= leastRequests {
			checks = append(checks, distributions(t, live, Find(replay, live.Level, live.Kind), chance(t, live))...)
		}
	}
	return checks
}

// list returns the first of some differences, or what to say without any.
func list(differences []string, none string) string {
	switch n := len(differences); {
	case n == 0:
		return none
	case n <= 3:
		return fmt.Sprintf("%q", differences)
	default:
		return fmt.Sprintf("%d, the first of them %q", n, differences[:3])
	}
}

// decisions compares FlowSchema, level and seats of every request.
func decisions(t *trial.Trial) Check {
	replayed := map[int64]*outcome.Outcome{}
	for i := range t.Replay.Requests {
		replayed[t.Replay.Requests[i].ID] = &t.Replay.Requests[i]
	}
	type decision struct {
		flowSchema, level string
		seats, finalSeats int
		additional        time.Duration
	}
	decided := func(o *outcome.Outcome) decision {
		return decision{o.FlowSchema, o.PriorityLevel, o.Seats, o.FinalSeats, time.Duration(o.AdditionalLatencyNs)}
	}
	var differences []string
	wide := 0
	for i := range t.Live.Requests {
		live := &t.Live.Requests[i]
		r, ok := replayed[live.ID]
		if !ok {
			differences = append(differences, fmt.Sprintf("%d is not in the replay", live.ID))
			continue
		}
		if live.Seats > 1 || live.FinalSeats > 0 {
			wide++
		}
		if decided(live) != decided(r) {
			differences = append(differences, fmt.Sprintf("%d %s %s?%s: live %+v, replay %+v", live.ID, live.Verb, live.Path, live.Query, decided(live), decided(r)))
		}
	}
	return Check{"FlowSchema, level and seats", len(differences) == 0,
		list(differences, fmt.Sprintf("%d requests, %d with several seats or final seats", len(t.Live.Requests), wide))}
}

// uncounted returns how many fewer rejections for a reason the metrics may have than the logs. The queue set
// does not count a request that it takes from its queue between the end of the request's wait and the moment
// at which the request notices it, though the request is answered like the others (dispatchLocked in upstream's
// fairqueuing/queueset/queueset.go).
func uncounted(reason string, logged int) int {
	if reason != outcome.TimeOut || logged == 0 {
		return 0
	}
	return 1 + logged/100
}

// counts compares what the logs say with what the server counted.
func counts(t *trial.Trial) Check {
	logged := map[observed.Count]int{}
	levels := map[string]bool{}
	for i := range t.Live.Requests {
		r := &t.Live.Requests[i]
		levels[r.PriorityLevel] = true
		reason := observed.Dispatched
		if r.Outcome == outcome.Rejected {
			reason = r.Reason
		}
		logged[observed.Count{Level: r.PriorityLevel, Reason: reason}]++
	}
	var differences []string
	total := 0
	all := maps.Clone(logged)
	maps.Copy(all, t.Counted)
	for c := range all {
		if !levels[c.Level] {
			continue
		}
		if missing := logged[c] - t.Counted[c]; missing < 0 || missing > uncounted(c.Reason, logged[c]) {
			differences = append(differences, fmt.Sprintf("%s %s: the logs have %d, the metrics %d", c.Level, c.Reason, logged[c], t.Counted[c]))
		} else if c.Reason != observed.Dispatched {
			total += logged[c]
		}
	}
	slices.Sort(differences)
	return Check{"counts of the metrics", len(differences) == 0, list(differences, fmt.Sprintf("%d rejections by reason, and all dispatches", total))}
}

// limits compares the limits of all levels but exempt after each adjustment.
func limits(t *trial.Trial) Check {
	within := limitSeats
	if t.Case == "underload" {
		within = idleLimitSeats
	}
	var differences []string
	n := min(len(t.Live.Adjustments), len(t.Replay.Adjustments))
	most := 0
	for i := range n {
		live, replay := t.Live.Adjustments[i], t.Replay.Adjustments[i]
		for _, level := range slices.Sorted(maps.Keys(live.Limits)) {
			simulated, ok := replay.Limits[level]
			if !ok || level == "exempt" { // an administrator has prepared the server at this level
				continue
			}
			most = max(most, live.Limits[level]-simulated, simulated-live.Limits[level])
			if d := live.Limits[level] - simulated; d < -within || d > within {
				differences = append(differences, fmt.Sprintf("%s after %v: live %d, replay %d", level,
					time.Duration(live.AtNs).Round(time.Millisecond), live.Limits[level], simulated))
			}
		}
	}
	if n < 2 {
		differences = append(differences, fmt.Sprintf("only %d adjustments in both", n))
	}
	return Check{"limits after each adjustment", len(differences) == 0, list(differences, fmt.Sprintf("%d adjustments, %d seats apart at most", n, most))}
}

// chance returns half the width of the 95 % confidence interval of the mean difference between the waits live and in the
// replay, of the requests of a kind that were executed in both. Single waits differ much, as other requests come first.
func chance(t *trial.Trial, s *Stats) time.Duration {
	replayed := map[int64]int64{}
	for i := range t.Replay.Requests {
		if r := &t.Replay.Requests[i]; r.Outcome == outcome.Executed {
			replayed[r.ID] = r.WaitNs
		}
	}
	var differences compare.RunValues
	for i := range t.Live.Requests {
		r := &t.Live.Requests[i]
		wait, ok := replayed[r.ID]
		if ok && r.Outcome == outcome.Executed && r.PriorityLevel == s.Level && r.Workload == s.Kind {
			differences = append(differences, float64(r.WaitNs-wait))
		}
	}
	mean := compare.EstimateOf(differences)
	return time.Duration(mean.Half())
}

// distributions compares waits and rejections of one kind of request.
func distributions(t *trial.Trial, live, replay *Stats, chance time.Duration) (checks []Check) {
	share, ok := meanShares[t.Case]
	if !ok {
		share = meanShare
	}
	who := live.Kind + " at " + live.Level + ": "
	for _, w := range []struct {
		what                  string
		live, replay          time.Duration
		low, high             time.Duration // bounds of live
		replayLow, replayHigh time.Duration
		share                 float64
		noise                 time.Duration
	}{
		{"wait mean", live.WaitMean, replay.WaitMean, live.WaitMean - chance, live.WaitMean + chance, replay.WaitMean, replay.WaitMean, share, Mean(t.Noise)},
		{"wait p90", live.WaitP90, replay.WaitP90, live.P90Low, live.P90High, replay.P90Low, replay.P90High, p90Share, Percentile(t.Noise, 90)},
		{"wait p99", live.WaitP99, replay.WaitP99, live.P99Low, live.P99High, replay.P99Low, replay.P99High, p99Share, Percentile(t.Noise, 99)},
	} {
		slack := max(leastSlack, noiseFactor*w.noise)
		from := max(0, time.Duration((1-w.share)*float64(w.low))-slack)
		to := time.Duration((1+w.share)*float64(w.high)) + slack
		detail := fmt.Sprintf("live %v, replay %v", round(w.live), round(w.replay))
		if w.replayLow < w.replayHigh {
			detail += fmt.Sprintf(" (%v to %v)", round(w.replayLow), round(w.replayHigh))
		}
		checks = append(checks, Check{who + w.what, from <= w.replayHigh && w.replayLow <= to,
			fmt.Sprintf("%s, allowed %v to %v", detail, round(from), round(to))})
	}
	for _, n := range []struct {
		what         string
		live, replay int
	}{{"queue-full", live.QueueFull, replay.QueueFull}, {"time-out", live.TimeOut, replay.TimeOut}} {
		allowed := int(rejectionShare*float64(n.live)) + rejectionSlack
		checks = append(checks, Check{who + n.what, max(n.live-n.replay, n.replay-n.live) <= allowed,
			fmt.Sprintf("live %d, replay %d, allowed ±%d", n.live, n.replay, allowed)})
	}
	return checks
}

func round(d time.Duration) time.Duration {
	if d.Abs() >= time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Millisecond / 10)
}
