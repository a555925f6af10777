package evidence

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// readMetrics reads the text of /metrics, with or without times.
func (e *evidence) readMetrics(s *incident.Source, text []byte) error {
	return e.readNamed(s, text, wantedMetrics)
}

// readNamed reads the metrics whose names begin so.
func (e *evidence) readNamed(s *incident.Source, text []byte, names []string) error {
	samples, err := metrics.ReadTimed(bytes.NewReader(text), names...)
	if err != nil {
		return err
	}
	if err := plausible(samples); err != nil {
		return err
	}
	f := e.metrics().file(s)
	for name, list := range samples.ByName {
		for i := range list {
			f.add(name, maps.Collect(list[i].Labels), list[i].AtMs, list[i].Value)
		}
	}
	f.end()
	if !f.flowControl() {
		return fmt.Errorf("has no metric of flow control%s; want what kube-apiserver serves: kubectl get --raw /metrics", component(text))
	}
	return nil
}

// plausible returns an error if samples have a value that no server has counted or measured.
func plausible(samples *metrics.Samples) error {
	for _, name := range slices.Sorted(maps.Keys(samples.ByName)) {
		list := samples.ByName[name]
		for i := range list {
			if s := &list[i]; !isCount(name, s.Value) {
				labels := ""
				if key := s.Key(); key != "" {
					labels = "{" + format.Printable(key) + "}"
				}
				return notCounted(name+labels, s.Value, "")
			}
		}
	}
	return nil
}

func notCounted(series string, value float64, at string) error {
	return fmt.Errorf("%s has the value %g%s, which no server has counted; want a number of 0 or more", series, value, at)
}

// component says whose metrics a text has that are not of kube-apiserver.
func component(text []byte) string {
	for _, c := range []struct{ prefix, name string }{{"kubelet_", "a kubelet"}, {"scheduler_", "kube-scheduler"}, {"kubeproxy_", "kube-proxy"},
		{"etcd_server_", "etcd"}, {"coredns_", "CoreDNS"}, {"node_cpu_", "a node exporter"}, {"kube_pod_", "kube-state-metrics"}} {
		if bytes.HasPrefix(text, []byte(c.prefix)) || bytes.Contains(text, []byte("\n"+c.prefix)) {
			return ": it has those of " + c.name
		}
	}
	return ""
}

// flowControl reports whether a file has any metric that a diagnosis can begin with.
func (f *file) flowControl() bool {
	for name := range f.metrics {
		if ofServer(name) || name == clientAnswers || strings.HasPrefix(name, limiterWaits) {
			return true
		}
	}
	return false
}

// metrics returns the metrics of all files so far.
func (e *evidence) metrics() *collected {
	if e.collected == nil {
		e.collected = newCollected()
	}
	return e.collected
}

// concludeMetrics adds what the metrics of all files say.
func (e *evidence) concludeMetrics() {
	if e.collected == nil {
		return
	}
	servers, strange, apart := e.collected.servers()
	if len(servers) == 0 { // all are of clients
		return
	}
	e.warnings = append(e.warnings, strange...)
	if v := e.collected.version(); v != "" {
		e.version, e.from = v, incident.VersionMetrics
	}
	all := served{apart: apart != ""}
	levels := make([][]*level, len(servers))
	for i, s := range servers {
		levels[i] = s.levels()
	}
	for i, s := range servers {
		for _, f := range s.files {
			if s.name != "" && !slices.Contains(f.Instances, s.name) {
				f.Instances = append(f.Instances, s.name)
			}
			if s.ordered || s.estimated && s.startMs == 0 {
				continue
			}
			first, last := s.atMs[0], s.atMs[len(s.atMs)-1]
			for i, at := range s.atMs { // of raw scrapes each file has its own
				if s.estimated && len(s.files) == len(s.atMs) && s.files[i] == f {
					first, last = at, at
				}
			}
			if f.From == "" || clock(first) < f.From {
				f.From = clock(first)
			}
			f.To = max(f.To, clock(last))
		}
		all.add(s.conclude(e, levels[i], slices.Concat(levels[:i], levels[i+1:])))
	}
	if f := all.finding(servers); f != nil {
		e.findings = append(e.findings, *f)
	}
	e.wantMore(servers)
}

// version returns the release of the servers.
func (c *collected) version() (version string) {
	for id := range c.labels {
		if id.name == buildInfo {
			version = max(version, rules.Canonical(c.labels[id]["git_version"]))
		}
	}
	return version
}

// orNil returns the address of a value, and nil for one that is not a finite number.
func orNil(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (g *group) waitBounds() *[2]*float64 {
	if low, high, known := g.waitP99(); known {
		return &[2]*float64{orNil(low), orNil(high)}
	}
	return nil
}

// requests returns how many requests were dispatched or rejected, nil if that is not known.
func (g *group) requests() *float64 {
	if g.uncounted {
		return nil
	}
	return orNil(g.arrived())
}

// addUse adds the rows of a level and of its FlowSchemas.
func (s *server) addUse(e *evidence, l *level, several bool) {
	instance := ""
	if several {
		instance = s.name
	}
	if l.arrived() > 0 || l.used.known() && l.used.sum > 0 {
		u := incident.LevelUse{PriorityLevel: l.level, Instance: instance, Requests: l.requests(), Rejected: l.reasons, WaitP99: l.waitBounds(),
			Used: orNil(l.used.value()), Demand: orNil(l.demand.value())}
		if l.used.known() {
			u.Full = &l.full
		}
		if l.nominal.known() {
			u.Nominal = &l.nominal.last
		}
		if l.current.known() {
			u.Current = &[2]float64{l.current.least, l.current.most}
		}
		e.levels = append(e.levels, u)
	}
	for _, g := range l.schemas {
		u := incident.SchemaUse{FlowSchema: g.schema, PriorityLevel: g.level, Instance: instance, Requests: g.requests(), Rejected: g.reasons, WaitP99: g.waitBounds()}
		if ms := s.lengthMs(); ms > 0 && !g.uncounted {
			u.Rate = orNil(g.arrived() / float64(ms) * 1000)
		}
		if g.seats.known() {
			u.Seats, u.OfUse = orNil(g.seats.value()), orNil(g.seats.sum/l.seats.sum)
		}
		e.schemas = append(e.schemas, u)
	}
}

// wantMore says which sources would tell more.
func (e *evidence) wantMore(servers []*server) {
	want := func(input, tells string) { e.wanted = append(e.wanted, incident.Wanted{Input: input, Tells: tells}) }
	alone := slices.ContainsFunc(servers, (*server).sinceStart)
	bad := slices.ContainsFunc(e.findings, func(f Finding) bool { return f.Status != result.OK })
	if bad && !slices.ContainsFunc(e.dumps, func(d *dump) bool { return d.kind == requestsDump }) {
		want(dumpRequests, "who is in the queues and holds the seats now: users, verbs and paths")
	}
	if bad {
		want("an audit log of one minute", "who sent what, who was rejected, and which change would help")
	}
	if alone {
		want("a second scrape of the same server, a minute later", "whether it goes on, and rates")
		e.unknown = append(e.unknown, "When it happened, and whether it goes on: one scrape counts since the start of the server.")
	}
	if bad && !slices.ContainsFunc(servers, func(s *server) bool { return len(s.atMs) > 2 }) {
		want("a series: a scrape each 10 to 30 s, or query_range of Prometheus", "when it happened, and whether seats were lent")
	}
	e.unknown = append(e.unknown, "Users, clients and single requests: metrics count them by FlowSchema.")
	missing := map[string]bool{}
	for _, m := range []struct{ name, tells string }{
		{metrics.CurrentLimit, "seats that were lent or borrowed"}, {metrics.SeatUtilization + "_count", "which part of the time a level was full"},
		{metrics.EstimatedSeats + "_count", "requests of several seats"}, {metrics.NoAccommodation, "requests that waited for several seats"},
		{metrics.ExecutionSeconds + "_count", "whether executions became slower"}, {metrics.RejectedTotal, "what was rejected"}, {metrics.WaitSeconds + "_bucket", "how long requests waited"},
	} {
		has := slices.ContainsFunc(servers, func(s *server) bool { return len(s.series[m.name]) > 0 })
		if !has && m.name != metrics.NoAccommodation && m.name != metrics.RejectedTotal { // these two appear with their first event
			missing[m.tells] = true
			e.unknown = append(e.unknown, fmt.Sprintf("%s: there is no %s.", strings.ToUpper(m.tells[:1])+m.tells[1:], strings.TrimSuffix(strings.TrimSuffix(m.name, "_count"), "_bucket")))
		}
	}
	if !alone && !slices.ContainsFunc(servers, func(s *server) bool { return s.startMs > 0 }) {
		e.unknown = append(e.unknown, "Whether a server restarted: there is no process_start_time_seconds, and what a server counted just before it stopped is lost.")
	}
	if cloud := cloudOf(servers); cloud != "" && len(missing) > 0 {
		e.unknown = append(e.unknown, cloud)
	}
}

// cloudOf names the cloud that gives just the series of flow control that there are.
func cloudOf(servers []*server) string {
	names := map[string]bool{}
	for _, s := range servers {
		for name := range s.series {
			if base, is := strings.CutPrefix(name, metrics.FlowControl); is {
				for _, end := range []string{"_bucket", "_sum", "_count"} {
					base = strings.TrimSuffix(base, end)
				}
				names[base] = true
			}
		}
	}
	only := func(some ...string) bool {
		for name := range names {
			if !slices.Contains(some, name) {
				return false
			}
		}
		return true
	}
	switch {
	case len(names) == 0:
		return ""
	case only("demand_seats_average", "current_limit_seats"):
		return "These are the two series of AKS's minimal profile: turn the others on in ama-metrics-settings-configmap, or use kubectl get --raw /metrics."
	case only("current_executing_seats", "current_inqueue_requests", "nominal_limit_seats", "rejected_requests_total", "request_wait_duration_seconds"):
		return "These are the five series that GKE's package API_SERVER has: kubectl get --raw /metrics has all."
	}
	return ""
}

// restarted says when the counters began anew.
func (s *server) restarted(at string) (all []Finding) {
	if len(s.restarts) > 0 {
		var times []string
		for _, ms := range s.restarts {
			if s.ordered {
				continue
			}
			times = append(times, clock(ms))
		}
		text := fmt.Sprintf("The counters%s began anew before %s: the server restarted, or another one answered. What it counted in the interval before that is lost", at, format.Listed(times, 5, ""))
		all = append(all, Finding{Status: result.Unknown, Sentence: text, Cause: &result.Cause{Kind: result.ByStoppedServer, Workloads: []string{}, Flows: []result.CauseFlow{}, Figures: []result.Figure{},
			Sentence: text + ".", Confirm: "process_start_time_seconds of each scrape, and the log of the server"}})
	}
	return all
}
