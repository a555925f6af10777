package report

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/queueset"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// The names of the files of a run's tables, without extension.
const (
	SeriesRecords  = "series"
	ServersRecords = "servers"
	ClientsRecords = "clients"
	FlowsRecords   = "flows"
)

// runRecords returns the tables of a run: what happened over time.
func runRecords(r *result.Result) []*Records {
	all := []*Records{seriesRecords(r)}
	if r.ServerSeries != nil {
		all = append(all, serversRecords(r.ServerSeries))
	}
	if len(r.ClientSeries) > 0 {
		all = append(all, clientsRecords(r.ClientSeries))
	}
	return all
}

// rejectionFields are the reasons of rejections that tables for programs have columns for.
var rejectionFields = []struct {
	name   string
	reason queueset.Rejection
}{{"rejectedQueueFull", queueset.QueueFull}, {"rejectedConcurrencyLimit", queueset.ConcurrencyLimit}, {"rejectedTimeOut", queueset.TimedOut}}

// rejections are the columns of the rejections by reason.
func rejections[R any](rejected func(*R) *[queueset.Rejections]int64) (columns Definition[R]) {
	for _, f := range rejectionFields {
		columns = append(columns, countField(f.name, func(r *R) int64 { return rejected(r)[f.reason] }))
	}
	return columns
}

// levelInterval is an interval of the series of a priority level, at one server or at all.
type levelInterval struct {
	*result.Point
	series *result.Series
	server string
}

func levelIntervals(s *result.Series, server string) iter.Seq[*levelInterval] {
	return each(s.Points, func(_ int, p *result.Point) *levelInterval { return &levelInterval{p, s, server} })
}

// The columns of the intervals of priority levels that two tables have.
var (
	levelField   = textField("priorityLevel", func(l *levelInterval) string { return l.series.Level })
	levelStart   = secondsField("startSeconds", func(l *levelInterval) int64 { return l.StartNs })
	levelEnd     = secondsField("endSeconds", func(l *levelInterval) int64 { return l.EndNs })
	levelSeats   = decimalField("seatsInUse", func(l *levelInterval) float64 { return l.SeatsInUse })
	levelRunning = decimalField("executingRequests", func(l *levelInterval) float64 { return l.ExecutingRequests })
	levelWaiting = decimalField("waitingRequests", func(l *levelInterval) float64 { return l.WaitingRequests })
	levelArrived = countField("arrived", func(l *levelInterval) int64 { return l.Arrived })
	levelStarted = countField("dispatched", func(l *levelInterval) int64 { return l.Dispatched })
	levelLimit   = textField("currentLimitSeats", func(l *levelInterval) string {
		if !l.series.Limited {
			return ""
		}
		return format.Decimal(l.CurrentLimit)
	})
)

// seriesOfLevels are the columns of series.csv for the intervals of priority levels.
var seriesOfLevels = slices.Concat(
	Definition[levelInterval]{levelField, levelStart, levelEnd, levelSeats, levelRunning, levelWaiting,
		decimalField("waitingSeats", func(l *levelInterval) float64 { return l.WaitingSeats }),
		levelLimit, levelArrived, levelStarted},
	rejections(func(l *levelInterval) *[queueset.Rejections]int64 { return &l.Rejected }),
	Definition[levelInterval]{textField("jain", func(l *levelInterval) string {
		if l.Jain == nil {
			return ""
		}
		return format.Decimal(*l.Jain)
	})},
)

// workloadInterval is an interval of the series of a workload.
type workloadInterval struct {
	*result.WorkloadPoint
	series *result.WorkloadSeries
	index  int
}

// seriesOfWorkloads are the columns of series.csv for the intervals of workloads.
var seriesOfWorkloads = slices.Concat(
	Definition[workloadInterval]{
		secondsField("startSeconds", func(w *workloadInterval) int64 { return w.StartNs }),
		secondsField("endSeconds", func(w *workloadInterval) int64 { return w.EndNs }),
		countField("arrived", func(w *workloadInterval) int64 { return w.Arrived }),
		countField("dispatched", func(w *workloadInterval) int64 { return w.Dispatched }),
	},
	rejections(func(w *workloadInterval) *[queueset.Rejections]int64 { return &w.Rejected }),
	Definition[workloadInterval]{
		textField("workload", func(w *workloadInterval) string { return w.series.Workload }),
		waitField("waitP50Seconds", func(w *workloadInterval) int64 { return w.WaitP50Ns }),
		waitField("waitP99Seconds", func(w *workloadInterval) int64 { return w.WaitP99Ns }),
		textField("oldestWaitSeconds", func(w *workloadInterval) string { return format.Seconds(w.OldestWaitNs) }),
		textField("marks", func(w *workloadInterval) string { return strings.Join(w.series.MarkTexts(w.index), "; ") }),
	},
)

// waitField is a column with a percentile of the waits, which is empty if there are none.
func waitField(name string, ns func(*workloadInterval) int64) ColumnOf[workloadInterval] {
	return textField(name, func(w *workloadInterval) string {
		if w.Waits == 0 {
			return ""
		}
		return format.Seconds(ns(w))
	})
}

// seriesRecords are a row for each priority level and interval, and below them one for each workload and interval.
func seriesRecords(r *result.Result) *Records {
	tables := []*Records{seriesOfLevels.Records("", nil)}
	for _, s := range r.Series {
		if s.Level != "" || !s.Quiet() {
			tables = append(tables, seriesOfLevels.recordsOf("", levelIntervals(s, "")))
		}
	}
	tables = append(tables, seriesOfWorkloads.Records("", nil))
	for _, s := range r.WorkloadSeries {
		tables = append(tables, seriesOfWorkloads.recordsOf("", each(s.Points, func(i int, p *result.WorkloadPoint) *workloadInterval {
			return &workloadInterval{p, s, i}
		})))
	}
	return joined(SeriesRecords, tables...)
}

// serverInterval is an interval of the series of a server.
type serverInterval struct {
	*result.ServerPoint
	server string
}

// serversOfServers are the columns of servers.csv for the intervals of servers.
var serversOfServers = Definition[serverInterval]{
	textField("server", func(s *serverInterval) string { return s.server }),
	textField("priorityLevel", func(*serverInterval) string { return "" }),
	secondsField("startSeconds", func(s *serverInterval) int64 { return s.StartNs }),
	secondsField("endSeconds", func(s *serverInterval) int64 { return s.EndNs }),
	textField("stage", func(s *serverInterval) string { return s.Stage.String() }),
	decimalField("seatsInUse", func(s *serverInterval) float64 { return s.SeatsInUse }),
	decimalField("currentLimitSeats", func(s *serverInterval) float64 { return s.Limit }),
	decimalField("executingRequests", func(s *serverInterval) float64 { return s.ExecutingRequests }),
	decimalField("waitingRequests", func(s *serverInterval) float64 { return s.WaitingRequests }),
	countField("arrived", func(s *serverInterval) int64 { return s.Arrived }),
	textField("dispatched", func(*serverInterval) string { return "" }),
	countField("executed", func(s *serverInterval) int64 { return s.Executed }),
	countField("rejected", func(s *serverInterval) int64 { return s.Rejected }),
	countField("refused", func(s *serverInterval) int64 { return s.Refused }),
	countField("lost", func(s *serverInterval) int64 { return s.Lost }),
	gaugeField("inService", func(s *serverInterval) float64 { return float64(s.InService) }),
	gaugeField("speed", func(s *serverInterval) float64 { return s.Speed }),
	gaugeField("memoryBytes", func(s *serverInterval) float64 { return float64(s.MemoryBytes) }),
	gaugeField("connections", func(s *serverInterval) float64 { return float64(s.Connections) }),
	gaugeField("watchEvents", func(s *serverInterval) float64 { return float64(s.WatchEvents) }),
	gaugeField("stalenessSeconds", func(s *serverInterval) float64 { return float64(s.StalenessNs) / 1e9 }),
}

// serversOfLevels are the columns of servers.csv for the intervals of the priority levels of servers.
var serversOfLevels = Definition[levelInterval]{
	textField("server", func(l *levelInterval) string { return l.server }),
	levelField, levelStart, levelEnd, levelSeats, levelLimit, levelRunning, levelWaiting, levelArrived, levelStarted,
	countField("rejected", func(l *levelInterval) int64 { return l.RejectedTotal() }),
}

// serversRecords are for each server a row for each interval, and below them one for each of its priority levels and
// interval. Gauges that the run does not have are empty.
func serversRecords(all []*result.ServerSeries) *Records {
	tables := []*Records{serversOfServers.Records("", nil)}
	for _, s := range all {
		name := strconv.Itoa(s.Server)
		tables = append(tables, serversOfServers.recordsOf("", each(s.Points, func(_ int, p *result.ServerPoint) *serverInterval {
			return &serverInterval{p, name}
		})))
		for _, l := range s.Levels {
			if !l.Quiet() {
				tables = append(tables, serversOfLevels.recordsOf("", levelIntervals(l, name)))
			}
		}
	}
	return joined(ServersRecords, tables...)
}

// clientInterval is an interval in which something happened to clients that behave.
type clientInterval struct {
	*result.ClientPoint
	series *result.ClientSeries
}

// clientFields are the columns of clients.csv.
var clientFields = Definition[clientInterval]{
	textField("metric", func(c *clientInterval) string { return c.series.Metric }),
	secondsField("startSeconds", func(c *clientInterval) int64 { return c.StartNs }),
	secondsField("endSeconds", func(c *clientInterval) int64 { return c.EndNs }),
	countField("count", func(c *clientInterval) int64 { return c.Count }),
	timeField("meanSeconds", func(c *clientInterval) int64 { return c.MeanNs }),
	timeField("maxSeconds", func(c *clientInterval) int64 { return c.MaxNs }),
}

// timeField is a column with a time, which is empty for metrics without times.
func timeField(name string, ns func(*clientInterval) int64) ColumnOf[clientInterval] {
	column := secondsField(name, ns)
	always := column.Value
	column.Value = func(c *clientInterval) string {
		if !c.series.Timed {
			return ""
		}
		return always(c)
	}
	return column
}

// clientsRecords are a row for each metric of clients that behave and each interval in which it happened.
func clientsRecords(all []*result.ClientSeries) *Records {
	return clientFields.recordsOf(ClientsRecords, func(yield func(*clientInterval) bool) {
		for _, s := range all {
			for i := range s.Points {
				if p := &s.Points[i]; p.Count > 0 && !yield(&clientInterval{p, s}) {
					return
				}
			}
		}
	})
}

// flowFields are the columns of flows.csv.
var flowFields = slices.Concat(
	Definition[result.Flow]{
		textField("priorityLevel", func(f *result.Flow) string { return f.PriorityLevel }),
		textField("flowSchema", func(f *result.Flow) string { return f.FlowSchema }),
		textField("flow", func(f *result.Flow) string { return f.Name }),
		textField("hand", func(f *result.Flow) string {
			hand := make([]string, len(f.Hand))
			for i, queue := range f.Hand {
				hand[i] = strconv.Itoa(queue)
			}
			return strings.Join(hand, " ")
		}),
		countField("arrived", func(f *result.Flow) int64 { return f.Arrived }),
		countField("executed", func(f *result.Flow) int64 { return f.Executed }),
		countField("rejected", func(f *result.Flow) int64 { return f.Rejected }),
	},
	rejections(func(f *result.Flow) *[queueset.Rejections]int64 {
		return &[queueset.Rejections]int64{queueset.QueueFull: f.QueueFull, queueset.ConcurrencyLimit: f.ConcurrencyLimit, queueset.TimedOut: f.TimedOut}
	}),
	Definition[result.Flow]{
		countField("retries", func(f *result.Flow) int64 { return f.Retries }),
		countField("waiting", func(f *result.Flow) int64 { return f.Waiting }),
		countField("executing", func(f *result.Flow) int64 { return f.Executing }),
		countField("lost", func(f *result.Flow) int64 { return f.Lost }),
		countField("lostExecuted", func(f *result.Flow) int64 { return f.LostExecuted }),
		decimalField("serviceSeatSeconds", func(f *result.Flow) float64 { return f.ServiceSeatSeconds }),
		decimalField("demandSeatSeconds", func(f *result.Flow) float64 { return f.DemandSeatSeconds }),
		decimalField("fairShareSeatSeconds", func(f *result.Flow) float64 { return f.FairShareSeatSeconds }),
		textField("ratio", func(f *result.Flow) string {
			if f.Ratio == nil {
				return ""
			}
			return format.Decimal(*f.Ratio)
		}),
		secondsField("starvationSeconds", func(f *result.Flow) int64 { return f.StarvationNs }),
	},
	flowDurations(),
)

// flowDurations are the columns of the durations of the requests of a flow: those that metric declares.
func flowDurations() (columns Definition[result.Flow]) {
	for _, m := range metric.All() {
		timing, ok := measure.TimingOf(m.Name)
		if !ok {
			continue
		}
		columns = append(columns, countField(m.Name+"Count", func(f *result.Flow) int64 {
			if d := *f.Distribution(timing); d != nil {
				return d.Count
			}
			return 0
		}))
		for _, s := range []struct {
			name string
			ns   func(*result.Distribution) int64
		}{
			{"Mean", func(d *result.Distribution) int64 { return d.MeanNs }}, {"Min", func(d *result.Distribution) int64 { return d.MinNs }},
			{"P50", func(d *result.Distribution) int64 { return d.P50Ns }}, {"P90", func(d *result.Distribution) int64 { return d.P90Ns }},
			{"P95", func(d *result.Distribution) int64 { return d.P95Ns }}, {"P99", func(d *result.Distribution) int64 { return d.P99Ns }},
			{"P99_9", func(d *result.Distribution) int64 { return d.P999Ns }}, {"Max", func(d *result.Distribution) int64 { return d.MaxNs }},
		} {
			columns = append(columns, textField(m.Name+s.name+"Seconds", func(f *result.Flow) string {
				d := *f.Distribution(timing)
				if d == nil {
					return ""
				}
				return format.Decimal(float64(s.ns(d)) / 1e9)
			}))
		}
	}
	return columns
}

// FlowRecords are a row for each flow of a run.
func FlowRecords(flows iter.Seq[*result.Flow]) *Records {
	return flowFields.recordsOf(FlowsRecords, flows)
}

// FlowHead is the first line of flows.csv.
var FlowHead = strings.Join(flowFields.Head(), ",")
