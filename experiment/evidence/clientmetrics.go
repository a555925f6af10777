package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// What programs with client-go and the metrics of component-base or controller-runtime report of their requests
// (k8s.io/component-base, metrics/prometheus/restclient). kube-apiserver has these, too, for its requests to itself.
const (
	restClient    = "rest_client_"
	limiterWaits  = restClient + "rate_limiter_duration_seconds" // verb, host
	clientAnswers = restClient + "requests_total"                // code, method, host
)

// clientLabels are the labels that a client gives to its metrics. A collector uses some of them for servers.
var clientLabels = []string{"verb", "host", "code", "method", "le"}

// ofClient reports whether a snapshot is of a process that is a client, and not a server.
func ofClient(values map[identity]float64) bool {
	client := false
	for id := range values {
		if ofServer(id.name) {
			return false
		}
		client = client || strings.HasPrefix(id.name, restClient)
	}
	return client
}

// clients returns the processes that report their requests as clients, by name.
func (c *collected) clients() (all []*server) {
	for _, instance := range slices.Sorted(maps.Keys(c.timed)) {
		var snapshots []*snapshot
		for _, at := range slices.Sorted(maps.Keys(c.timed[instance])) {
			snapshots = append(snapshots, c.timed[instance][at])
		}
		if s := c.server(instance, snapshots); !s.reports() && (len(s.series[clientAnswers]) > 0 || len(s.series[limiterWaits+"_count"]) > 0) {
			all = append(all, s)
		}
	}
	groups, order, _ := c.processes(true)
	for _, key := range order {
		parts, _ := inOrder(groups[key])
		for _, part := range parts {
			instance, _, _ := strings.Cut(key, "\n")
			all = append(all, c.server(instance, part))
		}
	}
	return all
}

// concludeClientMetrics adds what clients report of their own requests.
func (e *evidence) concludeClientMetrics() {
	if e.collected == nil {
		return
	}
	for _, s := range e.collected.clients() {
		name := "the client of " + filepath.Base(s.files[0].File)
		if s.name != "" {
			name = "the client " + s.name
		}
		e.findings = append(e.findings, s.limited(name), s.refused(e, name))
		e.cannot("The metrics of a client do not say what the server did: whether others were rejected, and how busy it was.")
	}
	e.findings = slices.DeleteFunc(e.findings, func(f Finding) bool { return f.Sentence == "" })
}

func always(*series) bool { return true }

// limited is the finding of how long requests of a client waited for its own rate limit. It has no sentence if none is known.
func (s *server) limited(name string) (f Finding) {
	from, to := s.window()
	waits, found := s.histogram(limiterWaits, from, to, always)
	if !found || waits.Count() == 0 {
		return f
	}
	longest, most := waits.Percentile(100, waits.Count())
	low, high := waits.Percentile(99, waits.Count())
	waitNs := longest * 1e9
	f.Status = result.OK
	f.Sentence = fmt.Sprintf("Of the %s of %s %s, none waited for its own rate limit for longer than %s", result.RequestCount(int64(waits.Count())), name, s.observed(), format.Duration(most*1e9))
	if waitNs < judge.GoodWaitNs && !math.IsInf(most, 1) {
		return f
	}
	verb, share := s.mostLimited(from, to)
	f.Decided = &result.Decided{Of: result.OfWorkload, Name: name, Figure: "own rate limit", Value: waitNs, Limit: judge.GoodWaitNs, Unit: "ns",
		Sentence: fmt.Sprintf("the longest wait for its own rate limit was %s", waitText(longest, most))}
	if f.Status = result.Warning; waitNs >= judge.HarmStallNs {
		f.Status, f.Decided.Limit = result.Harm, judge.HarmStallNs
	}
	f.Sentence = fmt.Sprintf("Requests of %s waited for its own rate limit, before it sent them: p99 %s of %s %s, the longest %s; flow control of the server was not the reason of these waits",
		name, waitText(low, high), result.RequestCount(int64(waits.Count())), s.observed(), waitText(longest, most))
	f.Cause = &result.Cause{Kind: result.ByClientLimit, Workloads: []string{name}, Flows: []result.CauseFlow{},
		Figures:  []result.Figure{{Name: "limiterWaitMax", Value: waitNs, Unit: "ns"}, {Name: "limiterWaitP99", Value: low * 1e9, Unit: "ns"}},
		Sentence: fmt.Sprintf("%s of the time that requests waited for the limit of %s was that of %s.", format.Percent(share), name, verb)}
	f.Try = []result.Remedy{{Remedy: result.RaiseClientLimit, Sentence: raise(name, 0, 0)}}
	return f
}

// mostLimited returns the verb whose requests waited most for the limit of a client, and its part of all waits.
func (s *server) mostLimited(from, to int) (verb string, share float64) {
	by, all := map[string]float64{}, 0.0
	for _, one := range s.series[limiterWaits+"_sum"] {
		for _, x := range s.growth(one)[from:to] {
			by[one.labels["verb"]], all = by[one.labels["verb"]]+x, all+x
		}
	}
	for _, v := range slices.Sorted(maps.Keys(by)) {
		if verb == "" || by[v] > by[verb] {
			verb = v
		}
	}
	return cmp.Or(format.Printable(verb), "an unknown verb"), by[verb] / max(all, 1e-9)
}

// refused is the finding of how many answers of a client were 429.
func (s *server) refused(e *evidence, name string) (f Finding) {
	from, to := s.window()
	all, _ := s.during(clientAnswers, from, to, always)
	n, _ := s.during(clientAnswers, from, to, func(one *series) bool { return one.labels["code"] == tooMany })
	if n == 0 {
		return f
	}
	f.Status = result.Warning
	f.Sentence = fmt.Sprintf("%s of the %s of %s were answered 429 %s; each attempt is counted", judge.ShareText(int64(n), int64(all)), result.RequestCount(int64(all)), name, s.observed())
	e.cannot("An answer 429 is mostly a rejection by flow control. The eviction of a pod with a PodDisruptionBudget is answered so, too, as is a read from a watch cache that is not ready.")
	e.want(true, "/metrics of the server, twice", "why the server rejected requests, and whose")
	return f
}
