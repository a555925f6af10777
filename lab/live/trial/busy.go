package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/fitted"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/live/calibrate"
	"apfsim/live/load"
	"apfsim/sim/scenario"
)

// Loads are those of a busy case: the throughput of its first workload, in parts of what the server can do.
var Loads = []float64{0.25, 0.45, 0.75, 1.05}

// FittedLoads is how many of the Loads scenarios are fitted to: the lightest ones.
const FittedLoads = 2

// Busy is one run of a busy case: all loads, one after the other, on one server. Its requests take processor time, no webhook
// makes them wait.
type Busy struct {
	Loads []BusyLoad
	Curve *calibrate.Curve // of what the server can do; nil if that was given
}

// BusyLoad is what was measured with one load.
type BusyLoad struct {
	Load      float64 // of Loads
	PerSecond float64 // arrivals of the first workload
	Began     time.Time
	Live      *outcome.Run
	Late      []time.Duration // how late requests were sent, sorted
	Missing   []string        // what was lost
}

// BusyFit is a scenario that was fitted to one of the loads, and what it predicts of all.
type BusyFit struct {
	Load        float64               // to whose log it is fitted; its capacity also to those of the lighter ones
	Measured    bool                  // whether it has the capacity that closed loops have measured, and not a fitted one
	Capacity    string                // what the log says of it
	Known       bool                  // whether it does
	Disagrees   string                // how the scenario is so far from the log of the load that it predicts nothing; "" if it is not
	Predictions [][][]outcome.Outcome // by load and seed; nil if Failed
	Ends        [][][]outcome.Outcome // by load, runs with the ends of the interval of the capacity
	Failed      string                // why there are none
}

// The loop that measures what a server can do.
const (
	calibrationStep    = 3 * time.Second
	calibrationLatency = 2 * time.Second
	calibrationClients = 128 // so that as many execute as the level has seats
)

// pause is between two loads.
const pause = 2 * time.Second

// RunBusy makes a run of a busy case. Without a throughput, which is what the server can do, in requests of the first workload
// per second, it measures the curve first. The logs are kept in a folder, from which PredictBusy takes them.
func RunBusy(ctx context.Context, b *apiserver.Binaries, file, name, dir string, seed int, throughput float64) (_ *Busy, err error) {
	plans := make([]*outcome.Run, len(Loads))
	base, err := outcome.Load(file)
	if err != nil {
		return nil, err
	}
	plan := func(factor float64) (*outcome.Run, error) {
		sc, err := outcome.Load(file, fmt.Sprintf("spec.seed=%d", seed), fmt.Sprintf("spec.workload[0].load=%v", factor))
		if err != nil {
			return nil, err
		}
		return outcome.Simulate(ctx, sc, filepath.Join(dir, "requests.jsonl"))
	}
	if plans[0], err = plan(1); err != nil { // it names all users and namespaces
		return nil, err
	}
	server, err := apiserver.Start(ctx, b, serverOptions(base, users(plans[0].Requests)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	a := &admin{server, server.Client(apiserver.Administrator)}
	if err := a.prepare(ctx, file, plans[0].Requests, nil); err != nil {
		return nil, err
	}
	run := &Busy{}
	if throughput == 0 {
		if run.Curve, err = a.curve(ctx, plans[0].Requests, base.Spec.Workload[0].Name); err != nil {
			return nil, err
		}
		if throughput = run.Curve.Best(); throughput == 0 {
			return nil, fmt.Errorf("no throughput was measured: %s", run.Curve.Stopped)
		}
	}
	first := &base.Spec.Workload[0]
	if first.Arrivals.Poisson == nil {
		return nil, fmt.Errorf("%s: the workload %s has other arrivals than poisson", file, first.Name)
	}
	nominal := float64(first.Arrivals.Poisson.Rate) * float64(first.Clients)
	for i, l := range Loads {
		if plans[i], err = plan(l * throughput / nominal); err != nil {
			return nil, err
		}
		measured := BusyLoad{Load: l, PerSecond: l * throughput}
		to, err := a.load(ctx, fmt.Sprintf("%s-%d-", name, i), plans[i], &measured)
		if err != nil {
			return nil, err
		}
		run.Loads = append(run.Loads, measured)
		if err := sleepUntil(ctx, to.Add(pause)); err != nil {
			return nil, err
		}
	}
	metrics, err := a.scrape(ctx)
	if err != nil {
		return nil, err
	}
	if err := server.Running(); err != nil {
		return nil, err
	}
	if err := keep(dir, server, nil, metrics); err != nil {
		return nil, err
	}
	return run, nil
}

// PredictBusy fits scenarios to the logs of a run whose loads began at some times, and runs them with all loads. The capacity is fitted to the log
// of the load and to those of the lighter ones. One more scenario is fitted to the lightest load with the capacity that closed loops have measured, whose
// turn is fitted to the logs of all FittedLoads.
func PredictBusy(ctx context.Context, file, dir string, began []time.Time, seeds int, curve *calibrate.Measurement) (fits []BusyFit, err error) {
	base, err := outcome.Load(file)
	if err != nil {
		return nil, err
	}
	first, _ := base.Spec.Workload[0].Requests[0].AttributesWithoutPath("", nil, 0)
	if first.Verb == "create" {
		first.Name = "" // each creates another object
	}
	curve.Request = &first
	if err := curve.Fit(); err != nil {
		return nil, err
	}
	models := FittedLoads
	if curve.Capacity.Identifiable {
		models++
	}
	for k := range models {
		i, capacity := k, ""
		if k == FittedLoads {
			i, capacity = 0, curve.Capacity.Fields()
		}
		logs, err := logsOf(file, dir, began[i], began[i].Add(loadedUntil(base)))
		if err != nil {
			return nil, err
		}
		f, err := predict(ctx, base, logs, i, seeds, capacity)
		if err != nil {
			return nil, err
		}
		fits = append(fits, *f)
	}
	return fits, nil
}

// loadedUntil returns when the workloads stop.
func loadedUntil(sc *scenario.Scenario) (stop time.Duration) {
	for i := range sc.Spec.Workload {
		stop = max(stop, time.Duration(sc.Spec.Workload[i].Stop))
	}
	return stop
}

// request returns a planned request as it is sent. Objects that are created have the number of the request as a name.
func (a *admin) request(o *outcome.Outcome, id string, client *http.Client) sender.Request {
	r := sender.Request{AuditID: id, At: time.Duration(o.ArrivalNs), Client: client, Method: http.MethodGet, URL: a.server.URL + o.Path, Watch: time.Duration(o.WatchNs)}
	if o.Query != "" {
		r.URL += "?" + o.Query
	}
	text := map[string]string{"text": strings.Repeat("x", objectBytes), "of": id}
	switch o.Verb {
	case "create":
		r.Method = http.MethodPost
		r.Body, _ = json.Marshal(objectsOf[o.Resource](o.Namespace, strings.ToLower(id)))
	case "update":
		r.Method = http.MethodPut
		r.Body, _ = json.Marshal(configMap(o.Name, text))
	case "patch":
		r.Method, r.Type = http.MethodPatch, "application/merge-patch+json"
		r.Body, _ = json.Marshal(map[string]any{"data": text})
	}
	return r
}

// curve measures what the server can do with requests of a workload, sent by the administrator, whose level never makes them
// wait.
func (a *admin) curve(ctx context.Context, requests []outcome.Outcome, workload string) (*calibrate.Curve, error) {
	first := slices.IndexFunc(requests, func(o outcome.Outcome) bool { return o.Workload == workload })
	if first < 0 {
		return nil, fmt.Errorf("the workload %s sends no request", workload)
	}
	var sent atomic.Int64
	var clients [calibrationClients]*http.Client // each with a connection, as those of a cluster have
	for i := range clients {
		clients[i] = a.server.Client(apiserver.Administrator)
		defer clients[i].CloseIdleConnections()
	}
	return calibrate.Run(ctx, calibrate.Options{
		Step: calibrationStep, MaxLatency: calibrationLatency, MaxClients: calibrationClients, MaxRequests: math.MaxInt64,
		Send: func(ctx context.Context, client, _ int) load.Answer {
			r := a.request(&requests[first], fmt.Sprintf("curve-%d", sent.Add(1)), clients[client])
			r.At = 0
			answer := sender.Send(ctx, time.Now(), []sender.Request{r})[0]
			return load.Answer{Status: answer.Status, Err: answer.Err}
		},
		Observe: func(ctx context.Context) (calibrate.Counters, error) {
			text, err := a.scrape(ctx)
			if err != nil {
				return calibrate.Counters{}, err
			}
			return calibrate.ReadCounters(text, func(schema string) bool { return schema == "exempt" })
		},
	})
}

// load sends the requests of a plan and reads from the logs what became of them. It returns when all was answered.
func (a *admin) load(ctx context.Context, prefix string, plan *outcome.Run, l *BusyLoad) (time.Time, error) {
	clients := map[string]*http.Client{}
	var requests []sender.Request
	for i := range plan.Requests {
		o := &plan.Requests[i]
		if clients[o.User] == nil {
			clients[o.User] = a.server.Client(apiserver.User{Name: o.User})
			defer clients[o.User].CloseIdleConnections()
		}
		requests = append(requests, a.request(o, fmt.Sprint(prefix, o.ID), clients[o.User]))
	}
	start := time.Now().Add(time.Second / 2)
	l.Began = start
	responses := sender.Send(ctx, start, requests)
	if err := ctx.Err(); err != nil {
		return start, err
	}
	end := time.Now()
	if err := sleepUntil(ctx, end.Add(time.Second)); err != nil { // the logs are written a moment later
		return end, err
	}
	logs, err := observed.ReadLogs(a.server.HTTPLog, a.server.AuditLog, prefix)
	if err != nil {
		return end, err
	}
	t := &Trial{Prediction: plan}
	t.join(prefix, start, logs, responses, nil)
	l.Live, l.Late, l.Missing = t.Live, t.Late, t.Missing
	return end, nil
}

// predict fits a scenario to the log of one of the loads, and runs it with all of them.
func predict(ctx context.Context, base *scenario.Scenario, logs *fitted.Logs, load, seeds int, measured string) (*BusyFit, error) {
	folder := func(load int) string { return fmt.Sprintf("fitted-%v", Loads[load]) }
	of, others := folder(load), []string(nil)
	for i := range FittedLoads {
		if i < load || i > load && measured != "" {
			others = append(others, folder(i))
		}
	}
	if measured != "" {
		of += "-measured"
	}
	f, err := fitted.Fit(ctx, *logs, fitted.Servers{
		MaxRequestsInflight: base.Spec.Servers.MaxRequestsInflight, MaxMutatingRequestsInflight: base.Spec.Servers.MaxMutatingRequestsInflight,
		Stop: loadedUntil(base), Duration: time.Duration(base.Spec.Duration)}, of, measured, others...)
	if err != nil {
		return nil, err
	}
	result := &BusyFit{Load: Loads[load], Measured: measured != "", Capacity: f.Capacity, Known: f.Known, Disagrees: f.Disagrees}
	verb := base.Spec.Workload[0].Requests[0].Request.Verb
	for _, l := range Loads {
		var runs, ends [][]outcome.Outcome
		for seed := range seeds {
			run, more, err := f.Run(ctx, seed+1, verb, l/Loads[load])
			if err != nil {
				result.Failed, result.Predictions, result.Ends = err.Error(), nil, nil
				return result, nil
			}
			runs, ends = append(runs, run), append(ends, more...)
		}
		result.Predictions, result.Ends = append(result.Predictions, runs), append(result.Ends, ends)
	}
	return result, nil
}
