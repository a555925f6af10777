package fit

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"apfsim/core/classify"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/experiment/fit/node"
	"apfsim/experiment/fit/shape"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/traffic"
)

// base is the scenario whose servers, configuration and resources the fitted one takes over.
type base struct {
	document             *yaml.Node // the mapping of the scenario
	durationNs, warmupNs int64
	release              *rules.Rules
}

// readBase reads the base. Without one, the adjustment phase, which nobody knows then, is drawn.
func readBase(o Options) (*base, error) {
	text, name := o.Base, o.BaseFile
	if text == nil {
		text = []byte("apiVersion: " + scenario.APIVersion + "\nkind: " + scenario.Kind + "\nmetadata: {}\nspec: {servers: {adjustmentPhase: random}}\n")
	}
	fail := func(line int, path, message string) error {
		return document.Errors{{Position: document.Position{File: name, Line: line}, Path: path, Message: message}}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, fail(0, "", "is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(&more) == nil {
		return nil, fail(more.Line, "", "has more than one scenario; want one")
	}
	b := &base{document: doc.Content[0]}
	b.document.Style = 0
	spec := node.Field(b.document, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, fail(b.document.Line, "spec", "is missing; want a scenario")
	}
	spec.Style = 0
	for _, f := range []struct {
		name string
		ns   *int64
	}{{"duration", &b.durationNs}, {"warmup", &b.warmupNs}} {
		if n := node.Field(spec, f.name); n != nil {
			d, err := time.ParseDuration(n.Value)
			if err != nil {
				return nil, fail(n.Line, "spec."+f.name, document.Abridge(n.Value)+" is not a duration; use a number with a unit, such as 60s")
			}
			*f.ns = int64(d)
		}
	}
	b.release = rules.Latest()
	if n := node.Field(node.Field(spec, "servers"), "kubernetesVersion"); n != nil {
		release, err := rules.For(n.Value)
		if err != nil {
			return nil, fail(n.Line, "spec.servers.kubernetesVersion", err.Error())
		}
		b.release = release
	}
	b.rebase(node.Field(node.Field(spec, "config"), "files"), o)
	if events := node.Field(spec, "events"); events != nil {
		for _, e := range events.Content {
			b.rebase(node.Field(node.Field(e, "apply"), "files"), o)
		}
	}
	return b, nil
}

// rebase makes the paths in a list relative to the folder of the fitted scenario.
func (b *base) rebase(files *yaml.Node, o Options) {
	if files == nil || o.Dir == "" {
		return
	}
	for _, n := range files.Content {
		if filepath.IsAbs(n.Value) {
			continue
		}
		path := filepath.Join(filepath.Dir(o.BaseFile), n.Value)
		full, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			continue
		}
		if path, err = filepath.Rel(dir, full); err != nil {
			path = full
		}
		n.Value = filepath.ToSlash(path)
	}
}

// scenario returns the text of the fitted scenario.
func (f *fitter) scenario() ([]byte, error) {
	f.base.document.HeadComment = ""
	f.base.document.Content[0].HeadComment = "# Fitted to recorded requests; fit.json says how well. Rates are those of one client."
	metadata := &yaml.Node{Kind: yaml.MappingNode}
	node.Set(metadata, "name", node.Value(f.options.Name))
	node.Set(metadata, "description", node.Value(fmt.Sprintf("Fitted to %d requests of %s. To have twice as many of the requests of a workload, double its clients.",
		f.report.Requests, filepath.Base(f.options.File))))
	node.Set(f.base.document, "metadata", metadata)
	spec := node.Field(f.base.document, "spec")
	for _, name := range []string{"workload", "thresholds", "replications", "seed"} {
		node.Remove(spec, name)
	}
	node.Set(spec, "duration", node.Value(time.Duration(f.report.DurationNs).String()))
	if f.report.WarmupNs == 0 {
		node.Remove(spec, "warmup")
	}
	if node.Field(spec, "resources") == nil {
		if resources := f.resources(); len(resources) > 0 {
			n := &yaml.Node{Kind: yaml.SequenceNode}
			for _, r := range resources {
				n.Content = append(n.Content, node.Value(r))
			}
			node.Set(spec, "resources", n)
		}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, w := range f.workloads {
		switch s := w.sender; {
		case s == nil || !s.closed():
			list.Content = append(list.Content, f.workload(w.name, []*workload{w}, w.observed, &w.tally))
		case w == s.kinds[0]:
			list.Content = append(list.Content, f.workload(s.name, s.kinds, s.observed, &s.tally))
		}
	}
	node.Set(spec, "workload", list)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(f.base.document); err != nil {
		return nil, fmt.Errorf("the fitted scenario cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// workload fits a workload of one or several kinds of requests, with the observations and the statistics of all of
// them, and returns its item of the list. It adds it to the report.
func (f *fitter) workload(name string, kinds []*workload, o *shape.Observations, tally *Tally) *yaml.Node {
	w := kinds[0]
	s := w.members[0].stream
	report := Workload{Name: name, FlowSchema: s.schema, PriorityLevel: s.level, Clients: len(o.Clients), First: o.First, Retries: o.Again, Notes: []string{}}
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
	node.Set(n, "name", node.Value(name))
	if len(o.Clients) > 1 {
		node.Set(n, "clients", node.Value(len(o.Clients)))
	}
	node.Set(n, "as", node.Value(identityValue(s.identity(w.generalized))))
	var requests []any
	retries, followed := false, int64(0)
	for _, k := range kinds {
		request, execution := f.request(k, &report)
		report.Rejected += k.observed.Rejected
		retries = retries || k.retries
		followed += k.followed.Rejected
		if len(kinds) == 1 {
			node.Set(n, "request", node.Value(request))
			node.Set(n, "execution", node.Value(execution))
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
			list.Content = append(list.Content, node.Value(r))
		}
		node.Set(n, "requests", list)
		node.Set(n, "execution", node.Value(requests[0].(map[string]any)["execution"]))
		report.Execution = fmt.Sprintf("of %d kinds", len(kinds))
		for _, k := range report.Kinds {
			report.Distance = max(report.Distance, k.Distance)
			report.Notes = append(report.Notes, fmt.Sprintf("%d of the first attempts are %s; their executions are %s", k.First, k.Request, k.Execution))
		}
	}
	node.Set(n, "arrivals", node.Value(a.Value))
	if a.StartNs > 0 {
		node.Set(n, "start", node.Value(shape.Duration(float64(a.StartNs))))
	}
	if a.EndNs > 0 {
		node.Set(n, "stop", node.Value(shape.Duration(float64(a.EndNs))))
	}
	if followed > 0 {
		report.Retried = shape.Number(float64(o.Again) / float64(followed))
	}
	switch {
	case retries:
		node.Set(n, "retry", node.Value("ClientGo"))
	case o.Again > 0:
		node.Set(n, "retry", node.Value("ClientGo"))
		report.Notes = append(report.Notes, "the retries do not follow Retry-After; the scenario has those of client-go in their place")
	}
	if s.user == "" {
		report.Notes = append(report.Notes, "the log has no user; the scenario calls it "+unknown)
	}
	if w.renamed {
		report.Notes = append(report.Notes, fmt.Sprintf("%d users have other names in the scenario: %s stands for %s", len(w.members), w.word, w.some()))
	}
	f.report.Workloads = append(f.report.Workloads, report)
	f.recorded.Workloads = append(f.recorded.Workloads, tally)
	return n
}

// request fits the requests of one kind, and returns them and their executions in the format of a scenario. It adds
// them to the report.
func (f *fitter) request(w *workload, report *Workload) (request map[string]any, execution any) {
	s, o := w.members[0].stream, w.observed
	executions := &o.Execution
	if executions.N == 0 {
		report.Notes = append(report.Notes, "no request was executed; the execution times of all workloads are assumed")
		executions = f.executions()
	}
	fitted := shape.FitDistribution(executions)
	namespace := s.attributes.Namespace
	if l := &w.members[0].likeness; w.word != "" {
		namespace = l.inNamespace(namespace, w.index)
	}
	request = map[string]any{"verb": s.attributes.Verb}
	for name, text := range map[string]string{"group": s.attributes.APIGroup, "resource": s.attributes.Resource, "subresource": s.attributes.Subresource,
		"namespace": namespace, "name": w.objectName(), "path": w.generalized(s.attributes.Path), "query": w.generalized(s.query)} {
		if text != "" {
			request[name] = text
		}
	}
	if s.attributes.Verb == "watch" {
		d, cut, ok := shape.FitLifetimes(o.Lifetimes.Values)
		switch {
		case ok:
			request["watch"] = map[string]any{"duration": d.Value}
			report.Notes = append(report.Notes, fmt.Sprintf("the watches last %s; %d of %d were still open at the end of the log", d.Text, cut, o.Lifetimes.N))
		default:
			report.Notes = append(report.Notes, fmt.Sprintf("none of %d watches ended in the log; in the scenario they last for the default time, 30 to 60 min", o.Lifetimes.N))
		}
	}
	what := s.attributes.Verb + " " + cmp.Or(s.attributes.Resource, s.attributes.Path)
	if s.attributes.Subresource != "" {
		what += "/" + s.attributes.Subresource
	}
	report.Kinds = append(report.Kinds, Kind{what, s.schema, s.level, o.First, fitted.Text, shape.Number(fitted.Distance)})
	return request, fitted.Value
}

// generalized returns a text with the word of the clients in place of the first member's.
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
func (s *stream) identity(generalized func(string) string) (as traffic.Identity) {
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

// identityValue returns who sends the requests, in the format of a scenario.
func identityValue(as traffic.Identity) map[string]any {
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
