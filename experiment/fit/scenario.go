package fit

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/experiment/fit/shape"
	scripted "apfsim/sim/workload"
)

// scenario returns the text of the fitted scenario.
func (f *fitter) scenario() ([]byte, error) {
	f.base.Document.HeadComment = ""
	f.base.Document.Content[0].HeadComment = "# Fitted to recorded requests; fit.json says how well. Rates are those of one client."
	metadata := &yaml.Node{Kind: yaml.MappingNode}
	shape.SetField(metadata, "name", shape.ValueNode(f.options.Name))
	shape.SetField(metadata, "description", shape.ValueNode(fmt.Sprintf("Fitted to %d requests of %s. To have twice as many of the requests of a workload, double its clients.",
		f.report.Requests, filepath.Base(f.options.File))))
	shape.SetField(f.base.Document, "metadata", metadata)
	spec := shape.NodeField(f.base.Document, "spec")
	for _, name := range []string{"workload", "thresholds", "replications", "seed"} {
		shape.RemoveField(spec, name)
	}
	shape.SetField(spec, "duration", shape.ValueNode(time.Duration(f.report.DurationNs).String()))
	if f.report.WarmupNs == 0 {
		shape.RemoveField(spec, "warmup")
	}
	if shape.NodeField(spec, "resources") == nil {
		if resources := f.resources(); len(resources) > 0 {
			n := &yaml.Node{Kind: yaml.SequenceNode}
			for _, r := range resources {
				n.Content = append(n.Content, shape.ValueNode(r))
			}
			shape.SetField(spec, "resources", n)
		}
	}
	f.setCapacity(spec)
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, w := range f.workloads {
		switch s := w.sender; {
		case s == nil || !s.closed():
			list.Content = append(list.Content, f.workload(w.name, []*workload{w}, w.observed, &w.tally))
		case w == s.kinds[0]:
			list.Content = append(list.Content, f.workload(s.name, s.kinds, s.observed, &s.tally))
		}
	}
	// A client of the log may have asked for a resource that no server has.
	if slices.ContainsFunc(f.workloads, func(w *workload) bool {
		a := &w.members[0].stream.attributes
		return classify.UnknownResource(a.APIGroup, a.Resource) != ""
	}) {
		shape.SetField(spec, "allowUnknownResources", shape.ValueNode(true))
	}
	shape.SetField(spec, "workload", list)
	return f.text()
}

// text returns the text of the scenario as it is.
func (f *fitter) text() ([]byte, error) {
	text, err := shape.Text(f.base.Document)
	if err != nil {
		return nil, fmt.Errorf("the fitted scenario cannot be written: %w", err)
	}
	return text, nil
}

// workload fits a workload of one or several kinds of requests, with the observations and the statistics of all of
// them, and returns its item of the list. It adds it to the report.
func (f *fitter) workload(name string, kinds []*workload, o *shape.Observations, tally *Tally) *yaml.Node {
	w := kinds[0]
	s := w.members[0].stream
	report := Workload{Name: name, FlowSchema: s.schema, PriorityLevel: s.level, Clients: len(o.Clients), First: o.First, Retries: o.Again, NotFitted: []string{}, Notes: []string{}}
	report.Least, report.Most = o.Clients[0].First, o.Clients[0].First
	for _, c := range o.Clients {
		report.Least, report.Most = min(report.Least, c.First), max(report.Most, c.First)
	}
	if v, ok := o.GapVariation(); ok {
		v = shape.Number(v)
		report.Dispersion = &v
	}
	a := o.FitArrivals()
	report.Arrivals, report.Counts = a.Text, shape.Number(o.Dispersion(a.StartNs, a.EndNs))
	report.Notes = append(report.Notes, a.Notes...)

	n := &yaml.Node{Kind: yaml.MappingNode}
	shape.SetField(n, "name", shape.ValueNode(name))
	if len(o.Clients) > 1 {
		shape.SetField(n, "clients", shape.ValueNode(len(o.Clients)))
	}
	shape.SetField(n, "as", shape.ValueNode(IdentityValue(s.identity(w.generalized))))
	var requests []any
	followed := int64(0)
	for _, k := range kinds {
		request, execution := f.request(k, &report)
		report.Rejected += k.observed.Rejected
		followed += k.followed.Rejected
		if len(kinds) == 1 {
			shape.SetField(n, "request", shape.ValueNode(request))
			shape.SetField(n, "execution", shape.ValueNode(execution))
			if k.observed.Delay.N > 0 {
				delay := shape.FitDistribution(&k.observed.Delay)
				shape.SetField(n, "delay", shape.ValueNode(delay.Value))
				report.Kinds[0].Delay = delay.Text
				report.Notes = append(report.Notes, "of an execution, this does not depend on how busy the server is: "+delay.Text)
			}
			continue
		}
		if k.observed.First == 0 {
			continue
		}
		request["weight"], request["execution"] = k.observed.First, execution
		requests = append(requests, request)
	}
	report.Execution, report.Distance = report.Kinds[0].Execution, report.Kinds[0].Distance
	if len(kinds) > 1 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, r := range requests {
			list.Content = append(list.Content, shape.ValueNode(r))
		}
		shape.SetField(n, "requests", list)
		shape.SetField(n, "execution", shape.ValueNode(requests[0].(map[string]any)["execution"]))
		report.Execution = fmt.Sprintf("of %d kinds", len(kinds))
		for _, k := range report.Kinds {
			report.Distance = max(report.Distance, k.Distance)
			report.Notes = append(report.Notes, fmt.Sprintf("%d of the first attempts are %s; their executions are %s", k.First, k.Request, k.Execution))
		}
	}
	shape.SetField(n, "arrivals", shape.ValueNode(a.Value))
	if a.StartNs > 0 {
		shape.SetField(n, "start", shape.ValueNode(shape.Duration(float64(a.StartNs))))
	}
	if a.EndNs > 0 {
		shape.SetField(n, "stop", shape.ValueNode(shape.Duration(float64(a.EndNs))))
	}
	if followed > 0 {
		report.Retried = shape.Number(float64(o.Again) / float64(followed))
	}
	if retry := retryValue(kinds, o.Again, &report); retry != nil {
		shape.SetField(n, "retry", shape.ValueNode(retry))
	}
	if s.user == "" {
		report.Notes = append(report.Notes, "the log has no user; the scenario calls it "+unknown)
	}
	if w.renamed {
		report.Notes = append(report.Notes, fmt.Sprintf("%d users have other names in the scenario: %s stands for %s", len(w.members), w.word, w.some()))
	}
	f.report.Workloads = append(f.report.Workloads, report)
	f.recorded.Workloads = append(f.recorded.Workloads, tally)
	f.items = append(f.items, &item{node: n, kinds: kinds})
	return n
}

// request fits the requests of one kind, and returns them and their executions in the format of a scenario. It adds
// them to the report.
func (f *fitter) request(w *workload, report *Workload) (fields map[string]any, execution any) {
	s, o := w.members[0].stream, w.observed
	executions := &o.Execution
	if executions.N == 0 {
		report.Notes = append(report.Notes, "no request was executed; the execution times of all workloads are assumed")
		executions = f.executions()
	}
	if o.Delay.N > 0 && w.sender != nil && w.sender.closed() {
		report.Notes = append(report.Notes, "a part of some executions does not depend on how busy the server is, which is not expressed for one of several kinds of requests")
		executions = o.Whole()
	}
	fitted := shape.FitDistribution(executions)
	namespace := s.attributes.Namespace
	if l := &w.members[0].likeness; w.word != "" {
		namespace = l.inNamespace(namespace, w.index)
	}
	fields = map[string]any{"verb": s.attributes.Verb}
	for name, text := range map[string]string{"group": s.attributes.APIGroup, "resource": s.attributes.Resource, "subresource": s.attributes.Subresource,
		"namespace": namespace, "name": w.objectName(), "path": w.generalized(s.attributes.Path), "query": w.generalized(s.query)} {
		if text != "" {
			fields[name] = text
		}
	}
	if s.attributes.Verb == "watch" {
		d, cut, ok := shape.FitLifetimes(o.Lifetimes.Values)
		switch {
		case ok:
			fields["watch"] = map[string]any{"duration": d.Value}
			report.Notes = append(report.Notes, fmt.Sprintf("the watches last %s; %d of %d were still open at the end of the log", d.Text, cut, o.Lifetimes.N))
		default:
			report.Notes = append(report.Notes, fmt.Sprintf("none of %d watches ended in the log; in the scenario they last for the default time, 30 to 60 min", o.Lifetimes.N))
		}
	}
	what := s.attributes.Verb + " " + cmp.Or(request.JoinSubresource(s.attributes.Resource, s.attributes.Subresource), s.attributes.Path)
	report.Kinds = append(report.Kinds, Kind{what, s.schema, s.level, o.First, fitted.Text, shape.Number(fitted.Distance), ""})
	return fields, fitted.Value
}

// generalized returns the text with the first member's word replaced by that of all clients.
func (w *workload) generalized(text string) string {
	if w.word == "" {
		return text
	}
	return replaceWord(text, w.members[0].word, w.word)
}

// some lists some of the members' words.
func (w *workload) some() string {
	var words []string
	for _, m := range w.members[:min(3, len(w.members))] {
		words = append(words, m.word)
	}
	if len(w.members) > 3 {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// executions returns the execution times of all workloads together.
func (f *fitter) executions() *shape.Sample {
	var all shape.Sample
	for _, w := range f.workloads {
		for _, x := range w.observed.Execution.Values {
			all.Add(x)
		}
	}
	return &all
}

// unknown is the user of requests whose log does not have one.
const unknown = "unknown"

// identity returns who sends the requests.
func (s *stream) identity(generalized func(string) string) (as scripted.Identity) {
	namespace, name, isAccount := classify.SplitServiceAccount(s.user)
	node, isNode := strings.CutPrefix(s.user, classify.NodePrefix)
	switch {
	case s.user == classify.Anonymous && len(s.groups) == 0:
		as.Anonymous = true
	case isAccount && len(s.groups) == 0:
		as.ServiceAccount = generalized(namespace) + "/" + generalized(name)
	case isNode && node != "" && len(s.groups) == 0:
		as.Node = generalized(node)
	default:
		as.User, as.Groups = cmp.Or(generalized(s.user), unknown), s.groups
	}
	return as
}

// IdentityValue returns who sends the requests, in the format of a scenario.
func IdentityValue(as scripted.Identity) map[string]any {
	fields := map[string]any{}
	for name, text := range map[string]string{"user": as.User, "serviceAccount": as.ServiceAccount, "node": as.Node} {
		if text != "" {
			fields[name] = text
		}
	}
	if len(as.Groups) > 0 {
		fields["groups"] = as.Groups
	}
	if as.Anonymous {
		fields["anonymous"] = true
	}
	return fields
}

// objectName returns the name of the object: with the index, if all members have names of their own that
// contain the same number or word.
func (w *workload) objectName() string {
	first := w.members[0]
	if name := first.objectName(); w.word == "" || name == "" {
		return name
	}
	general := func(m member) string {
		at := strings.LastIndex(m.name, m.token)
		if at < 0 {
			return m.name
		}
		return m.name[:at] + index + m.name[at+len(m.token):]
	}
	for _, m := range w.members {
		if general(m) != general(first) {
			return first.name
		}
	}
	return general(first)
}
