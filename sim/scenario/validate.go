package scenario

import (
	"math"
	"regexp"
	"strings"

	"apfsim/document"
)

// Bounds on what one run is asked to do, far beyond what any run gets done.
const (
	mostClients  = 10_000_000
	mostAtOnce   = 100_000_000 // requests in the air at one moment
	mostArrivals = 1 << 40

	MostReplications = 100_000
)

// validator looks at a decoded scenario as a whole, completes it and notes what is wrong.
type validator struct {
	doc        *document.Document
	scenario   *Scenario
	mistakes   document.Errors // in this document; those of decoding come first
	elsewhere  document.Errors // in the files that it mentions
	warnings   document.Errors
	notes      document.Errors // on the files of flow-control objects
	configured bool            // whether scenario.Objects is complete
	files      *Cache
}

// fail notes a mistake at path, unless one has been found there, in a part of it or in
// what it is a part of: the second would only follow from the first.
func (v *validator) fail(path, format string, args ...any) {
	for i := range v.mistakes {
		if document.Within(v.mistakes[i].Path, path) || document.Within(path, v.mistakes[i].Path) {
			return
		}
	}
	v.mistakes.Add(v.doc.Position(path), path, format, args...)
}

// failed reports whether there is a mistake at path or in a part of it.
func (v *validator) failed(path string) bool {
	for i := range v.mistakes {
		if document.Within(v.mistakes[i].Path, path) {
			return true
		}
	}
	return false
}

func (v *validator) warn(path, format string, args ...any) {
	v.warnings.Add(v.doc.Position(path), path, format, args...)
}

// enum checks that value is one of names.
func (v *validator) enum(path, value string, names ...string) {
	for _, name := range names {
		if value == name {
			return
		}
	}
	suggestion := document.Suggest(value, names)
	v.fail(path, "%q: want %s%s", document.Abridge(value), strings.Join(names, ", "), suggestion)
}

func (v *validator) spec() {
	s := &v.scenario.Spec
	v.name()
	if s.Duration <= 0 {
		v.fail("spec.duration", "want more than 0s")
	} else if s.Warmup >= s.Duration {
		v.fail("spec.warmup", "%v: want less than the duration, %v", s.Warmup, s.Duration)
	}
	if s.Replications < 1 || s.Replications > MostReplications {
		v.fail("spec.replications", "%d: want from 1 to %d", s.Replications, MostReplications)
	}
	v.servers()
	v.events()
	v.resources()
	v.workloads()
	v.thresholds()
}

var nameText = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func (v *validator) name() {
	name := v.scenario.Metadata.Name
	switch {
	case name == "":
		v.fail("metadata.name", "is missing")
	case len(name) > 63:
		v.fail("metadata.name", "%q is %d characters long; want at most 63", document.Abridge(name), len(name))
	case !nameText.MatchString(name):
		v.fail("metadata.name", "%q: want lower-case letters, digits and dashes, with no dash at either end", name)
	}
}

func (v *validator) servers() {
	s := &v.scenario.Spec.Servers
	switch {
	case s.Replicas < 1:
		v.fail("spec.servers.replicas", "%d: want 1", s.Replicas)
	case s.Replicas > 1:
		v.fail("spec.servers.replicas", "%d: several replicas are not supported yet; want 1", s.Replicas)
	}
	if s.KubernetesVersion != "1.37" {
		v.fail("spec.servers.kubernetesVersion", "%q: other versions than \"1.37\" are not supported yet", document.Abridge(s.KubernetesVersion))
	}
	v.enum("spec.servers.flowControl", s.FlowControl, PriorityAndFairness, MaxInFlight, NoFlowControl)
	for _, limit := range []struct {
		field string
		value int
	}{{"maxRequestsInflight", s.MaxRequestsInflight}, {"maxMutatingRequestsInflight", s.MaxMutatingRequestsInflight}} {
		if limit.value < 0 || limit.value > math.MaxInt32/2 {
			v.fail("spec.servers."+limit.field, "%d: want 0 to %d", limit.value, math.MaxInt32/2)
		}
	}
	if s.FlowControl == PriorityAndFairness && s.MaxRequestsInflight == 0 && s.MaxMutatingRequestsInflight == 0 {
		v.fail("spec.servers.maxRequestsInflight",
			"0, as maxMutatingRequestsInflight: PriorityAndFairness has no seats to give; want one of them positive")
	}
	if s.RequestTimeout <= 0 {
		v.fail("spec.servers.requestTimeout", "want more than 0s")
	}
}

func (v *validator) resources() {
	seen := map[[2]string]bool{}
	for i := range v.scenario.Spec.Resources {
		r := &v.scenario.Spec.Resources[i]
		path := document.Index("spec.resources", i)
		if r.Resource == "" {
			v.fail(path+".resource", "is missing")
		} else if seen[[2]string{r.Group, r.Resource}] {
			v.fail(path+".resource", "%s stands twice in the list", r.Resource)
		}
		seen[[2]string{r.Group, r.Resource}] = true
		if r.Objects < 0 {
			v.fail(path+".objects", "%d is negative", r.Objects)
		}
		if r.AverageBytes < 0 {
			v.fail(path+".averageBytes", "%d is negative", r.AverageBytes)
		}
	}
}

func (v *validator) workloads() {
	s := &v.scenario.Spec
	if len(s.Workload) == 0 {
		v.fail("spec.workload", "is empty: want one workload at least")
	}
	seen := map[string]int{}
	clients, total, most, mostAt := 0, 0.0, 0.0, 0
	for i := range s.Workload {
		w := &s.Workload[i]
		path := document.Index("spec.workload", i)
		if first, found := seen[w.Name]; found && w.Name != "" {
			v.fail(path+".name", "%q is the name of spec.workload[%d], too", document.Abridge(w.Name), first)
		} else {
			seen[w.Name] = i
		}
		v.workload(path, w)
		if w.Clients >= 1 && w.Clients <= mostClients {
			clients += w.Clients
			if clients > mostClients {
				v.fail(path+".clients", "%d: with the workloads above these are %d clients; want at most %d in all",
					w.Clients, clients, mostClients)
			}
		}
		if !v.failed(path) {
			n := s.expectedArrivals(w)
			if total += n; n > most {
				most, mostAt = n, i
			}
		}
	}
	if total > mostArrivals {
		v.fail(document.Index("spec.workload", mostAt)+".arrivals",
			"the scenario asks for about %.1e requests, %.1e of them here; want at most 2^40, about 1e12", total, most)
	}
}

func (v *validator) workload(path string, w *Workload) {
	s := &v.scenario.Spec
	switch {
	case strings.TrimSpace(w.Name) == "":
		v.fail(path+".name", "is missing")
	case strings.ContainsAny(w.Name, "{},\"") || strings.ContainsFunc(w.Name, func(r rune) bool { return r < ' ' }):
		v.fail(path+".name", "%q: want no braces, commas, quotes or control characters", document.Abridge(w.Name))
	}
	if w.Clients < 1 || w.Clients > mostClients {
		v.fail(path+".clients", "%d: want 1 to %d", w.Clients, mostClients)
	}
	if s.Duration > 0 && w.Start >= s.Duration {
		v.fail(path+".start", "%v: want less than spec.duration, %v", w.Start, s.Duration)
	}
	switch {
	case w.Stop == 0:
	case w.Stop <= w.Start:
		v.fail(path+".stop", "%v: want more than start, %v", w.Stop, w.Start)
	case s.Duration > 0 && w.Stop > s.Duration:
		v.fail(path+".stop", "%v: want at most spec.duration, %v", w.Stop, s.Duration)
	}
	if w.Arrivals.Trace != nil {
		v.replay(path, w)
	} else {
		v.senders(path, w)
		v.requests(path, w)
		v.arrivals(path+".arrivals", w)
	}
	v.retry(path+".retry", &w.Retry)
	if l := w.RateLimit; l != nil {
		if !(l.QPS > 0 && l.QPS <= float64(highest)) {
			v.fail(path+".rateLimit.qps", "%v: want more than 0 and at most 1e9", l.QPS)
		}
		if l.Burst < 1 || l.Burst > math.MaxInt32 {
			v.fail(path+".rateLimit.burst", "%d: want 1 to %d", l.Burst, math.MaxInt32)
		}
	}
}

func (v *validator) retry(path string, r *Retry) {
	if r.MaxRetries < 0 || r.MaxRetries > 1_000_000 {
		v.fail(path+".maxRetries", "%d: want 0 to 1000000", r.MaxRetries)
	}
	b := r.Backoff
	if b == nil {
		return
	}
	if b.Initial <= 0 {
		v.fail(path+".backoff.initial", "want more than 0s")
	}
	if !(b.Factor >= 1 && b.Factor <= 1000) {
		v.fail(path+".backoff.factor", "%v: want 1 to 1000", b.Factor)
	}
	if b.Max != 0 && b.Max < b.Initial {
		v.fail(path+".backoff.max", "%v: want at least initial, %v", b.Max, b.Initial)
	}
	if !(b.Jitter >= 0 && b.Jitter <= 1000) {
		v.fail(path+".backoff.jitter", "%v: want 0 to 1000", b.Jitter)
	}
}

// replay checks a workload whose arrivals are a trace.
func (v *validator) replay(path string, w *Workload) {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"as", w.As.given()},
		{"request", w.Request != nil},
		{"requests", w.Requests != nil},
		{"execution", w.Execution.Given()},
		{"rateLimit", w.RateLimit != nil},
	} {
		if field.given {
			v.fail(path+"."+field.name, "does not go with a trace, which says it itself")
		}
	}
	if w.Clients > 1 {
		v.fail(path+".clients", "%d: a trace is sent once; want 1", w.Clients)
	}
	at := path + ".arrivals.trace.file"
	file := w.Arrivals.Trace.File
	if file == "" {
		v.fail(at, "is missing")
	} else if !v.failed(at) {
		v.trace(at, file)
	}
}
