package evidence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/stat/distuv"

	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/document"
	kubectl "apfsim/document/yaml"
	"apfsim/experiment/fit"
	fitted "apfsim/experiment/fit/shape"
	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
)

// ImportOptions say how a scenario is made of series.
type ImportOptions struct {
	Files    []File
	Release  *rules.Rules    // of the servers; nil for that of the series, or else rules.Default
	Objects  *config.Objects // of the server; nil if they are not known
	Flows    map[string]int  // of FlowSchemas whose flows are known
	Server   string          // the server of which the scenario is; "" for the one with the most requests
	From, To *incident.Moment
	Name     string // of the scenario
	Progress func(unit string) format.Progress
}

// ObjectsFile has the flow-control objects of the scenario, beside it.
const ObjectsFile = "objects.yaml"

// ImportFiles are the files that an import writes to its folder.
var ImportFiles = []string{incident.ScenarioFile, ObjectsFile, incident.ReportFile}

// Import makes a scenario of the metrics of a server, runs it, and compares the runs with the series.
func Import(ctx context.Context, o ImportOptions) (*Imported, error) {
	e, err := gather(ctx, o.Files)
	if err != nil {
		return nil, err
	}
	r := &Imported{Sources: []incident.Source{}, Notes: []string{}, Warnings: append([]string{}, e.warnings...)}
	for _, source := range e.read {
		r.Sources = append(r.Sources, *source)
	}
	s, err := r.choose(e.collected, &o)
	if err != nil {
		return nil, err
	}
	r.pick(e, &o)
	l, err := newLoad(s)
	if err != nil {
		return nil, err
	}
	p, err := l.place(r.release, o.Objects)
	if err != nil {
		return nil, err
	}
	b := &builder{load: l, placement: p, Imported: r, name: o.Name}
	for _, one := range l.schemas {
		b.senders = append(b.senders, p.sender(one))
	}
	p.noteOwn()
	if err := b.checkFlows(o.Flows); err != nil {
		return nil, err
	}
	b.describe(o.Flows)
	return r, b.compare(ctx, &o)
}

// pick finds the release.
func (r *Imported) pick(e *evidence, o *ImportOptions) {
	version := cmp.Or(e.version, e.collected.version())
	switch r.release = o.Release; {
	case r.release != nil:
	case version == "":
		r.note("The series do not say the release of the server, which is taken as %s; --version says another.", rules.Default().Version)
	default:
		r.release, _ = rules.For(version)
		if note := rules.Note(version); note != "" {
			r.note("%s.", note)
		}
		if r.release == nil {
			r.note("The series are of Kubernetes %s, which is not supported: the scenario is of %s.", version, rules.Default().Version)
		}
	}
	if r.release == nil {
		r.release = rules.Default()
	}
	r.KubernetesVersion = r.release.Version
}

// choose returns the metrics of the server, in the time that is wanted.
func (r *Imported) choose(c *collected, o *ImportOptions) (*server, error) {
	fail := func(format string, args ...any) (*server, error) {
		return nil, &incident.WrongChoice{Message: fmt.Sprintf(format, args...)}
	}
	if c == nil {
		return fail("no file has metrics: want a series of scrapes of a server")
	}
	all, strange, apart := c.servers()
	r.Warnings = append(r.Warnings, strange...)
	var names []string
	var best *server
	most := -1.0
	for _, s := range all {
		names = append(names, s.name)
		n := 0.0
		if from, to := s.window(); !s.sinceStart() {
			for _, name := range []string{metrics.DispatchedTotal, metrics.WaitSeconds + "_count"} {
				x, _ := s.during(name, from, to, func(*series) bool { return true })
				n = max(n, x)
			}
		}
		if o.Server != "" && s.name == o.Server || o.Server == "" && n > most {
			best, most = s, n
		}
	}
	switch {
	case len(all) == 0:
		return fail("the files have no metrics of an API server")
	case best == nil:
		return fail("--server: no series are of a server called %q%s; want one of %s", o.Server, document.Suggest(o.Server, names), strings.Join(names, ", "))
	case best.sinceStart() && apart != "":
		return fail("%s; want a second scrape of one of them, a minute later, or a series", apart)
	case best.sinceStart():
		return fail("%s: one scrape has no rates, as it counts since the start of the server; want a second one of the same process, a minute later, or a series", best.fileNames())
	case best.ordered:
		return fail("%s: the scrapes do not say when they were taken; want a series with times, or scrapes with %s of 1.25 or later", best.fileNames(), metrics.SeatUtilization)
	}
	if len(all) > 1 {
		r.note("The series are of %d servers. The scenario is of one, %s, which has the most requests unless --server says another; the others are %s.", len(all), best.name,
			format.Listed(slices.DeleteFunc(names, func(n string) bool { return n == best.name }), 5, ""))
	}
	r.Server = best.name
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if o.From != nil {
		from = o.From.After(best.atMs[0]*1e6) / 1e6
	}
	if o.To != nil {
		to = o.To.After(best.atMs[0]*1e6) / 1e6
	}
	part, notes := best.between(from, to)
	if part == nil {
		return fail("there are not two samples in the time that is wanted: the series are from %s to %s", clock(best.atMs[0]), clock(best.atMs[len(best.atMs)-1]))
	}
	r.Notes = append(r.Notes, notes...)
	r.From, r.To = clock(part.atMs[0]), clock(part.atMs[len(part.atMs)-1])
	return part, nil
}

// builder builds the scenario.
type builder struct {
	*load
	*placement
	*Imported
	name      string
	senders   []*sender // of each FlowSchema of the load
	disagrees bool      // its runs, with the series
}

func (b *builder) checkFlows(flows map[string]int) error {
	var names, wrong []string
	for _, s := range b.load.schemas {
		names = append(names, s.schema)
	}
	for _, name := range slices.Sorted(maps.Keys(flows)) {
		i := slices.Index(names, name)
		switch {
		case i < 0:
			wrong = append(wrong, fmt.Sprintf("--flows %s=%d: no request of the series has this FlowSchema%s; want one of %s", format.Printable(name), flows[name], document.Suggest(name, names), format.Listed(names, 20, "")))
		case !b.senders[i].flows && flows[name] != 1:
			wrong = append(wrong, fmt.Sprintf("--flows %s=%d: all its requests are one flow, by its rules, its distinguisher or its priority level; want 1", name, flows[name]))
		}
	}
	if len(wrong) > 0 {
		return &incident.WrongChoice{Message: strings.Join(wrong, "\n")}
	}
	return nil
}

const (
	mostStages  = 120
	mostSamples = 120
	mostFlows   = 10_000 // of a FlowSchema that has as many as requests
)

// lead is the time before the series begin, in which requests arrive at the rate at which they were served first, so that levels borrow and
// lend as they did, and, just before the end, those that waited or executed when the series begin: some intervals of samples of the run.
func (b *builder) lead() time.Duration {
	if !slices.ContainsFunc(b.load.schemas, func(s *schemaLoad) bool { return s.before >= 0.5 }) {
		return 0
	}
	return (leastLead + b.interval() - 1) / b.interval() * b.interval()
}

// interval is the time between two samples of the run: that of the series, unless these are many more.
func (b *builder) interval() time.Duration {
	lengths := slices.Sorted(slices.Values(b.lengths))
	ms := max(lengths[len(lengths)/2], b.seconds/mostSamples) * 1000
	return max(10, time.Duration(math.Round(min(ms, 30_000)))) * time.Millisecond
}

const (
	leastLead = 3 * flowcontrol.AdjustmentPeriodNs * time.Nanosecond
	// leadIn is how long before the beginning of the series the requests arrive that waited or executed then.
	leadIn = time.Second
)

func mapping(fields ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(fields); i += 2 {
		value, is := fields[i+1].(*yaml.Node)
		if !is {
			value = fitted.ValueNode(fields[i+1])
		}
		fitted.SetField(n, fields[i].(string), value)
	}
	return n
}

func (b *builder) description() string {
	text := fmt.Sprintf("Made of metrics from %s to %s. Each workload is a FlowSchema; its clients are its flows, whose number is assumed.", b.Imported.From, b.Imported.To)
	if b.disagrees {
		text += " Its runs do not agree with the series: do not rely on what they say of a change."
	}
	return text
}

// scenario returns the text of the scenario with so many flows of each FlowSchema.
func (b *builder) scenario(flows []int) (string, error) {
	lead := b.lead()
	workloads := &yaml.Node{Kind: yaml.SequenceNode}
	resources := map[string]any{}
	for i, s := range b.load.schemas {
		requests := b.requests(i, resources)
		add := func(name string, clients int, more ...any) {
			n := mapping("name", name)
			if clients > 1 {
				fitted.SetField(n, "clients", fitted.ValueNode(clients))
			}
			fitted.SetField(n, "as", fitted.ValueNode(fit.IdentityValue(b.senders[i].as)))
			fitted.SetField(n, "requests", requests)
			for k := 0; k < len(more); k += 2 {
				fitted.SetField(n, more[k].(string), fitted.ValueNode(more[k+1]))
			}
			workloads.Content = append(workloads.Content, n)
		}
		if n := int(math.Round(s.before)); n > 0 && lead > 0 {
			clients := min(n, flows[i])
			add(s.schema+"-before", clients, "arrivals", map[string]any{"burst": map[string]any{"at": fitted.Duration(float64(lead - leadIn)), "requests": (n + clients/2) / clients}})
		}
		if s.all == 0 {
			continue
		}
		add(s.schema, flows[i], "arrivals", b.arrivals(s, flows[i]))
	}
	duration := lead + time.Duration(math.Round(b.seconds*1e9))
	spec := mapping("duration", fitted.Duration(float64(duration)))
	if lead > 0 {
		fitted.SetField(spec, "warmup", fitted.ValueNode(fitted.Duration(float64(lead))))
	}
	fitted.SetField(spec, "servers", mapping("kubernetesVersion", b.placement.release.Version, "maxRequestsInflight", b.placement.seats, "maxMutatingRequestsInflight", 0))
	fitted.SetField(spec, "config", mapping("base", scenario.BaseMandatory, "files", []any{ObjectsFile}))
	fitted.SetField(spec, "allowUnknownResources", fitted.ValueNode(true))
	if len(resources) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, name := range slices.Sorted(maps.Keys(resources)) {
			list.Content = append(list.Content, fitted.ValueNode(resources[name]))
		}
		list.HeadComment = "# Lists have the seats of the series by the limit in their query."
		fitted.SetField(spec, "resources", list)
	}
	fitted.SetField(spec, "workload", workloads)
	doc := mapping("apiVersion", scenario.APIVersion, "kind", scenario.Kind,
		"metadata", mapping("name", b.name, "description", b.description()),
		"spec", spec)
	doc.HeadComment = "# Made of metrics; import.json says what is known and what is assumed. Rates of stages are those of one client."
	text, err := fitted.Text(doc)
	if err != nil {
		return "", fmt.Errorf("the scenario cannot be written: %w", err)
	}
	return string(text), nil
}

// distribution returns durations in the format of a scenario.
func distribution(atoms []atom) any {
	if len(atoms) == 1 {
		return fitted.Duration(atoms[0].value * 1e9)
	}
	var values, weights []any
	for _, a := range atoms {
		values, weights = append(values, fitted.Duration(a.value*1e9)), append(weights, fitted.Number(a.weight))
	}
	return map[string]any{"empirical": map[string]any{"values": values, "weights": weights}}
}

// requests returns the requests of a FlowSchema, with the resources that they need.
func (b *builder) requests(i int, resources map[string]any) *yaml.Node {
	s, from := b.load.schemas[i], b.senders[i]
	list := &yaml.Node{Kind: yaml.SequenceNode}
	add := func(verb, query string, weight float64, executions []atom) {
		q := from.request
		if q.Verb != verb {
			q.Verb, q.Name, q.Subresource = verb, "", ""
		}
		fields := map[string]any{"verb": q.Verb, "weight": fitted.Number(weight), "execution": distribution(executions)}
		for name, text := range map[string]string{"group": q.Group, "resource": q.Resource, "subresource": q.Subresource, "namespace": q.Namespace, "name": q.Name, "path": q.Path, "query": query} {
			if text != "" {
				fields[name] = text
			}
		}
		list.Content = append(list.Content, fitted.ValueNode(fields))
	}
	if s.executions.n == 0 { // all were rejected, or none has ended
		add(from.request.Verb, "", 1, []atom{{b.anyExecution(), 1}})
		return list
	}
	for _, k := range s.kinds() {
		verb, query := from.request.Verb, ""
		if k.seats > 1 && from.lists {
			if found := b.query(from, k.seats); found != "" {
				verb, query = "list", found
				fields := map[string]any{"resource": from.request.Resource, "objects": b.listed().Objects, "averageBytes": b.listed().AverageBytes}
				if from.request.Group != "" {
					fields["group"] = from.request.Group
				}
				resources[from.request.Group+"/"+from.request.Resource] = fields
			}
		}
		add(verb, query, k.part, k.executions)
	}
	return list
}

// anyExecution returns the mean execution of all requests, in seconds.
func (b *builder) anyExecution() float64 {
	sum, n := 0.0, 0.0
	for _, s := range b.load.schemas {
		sum, n = sum+s.executions.sum, n+s.executions.n
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// arrivals returns the arrivals of a client: a Poisson process with the rate of all intervals, if their counts do not differ by more than
// such a process lets expect, or else with the rate of each.
func (b *builder) arrivals(s *schemaLoad, clients int) any {
	together, lead := (len(s.arrived)+mostStages-1)/mostStages, b.lead()
	if s.steady(b.load) {
		if lead == 0 || s.servedFirst >= allServed*s.perSecond(b.load) {
			return map[string]any{"poisson": map[string]any{"total": rate(s.perSecond(b.load))}}
		}
		together = len(s.arrived)
	}
	var stages []any
	stage := func(seconds float64, rate string) {
		stages = append(stages, map[string]any{"duration": fitted.Duration(seconds * 1e9), "rate": rate})
	}
	each := func(perSecond float64) string { return rate(perSecond / float64(clients)) }
	first := ""
	for i := 0; i < len(s.arrived); i += together {
		n, seconds := 0.0, 0.0
		for k := i; k < min(i+together, len(s.arrived)); k++ {
			n, seconds = n+s.arrived[k], seconds+b.lengths[k]
		}
		now := each(n / seconds)
		switch {
		case i > 0:
			stage(0, now)
		case lead > 0:
			first = each(s.servedFirst)
			stage((lead - leadIn).Seconds(), first)
			stage(0, now)
			seconds += leadIn.Seconds()
		default:
			first = now
		}
		stage(seconds, now)
	}
	return map[string]any{"ramping": map[string]any{"process": "poisson", "startRate": first, "stages": stages}}
}

// allServed is the part of the requests from which on a FlowSchema counts as served.
const allServed = 0.98

func rate(x float64) string { return fmt.Sprintf("%g/s", fitted.Number(x)) }

// steadyP is the least probability of counts that vary as much, of a rate that is the same in all intervals.
const steadyP = 0.01

// steady reports whether the counts of the intervals may be those of a Poisson process of one rate, by their index of dispersion.
func (s *schemaLoad) steady(l *load) bool {
	d := 0.0
	for i, n := range s.arrived {
		expected := s.all * l.lengths[i] / l.seconds
		d += (n - expected) * (n - expected) / expected
	}
	free := float64(len(s.arrived) - 1)
	return free < 1 || d <= distuv.ChiSquared{K: free}.Quantile(1-steadyP)
}

// objectsText returns the objects as YAML.
func (b *builder) objectsText() ([]byte, error) {
	return kubectl.Marshal(b.placement.objects.Manifest(b.placement.release))
}
