package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/balancer"
	"apfsim/lab/live/certificate"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/lab/live/webhook"
	"apfsim/sim/scenario"
)

// RunServerStop makes a run of the case server-stop: two servers over one etcd, behind a load balancer, of which one is told
// to stop. It simulates what it predicts as well.
func RunServerStop(ctx context.Context, b *apiserver.Binaries, file, name, dir string, seed, seeds int) (_ *Forecast, err error) {
	sc, err := outcome.Load(file, fmt.Sprintf("spec.seed=%d", seed))
	if err != nil {
		return nil, err
	}
	plan, err := outcome.Simulate(ctx, sc, filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	pair, err := certificate.Loopback()
	if err != nil {
		return nil, err
	}
	hook, err := webhook.Start(pair)
	if err != nil {
		return nil, err
	}
	defer hook.Close()
	options := serverOptions(sc, users(plan.Requests))
	first, err := apiserver.Start(ctx, b, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, first.Stop()) }()
	a := &admin{first, first.Client(apiserver.Administrator)}
	if err := a.prepare(ctx, file, plan.Requests, hook); err != nil {
		return nil, err
	}
	second, err := first.StartAnother(ctx, b, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, second.Stop()) }()
	servers := []*apiserver.Server{first, second}
	front, err := balance(sc, servers)
	if err != nil {
		return nil, err
	}
	defer front.Close()
	t := &Trial{Prediction: plan}
	if t.Overhead, err = a.calibrate(ctx); err != nil {
		return nil, err
	}
	prefix := name + "-"
	requests, _ := t.requests(first.Behind(front.URL()), prefix)
	stopAt := time.Duration(sc.Spec.Events[0].At)
	start := time.Now().Add(time.Second)
	front.ProbeFrom(start)
	stopping := time.AfterFunc(time.Until(start.Add(stopAt)), func() { first.Terminate() })
	defer stopping.Stop()
	responses := sender.Send(ctx, start, requests)
	if err := sleepUntil(ctx, time.Now().Add(time.Second)); err != nil { // the logs are written a moment later
		return nil, err
	}
	if err := second.Running(); err != nil {
		return nil, err
	}
	f := &Forecast{}
	var live []outcome.Outcome
	found := map[int64]bool{}
	for i, s := range servers {
		logs, err := observed.ReadLogs(s.HTTPLog, s.AuditLog, prefix)
		if err != nil {
			return nil, err
		}
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		if err := keep(folder, s, nil, nil); err != nil {
			return nil, err
		}
		for k := range plan.Requests {
			planned := &plan.Requests[k]
			if entry, ok := logs.HTTP[prefix+fmt.Sprint(planned.ID)]; ok {
				o := liveOutcome(planned, &entry, start, t.Overhead)
				o.Server, found[planned.ID] = i, true
				live = append(live, o)
			}
		}
	}
	for i := range responses {
		planned, response := &plan.Requests[i], &responses[i]
		f.Late = append(f.Late, response.Late)
		switch {
		case response.Err == nil && !found[planned.ID]:
			f.Missing = append(f.Missing, response.AuditID+": it was answered, and is in no log")
		case response.Err != nil && !found[planned.ID]:
			o := outcome.Outcome{Record: planned.Record, Workload: planned.Workload, Outcome: outcome.Refused, Reason: response.Err.Error()}
			o.ArrivalNs = int64(time.Duration(o.ArrivalNs) + response.Late)
			live = append(live, o)
		case response.Err != nil: // it has reached a server, and its answer was lost
			k := slices.IndexFunc(live, func(o outcome.Outcome) bool { return o.ID == planned.ID })
			live[k].Status = 0
		}
	}
	slices.Sort(f.Late)
	f.Live = stopFigures(live, stopAt)
	f.Predicted, err = forecast(ctx, file, dir, seed, seeds, nil, func(run *outcome.Run) []Figure { return stopFigures(run.Requests, stopAt) })
	return f, err
}

// balance starts the load balancer of a scenario in front of servers.
func balance(sc *scenario.Scenario, servers []*apiserver.Server) (*balancer.Balancer, error) {
	probe := sc.Spec.Servers.LoadBalancer.Probe
	o := balancer.Options{Interval: time.Duration(probe.Interval), Failures: probe.Failures, Successes: probe.Successes}
	var probing []*http.Client
	for _, s := range servers {
		o.Servers = append(o.Servers, strings.TrimPrefix(s.URL, "https://"))
		probing = append(probing, s.Client(apiserver.Administrator))
	}
	o.Probe = func(ctx context.Context, i int) bool {
		ctx, cancel := context.WithTimeout(ctx, o.Interval)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, servers[i].URL+"/readyz", nil)
		if err != nil {
			return false
		}
		response, err := probing[i].Do(request)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	return balancer.Start(o)
}

// The parts of a run with a server that stops: before, while the load balancer has not noticed, and after that.
const (
	stopFirst  = 2 * time.Second // is left out
	stopUnrest = 3 * time.Second
)

// stopFigures returns the figures of requests to two servers, of which the first one is told to stop at a time.
func stopFigures(requests []outcome.Outcome, stopAt time.Duration) (all []Figure) {
	var last time.Duration // when something still went to the first server after the stop
	for _, p := range []struct {
		name     string
		from, to time.Duration
	}{
		{"before the stop", stopFirst, stopAt},
		{fmt.Sprintf("%v from the stop", stopUnrest), stopAt, stopAt + stopUnrest},
		{"after that", stopAt + stopUnrest, 1 << 62},
	} {
		f := &figures{part: p.name}
		var waits, latencies []time.Duration
		arrived, executed, rejected, refused, others, second := 0, 0, 0, 0, 0, 0
		for i := range requests {
			r := &requests[i]
			at := time.Duration(r.ArrivalNs)
			if at < p.from || at >= p.to {
				continue
			}
			arrived++
			if r.Server == 1 && r.Outcome != outcome.Refused {
				second++
			} else if at > stopAt {
				last = max(last, at-stopAt)
			}
			switch {
			case r.Outcome == outcome.Refused:
				refused++
			case r.Outcome == outcome.Rejected:
				rejected++
			case r.Status/100 != 2:
				others++
			default:
				executed++
				waits, latencies = append(waits, time.Duration(r.WaitNs)), append(latencies, time.Duration(r.FinishNs-r.ArrivalNs))
			}
		}
		share := func(n int) float64 { return float64(n) / float64(max(1, arrived)) }
		f.add("requests", float64(arrived))
		f.add("status 201", share(executed))
		f.add("status 429", share(rejected))
		f.add("connection errors", float64(refused))
		f.add("other statuses, or no answer", float64(others))
		f.add("at the second server", share(second))
		f.durations("wait", waits, true, 99)
		f.durations("latency", latencies, false, 50)
		all = append(all, f.all...)
	}
	return append(all, Figure{"the stop", "until the second server has all", float64(last)})
}
