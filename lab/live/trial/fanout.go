package trial

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/outcome"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
)

// fanoutLoads are the writes per second of the case watch-fanout. The scenario is fitted to the first, and has the processor time of an event from
// fanoutEvents, the second: where little happens, processors sleep between events, and each takes more.
var fanoutLoads = []float64{20, 80, 130, 190}

const fanoutEvents = 1

// fanoutFirst is the time at the beginning of a load that is left out.
const fanoutFirst = 2 * time.Second

// RunFanout makes a run of the case watch-fanout: the first workload of the scenario writes objects, and the clients of the
// second one watch all of them. It simulates what it predicts as well.
func RunFanout(ctx context.Context, b *apiserver.Binaries, file, name, dir string, seed, seeds int) (_ *Forecast, err error) {
	base, err := outcome.Load(file)
	if err != nil {
		return nil, err
	}
	writers, watchers := &base.Spec.Workload[0], &base.Spec.Workload[1]
	nominal := float64(writers.Arrivals.Poisson.Rate) * float64(writers.Clients)
	load := func(perSecond float64) string { return fmt.Sprintf("spec.workload[0].load=%v", perSecond/nominal) }
	plans := make([]*outcome.Run, len(fanoutLoads))
	for i, perSecond := range fanoutLoads {
		sc, err := outcome.Load(file, load(perSecond), fmt.Sprintf("spec.seed=%d", seed))
		if err != nil {
			return nil, err
		}
		if plans[i], err = outcome.Simulate(ctx, sc, dir+"/requests.jsonl"); err != nil {
			return nil, err
		}
	}
	all := users(plans[0].Requests)
	for i := range plans {
		plans[i].Requests = slices.DeleteFunc(plans[i].Requests, func(o outcome.Outcome) bool { return o.Workload != writers.Name })
	}
	server, err := apiserver.Start(ctx, b, serverOptions(base, all))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	a := &admin{server, server.Client(apiserver.Administrator)}
	if err := a.prepare(ctx, file, plans[0].Requests, nil); err != nil {
		return nil, err
	}
	f := &Forecast{}
	send := func(prefix string, plan *outcome.Run) (*BusyLoad, float64, error) {
		l := &BusyLoad{}
		before, err := a.processor(ctx)
		if err != nil {
			return nil, 0, err
		}
		if _, err := a.load(ctx, prefix, plan, l); err != nil {
			return nil, 0, err
		}
		after, err := a.processor(ctx)
		f.Late, f.Missing = append(f.Late, l.Late...), append(f.Missing, l.Missing...)
		return l, after - before, err
	}
	// This load comes once more before, without watches, to know what these take of the processors.
	_, alone, err := send(name+"-alone-", plans[fanoutEvents])
	if err != nil {
		return nil, err
	}
	w, err := a.watch(ctx, watchers.Clients, apiserver.User{Name: watchers.As.User}, watchers.Behaviour.Informer.Namespace)
	if err != nil {
		return nil, err
	}
	defer w.stop()
	loads, watched := make([]*BusyLoad, len(plans)), 0.0
	for i, plan := range plans {
		prefix := fmt.Sprintf("%s-%d-", name, i)
		l, seconds, err := send(prefix, plan)
		if err != nil {
			return nil, err
		}
		if loads[i] = l; i == fanoutEvents {
			watched = seconds
		}
		if err := sleepUntil(ctx, time.Now().Add(pause)); err != nil {
			return nil, err
		}
	}
	ended := int(w.ended.Load())
	received := w.stop()
	if err := server.Running(); err != nil {
		return nil, err
	}
	if err := keep(dir, server, nil, nil); err != nil {
		return nil, err
	}
	from := time.Duration(writers.Start) + fanoutFirst
	part := func(i int) string { return fmt.Sprintf("%.0f/s", fanoutLoads[i]) }
	for i, l := range loads {
		got := fanoutFigures{part: part(i), from: from, watchers: watchers.Clients}
		for k := range l.Live.Requests {
			r := &l.Live.Requests[k]
			times := received[fmt.Sprintf("%s-%d-%d", name, i, r.ID)]
			got.received += len(times)
			for _, at := range times {
				if time.Duration(r.ArrivalNs) >= from {
					got.delays = append(got.delays, max(0, at.Sub(l.Began.Add(time.Duration(r.FinishNs)))))
				}
			}
		}
		if i == len(loads)-1 {
			got.ended = ended
		}
		f.Live = append(f.Live, got.of(l.Live.Requests)...)
	}
	slices.Sort(f.Late)
	fit := fitFanout(loads, from, f.Live, watched-alone, watchers.Clients)
	f.Fitted, f.Basis = []string{part(0)}, fit.String()
	for i := range fanoutLoads {
		predicted, err := forecast(ctx, file, dir, seed, seeds, append(fit.assignments(), load(fanoutLoads[i])), func(run *outcome.Run) []Figure {
			return simulatedFanout(base, run, part(i), from)
		})
		if err != nil {
			return nil, err
		}
		f.merge(predicted)
	}
	return f, nil
}

// simulatedFanout returns the figures of a simulation.
func simulatedFanout(sc *scenario.Scenario, run *outcome.Run, part string, from time.Duration) []Figure {
	got := fanoutFigures{part: part, from: from, watchers: sc.Spec.Workload[1].Clients}
	for i := range run.Notes {
		switch n := &run.Notes[i]; {
		case n.Event == metric.EventLate:
			got.received++
			if n.AtNs-n.Ns >= int64(from) {
				got.delays = append(got.delays, time.Duration(n.Ns))
			}
		case n.Event == metric.WatchEnded, n.Event == metric.WatchFailed:
			got.ended++
		}
	}
	requests := slices.DeleteFunc(slices.Clone(run.Requests), func(o outcome.Outcome) bool { return o.Workload != sc.Spec.Workload[0].Name })
	return got.of(requests)
}

// fanoutFigures are the figures of one load of writes that clients watch.
type fanoutFigures struct {
	part     string
	from     time.Duration // of the arrivals that count
	watchers int
	received int             // events of all writes
	delays   []time.Duration // of the events of those that count, after the commit or the end of the write
	ended    int             // watches that ended
}

// of returns the figures with those of the writes.
func (g *fanoutFigures) of(writes []outcome.Outcome) []Figure {
	f := &figures{part: g.part}
	var executions, waits []time.Duration
	arrived, all, finalSeats, held := 0, 0, 0, int64(0)
	for i := range writes {
		r := &writes[i]
		if r.Outcome == outcome.Executed {
			all++
		}
		if time.Duration(r.ArrivalNs) < g.from {
			continue
		}
		if arrived++; r.Outcome != outcome.Executed {
			continue
		}
		executions, waits = append(executions, time.Duration(r.FinishNs-r.ArrivalNs-r.WaitNs)), append(waits, time.Duration(r.WaitNs))
		finalSeats, held = max(finalSeats, r.FinalSeats), max(held, r.AdditionalLatencyNs)
	}
	f.add("seats after the execution", float64(finalSeats))
	f.add("time of these seats", float64(held))
	f.add("executed", float64(len(executions)))
	f.add("rejected", float64(arrived-len(executions))/float64(max(1, arrived)))
	f.durations("execution", executions, true)
	f.durations("wait", waits, true, 99)
	f.add("events received", float64(g.received)/float64(max(1, all*g.watchers)))
	f.durations("event late", g.delays, true, 50, 99)
	f.add("watches ended", float64(g.ended))
	return f.all
}

// fanoutFit is what a scenario has from the lightest loads.
type fanoutFit struct {
	executions []time.Duration // of the writes, sorted
	late       time.Duration   // median of the events
	event      time.Duration   // processor time of one event for one watch
}

func fitFanout(loads []*BusyLoad, from time.Duration, live []Figure, seconds float64, watchers int) *fanoutFit {
	f := &fanoutFit{}
	for _, r := range loads[0].Live.Requests {
		if r.Outcome == outcome.Executed && time.Duration(r.ArrivalNs) >= from {
			f.executions = append(f.executions, max(1, time.Duration(r.ExecutionNs)))
		}
	}
	written := 0
	for _, r := range loads[fanoutEvents].Live.Requests {
		if r.Outcome == outcome.Executed {
			written++
		}
	}
	slices.Sort(f.executions)
	for i := range live {
		if live[i].Name == "event late p50" {
			f.late = time.Duration(live[i].Value)
			break // that of the lightest load comes first
		}
	}
	f.event = max(0, time.Duration(seconds*float64(time.Second)/float64(max(1, written*watchers))))
	return f
}

// String says what was fitted.
func (f *fanoutFit) String() string {
	return fmt.Sprintf("execution median %v, event late median %v, %v of a core for each event and watch, %d cores",
		f.executions[len(f.executions)/2].Round(10*time.Microsecond), f.late.Round(10*time.Microsecond), f.event.Round(time.Microsecond/10), runtime.NumCPU())
}

// assignments returns the fields of the scenario.
func (f *fanoutFit) assignments() []string {
	return []string{
		"spec.workload[0].execution=" + empirical(f.executions),
		fmt.Sprintf("spec.servers.capacity={cores: %d}", runtime.NumCPU()),
		fmt.Sprintf("spec.store.costs={watchEvent: %v, eventLatency: %v}", f.event, f.late),
	}
}

// processor returns the processor seconds that both servers and this process have taken so far.
func (a *admin) processor(ctx context.Context) (float64, error) {
	servers, err := a.server.Processor(ctx, a.client)
	if err != nil {
		return 0, err
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return 0, err
	}
	return servers.Server + servers.Etcd + time.Duration(own.Utime.Nano()+own.Stime.Nano()).Seconds(), nil
}

// watches are open watches of ConfigMaps.
type watches struct {
	ended  atomic.Int64 // of their own
	cancel context.CancelFunc
	open   sync.WaitGroup
	each   []map[string]time.Time // by watch: when events with a mark were received
}

// watch opens watches of the ConfigMaps of a namespace, each on a connection of its own, and returns when all are open.
func (a *admin) watch(ctx context.Context, n int, user apiserver.User, namespace string) (*watches, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watches{cancel: cancel}
	for range n {
		client := a.server.Client(user)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server.URL+"/api/v1/namespaces/"+namespace+"/configmaps?watch=true&resourceVersion=0&allowWatchBookmarks=true", nil)
		if err != nil {
			w.stop()
			return nil, err
		}
		response, err := client.Do(request)
		if err != nil {
			w.stop()
			return nil, err
		}
		received := map[string]time.Time{}
		w.each = append(w.each, received)
		w.open.Go(func() {
			defer client.CloseIdleConnections()
			defer response.Body.Close()
			lines := bufio.NewScanner(response.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				now := time.Now()
				if id, ok := markOf(lines.Bytes()); ok {
					received[id] = now
				}
			}
			if ctx.Err() == nil {
				w.ended.Add(1)
			}
		})
		if response.StatusCode != http.StatusOK {
			w.stop()
			return nil, fmt.Errorf("a watch has status %d", response.StatusCode)
		}
	}
	return w, nil
}

// markOf returns the audit ID of the request that has written the object of an event.
func markOf(event []byte) (string, bool) {
	_, after, found := bytes.Cut(event, []byte(`"of":"`))
	id, _, ended := bytes.Cut(after, []byte(`"`))
	return string(id), found && ended
}

// stop ends the watches, and returns when each of them received the events of each write, by audit ID. It may be called again.
func (w *watches) stop() map[string][]time.Time {
	w.cancel()
	w.open.Wait()
	all := map[string][]time.Time{}
	for _, received := range w.each {
		for id, at := range received {
			all[id] = append(all[id], at)
		}
	}
	return all
}
