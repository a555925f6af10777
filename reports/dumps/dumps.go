// Package dumps writes kube-apiserver's debug dumps of priority levels, queues and requests.
package dumps

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
	"apfsim/reports/files"
	"apfsim/reports/observe"
	"apfsim/sim/server"
)

// Folder is where the dumps of a run go, within the folder of its results: a folder
// for each moment.
const Folder = "dumps"

// Recorder shows at given moments of a run what kube-apiserver shows below
// /debug/api_priority_and_fairness/: dump_priority_levels, dump_queues and dump_requests,
// in the same columns and layout (k8s.io/apiserver, util/flowcontrol/apf_controller_debug.go).
// Levels are in the order of their names, and of a queue's executing requests the oldest
// comes first; there both are in no order. It implements server.Observer.
type Recorder struct {
	of    observe.Levels
	start time.Time // of the run
	atNs  []int64   // the moments still to come, in order
	Files files.List

	// The requests that wait or execute: none is kept beyond its Rejected or Executed.
	inside map[*server.Request]struct{}
	counts map[*flowcontrol.Level]*dumpCounts
}

// dumpCounts are what has happened at a level since it is there.
type dumpCounts struct{ dispatched, rejected, timedOut int }

// New returns the dumps of a run, which begins at the given time, at the given moments
// of it, for WriteDir.
func New(of observe.Levels, start time.Time, atNs []int64) *Recorder {
	atNs = slices.Clone(atNs)
	slices.Sort(atNs)
	return &Recorder{of: of, start: start.UTC(), atNs: slices.Compact(atNs),
		inside: map[*server.Request]struct{}{}, counts: map[*flowcontrol.Level]*dumpCounts{}}
}

// Arrived implements server.Observer.
func (d *Recorder) Arrived(int64, *server.Request) {}

// Queued implements server.Observer.
func (d *Recorder) Queued(_ int64, r *server.Request) { d.inside[r] = struct{}{} }

// Dispatched implements server.Observer.
func (d *Recorder) Dispatched(_ int64, r *server.Request) {
	if r.Flow != nil {
		d.inside[r] = struct{}{}
		d.countsOf(r.Level).dispatched++
	}
}

// Rejected implements server.Observer.
func (d *Recorder) Rejected(_ int64, r *server.Request) {
	delete(d.inside, r)
	c := d.countsOf(r.Level)
	c.rejected++
	if r.Rejection == queueset.TimedOut {
		c.timedOut++
	}
}

// Executed implements server.Observer.
func (d *Recorder) Executed(_ int64, r *server.Request) { delete(d.inside, r) }

// Released implements server.Observer.
func (d *Recorder) Released(int64, *server.Request) {}

// Adjusted implements server.Observer.
func (d *Recorder) Adjusted(int64) {}

// Tick implements server.Observer.
func (d *Recorder) Tick(nowNs int64) (nextNs int64) {
	switch {
	case len(d.atNs) == 0:
		return 0
	case nowNs != d.atNs[0]:
		return d.atNs[0]
	}
	if d.atNs = d.atNs[1:]; len(d.atNs) > 0 {
		nextNs = d.atNs[0]
	}
	folder := filepath.Join(Folder, time.Duration(nowNs).String())
	for i, rows := range [...][][]string{d.priorityLevels(), d.queues(), d.requests()} {
		rows = slices.Insert(rows, 0, DumpKinds[i].Columns)
		d.Files.Add(filepath.Join(folder, DumpKinds[i].Name+".csv"), func(w io.Writer) error { return layOut(w, rows) })
	}
	return nextNs
}

// DumpKinds are the dumps of one moment, with the columns of the server's.
var DumpKinds = [...]struct {
	Name    string
	Columns []string
}{
	{"dump_priority_levels", []string{"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests"}},
	{"dump_queues", []string{"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR",
		"InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"}},
	{"dump_requests", []string{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
		"InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"}},
}

func (d *Recorder) countsOf(l *flowcontrol.Level) *dumpCounts {
	c := d.counts[l]
	if c == nil {
		c = &dumpCounts{}
		d.counts[l] = c
	}
	return c
}

func (d *Recorder) priorityLevels() [][]string {
	var rows [][]string
	for _, l := range d.of.Levels() {
		q, c, active := l.Queues(), d.countsOf(l), 0
		for i := range q.Len() {
			if q.QueueLength(i) > 0 {
				active++
			}
		}
		rows = append(rows, []string{l.Name(), strconv.Itoa(active), strconv.FormatBool(q.Idle()), strconv.FormatBool(l.Draining()),
			strconv.Itoa(q.Waiting()), strconv.Itoa(q.Executing()), strconv.Itoa(c.dispatched), strconv.Itoa(c.rejected),
			"0", strconv.Itoa(c.timedOut)}) // at the server, too, a time-out is one that was cancelled
	}
	return rows
}

func (d *Recorder) queues() [][]string {
	var rows [][]string
	for _, l := range d.of.Levels() {
		for i := range l.Queues().Len() {
			q := l.Queues().Queue(i)
			rows = append(rows, []string{l.Name(), strconv.Itoa(i), strconv.Itoa(q.PendingRequests), strconv.Itoa(q.ExecutingRequests),
				strconv.Itoa(q.SeatsInUse), seatSeconds(q.NextDispatchR), strconv.Itoa(q.InitialSeatsSum), strconv.Itoa(q.MaxSeatsSum),
				seatSeconds(q.TotalWorkSum)})
		}
	}
	return rows
}

func seatSeconds(s estimate.SeatSeconds) string { return fmt.Sprintf("%d.%08dss", s/1e8, s%1e8) }

func (d *Recorder) requests() [][]string {
	var rows [][]string
	for _, l := range d.of.Levels() {
		var here []*server.Request
		for r := range d.inside {
			if r.Level == l {
				here = append(here, r)
			}
		}
		slices.SortFunc(here, func(a, b *server.Request) int {
			return cmp.Or(compareQueues(a, b), compareWaiting(a, b), cmp.Compare(a.Number, b.Number))
		})
		place := 0
		for i, r := range here {
			if i > 0 && here[i-1].Queue() != r.Queue() {
				place = 0
			}
			index, started := -1, time.Time{}
			if r.Waiting() {
				index = place
				place++
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

// compareQueues puts requests without a queue last.
func compareQueues(a, b *server.Request) int { return cmp.Compare(uint(a.Queue()), uint(b.Queue())) }

// compareWaiting puts those that wait first. They are in the order of arrival in a queue.
func compareWaiting(a, b *server.Request) int {
	switch {
	case a.Waiting() == b.Waiting():
		return 0
	case a.Waiting():
		return -1
	}
	return 1
}

// layOut writes rows as the server does: with commas, and in columns.
func layOut(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 8, 0, 1, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, ",\t"))
	}
	return w.Flush()
}
