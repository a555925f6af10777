package report

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/trace"
)

// ReplaySentences says in one sentence whether a replay agrees with its log, and in the following ones why it may not.
func ReplaySentences(r *result.Replay) []string {
	all := func(n int64) string { return format.Percent(float64(n) / float64(max(1, r.Requests))) }
	if r.Matches == nil {
		return []string{fmt.Sprintf("The configuration, the workload or the rules are not those of the log, in which %s of %s were rejected; %s are in this run.",
			all(r.RejectedInLog), result.RequestCount(r.Requests), all(r.RejectedInReplay))}
	}
	if *r.Matches {
		text := fmt.Sprintf("The replay agrees with its log: %s of %s are rejected, %s in the log", all(r.RejectedInReplay), result.RequestCount(r.Requests), all(r.RejectedInLog))
		if r.OutcomeEqual != nil {
			text += fmt.Sprintf("; %s have the same outcome", format.Percent(*r.OutcomeEqual))
		}
		return []string{text + "."}
	}
	if r.Requests == 0 {
		return append([]string{"The replay cannot be compared with its log, which does not say what became of the requests."}, replayReasons(r)...)
	}
	return append([]string{"The replay does not agree with its log: " + disagreement(r) + "."}, replayReasons(r)...)
}

// disagreement says in which figure a replay differs most: rejections, then waits, then seats of a level, then outcomes of all; else that
// executions are missing.
func disagreement(r *result.Replay) string {
	worst := func(what string) *result.ReplayedLevel {
		var found *result.ReplayedLevel
		for i := range r.Levels {
			if l := &r.Levels[i]; slices.Contains(l.Disagrees, what) && (found == nil || l.Requests > found.Requests) {
				found = l
			}
		}
		return found
	}
	rejected := func(requests, inReplay, inLog int64, pairs *result.Pairs, where string) string {
		return fmt.Sprintf("%s of %s%s are rejected, %s in the log (%s only in the log, %s only in the replay)", format.Percent(float64(inReplay)/float64(requests)),
			result.RequestCount(requests), where, format.Percent(float64(inLog)/float64(requests)), format.Whole(pairs.B), format.Whole(pairs.C))
	}
	if l := worst("rejected"); l != nil && len(r.Levels) > 1 {
		return rejected(l.Requests, l.RejectedInReplay, l.RejectedInLog, &l.Pairs, " of "+l.PriorityLevel)
	} else if l != nil {
		return rejected(r.Requests, r.RejectedInReplay, r.RejectedInLog, &r.Pairs, "")
	}
	if l := worst("wait"); l != nil {
		return fmt.Sprintf("the mean wait of %s is %s, %s in the log", l.PriorityLevel, format.Duration(float64(l.WaitInReplay.MeanNs)), format.Duration(float64(l.WaitInLog.MeanNs)))
	}
	if l := worst("seatSeconds"); l != nil {
		return fmt.Sprintf("executed requests of %s occupy %s seat-seconds, %s in the log", l.PriorityLevel, format.Number(l.SeatSecondsInReplay), format.Number(l.SeatSecondsInLog))
	}
	if !slices.Contains(r.Unknown, trace.UnknownExecutions) { // the outcomes of all levels together
		return rejected(r.Requests, r.RejectedInReplay, r.RejectedInLog, &r.Pairs, "") + fmt.Sprintf("; %s have the same outcome", format.Percent(*r.OutcomeEqual))
	}
	return fmt.Sprintf("the log does not say how long %s executed, so that they occupy no seats or drawn ones", unknownExecutions(r))
}

func unknownExecutions(r *result.Replay) string {
	if n := r.DifferenceOf("executions"); n > 0 {
		return result.RequestCount(n)
	}
	return "requests"
}

// replayReasons are why a replay may differ from its log, as a sentence.
func replayReasons(r *result.Replay) []string {
	if all := ReplayReasons(r); len(all) > 0 {
		return []string{"Possible reasons: " + strings.Join(all, "; ") + "."}
	}
	return []string{"The reason is not known: a part of the log may be missing, or its beginning, when queues were already full."}
}

// ReplayReasons are why a replay may differ from its log, as parts of a sentence, the most likely ones first.
func ReplayReasons(r *result.Replay) (all []string) {
	unknown := func(what string) bool { return slices.Contains(r.Unknown, what) }
	if unknown(trace.UnknownQueues) {
		all = append(all, "the log begins while queues were already full: begin earlier")
	}
	if unknown(trace.UnknownExecutions) {
		all = append(all, fmt.Sprintf("the execution times of %s are not in the log", unknownExecutions(r)))
	}
	if n := r.DifferenceOf("seats"); n > 0 {
		all = append(all, fmt.Sprintf("%s take other seats than in the log", result.RequestCount(n)))
	} else if unknown(trace.UnknownSeats) {
		all = append(all, "the seats of the requests are not in the log, and are estimated")
	}
	if n := max(r.DifferenceOf("flowSchema"), r.DifferenceOf("priorityLevel")); n > 0 {
		all = append(all, fmt.Sprintf("%s have another FlowSchema or priority level than in the log", result.RequestCount(n)))
	}
	for _, u := range []struct{ what, text string }{
		{trace.UnknownLimits, "the limits of the priority levels are not in the log, and are estimated or assumed"},
		{trace.UnknownWaits, "waits that the log does not have are executed as if they were execution"},
		{trace.UnknownUsers, "users or groups are not in the log, so that flows are a guess"},
		{trace.UnknownPhase, "when the server adjusted its limits is not in the log"},
	} {
		if unknown(u.what) {
			all = append(all, u.text)
		}
	}
	return all
}
