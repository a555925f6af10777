package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

const (
	// causeNs is how long after something has happened to a server failures are still put down to it.
	causeNs = 30_000_000_000
	// unevenShare is how many times its even share of the requests or connections a server has that is named.
	unevenShare = 1.5
	// idleShare is the part of its even share of the connections below which a restarted server is idle.
	idleShare = 0.25
	// mostFailures is how many times of failures are named.
	mostFailures = 8
)

// ServerFindings returns the findings on servers: failures that followed something that happened to one, requests
// that were lost, uneven shares, servers without clients, and collapses of throughput.
func ServerFindings(s *result.Summary) []Finding {
	all := failures(s)
	add := func(server int, how judge.Judgement, template string, args ...any) {
		all = append(all, Finding{Group: "Servers", Judgement: how, Subject: serverName(server), Text: fmt.Sprintf(template, args...)})
	}
	n, connections := float64(len(s.Servers)), 0
	for i := range s.Servers {
		if c := s.Servers[i].Connections; c != nil {
			connections += *c
		}
	}
	for i := range s.Servers {
		v := &s.Servers[i]
		if n > 1 && v.MostConnectionsShare*n >= unevenShare {
			add(i, judge.Bad, "%s of all connections at t = %s; an even share is %s",
				format.Percent(v.MostConnectionsShare), s.StartNs.Moment(v.MostConnectionsShareAtNs), format.Percent(1/n))
		}
		if share := float64(v.Arrived) / float64(max(1, s.Total.Arrived)); n > 1 && share*n >= unevenShare {
			add(i, judge.Bad, "%s of all requests; an even share is %s", format.Percent(share), format.Percent(1/n))
		}
		if readyNs, ok := becameReady(s, i); ok && v.Connections != nil && s.DurationNs-readyNs >= causeNs &&
			float64(*v.Connections) <= idleShare*float64(connections)/n {
			add(i, judge.Bad, "%d of %s at the end, %s after it had become ready (t = %s)", *v.Connections,
				format.Counted(connections, "connection"), format.Duration(float64(s.DurationNs-readyNs)), s.StartNs.Moment(readyNs))
		}
		if v.SlowNs > 0 {
			add(i, judge.Bad, "speed of execution below %s for %s, least %s; %s in service at most", format.Percent(result.SlowSpeed),
				format.Duration(float64(v.SlowNs)), format.Percent(v.LeastSpeed), result.RequestCount(int64(v.MostInService)))
		}
		if c := v.Collapse; c != nil {
			add(i, judge.Bad, "throughput collapsed: %s/s with %s in service (t = %s), after %s/s with %s in service (t = %s)",
				format.Number(c.ExecutedPerSecond), format.Number(c.InService), s.StartNs.Moment(c.AtNs),
				format.Number(c.BestExecutedPerSecond), format.Number(c.BestInService), s.StartNs.Moment(c.BestAtNs))
		}
	}
	return all
}

// becameReady returns when a server that is ready at the end became ready; not ok if it always was.
func becameReady(s *result.Summary, index int) (atNs int64, ok bool) {
	for _, m := range s.Timeline {
		if m.Server == index && m.What == result.BecameReady {
			atNs, ok = m.AtNs, true
		}
	}
	return atNs, ok && s.Servers[index].Stage == server.Ready.String()
}

func serverName(index int) string {
	if index == result.AllServers {
		return "all servers"
	}
	return fmt.Sprintf("server %d", index)
}

// failures returns a finding for each time of failures that began soon after something had happened to a
// server; of too many, for those with the most requests.
func failures(s *result.Summary) (all []Finding) {
	type caused struct {
		*result.Failure
		by *result.Moment
	}
	var found []caused
	for i := range s.Failures {
		if m := causeOf(s, &s.Failures[i]); m != nil {
			found = append(found, caused{&s.Failures[i], m})
		}
	}
	if len(found) > mostFailures {
		size := func(f caused) int64 { return f.Rejected + f.Refused + f.Lost }
		slices.SortStableFunc(found, func(a, b caused) int { return -cmp.Compare(size(a), size(b)) })
		found = found[:mostFailures]
		slices.SortFunc(found, func(a, b caused) int { return cmp.Compare(a.FromNs, b.FromNs) })
	}
	for _, f := range found {
		var what, counts []string
		for _, k := range []struct {
			n               int64
			plural, outcome string
		}{{f.Rejected, "rejections", "rejected"}, {f.Refused, "refusals", "refused"}, {f.Lost, "losses", "lost"}} {
			if k.n > 0 {
				what, counts = append(what, k.plural), append(counts, format.Quantity(k.n)+" "+k.outcome)
			}
		}
		when := format.Duration(float64(f.FromNs-f.by.AtNs)) + " after"
		if f.FromNs == f.by.AtNs {
			when = "when"
		}
		all = append(all, Finding{Group: "Servers", Judgement: judge.Bad, Subject: serverName(f.by.Server),
			Text: fmt.Sprintf("%s began %s %s (t = %s) and lasted %s: %s", strings.Join(what, " and "), when, momentText(f.by),
				s.StartNs.Moment(f.by.AtNs), format.Duration(float64(f.ToNs-f.FromNs)), strings.Join(counts, ", "))})
	}
	return all
}

// causeOf returns what had happened last to a server before a failure began; nil if that is long ago.
func causeOf(s *result.Summary, f *result.Failure) (cause *result.Moment) {
	for i := range s.Timeline {
		m := &s.Timeline[i]
		if m.AtNs > f.FromNs {
			break
		}
		if f.FromNs-m.AtNs <= causeNs && momentText(m) != "" {
			cause = m
		}
	}
	return cause
}

// momentText says what has happened if it can be the cause of failures, else "".
func momentText(m *result.Moment) string {
	switch m.What {
	case result.Stopped:
		return "it was told to stop"
	case result.NotAccepting:
		return "it no longer accepted requests"
	case result.Gone:
		return "its process had ended"
	case result.Crashed:
		return "it crashed"
	case result.Started, result.BecameReady, result.Drained, result.NoticedDown, result.NoticedUp, result.Listed, result.Unlisted:
		return ""
	}
	return "the change to " + m.What
}
