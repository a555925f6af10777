package randomscenario

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Check recomputes what a run is summed up in, and what it is judged by, from the request log and from what else was seen
// of the run, by the definitions in docs/reference/statistics.md, and returns what differs, or is impossible. Verdicts are
// only looked at if the sums are right. Nothing of package collect or measure takes part in the recomputation.
func (r *Ran) Check() error {
	c, err := newCheck(r)
	if err != nil {
		return err
	}
	c.log()
	c.summary()
	c.levels()
	c.series()
	c.nonNegative("result", reflect.ValueOf(r.Result).Elem())
	if err := r.replayable(); err != nil {
		c.fail("the request log is not a trace: %v", err)
	}
	if len(c.found) == 0 {
		c.verdicts()
	}
	return errors.Join(c.found...)
}

// check is a comparison of a log with a result.
type check struct {
	ran          *Ran
	lines        []Line
	stays        []stay // by line
	flows        map[string]*flowOfLog
	fromNs, toNs int64 // the window
	steady       bool
	found        []error
}

func newCheck(r *Ran) (*check, error) {
	lines, err := r.Lines()
	if err != nil {
		return nil, err
	}
	spec := &r.Scenario.Spec
	c := &check{ran: r, lines: lines, fromNs: int64(spec.Warmup.Duration), toNs: int64(spec.Duration), steady: spec.Steady()}
	c.stay()
	c.flows = c.flowsOfLog()
	return c, nil
}

func (c *check) fail(format string, arguments ...any) {
	if len(c.found) < 20 {
		c.found = append(c.found, fmt.Errorf(format, arguments...))
	}
}

// log checks each line for itself: what happens to a request happens in order, and before the end of the run.
func (c *check) log() {
	lastNs := int64(0)
	for i := range c.lines {
		l := &c.lines[i]
		dispatched, finished := l.DispatchNs != nil, l.FinishNs != nil
		want := map[string][2]bool{"executed": {true, true}, "executing": {true, false}, "waiting": {}, "rejected": {}, "refused": {}, "lost": {dispatched, false}}
		times := [2]bool{dispatched, finished}
		switch expected, known := want[l.Outcome]; {
		case !known || times != expected,
			l.ArrivalNs < lastNs, l.ArrivalNs > c.toNs,
			dispatched && *l.DispatchNs < l.ArrivalNs,
			finished && (*l.FinishNs < *l.DispatchNs || *l.FinishNs > c.toNs),
			dispatched && l.Outcome != "lost" && *l.WaitNs != *l.DispatchNs-l.ArrivalNs,
			l.WaitNs != nil && (*l.WaitNs < 0 || l.ArrivalNs+*l.WaitNs > c.toNs),
			(l.Reason != "") != (l.Outcome == "rejected" || l.Outcome == "refused"),
			l.Flow == "" && l.Seats != 0, l.Seats < 0, l.FinalSeats < 0, l.Attempt < 1,
			l.Outcome == "refused" && l.Flow != "",
			l.Outcome == "rejected" && l.Flow != "" && !slices.Contains([]int{0, 429, 504}, l.Status):
			c.fail("the line of request %d is impossible: %+v", l.ID, *l)
		}
		lastNs = l.ArrivalNs
	}
}

// waitedUntilNs returns until when a request waited, as far as the run went.
func (c *check) waitedUntilNs(l *Line) int64 {
	switch {
	case l.DispatchNs != nil:
		return *l.DispatchNs
	case l.WaitNs != nil:
		return l.ArrivalNs + *l.WaitNs
	case l.Outcome == "refused":
		return l.ArrivalNs
	}
	return c.toNs
}

// group is what the lines of a group have in common, by the definitions of a result.Group.
type group struct {
	metric.Counts
	statuses                               map[int]int64 // of the requests that were answered, without watches
	watches                                int64         // that are answered 200 in the log
	wait, execution, latency, rejectedWait []int64
}

// groups sums the lines by what key returns; those of "" are left out. Requests count that have arrived in the window.
func (c *check) groups(key func(*Line) string) map[string]*group {
	all := map[string]*group{}
	for i := range c.lines {
		l := &c.lines[i]
		name := key(l)
		if name == "" {
			continue
		}
		g := all[name]
		if g == nil {
			g = &group{statuses: map[int]int64{}}
			all[name] = g
		}
		if l.ArrivalNs >= c.fromNs {
			g.add(l)
		}
	}
	return all
}

func (g *group) add(l *Line) {
	g.Arrived++
	if l.Attempt > 1 {
		g.Retries++
	}
	if l.DispatchNs != nil {
		g.wait = append(g.wait, *l.DispatchNs-l.ArrivalNs)
	}
	for outcome, count := range map[string]*int64{"executed": &g.Executed, "rejected": &g.Rejected, "waiting": &g.Waiting, "executing": &g.Executing, "refused": &g.Refused, "lost": &g.Lost} {
		if outcome == l.Outcome {
			*count++
		}
	}
	for reason, count := range map[string]*int64{"queue-full": &g.QueueFull, "concurrency-limit": &g.ConcurrencyLimit, "time-out": &g.TimedOut, "connection-refused": &g.ConnectionRefused,
		"connection-reset": &g.ConnectionReset, "shutting-down": &g.ShuttingDown, "not-ready": &g.NotReady} {
		if reason == l.Reason {
			*count++
		}
	}
	switch l.Outcome {
	case "executed":
		g.execution = append(g.execution, *l.FinishNs-*l.DispatchNs)
		g.latency = append(g.latency, *l.FinishNs-l.ArrivalNs)
	case "rejected":
		g.rejectedWait = append(g.rejectedWait, *l.WaitNs)
	case "lost":
		if l.DispatchNs != nil {
			g.LostExecuted++
		}
	}
	if l.Verb == "watch" && l.Status == 200 {
		g.watches++ // it is answered when it ends
	} else {
		g.statuses[l.Status]++
	}
}

// compare compares a group of the result with that of the log. Percentiles are at most a share of their value too high.
func (c *check) compare(what string, got *result.Group, want *group, tooHigh float64) {
	if want == nil {
		want = &group{statuses: map[int]int64{}}
	}
	c.counts(what, got.Counts, want)
	for _, t := range []struct {
		name string
		got  *result.Distribution
		want []int64
	}{{"wait", got.Wait, want.wait}, {"execution", got.Execution, want.execution}, {"latency", got.Latency, want.latency}, {"rejectedWait", got.RejectedWait, want.rejectedWait}} {
		c.distribution(what+" "+t.name, t.got, t.want, tooHigh)
	}
	if c.steady || tooHigh == ofFlows { // flows have none
		return
	}
	for _, r := range got.Responses {
		least := want.statuses[r.Status]
		most := least
		if r.Status == 200 {
			most += want.watches
		} else if r.Status == 0 { // in the log also of requests that are not answered yet, and not of watches that broke
			least, most = 0, most+want.watches
		}
		if r.Count < least || r.Count > most {
			c.fail("%s: %d responses of status %d, the log has %d to %d", what, r.Count, r.Status, least, most)
		}
	}
	for status, n := range want.statuses {
		if status != 0 && !slices.ContainsFunc(got.Responses, func(r measure.Response) bool { return r.Status == status }) {
			c.fail("%s: no responses of status %d, the log has %d", what, status, n)
		}
	}
}

func (c *check) counts(what string, got metric.Counts, want *group) {
	if want == nil {
		want = &group{}
	}
	if got != want.Counts {
		c.fail("%s: counts are %+v, of the log %+v", what, got, want.Counts)
	}
	if sum := got.Executed + got.Rejected + got.Refused + got.Lost + got.Waiting + got.Executing; sum != got.Arrived {
		c.fail("%s: %d arrived, and %d have become something: %+v", what, got.Arrived, sum, got)
	}
	if sum := got.QueueFull + got.ConcurrencyLimit + got.TimedOut; sum != got.Rejected {
		c.fail("%s: %d rejected, %d by reason", what, got.Rejected, sum)
	}
}

func (c *check) distribution(what string, got *result.Distribution, want []int64, tooHigh float64) {
	if got == nil || len(want) == 0 {
		if got != nil || len(want) > 0 {
			c.fail("%s: %+v, the log has %d samples", what, got, len(want))
		}
		return
	}
	slices.Sort(want)
	sum := 0.0
	for _, ns := range want {
		sum += float64(ns)
	}
	n := len(want)
	if got.Count != int64(n) || got.MinNs != want[0] || got.MaxNs != want[n-1] || math.Abs(float64(got.MeanNs)-sum/float64(n)) > 1+1e-9*sum {
		c.fail("%s: %+v, the log has %d samples from %d to %d with the sum %.0f", what, *got, n, want[0], want[n-1], sum)
	}
	for _, p := range []struct {
		percent float64
		gotNs   int64
	}{{50, got.P50Ns}, {90, got.P90Ns}, {95, got.P95Ns}, {99, got.P99Ns}, {99.9, got.P999Ns}} {
		exact := want[max(0, int(math.Ceil(p.percent/100*float64(n)-1e-9))-1)]
		if p.gotNs < exact || float64(p.gotNs) > float64(exact)*(1+tooHigh)+1 {
			c.fail("%s: p%v is %d ns, in the log %d ns", what, p.percent, p.gotNs, exact)
		}
	}
}

const (
	ofGroups = 1.0 / 1024
	ofFlows  = 1.0 / 32
)

// summary compares the groups of the summary with those of the log.
func (c *check) summary() {
	s := c.ran.Result.Summary
	c.compare("total", &s.Total, c.groups(func(*Line) string { return "all" })["all"], ofGroups)
	byName := func(what string, groups []result.Group, key func(*Line) string) {
		want := c.groups(key)
		for i := range groups {
			g := &groups[i]
			c.compare(what+" "+g.Name, g, want[g.Name], ofGroups)
			delete(want, g.Name)
		}
		c.noneLeft(what, want)
	}
	byName("workload", s.Workloads, func(l *Line) string { return l.Workload })
	byName("FlowSchema", s.FlowSchemas, func(l *Line) string { return l.FlowSchema })

	levels := c.groups(func(l *Line) string { return l.PriorityLevel })
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		want := levels[l.Name]
		delete(levels, l.Name)
		c.compare("priority level "+l.Name, &l.Group, want, ofGroups)
	}
	c.noneLeft("priority level", levels)

	flows := c.groups(func(l *Line) string { return flowKey(l.PriorityLevel, l.Flow) })
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		key := flowKey(f.PriorityLevel, f.Name)
		want := flows[key]
		delete(flows, key)
		c.compare("flow "+key, &f.Group, want, ofFlows)
	}
	c.noneLeft("flow", flows)

	if len(s.Servers) == 0 {
		return
	}
	servers := c.groups(func(l *Line) string { return strconv.Itoa(l.Server) })
	atServers := c.groups(func(l *Line) string {
		if l.PriorityLevel == "" {
			return ""
		}
		return strconv.Itoa(l.Server) + " " + l.PriorityLevel
	})
	for i := range s.Servers {
		server := &s.Servers[i]
		c.compare("server "+server.Name, &server.Group, servers[server.Name], ofGroups)
		delete(servers, server.Name)
		for j := range server.Levels {
			l := &server.Levels[j]
			key := server.Name + " " + l.Name
			want := atServers[key]
			delete(atServers, key)
			c.counts("server and level "+key, l.Counts, want)
		}
	}
	c.noneLeft("server", servers)
	c.noneLeft("server and level", atServers)
	for i := range s.AggregatedServers {
		g := &s.AggregatedServers[i]
		if sum := g.Executed + g.Rejected + g.Waiting + g.Executing; sum != g.Arrived {
			c.fail("aggregated server %s: %d arrived, and %d have become something: %+v", g.Name, g.Arrived, sum, g.Counts)
		}
	}
}

func flowKey(level, flow string) string {
	if flow == "" {
		return ""
	}
	return level + " " + flow
}

// noneLeft fails if requests of the window are in the log and not in the summary.
func (c *check) noneLeft(what string, left map[string]*group) {
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if left[name].Arrived > 0 {
			c.fail("%s %s: %d requests of the log are not in the summary", what, name, left[name].Arrived)
		}
	}
}

// near compares two numbers that are computed in different orders.
func (c *check) near(what string, got, want float64) {
	if !isNear(got, want) {
		c.fail("%s: %v, of the log %v", what, got, want)
	}
}

func isNear(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))+1e-12 }

// nonNegative fails for each number that is less than 0 or no number, wherever it is.
func (c *check) nonNegative(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			c.nonNegative(path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				c.nonNegative(path+"."+f.Name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			c.nonNegative(path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); n < 0 && !(n == result.AllServers && strings.HasSuffix(path, ".Server")) {
			c.fail("%s is %d", path, n)
		}
	case reflect.Float64:
		if x := v.Float(); !(x >= 0) || math.IsInf(x, 0) {
			c.fail("%s is %v", path, x)
		}
	}
}
