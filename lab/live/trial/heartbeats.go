package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/live/calibrate"
	"apfsim/sim/scenario"
	"apfsim/sim/trace/serverlog"
)

// heartbeatLoads are the loads of the lists in the case node-heartbeats, in parts of what the server can do, of the first
// workloads of the scenario. The scenario is fitted to the first.
var heartbeatLoads = []float64{0.25, 0.75, 1.5}

// heartbeatFirst is the time at the beginning of a load that is left out.
const heartbeatFirst = 2 * time.Second

// A kubelet's lease (k8s.io/kubernetes, pkg/kubelet): its duration, how often it is renewed, and how long a request may take.
const (
	leaseSeconds  = 40
	renewInterval = 10 * time.Second
	leaseTimeout  = 10 * time.Second
)

// RunHeartbeats makes a run of the case node-heartbeats: nodes renew their leases as kubelets do, beside lists. It simulates
// what it predicts as well.
func RunHeartbeats(ctx context.Context, b *apiserver.Binaries, file, name, dir string, seed, seeds int) (_ *Forecast, err error) {
	base, err := outcome.Load(file)
	if err != nil {
		return nil, err
	}
	first, err := outcome.Simulate(ctx, base, filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	server, err := apiserver.Start(ctx, b, serverOptions(base, users(first.Requests)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	a := &admin{server, server.Client(apiserver.Administrator)}
	lists := slices.DeleteFunc(slices.Clone(first.Requests), func(o outcome.Outcome) bool { return o.Verb != "list" })
	if err := a.prepare(ctx, file, lists, nil); err != nil {
		return nil, err
	}
	measured := &calibrate.Measurement{}
	if measured.Curve, err = a.curve(ctx, lists, base.Spec.Workload[0].Name); err != nil {
		return nil, err
	}
	if err := measured.Fit(); err != nil {
		return nil, err
	}
	throughput := measured.Best()
	var loads []string
	for i, l := range heartbeatLoads {
		w := &base.Spec.Workload[i]
		loads = append(loads, fmt.Sprintf("spec.workload[%d].load=%v", i, l*throughput/(float64(w.Arrivals.Poisson.Rate)*float64(w.Clients))))
	}
	sc, err := outcome.Load(file, append(slices.Clone(loads), fmt.Sprintf("spec.seed=%d", seed))...)
	if err != nil {
		return nil, err
	}
	plan, err := outcome.Simulate(ctx, sc, filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	plan.Requests = slices.DeleteFunc(plan.Requests, func(o outcome.Outcome) bool { return o.Verb != "list" })

	start := time.Now().Add(time.Second)
	end := start.Add(time.Duration(sc.Spec.Duration))
	running, stop := context.WithDeadline(ctx, end)
	defer stop()
	var renewing sync.WaitGroup
	defer renewing.Wait()
	defer stop()
	prefix := name + "-"
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	var nodes []*liveNode
	for i := range sc.Spec.Workload {
		w := &sc.Spec.Workload[i]
		if w.Behaviour == nil {
			continue
		}
		for k := range w.Clients {
			n, err := newNode(server, strings.ReplaceAll(w.As.Node, "{i}", fmt.Sprint(k)), w.Name, prefix)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
			begin := start.Add(time.Duration(random.Float64() * float64(renewInterval)))
			renewing.Go(func() {
				if sleepUntil(running, begin) == nil {
					n.lease.Run(running)
				}
			})
		}
	}
	clients := map[string]*http.Client{}
	var requests []sender.Request
	for i := range plan.Requests {
		o := &plan.Requests[i]
		if clients[o.User] == nil {
			clients[o.User] = server.Client(apiserver.User{Name: o.User})
			defer clients[o.User].CloseIdleConnections()
		}
		requests = append(requests, a.request(o, fmt.Sprint(prefix, o.ID), clients[o.User]))
	}
	responses := sender.Send(running, start, requests)
	if err := sleepUntil(ctx, end); err != nil {
		return nil, err
	}
	stop()
	renewing.Wait()
	if err := server.Running(); err != nil {
		return nil, err
	}
	if err := sleepUntil(ctx, time.Now().Add(time.Second)); err != nil { // the logs are written a moment later
		return nil, err
	}
	metrics, err := a.scrape(ctx)
	if err != nil {
		return nil, err
	}
	if err := keep(dir, server, nil, metrics); err != nil {
		return nil, err
	}
	logs, err := observed.ReadLogs(server.HTTPLog, server.AuditLog, prefix)
	if err != nil {
		return nil, err
	}
	t := &Trial{Prediction: plan}
	t.join(prefix, start, logs, responses, nil)
	f := &Forecast{Late: t.Late, Missing: t.Missing}
	live := t.Live.Requests
	for _, n := range nodes {
		live = append(live, n.outcomes(logs.HTTP, start)...)
	}
	f.Live = heartbeatFigures(sc, live)
	fit := fitHeartbeats(sc, live, measured.Capacity)
	f.Fitted, f.Basis = []string{heartbeatPart(sc, 0, sc.Spec.Workload[0].Name)}, fit.String()
	for i := range sc.Spec.Workload {
		if w := &sc.Spec.Workload[i]; w.Behaviour != nil {
			f.Fitted = append(f.Fitted, heartbeatPart(sc, 0, w.Name))
		}
	}
	predict := func(part float64) ([][]Figure, error) {
		return forecast(ctx, file, dir, seed, seeds, append(fit.assignments(part), loads...), func(run *outcome.Run) []Figure {
			return heartbeatFigures(sc, run.Requests)
		})
	}
	if f.Predicted, err = predict(1); err != nil || math.IsInf(fit.capacity.Law.Cores, 1) {
		return f, err
	}
	for _, part := range []float64{fit.capacity.Throughput.Low, fit.capacity.Throughput.High} {
		ends, err := predict(part)
		if err != nil {
			return nil, err
		}
		f.Ends = append(f.Ends, ends...)
	}
	return f, nil
}

// liveNode is a node that renews its lease with the code of the kubelet, and what it has sent.
type liveNode struct {
	name, user, workload, prefix string
	lease                        lease.Controller
	next                         http.RoundTripper

	mu   sync.Mutex
	sent []leaseRequest
}

// leaseRequest is a request for a lease. Its status is 0 without an answer.
type leaseRequest struct {
	id     string
	at     time.Time
	verb   string
	status int
}

// newNode returns a node whose lease is not renewed yet.
func newNode(server *apiserver.Server, name, workload, prefix string) (*liveNode, error) {
	n := &liveNode{name: name, user: "system:node:" + name, workload: workload, prefix: prefix}
	client := server.Client(apiserver.User{Name: n.user})
	n.next, client.Transport, client.Timeout = client.Transport, n, leaseTimeout
	sending, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: server.URL, QPS: -1}, client)
	if err != nil {
		return nil, err
	}
	n.lease = lease.NewController(clock.RealClock{}, sending, name, leaseSeconds, client.CloseIdleConnections, renewInterval, name, "kube-node-lease", nil)
	return n, nil
}

// RoundTrip implements http.RoundTripper: it names the request for the logs of the server.
func (n *liveNode) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err // its time was over while client-go waited after a rejection: it is not sent
	}
	n.mu.Lock()
	number := len(n.sent)
	sent := leaseRequest{id: fmt.Sprintf("%s%s-%d", n.prefix, n.name, number), at: time.Now(),
		verb: map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update"}[r.Method]}
	n.sent = append(n.sent, sent)
	n.mu.Unlock()
	r = r.Clone(r.Context())
	r.Header.Set("Audit-ID", sent.id)
	response, err := n.next.RoundTrip(r)
	if err == nil {
		n.mu.Lock()
		n.sent[number].status = response.StatusCode
		n.mu.Unlock()
	}
	return response, err
}

// CloseIdleConnections lets http.Client do the same.
func (n *liveNode) CloseIdleConnections() {
	if next, ok := n.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// outcomes returns what became of the requests of a node. The times of those that a server has in its log are those of the log.
func (n *liveNode) outcomes(logs map[string]serverlog.Entry, start time.Time) (all []outcome.Outcome) {
	for i := range n.sent {
		s := &n.sent[i]
		var o outcome.Outcome
		o.Workload, o.User, o.Verb, o.Resource = n.workload, n.user, s.verb, "leases"
		o.ArrivalNs, o.Outcome = int64(s.at.Sub(start)), outcome.Refused
		if entry, ok := logs[s.id]; ok {
			o = liveOutcome(&o, &entry, start, 0)
		}
		o.Status = s.status
		all = append(all, o)
	}
	return all
}

// heartbeatPart names a workload under one of the loads.
func heartbeatPart(sc *scenario.Scenario, load int, workload string) string {
	if load < len(heartbeatLoads) && workload == sc.Spec.Workload[load].Name {
		workload = "lists"
	}
	return fmt.Sprintf("%v: %s", heartbeatLoads[load], workload)
}

// heartbeatFigures returns the figures of lists and of leases, by load. A renewal belongs to the load during which it arrives.
func heartbeatFigures(sc *scenario.Scenario, requests []outcome.Outcome) (all []Figure) {
	for i := range heartbeatLoads {
		w := &sc.Spec.Workload[i]
		from, to := time.Duration(w.Start)+heartbeatFirst, time.Duration(w.Stop)
		of := []string{w.Name}
		for k := range sc.Spec.Workload {
			if sc.Spec.Workload[k].Behaviour != nil {
				of = append(of, sc.Spec.Workload[k].Name)
			}
		}
		for _, workload := range of {
			f := &figures{part: heartbeatPart(sc, i, workload)}
			var waits, latencies, gaps []time.Duration
			last := map[string]time.Duration{} // by user, when the lease was renewed last
			arrived, ok, rejected, none := 0, 0, 0, 0
			mine := slices.DeleteFunc(slices.Clone(requests), func(o outcome.Outcome) bool {
				return o.Workload != workload || o.Resource == "leases" && o.Verb != "update" || o.Resource != "leases" && o.Verb != "list"
			})
			slices.SortStableFunc(mine, func(a, b outcome.Outcome) int { return cmp.Compare(a.ArrivalNs, b.ArrivalNs) })
			for k := range mine {
				r := &mine[k]
				at := time.Duration(r.ArrivalNs)
				good := r.Status/100 == 2
				if before, known := last[r.User]; good && r.Verb == "update" {
					renewed := time.Duration(r.FinishNs)
					if last[r.User] = renewed; known && renewed >= from && at < to {
						gaps = append(gaps, renewed-before)
					}
				}
				if at < from || at >= to {
					continue
				}
				arrived++
				switch {
				case good:
					ok++
					waits, latencies = append(waits, time.Duration(r.WaitNs)), append(latencies, time.Duration(r.FinishNs-r.ArrivalNs))
				case r.Status == http.StatusTooManyRequests:
					rejected++
				default:
					none++
				}
			}
			share := func(n int) float64 { return float64(n) / float64(max(1, arrived)) }
			f.add("requests", float64(arrived))
			f.add("status 200", share(ok))
			f.add("status 429", share(rejected))
			f.add("another status, or no answer", share(none))
			f.durations("latency", latencies, false, 50, 90)
			f.durations("wait", waits, true)
			f.durations("time between two renewals", gaps, false, 100)
			all = append(all, f.all...)
		}
	}
	return all
}

// heartbeatFit is what a scenario has from closed loops of lists and from the lightest load.
type heartbeatFit struct {
	capacity *calibrate.Capacity
	lists    []time.Duration // executions, scaled so that their mean is that of the closed loops, sorted
	writes   []time.Duration // what the renewals of leases need besides the processor time that the scenario gives to each request, sorted
}

// leaseProcessor is the processor time of a write in the simulation.
const leaseProcessor = 250 * time.Microsecond

func fitHeartbeats(sc *scenario.Scenario, live []outcome.Outcome, capacity *calibrate.Capacity) *heartbeatFit {
	f := &heartbeatFit{capacity: capacity}
	w := &sc.Spec.Workload[0]
	sum := 0.0
	for i := range live {
		r := &live[i]
		if at := time.Duration(r.ArrivalNs); r.Outcome != outcome.Executed || at < time.Duration(w.Start)+heartbeatFirst || at >= time.Duration(w.Stop) {
			continue
		}
		switch execution := time.Duration(r.ExecutionNs); {
		case r.Workload == w.Name:
			f.lists = append(f.lists, execution)
			sum += float64(execution)
		case r.Verb == "update":
			f.writes = append(f.writes, max(time.Microsecond, execution-leaseProcessor))
		}
	}
	if sum > 0 && capacity.Demand > 0 {
		scale := float64(capacity.Demand) * float64(len(f.lists)) / sum
		for i := range f.lists {
			f.lists[i] = max(1, time.Duration(scale*float64(f.lists[i])))
		}
	}
	slices.Sort(f.lists)
	slices.Sort(f.writes)
	return f
}

// String says what was fitted.
func (f *heartbeatFit) String() string {
	middle := func(all []time.Duration) string {
		if len(all) == 0 {
			return "unknown"
		}
		return fmt.Sprint(all[len(all)/2].Round(10 * time.Microsecond))
	}
	cores := "any number of"
	if !math.IsInf(f.capacity.Law.Cores, 1) {
		cores = fmt.Sprintf("%.2f", f.capacity.Law.Cores)
	}
	return fmt.Sprintf("%s cores, contention %.3g, coherency %.3g, a throughput of %.3g to %.3g times theirs, a list alone needs %v, a write to etcd %s (median)",
		cores, f.capacity.Law.Contention, f.capacity.Law.Coherency, f.capacity.Throughput.Low, f.capacity.Throughput.High, f.capacity.Demand.Round(10*time.Microsecond), middle(f.writes))
}

// assignments returns the fields of the scenario whose server has a part of the throughput that was measured.
func (f *heartbeatFit) assignments(part float64) []string {
	law := fmt.Sprintf("contention: %v, coherency: %v", f.capacity.Law.Contention, f.capacity.Law.Coherency)
	if !math.IsInf(f.capacity.Law.Cores, 1) {
		law += fmt.Sprintf(", cores: %v", part*f.capacity.Law.Cores)
	}
	all := []string{"spec.servers.capacity={" + law + "}"}
	if len(f.writes) > 0 {
		all = append(all, "spec.store.write="+empirical(f.writes))
	}
	for i := range heartbeatLoads {
		if len(f.lists) > 0 {
			all = append(all, fmt.Sprintf("spec.workload[%d].execution=%s", i, empirical(f.lists)))
		}
	}
	return all
}
