package record

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/reports/files"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// DumpFolder is the folder for dumps within the folder of a run's results. It has one folder for each
// time of a dump.
const DumpFolder = "dumps"

// Dumps write the state of the servers of a run at given times of a run, in the format of kube-apiserver's debug
// endpoints dump_priority_levels, dump_queues and dump_requests below /debug/api_priority_and_fairness/
// (k8s.io/apiserver, util/flowcontrol/apf_controller_debug.go), with the columns and the layout of the server. Levels
// are sorted by name, and the executing requests of a queue by age; the server sorts neither.
type Dumps []*serverDumps

// serverDumps are the dumps of one server.
type serverDumps struct {
	source *server.Server
	folder string // within that of a time; "" with one server
	rules  *rules.Rules
	start  time.Time  // of the run
	atNs   []int64    // the times of the dumps that are not made yet, sorted
	files  files.List // the dumps so far

	// The requests that wait or execute. Invariant: a request is removed when it is rejected or
	// executed, because the server then uses it again.
	active map[*server.Request]struct{}
	counts map[*flowcontrol.Level]*levelCounts
}

// levelCounts counts the requests of a level since it was created.
type levelCounts struct{ dispatched, rejected, timedOut int }

// NewDumps returns a recorder for the servers of a run of sc that starts at the given time of day. It makes a dump at
// each of the times atNs, in nanoseconds since the start of the run. With several servers, each has a folder within that
// of a time. A server without a process makes no dumps.
func NewDumps(sc *scenario.Scenario, servers []*server.Server, start time.Time, atNs []int64) (all Dumps, err error) {
	atNs = slices.Compact(slices.Sorted(slices.Values(atNs)))
	for i, s := range servers {
		release, err := sc.Spec.Servers.RulesFor(sc.Spec.Servers.KubernetesVersion.At(i))
		if err != nil {
			return nil, err
		}
		d := &serverDumps{source: s, rules: release, start: start.UTC(), atNs: atNs,
			active: map[*server.Request]struct{}{}, counts: map[*flowcontrol.Level]*levelCounts{}}
		if len(servers) > 1 {
			d.folder = DumpServerFolder(i)
		}
		all = append(all, d)
	}
	return all, nil
}

// DumpServerFolder is the folder of the dumps of a server within that of a time, if there are several servers.
func DumpServerFolder(server int) string { return "server-" + strconv.Itoa(server) }

// Observer returns what the recorders observe of a run.
func (ds Dumps) Observer() server.Observer {
	each := make([]server.Observer, len(ds))
	for i, d := range ds {
		each[i] = d.observer()
	}
	return server.PerServer(each)
}

// Files returns the dumps so far.
func (ds Dumps) Files() (all files.List) {
	for _, d := range ds {
		all.Append(&d.files)
	}
	return all
}

func (d *serverDumps) observer() server.Observer {
	return server.Observer{
		Queued:     d.queued,
		Dispatched: d.dispatched,
		Rejected:   d.rejected,
		Executed:   d.executed,
		GivenUp:    d.executed,
		Tick:       d.tick,
	}
}

func (d *serverDumps) queued(_ int64, r *server.Request) { d.active[r] = struct{}{} }

func (d *serverDumps) dispatched(_ int64, r *server.Request) {
	if r.Flow != nil {
		d.active[r] = struct{}{}
		d.countsOf(r.Level).dispatched++
	}
}

func (d *serverDumps) rejected(_ int64, r *server.Request) {
	delete(d.active, r)
	c := d.countsOf(r.Level)
	c.rejected++
	if r.Rejection == queueset.TimedOut {
		c.timedOut++
	}
}

func (d *serverDumps) executed(_ int64, r *server.Request) { delete(d.active, r) }

func (d *serverDumps) tick(nowNs int64, _ []*server.Server) (nextNs int64) {
	switch {
	case len(d.atNs) == 0:
		return 0
	case nowNs != d.atNs[0]:
		return d.atNs[0]
	}
	if d.atNs = d.atNs[1:]; len(d.atNs) > 0 {
		nextNs = d.atNs[0]
	}
	if d.source.Stage() == server.Off {
		return nextNs
	}
	folder := filepath.Join(DumpFolder, time.Duration(nowNs).String(), d.folder)
	for i, rows := range [...][][]string{d.priorityLevels(), d.queues(), d.requests()} {
		rows = dumpColumns(d.rules, slices.Insert(rows, 0, DumpKinds[i].Columns))
		d.files.Add(filepath.Join(folder, DumpKinds[i].Name+".csv"), func(w io.Writer) error { return writeAligned(w, rows) })
	}
	return nextNs
}

// HasDumps reports whether the servers of a release have debug dumps.
func HasDumps(r *rules.Rules) bool { return r.Within("1.19", "") }

// columnLifetimes are the releases that have a column, by its name: from since on, and not from until on.
// The other columns are in all releases.
var columnLifetimes = map[string]struct{ since, until string }{
	"SeatsInUse":         {"1.23", ""},
	"VirtualStart":       {"", "1.23"},
	"NextDispatchR":      {"1.23", ""},
	"InitialSeatsSum":    {"1.23", ""},
	"MaxSeatsSum":        {"1.23", ""},
	"TotalWorkSum":       {"1.23", ""},
	"InitialSeats":       {"1.23", ""},
	"FinalSeats":         {"1.23", ""},
	"AdditionalLatency":  {"1.23", ""},
	"DispatchedRequests": {"1.27", ""},
	"RejectedRequests":   {"1.27", ""},
	"TimedoutRequests":   {"1.27", ""},
	"CancelledRequests":  {"1.27", ""},
	"StartTime":          {"1.28", ""},
}

// dumpColumns returns rows, of which the first one is the head, with the columns that a release has.
func dumpColumns(r *rules.Rules, rows [][]string) [][]string {
	kept := make([][]string, len(rows))
	for i, name := range rows[0] {
		if in := columnLifetimes[name]; r.Within(in.since, in.until) {
			for k, row := range rows {
				kept[k] = append(kept[k], row[i])
			}
		}
	}
	return kept
}

// IsDumpHead reports whether columns are those of a kind of dump in some release.
func IsDumpHead(kind int, columns []string) bool {
	return slices.ContainsFunc(rules.Versions(), func(version string) bool {
		r, err := rules.For(version)
		return err == nil && slices.Equal(dumpColumns(r, [][]string{DumpKinds[kind].Columns})[0], columns)
	})
}

// DumpKinds are the three dumps that are made at each time, with the columns that the server has in some
// release.
var DumpKinds = [...]struct {
	Name    string
	Columns []string
}{
	{"dump_priority_levels", []string{"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests"}},
	{"dump_queues", []string{"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "VirtualStart", "NextDispatchR",
		"InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"}},
	{"dump_requests", []string{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
		"InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"}},
}

func (d *serverDumps) countsOf(l *flowcontrol.Level) *levelCounts {
	c := d.counts[l]
	if c == nil {
		c = &levelCounts{}
		d.counts[l] = c
	}
	return c
}

func (d *serverDumps) priorityLevels() [][]string {
	var rows [][]string
	for _, l := range d.source.Levels() {
		q, c, active := l.Queues(), d.countsOf(l), 0
		for i := range q.Len() {
			if q.QueueLength(i) > 0 {
				active++
			}
		}
		rows = append(rows, []string{l.Name(), strconv.Itoa(active), strconv.FormatBool(q.Idle()), strconv.FormatBool(l.Draining()),
			strconv.Itoa(q.Waiting()), strconv.Itoa(q.Executing()), strconv.Itoa(c.dispatched), strconv.Itoa(c.rejected),
			"0", strconv.Itoa(c.timedOut)}) // the server, too, counts time-outs as cancelled requests
	}
	return rows
}

func (d *serverDumps) queues() [][]string {
	var rows [][]string
	for _, l := range d.source.Levels() {
		for i := range l.Queues().Len() {
			q := l.Queues().Queue(i)
			rows = append(rows, []string{l.Name(), strconv.Itoa(i), strconv.Itoa(q.PendingRequests), strconv.Itoa(q.ExecutingRequests),
				strconv.Itoa(q.SeatsInUse), virtualSeconds(q.NextDispatchR), seatSeconds(q.NextDispatchR), strconv.Itoa(q.InitialSeatsSum), strconv.Itoa(q.MaxSeatsSum),
				seatSeconds(q.TotalWorkSum)})
		}
	}
	return rows
}

func seatSeconds(s estimate.SeatSeconds) string { return fmt.Sprintf("%d.%08dss", s/1e8, s%1e8) }

// virtualSeconds writes a virtual time as the releases did in which it was a floating-point number.
func virtualSeconds(s estimate.SeatSeconds) string {
	return strconv.FormatFloat(float64(s)/1e8, 'f', 4, 64)
}

func (d *serverDumps) requests() [][]string {
	var rows [][]string
	for _, l := range d.source.Levels() {
		var requests []*server.Request
		for r := range d.active {
			if r.Level == l {
				requests = append(requests, r)
			}
		}
		slices.SortFunc(requests, func(a, b *server.Request) int {
			return cmp.Or(compareQueues(a, b), compareWaiting(a, b), cmp.Compare(a.Number, b.Number))
		})
		position := 0 // in the queue
		for i, r := range requests {
			if i > 0 && requests[i-1].Queue() != r.Queue() {
				position = 0
			}
			index, started := -1, time.Time{}
			if r.Waiting() {
				index = position
				position++
			} else {
				started = d.start.Add(time.Duration(r.DispatchNs))
			}
			rows = append(rows, []string{l.Name(), r.Flow.Schema.Name, strconv.Itoa(r.Queue()), strconv.Itoa(index), r.Flow.Distinguisher,
				d.start.Add(time.Duration(r.ArrivalNs)).Format(time.RFC3339Nano),
				strconv.Itoa(r.Work.InitialSeats), strconv.Itoa(r.Work.FinalSeats), time.Duration(r.Work.AdditionalLatencyNs).String(),
				started.Format(time.RFC3339Nano)})
		}
	}
	return rows
}

// compareQueues orders requests by queue, and those without a queue (-1) last.
func compareQueues(a, b *server.Request) int { return cmp.Compare(uint(a.Queue()), uint(b.Queue())) }

// compareWaiting orders waiting requests before executing ones.
func compareWaiting(a, b *server.Request) int {
	switch {
	case a.Waiting() == b.Waiting():
		return 0
	case a.Waiting():
		return -1
	}
	return 1
}

// writeAligned writes rows in the layout of the server: separated by commas and aligned in columns.
func writeAligned(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 8, 0, 1, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, ",\t"))
	}
	return w.Flush()
}
