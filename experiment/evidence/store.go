package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
)

// ownLabels are the labels that API servers give to the metrics that are read. All others are those of whoever has collected the
// metrics, and tell which server they are of.
var ownLabels = []string{"priority_level", "priorityLevel", "flow_schema", "flowSchema", "reason", "execute", "type", "phase", "le", "bound", "success",
	"request_kind", "requestKind", "verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code", "contentType",
	"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler", "platform"}

// nameLabels are the labels of collectors that people know a server by, the best one first.
var nameLabels = []string{"instance", "pod", "node", "host", "server"}

// The metrics that are read.
const (
	requestTotal = "apiserver_request_total"
	buildInfo    = "kubernetes_build_info"
)

// wantedMetrics are what the names of the metrics that are read begin with.
var wantedMetrics = []string{metrics.FlowControl, requestTotal, metrics.ProcessStart, buildInfo, limiterWaits, clientAnswers}

// identity is a series of any server: the name of its metric, and the labels that the server has given to it.
type identity struct{ name, own string }

// series is one series of a server.
type series struct {
	identity
	labels map[string]string
	values []float64 // at the times of the server; NaN where it has none
	grown  []float64 // of a counter: by how much since the value before; made on first use
}

// level returns the priority level. The label had another name before 1.20.
func (s *series) level() string { return cmp.Or(s.labels["priority_level"], s.labels["priorityLevel"]) }

func (s *series) schema() string { return cmp.Or(s.labels["flow_schema"], s.labels["flowSchema"]) }

// snapshot is the values of a server at one time.
type snapshot struct {
	files  []*incident.Source
	atMs   int64 // 0 if it is not known
	values map[identity]float64
}

// collected is the metrics of all files.
type collected struct {
	labels  map[identity]map[string]string
	timed   map[string]map[int64]*snapshot // by the labels of the collector and the time
	scrapes []*untimedScrape               // without times
	// begin is when the files with a metric begin: a counter that appears later has been 0 until then.
	begin    map[string]int64
	files    int
	nameless int // series without a name
	names    map[string]int
}

// isCount reports whether a server can have counted or measured the value of a metric. The metrics that weigh by time count
// nanoseconds. Those of virtual time, which are not used, may be less than 0.
func isCount(name string, value float64) bool {
	most := 1e15
	for _, weighted := range []string{metrics.SeatUtilization, metrics.RequestUtilization, metrics.DemandSeats} {
		if rest, is := strings.CutPrefix(name, weighted); is && slices.Contains([]string{"_sum", "_count", "_bucket"}, rest) {
			most = 1e24
		}
	}
	return value >= 0 && value <= most || strings.HasSuffix(name, "_bounds")
}

// untimedScrape is a snapshot without a time.
type untimedScrape struct {
	snapshot
	instance string
}

func newCollected() *collected {
	return &collected{labels: map[identity]map[string]string{}, timed: map[string]map[int64]*snapshot{}, begin: map[string]int64{}, names: map[string]int{}}
}

// file adds the samples of one file.
type file struct {
	*collected
	source  *incident.Source
	untimed map[string]*untimedScrape
	firstMs int64
	metrics map[string]bool
	wrong   error // of the first value that no server has counted
}

func (c *collected) file(source *incident.Source) *file {
	c.files++
	return &file{collected: c, source: source, untimed: map[string]*untimedScrape{}, firstMs: math.MaxInt64, metrics: map[string]bool{}}
}

// add adds a sample. The time is 0 if it is not known.
func (f *file) add(name string, all map[string]string, atMs int64, value float64) {
	if math.IsNaN(value) && f.source.Kind == incident.TSDBDump { // it marks the end of a series
		return
	}
	if !isCount(name, value) && wanted(name) {
		if f.wrong == nil {
			f.wrong = notCounted(name, value, " at "+clock(atMs))
		}
		return
	}
	var own, others []string
	client := strings.HasPrefix(name, restClient)
	for _, label := range slices.Sorted(maps.Keys(all)) {
		text := fmt.Sprintf("%s=%q", label, all[label])
		if slices.Contains(ownLabels, label) && !client || slices.Contains(clientLabels, label) && client {
			own = append(own, text)
		} else {
			others = append(others, text)
		}
	}
	id := identity{name, strings.Join(own, ",")}
	if f.labels[id] == nil {
		f.labels[id] = all
	}
	instance := strings.Join(others, ",")
	f.metrics[name] = true
	if atMs == 0 {
		if f.untimed[instance] == nil {
			f.untimed[instance] = &untimedScrape{snapshot{[]*incident.Source{f.source}, 0, map[identity]float64{}}, instance}
			f.scrapes = append(f.scrapes, f.untimed[instance])
		}
		f.untimed[instance].values[id] = value
		return
	}
	if f.timed[instance] == nil {
		f.timed[instance] = map[int64]*snapshot{}
	}
	s := f.timed[instance][atMs]
	if s == nil {
		s = &snapshot{nil, atMs, map[identity]float64{}}
		f.timed[instance][atMs] = s
	}
	if !slices.Contains(s.files, f.source) {
		s.files = append(s.files, f.source)
	}
	s.values[id], f.firstMs = value, min(f.firstMs, atMs)
}

// end ends a file.
func (f *file) end() {
	for name := range f.metrics {
		if begin, known := f.begin[name]; !known || f.firstMs < begin {
			f.begin[name] = f.firstMs
		}
	}
}

// server is the metrics of one process of a server, or of one that restarts.
type server struct {
	name      string // "" if nothing names it
	atMs      []int64
	estimated bool // the times are computed from how long the process runs
	ordered   bool // the times are not known, and atMs has their order only
	files     []*incident.Source
	startMs   int64 // of the process; 0 if unknown
	series    map[string][]*series
	begin     map[string]int64
	restarts  []int64 // when counters began anew
}

// servers returns the servers that the files are of, by name, what is strange about the files, and the last that is said of scrapes
// that are of different processes, "" if there are none.
func (c *collected) servers() (all []*server, strange []string, apart string) {
	for _, instance := range slices.Sorted(maps.Keys(c.timed)) {
		var snapshots []*snapshot
		for _, at := range slices.Sorted(maps.Keys(c.timed[instance])) {
			snapshots = append(snapshots, c.timed[instance][at])
		}
		if s := c.server(instance, snapshots); s.reports() {
			all = append(all, s)
		}
	}
	groups, order, strange := c.processes(false)
	started := map[string][]*server{}
	for _, key := range order {
		instance, _, _ := strings.Cut(key, "\n")
		parts, notes := inOrder(groups[key])
		strange = append(strange, notes...)
		for _, part := range parts {
			s := c.server(instance, part)
			all = append(all, s)
			started[instance] = append(started[instance], s)
		}
	}
	for _, instance := range slices.Sorted(maps.Keys(started)) {
		if same := started[instance]; len(same) > 1 {
			var texts []string
			for _, s := range same {
				text := s.fileNames()
				if s.startMs > 0 {
					text += " of a process that started at " + clock(s.startMs)
				}
				texts = append(texts, text)
			}
			apart = "the scrapes are of different processes, two servers behind one address or one that restarted, and are not subtracted: " + strings.Join(texts, "; ")
			strange = append(strange, apart)
			for i, s := range same {
				if s.name == "" {
					s.name = fmt.Sprintf("server %d", i+1)
				}
			}
		}
	}
	return all, strange, apart
}

// processes groups the scrapes without times by process, those of clients or those of servers, and says which are the same.
func (c *collected) processes(clients bool) (groups map[string][]*snapshot, order, strange []string) {
	groups = map[string][]*snapshot{}
	for _, s := range c.scrapes {
		if ofClient(s.values) != clients {
			continue
		}
		key := s.instance
		if start, known := s.one(metrics.ProcessStart); known {
			key += fmt.Sprintf("\n%.0f", start)
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		same := slices.IndexFunc(groups[key], func(o *snapshot) bool { return maps.EqualFunc(o.values, s.values, sameValue) })
		if same >= 0 {
			strange = append(strange, fmt.Sprintf("%s is the same scrape as %s: nothing happened in between", s.files[0].File, groups[key][same].files[0].File))
			continue
		}
		groups[key] = append(groups[key], &s.snapshot)
	}
	return groups, order, strange
}

func sameValue(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// one returns the value of a metric that a server has once; the greatest, should there be several.
func (s *snapshot) one(name string) (value float64, found bool) {
	for id, v := range s.values {
		if id.name == name && (!found || v > value) {
			value, found = v, true
		}
	}
	return value, found
}

// ranMs returns for how long the process had run at a scrape, in milliseconds, as the metrics that weigh by time say it: they count
// nanoseconds. 0 if it has none of them.
func (s *snapshot) ranMs() (ran int64) {
	for id, v := range s.values {
		if id.name == metrics.SeatUtilization+"_count" && v > 0 && v < math.MaxInt64/2 {
			ran = max(ran, int64(v/1e6))
		}
	}
	return ran
}

// counters are the endings of the names of metrics that never fall.
var counters = []string{"_total", "_count", "_bucket"}

func isCounter(name string) bool {
	return slices.ContainsFunc(counters, func(end string) bool { return strings.HasSuffix(name, end) })
}

// fell reports whether a counter of b is less than in a.
func fell(a, b *snapshot) bool {
	for id, was := range a.values {
		if now, there := b.values[id]; isCounter(id.name) && (!there && was > 0 || there && now < was) {
			return true
		}
	}
	return false
}

// inOrder puts the scrapes of a server into the order of time: by how long the process has run, else that of the files if counters do
// not fall in it. Scrapes that cannot be of one process are parts of their own.
func inOrder(all []*snapshot) (parts [][]*snapshot, notes []string) {
	given := slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *snapshot) int { return cmp.Compare(a.ranMs(), b.ranMs()) })
	if len(all) > 1 && all[0].ranMs() == 0 && fell(all[0], all[1]) && !fell(all[1], all[0]) {
		slices.Reverse(all)
	}
	if !slices.Equal(given, all) {
		var names []string
		for _, s := range all {
			names = append(names, s.files[0].File)
		}
		notes = append(notes, "the files are in another order than the scrapes, which are taken as "+format.Listed(names, 5, ""))
	}
	for i, s := range all {
		if i == 0 || fell(all[i-1], s) {
			parts = append(parts, nil)
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], s)
	}
	return parts, notes
}

// server makes a server of its snapshots.
func (c *collected) server(instance string, snapshots []*snapshot) *server {
	s := &server{name: nameOf(instance), series: map[string][]*series{}, begin: c.begin}
	if start, known := snapshots[0].one(metrics.ProcessStart); known && start > 0 && start < 1e11 {
		s.startMs = int64(start * 1000)
	}
	s.estimated = snapshots[0].atMs == 0
	s.ordered = s.estimated && snapshots[0].ranMs() == 0
	byID := map[identity]*series{}
	for i, p := range snapshots {
		at := p.atMs
		if s.estimated {
			if at = s.startMs + p.ranMs(); s.ordered {
				at = int64(i)
			}
		}
		s.atMs = append(s.atMs, at)
		for _, f := range p.files {
			if !slices.Contains(s.files, f) {
				s.files = append(s.files, f)
			}
		}
		for id, v := range p.values {
			one := byID[id]
			if one == nil {
				one = &series{identity: id, labels: c.labels[id], values: slices.Repeat([]float64{math.NaN()}, len(snapshots))}
				byID[id] = one
				s.series[id.name] = append(s.series[id.name], one)
			}
			one.values[i] = v
		}
	}
	for _, all := range s.series {
		slices.SortFunc(all, func(a, b *series) int { return cmp.Compare(a.own, b.own) })
	}
	s.findRestarts()
	return s
}

// reports reports whether these are the metrics of an API server, and not of another process that is watched as well.
func (s *server) reports() bool {
	for name := range s.series {
		if ofServer(name) {
			return true
		}
	}
	return false
}

// ofServer reports whether a metric is one of API servers.
func ofServer(name string) bool {
	return strings.HasPrefix(name, metrics.FlowControl) || name == requestTotal
}

// nameOf returns the name of a server from the labels of its collector.
func nameOf(instance string) string {
	for _, label := range nameLabels {
		for _, pair := range strings.Split(instance, ",") {
			if value, is := strings.CutPrefix(pair, label+"="); is {
				return strings.Trim(value, `"`)
			}
		}
	}
	return ""
}

func (s *server) fileNames() string {
	var names []string
	for _, f := range s.files {
		names = append(names, f.File)
	}
	return format.Listed(names, 5, "")
}

// findRestarts finds when the process of a series of samples changed: its start is another one, or most of its counters fell.
func (s *server) findRestarts() {
	for i := 1; i < len(s.atMs); i++ {
		down, all := 0, 0
		for name, list := range s.series {
			if !isCounter(name) && name != metrics.ProcessStart {
				continue
			}
			for _, one := range list {
				was, now := one.values[i-1], one.values[i]
				if math.IsNaN(was) || math.IsNaN(now) || was == 0 {
					continue
				}
				if name == metrics.ProcessStart {
					if math.Abs(now-was) > 1 {
						down += 1 << 20
					}
					continue
				}
				if all++; now < was {
					down++
				}
			}
		}
		if down > 0 && 2*down >= all {
			s.restarts = append(s.restarts, s.atMs[i])
		}
	}
}

// sinceStart reports whether there is only one scrape, so that counters are those since the start of the process.
func (s *server) sinceStart() bool { return len(s.atMs) == 1 }

// lengthMs returns how long the server was observed for, 0 if it is not known.
func (s *server) lengthMs() int64 {
	switch {
	case s.ordered:
		return 0
	case s.sinceStart() && s.estimated:
		return s.atMs[0] - s.startMs
	case s.sinceStart() && s.startMs > 0:
		return s.atMs[0] - s.startMs
	case s.sinceStart():
		return 0
	}
	return s.atMs[len(s.atMs)-1] - s.atMs[0]
}

// growth returns by how much a counter has grown at each time since the time before. Of a single scrape it is the value. A counter
// appears with its first event, and begins anew with its process.
func (s *server) growth(one *series) []float64 {
	if one.grown != nil {
		return one.grown
	}
	one.grown = make([]float64, len(one.values))
	was, known := 0.0, s.sinceStart()
	for i, v := range one.values {
		switch {
		case math.IsNaN(v):
			continue
		case !known && i > 0 && (s.estimated || s.begin[one.name] < s.atMs[i]):
			one.grown[i] = v // it appears
		case known && v >= was:
			one.grown[i] = v - was
		case known:
			one.grown[i] = v // it began anew
		}
		was, known = v, true
	}
	return one.grown
}

// during returns the sum of the growth of series at the times from index from on and before index to, and whether there is any series.
func (s *server) during(name string, from, to int, wanted func(*series) bool) (sum float64, found bool) {
	for _, one := range s.series[name] {
		if wanted(one) {
			found = true
			for _, x := range s.growth(one)[from:to] {
				sum += x
			}
		}
	}
	return sum, found
}
