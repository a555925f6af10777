package fit

import (
	"fmt"
	"io"
	"math"

	"go.yaml.in/yaml/v3"

	"apfsim/document"
	"apfsim/experiment/fit/shape"
	"apfsim/experiment/fit/sharing"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// Capacity is what the log says of the capacity of its server. Bounds are those of 95 % intervals, and null if the
// log sets none.
type Capacity struct {
	Cores        *float64 `json:"cores"` // null without a bound
	Contention   float64  `json:"contention"`
	Coherency    float64  `json:"coherency"`
	Scale        float64  `json:"scale"`        // by which cores given are multiplied, so that the throughput is that with which they were measured; otherwise 1
	DemandRatio  *float64 `json:"unlike"`       // of cores given, how many times as long as when they were measured the same requests take alone in the log, if it is less than half or more than twice; otherwise null
	Given        bool     `json:"given"`        // by the scenario whose servers the fitted one has, and not estimated
	Identifiable bool     `json:"identifiable"` // whether the scenario has this capacity, and its executions are demands
	Reason       string   `json:"reason"`       // why it has none; "" if it has
	Most         int      `json:"nMax"`         // executions at a time
	Busy         int      `json:"nBusy"`        // executions at a time at the end of the busiest hundredth, at least
	Executions   int      `json:"executions"`   // from whose times the capacity was estimated
	Logs         int      `json:"logs"`         // from which: one of each server, and those of other times

	CoresLow       *float64 `json:"coresLow"`
	CoresHigh      *float64 `json:"coresHigh"`
	ContentionLow  *float64 `json:"contentionLow"`
	ContentionHigh *float64 `json:"contentionHigh"`

	// BusyDemandRatio is the ratio of the geometric means of the demands of requests that began on the busy and on the idle
	// server, and the dispersions are the standard deviations of their logarithms, within kinds; null if unknown.
	BusyDemandRatio *float64 `json:"busierDemands"`
	DispersionIdle  *float64 `json:"dispersionIdle"`
	DispersionBusy  *float64 `json:"dispersionBusy"`
	Inflation       float64  `json:"inflation"` // of the intervals, because the log varies more than the model
}

// Log is recorded requests of another time.
type Log struct {
	File string                        // what messages call it
	Open func() (io.ReadCloser, error) // returns the requests from the beginning
}

// estimateCapacity estimates the capacity of the server between the passes, when the kinds of requests are known: the
// workloads. Without a reason not to, the second pass collects demands in place of executions.
func (f *fitter) estimateCapacity() error {
	if !f.options.Capacity {
		return nil
	}
	c := &Capacity{Scale: 1}
	f.report.Capacity = c
	unknown := func(why string) {
		c.Reason = why
		f.note("capacity: unknown, because %s", why)
	}
	if shape.NodeField(shape.NodeField(f.base.Document, "spec"), "store") != nil {
		unknown("the scenario has a store, which says what requests cost")
		return nil
	}
	c.Busy, f.executed.average = f.executed.busiest(), f.executed.meanOver(f.report.DurationNs)
	if why := f.executed.whyUnidentifiable(f.base.Servers); why != "" {
		if c.Given = f.base.Capacity != nil; c.Given {
			c.Reason = why
			f.note("capacity: that of the scenario given. The executions are those of the log, which may already contain how busy the server was, because %s", why)
			return nil
		}
		unknown(why)
		return nil
	}
	kinds := kinds{}
	logs := kinds.numbered(&f.executed)
	f.executed.servers = nil
	if law := f.base.Capacity; law != nil {
		e := sharing.OfKnownLaw(*law, f.calibration(kinds), logs...)
		c.setKnown(e)
		c.Logs = len(logs)
		if e.Law != *law {
			c.Scale = shape.Number(e.Law.Cores / law.Cores)
		} else if f.base.Calibrated != nil {
			why := "the log does not have enough of the requests with which it was measured"
			if e.DemandRatio > 0 {
				unlike := shape.Number(e.DemandRatio)
				c.DemandRatio, why = &unlike, fmt.Sprintf("the requests with which it was measured execute %s times as long alone in the log, so that these are others, or the server is not the one that was measured", format.Digits(unlike))
			}
			f.note("capacity: %s; the cores stay as they are", why)
		}
		if len(f.options.CapacityFrom) > 0 {
			f.note("capacity: the logs of --capacity-from are not read, because the scenario given has a capacity")
		}
		f.share(e.Law, func(*workload, int64) int64 { return 0 })
		f.note("%s", c)
		return nil
	}
	others, why, err := f.capacityFrom(kinds)
	if err != nil {
		return err
	}
	if why != "" {
		unknown(why)
		return nil
	}
	logs = append(logs, others...)
	if f.options.withoutCapacity != "" {
		for _, log := range logs {
			c.Most = max(c.Most, sharing.Most(log))
		}
		c.Reason, c.Logs = f.options.withoutCapacity, len(logs)
		f.note("%s", c)
		return nil
	}
	e := sharing.New(logs...)
	c.set(e)
	c.Logs = len(logs)
	f.note("%s", c)
	if e.Identifiable {
		f.share(c.law(), func(w *workload, tookNs int64) int64 {
			kind, ok := kinds[w.name]
			if !ok {
				return 0
			}
			return e.DelayNs(kind, tookNs)
		})
	}
	return nil
}

// capacityFrom returns the executions of the logs of other times with their kinds, or why one does not tell the capacity.
func (f *fitter) capacityFrom(kinds kinds) (logs [][]sharing.Execution, why string, err error) {
	for _, l := range f.options.CapacityFrom {
		other := &fitter{options: f.options, base: f.base, report: &Report{}}
		if err := EachEntry(l.Open, l.File, other.learn); err != nil {
			return nil, "", err
		}
		if other.report.Requests == 0 {
			return nil, "", document.Errors{{Position: document.Position{File: l.File}, Message: "has no request; want at least one"}}
		}
		other.setTimes()
		other.group()
		// A log of several servers has one timeline for each, however many servers the scenario has.
		if why := other.executed.whyUnidentifiable(len(other.executed.servers)); why != "" {
			return nil, l.File + ": " + why, nil
		}
		logs = append(logs, kinds.numbered(&other.executed)...)
	}
	return logs, "", nil
}

// calibration returns the kind of requests with which the capacity given was measured, nil if that is not known, or if the log has none.
func (f *fitter) calibration(kinds kinds) *sharing.Calibration {
	if f.base.Calibrated == nil {
		return nil
	}
	for _, w := range f.workloads {
		if kind, ok := kinds[w.name]; ok && f.base.Calibrated.matches(&w.members[0].stream.attributes) {
			return &sharing.Calibration{Kind: kind, DemandNs: float64(f.base.Calibrated.ns)}
		}
	}
	return nil
}

// share makes the second pass collect demands under a law. DelayNs returns how much of an execution is a delay.
func (f *fitter) share(law sharing.Law, delayNs func(w *workload, tookNs int64) int64) {
	f.others.observed = shape.NewObservations(1, f.report.DurationNs)
	f.law, f.delayNs = &law, delayNs
}

// setKnown takes over a capacity that is not estimated.
func (c *Capacity) setKnown(e *sharing.Estimate) {
	c.Given, c.Identifiable, c.Contention, c.Coherency, c.Inflation = true, true, e.Law.Contention, e.Law.Coherency, 1
	c.Most, c.Executions = e.Most, e.Executions
	if !math.IsInf(e.Law.Cores, 1) {
		c.Cores = &e.Law.Cores
	}
	c.compare(e)
}

// compare takes over how demands on the busy server differ from those on the idle one.
func (c *Capacity) compare(e *sharing.Estimate) {
	if e.BusyDemandRatio > 0 {
		busier, idle, busy := shape.Number(e.BusyDemandRatio), shape.Number(e.SpreadIdle), shape.Number(e.SpreadBusy)
		c.BusyDemandRatio, c.DispersionIdle, c.DispersionBusy = &busier, &idle, &busy
	}
}

// set takes over an estimate, with as many digits as it has.
func (c *Capacity) set(e *sharing.Estimate) {
	number := func(x float64) *float64 {
		if math.IsInf(x, 0) {
			return nil
		}
		x = shape.Number(x)
		return &x
	}
	c.Cores, c.Contention, c.Coherency = number(e.Law.Cores), shape.Number(e.Law.Contention), shape.Number(e.Law.Coherency)
	c.Identifiable, c.Reason, c.Most, c.Executions = e.Identifiable, e.Reason, e.Most, e.Executions
	if e.Identifiable {
		c.Busy = e.Busy // of several logs
	}
	// The estimate is that of the simplest law that is not rejected, and the bounds are those of all laws, so that they need
	// not contain it.
	bounds := func(value float64, of sharing.Interval) (low, high *float64) {
		return number(min(of.Low, value)), number(max(of.High, value))
	}
	c.CoresLow, c.CoresHigh = bounds(e.Law.Cores, e.Cores)
	c.ContentionLow, c.ContentionHigh = bounds(e.Law.Contention, e.Contention)
	c.Inflation = shape.Number(e.Inflation)
	c.compare(e)
}

// law returns the capacity as it is in the scenario.
func (c *Capacity) law() sharing.Law {
	l := sharing.Law{Cores: math.Inf(1), Contention: c.Contention, Coherency: c.Coherency}
	if c.Cores != nil {
		l.Cores = *c.Cores
	}
	return l
}

// String says what the log shows of the capacity.
func (c *Capacity) String() string {
	if !c.Identifiable {
		text := fmt.Sprintf("capacity: unknown, because %s. At most %s at a time, and how the server executes more is unknown", c.Reason,
			executing(c.Most))
		if c.CoresLow != nil && *c.CoresLow > 1 {
			text += fmt.Sprintf(". The server has at least %s cores", format.Digits(*c.CoresLow))
		}
		return text
	}
	if c.Given {
		text := "capacity: that of the scenario given"
		if c.Scale != 1 {
			text += fmt.Sprintf(", with %s times as many cores, because the requests with which it was measured execute %[1]s times as long alone in the log: their throughput is the one that was measured", format.Digits(c.Scale))
		}
		text += ". The executions of the scenario are those on an idle server"
		if c.BusyDemandRatio != nil {
			text += fmt.Sprintf(". Those of requests that began on the busy server are %s times those of the others, and would be equal with the right capacity", format.Digits(*c.BusyDemandRatio))
		}
		return text
	}
	between := func(what string, value, low, high *float64) string {
		text := func(x *float64) string {
			if x == nil {
				return "no bound"
			}
			return format.Digits(*x)
		}
		return fmt.Sprintf("%s %s (95 %%: %s to %s)", what, text(value), text(low), text(high))
	}
	inLogs := ""
	if c.Logs > 1 {
		inLogs = fmt.Sprintf(" in %d logs", c.Logs)
	}
	contention := ""
	if c.Contention > 0 {
		contention = ", " + between("contention", &c.Contention, c.ContentionLow, c.ContentionHigh)
	}
	return fmt.Sprintf("capacity: %s%s, from up to %d requests at a time%s; the executions of the scenario are those on an idle server, and with more than %d requests at a time, latencies may be up to %s times as long or as short",
		between("cores", c.Cores, c.CoresLow, c.CoresHigh), contention, c.Most, inLogs, c.Busy, format.Digits(result.BeyondFactor))
}

func executing(n int) string {
	if n == 1 {
		return "one request executes"
	}
	return fmt.Sprintf("%d requests execute", n)
}

// scale gives a measured capacity the cores with which its throughput is what was measured.
func (f *fitter) scale(capacity *yaml.Node) {
	set := func(n *yaml.Node, name string) {
		of := shape.NodeField(n, name)
		if x := 0.0; of != nil && of.Decode(&x) == nil {
			shape.SetField(n, name, shape.ValueNode(shape.Number(x*f.report.Capacity.Scale)))
		}
	}
	set(capacity, "cores")
	if bounds := shape.NodeField(shape.NodeField(capacity, "interval"), "cores"); bounds != nil {
		set(bounds, "low")
		set(bounds, "high")
	}
	shape.SetField(shape.NodeField(capacity, "calibrated"), "demand", shape.ValueNode(shape.Duration(float64(f.base.Calibrated.ns)*f.report.Capacity.Scale)))
}

// setCapacity sets the capacity of the servers of the scenario. Of an unknown one, it is up to what executions were
// measured, unless the scenario has a capacity of its own.
func (f *fitter) setCapacity(spec *yaml.Node) {
	c := f.report.Capacity
	if c != nil && c.Given && c.Scale != 1 {
		f.scale(shape.NodeField(shape.NodeField(spec, "servers"), "capacity"))
	}
	if c == nil || c.Busy == 0 || c.Given {
		return
	}
	servers := shape.NodeField(spec, "servers")
	if servers == nil || servers.Kind != yaml.MappingNode {
		servers = &yaml.Node{Kind: yaml.MappingNode}
		shape.SetField(spec, "servers", servers)
	}
	if f.law == nil {
		if shape.NodeField(servers, "capacity") == nil {
			shape.SetField(servers, "capacity", shape.ValueNode(map[string]any{"measured": c.Busy, "average": shape.Number(f.executed.average)}))
		}
		return
	}
	fields, interval := map[string]any{"measured": c.Busy}, map[string]any{}
	for _, p := range []struct {
		name      string
		value     float64
		low, high *float64
	}{{"cores", f.law.Cores, c.CoresLow, c.CoresHigh}, {"contention", f.law.Contention, c.ContentionLow, c.ContentionHigh}} {
		if p.value == 0 || math.IsInf(p.value, 0) {
			continue // the law does not have it
		}
		fields[p.name] = p.value
		bounds := map[string]any{"low": *p.low}
		if p.high != nil {
			bounds["high"] = *p.high
		}
		interval[p.name] = bounds
	}
	fields["interval"] = interval
	shape.SetField(servers, "capacity", shape.ValueNode(fields))
}
