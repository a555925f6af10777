package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// restartAfter is the time from the SIGTERM of a server until it is started again.
const restartAfter = 4 * time.Second

// RunRelist makes a run of the case informer-relist: reflectors of client-go watch objects at a server that is stopped and
// started again. It simulates what it predicts as well, with the times in which the server has started before.
func RunRelist(ctx context.Context, b *apiserver.Binaries, file, name, dir string, seed, seeds int) (_ *Forecast, err error) {
	sc, err := outcome.Load(file, fmt.Sprintf("spec.seed=%d", seed))
	if err != nil {
		return nil, err
	}
	plan, err := outcome.Simulate(ctx, sc, filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	all := users(plan.Requests)
	behaving := func(workload string) bool {
		return slices.ContainsFunc(relistParts(sc), func(p relistPart) bool { return p.name == workload })
	}
	writes := slices.DeleteFunc(slices.Clone(plan.Requests), func(o outcome.Outcome) bool { return behaving(o.Workload) })
	options := serverOptions(sc, all)
	options.Arguments = []string{fmt.Sprintf("--shutdown-watch-termination-grace-period=%v", time.Duration(sc.Spec.Servers.Shutdown.WatchTerminationGracePeriod))}
	server, err := apiserver.Start(ctx, b, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	a := &admin{server, server.Client(apiserver.Administrator)}
	if err := a.prepare(ctx, file, writes, nil); err != nil {
		return nil, err
	}
	// How long a start takes is measured before the informers begin.
	if err := server.Terminate(); err != nil {
		return nil, err
	}
	took, err := restart(ctx, server, b)
	if err != nil {
		return nil, err
	}
	stopAt := time.Duration(sc.Spec.Events[0].At)
	start := time.Now().Add(time.Second / 2)
	end := start.Add(time.Duration(sc.Spec.Duration))
	running, stop := context.WithDeadline(ctx, end)
	defer stop()
	var reflecting, sending sync.WaitGroup
	defer reflecting.Wait()
	defer sending.Wait()
	defer stop()
	var informers []*liveInformer
	if err := sleepUntil(ctx, start); err != nil {
		return nil, err
	}
	for _, p := range relistParts(sc) {
		for i := range p.clients {
			informer, err := newInformer(server, p, i)
			if err != nil {
				return nil, err
			}
			informers = append(informers, informer)
			reflecting.Go(func() { informer.reflector.RunWithContext(running) })
		}
	}
	clients := map[string]*http.Client{}
	var requests []sender.Request
	prefix := name + "-"
	for i := range writes {
		o := &writes[i]
		if clients[o.User] == nil {
			clients[o.User] = server.Client(apiserver.User{Name: o.User})
			defer clients[o.User].CloseIdleConnections()
		}
		requests = append(requests, a.request(o, fmt.Sprint(prefix, o.ID), clients[o.User]))
	}
	var responses []sender.Response
	sending.Go(func() { responses = sender.Send(running, start, requests) })
	if err := sleepUntil(ctx, start.Add(stopAt)); err != nil {
		return nil, err
	}
	if err := server.Terminate(); err != nil {
		return nil, err
	}
	if err := sleepUntil(ctx, start.Add(stopAt+restartAfter)); err != nil {
		return nil, err
	}
	again, err := restart(ctx, server, b)
	if err != nil {
		return nil, err
	}
	sending.Wait()
	if err := sleepUntil(ctx, end); err != nil {
		return nil, err
	}
	stop()
	reflecting.Wait()
	if err := server.Running(); err != nil {
		return nil, err
	}
	if err := keep(dir, server, nil, nil); err != nil {
		return nil, err
	}
	if err := keepSent(dir, informers, start); err != nil {
		return nil, err
	}
	f := &Forecast{Basis: fmt.Sprintf("a start takes %v until the server listens, %v more until it serves watches and %v more until it is ready",
		took.listens.Round(time.Millisecond), took.watches.Round(time.Millisecond), (took.ready - took.watches).Round(time.Millisecond))}
	written := 0 // afterwards
	for i := range responses {
		o, r := &writes[i], &responses[i]
		f.Late = append(f.Late, r.Late)
		if o.Workload == sc.Spec.Workload[len(sc.Spec.Workload)-1].Name {
			if written++; r.Status/100 != 2 {
				f.Missing = append(f.Missing, fmt.Sprintf("%s: status %d (%v)", r.AuditID, r.Status, r.Err))
			}
		}
	}
	slices.Sort(f.Late)
	for _, p := range relistParts(sc) {
		got := relistFigures{clients: p.clients, written: written}
		for _, informer := range informers {
			if informer.part == p.name {
				got.addLive(informer, start, stopAt, afterwards(sc))
			}
		}
		f.Live = append(f.Live, got.of(p.name)...)
	}
	f.Live = append(f.Live, Figure{"the server", "until it listens again", float64(restartAfter + again.listens)},
		Figure{"the server", "until it is ready again", float64(restartAfter + again.listens + again.ready)})
	f.Predicted, err = forecast(ctx, file, dir, seed, seeds, []string{
		fmt.Sprintf("spec.events[1].at=%v", stopAt+restartAfter+took.listens),
		fmt.Sprintf("spec.servers.startup={duration: %v, caches: %v}", took.ready, took.watches),
	}, func(run *outcome.Run) []Figure {
		return append(simulatedRelist(sc, run, stopAt),
			Figure{"the server", "until it listens again", float64(restartAfter + took.listens)},
			Figure{"the server", "until it is ready again", float64(restartAfter + took.listens + took.ready)})
	})
	return f, err
}

// afterwards returns when the last workload begins, which writes when all informers should have recovered.
func afterwards(sc *scenario.Scenario) time.Duration {
	return time.Duration(sc.Spec.Workload[len(sc.Spec.Workload)-1].Start)
}

// relistPart is a workload of informers.
type relistPart struct {
	name, user, namespace string
	clients               int
	byList                bool
}

func relistParts(sc *scenario.Scenario) (parts []relistPart) {
	for i := range sc.Spec.Workload {
		w := &sc.Spec.Workload[i]
		if w.Behaviour == nil || w.Behaviour.Informer == nil {
			continue
		}
		in := w.Behaviour.Informer
		parts = append(parts, relistPart{name: w.Name, user: w.As.User, namespace: in.Namespace, clients: w.Clients, byList: in.Start != workload.WatchList})
	}
	return parts
}

// starting is how long a server takes to start: until it listens, and from then on until it serves watches and until it is ready.
type starting struct{ listens, watches, ready time.Duration }

// restart starts a server that was told to stop, as soon as its process has ended, and returns when it is ready.
func restart(ctx context.Context, server *apiserver.Server, b *apiserver.Binaries) (*starting, error) {
	select {
	case <-server.Ended():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	var watched time.Time
	var listened time.Time
	var probing sync.WaitGroup
	probing.Go(func() {
		client := server.Client(apiserver.Administrator)
		defer client.CloseIdleConnections()
		for ctx.Err() == nil && watched.IsZero() && time.Since(began) < time.Minute {
			time.Sleep(10 * time.Millisecond)
			if listened.IsZero() {
				c, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "https://"))
				if err != nil {
					continue
				}
				listened = time.Now()
				c.Close()
			}
			if serves(ctx, client, server) {
				watched = time.Now()
			}
		}
	})
	err := server.StartAgain(ctx, b)
	ready := time.Now()
	probing.Wait()
	if err != nil {
		return nil, err
	}
	if watched.IsZero() {
		return nil, errors.New("kube-apiserver is ready and serves no watches")
	}
	s := &starting{listens: listened.Sub(began), watches: watched.Sub(listened)}
	s.ready = max(ready.Sub(listened), s.watches)
	return s, nil
}

// serves says whether the server opens a watch.
func serves(ctx context.Context, client *http.Client, server *apiserver.Server) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/configmaps?watch=true&resourceVersion=0&timeoutSeconds=1", nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// liveInformer is a reflector of client-go, and what it has sent and received.
type liveInformer struct {
	part      string
	reflector *cache.Reflector

	cache.Store
	next http.RoundTripper

	mu       sync.Mutex
	sent     []informerRequest
	replaced []time.Time // when it had all objects, the first time or again
	events   []time.Time
	expired  []time.Time
}

// informerRequest is a request that a reflector has sent.
type informerRequest struct {
	at     time.Time
	kind   string
	status int // 0 without an answer
	err    error
}

// The kinds of requests of a reflector.
const (
	kindList      = "list"
	kindWatchList = "watch list"
	kindWatch     = "watch"
)

// kindOf returns the kind of a request by its query.
func kindOf(watch, initialEvents bool) string {
	switch {
	case !watch:
		return kindList
	case initialEvents:
		return kindWatchList
	}
	return kindWatch
}

// RoundTrip implements http.RoundTripper.
func (l *liveInformer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	sent := informerRequest{at: time.Now(), kind: kindOf(query.Get("watch") == "true", query.Get("sendInitialEvents") == "true")}
	response, err := l.next.RoundTrip(r)
	if sent.err = err; err == nil {
		sent.status = response.StatusCode
	}
	l.mu.Lock()
	l.sent = append(l.sent, sent)
	l.mu.Unlock()
	return response, err
}

// Replace implements cache.Store.
func (l *liveInformer) Replace(all []any, version string) error {
	l.mu.Lock()
	l.replaced = append(l.replaced, time.Now())
	l.mu.Unlock()
	return l.Store.Replace(all, version)
}

// received takes note of an event of a watch.
func (l *liveInformer) received(e watch.Event) (watch.Event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Type {
	case watch.Modified:
		l.events = append(l.events, time.Now())
	case watch.Error:
		if s, ok := e.Object.(*metav1.Status); ok && s.Code == http.StatusGone {
			l.expired = append(l.expired, time.Now())
		}
	}
	return e, true
}

// newInformer returns a reflector that is not running, with a connection of its own.
func newInformer(server *apiserver.Server, p relistPart, i int) (*liveInformer, error) {
	client := server.Client(apiserver.User{Name: strings.ReplaceAll(p.user, "{i}", fmt.Sprint(i))})
	l := &liveInformer{part: p.name, Store: cache.NewStore(cache.MetaNamespaceKeyFunc), next: client.Transport}
	client.Transport = l
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := &rest.Config{Host: server.URL, APIPath: "/api", ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion()}}
	sending, err := rest.RESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	parameters := runtime.NewParameterCodec(scheme)
	request := func(o metav1.ListOptions) *rest.Request {
		return sending.Get().Namespace(p.namespace).Resource("configmaps").VersionedParams(&o, parameters)
	}
	var source cache.ListerWatcher = &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			all := new(corev1.ConfigMapList)
			return all, request(o).Do(ctx).Into(all)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			w, err := request(o).Watch(ctx)
			if err != nil {
				return nil, err
			}
			return watch.Filter(w, l.received), nil
		},
	}
	if p.byList {
		source = listsFirst{source}
	}
	l.reflector = cache.NewReflectorWithOptions(source, new(corev1.ConfigMap), l, cache.ReflectorOptions{Name: "live"})
	return l, nil
}

// listsFirst makes a reflector begin with a list.
type listsFirst struct{ cache.ListerWatcher }

// IsWatchListSemanticsUnSupported is what client-go asks for.
func (listsFirst) IsWatchListSemanticsUnSupported() bool { return true }

// keepSent writes what informers have sent to a file of the folder of a run.
func keepSent(dir string, informers []*liveInformer, start time.Time) error {
	var text strings.Builder
	for i, l := range informers {
		for _, s := range l.sent {
			fmt.Fprintf(&text, "%s %d at %v: %s: status %d, error %v\n", l.part, i, s.at.Sub(start).Round(time.Millisecond), s.kind, s.status, s.err)
		}
	}
	return os.WriteFile(filepath.Join(dir, "informers.txt"), []byte(text.String()), 0o644)
}

// relistFigures are the figures of some informers.
type relistFigures struct {
	clients, written int
	kinds            map[string]int // of requests after the stop that reached a server
	statuses         map[int]int    // of the answers to these
	refused, expired int
	recovered        []time.Duration // from the stop until an informer had all objects again
	events           int             // afterwards
}

func (g *relistFigures) add(kind string, status int, refused bool) {
	if refused {
		g.refused++
		return
	}
	if g.kinds == nil {
		g.kinds, g.statuses = map[string]int{}, map[int]int{}
	}
	g.kinds[kind]++
	g.statuses[status]++
}

// addLive adds what one informer did after the stop.
func (g *relistFigures) addLive(l *liveInformer, start time.Time, stopAt, afterwards time.Duration) {
	stopped := start.Add(stopAt)
	for _, s := range l.sent {
		if s.at.After(stopped) && !errors.Is(s.err, context.Canceled) && !errors.Is(s.err, context.DeadlineExceeded) {
			g.add(s.kind, s.status, s.err != nil)
		}
	}
	for _, at := range l.expired {
		if at.After(stopped) {
			g.expired++
		}
	}
	for _, at := range l.replaced {
		if at.After(stopped) {
			g.recovered = append(g.recovered, at.Sub(stopped))
			break
		}
	}
	for _, at := range l.events {
		if at.After(start.Add(afterwards)) {
			g.events++
		}
	}
}

// simulatedRelist returns the figures of a simulation.
func simulatedRelist(sc *scenario.Scenario, run *outcome.Run, stopAt time.Duration) (all []Figure) {
	last := len(sc.Spec.Workload) - 1
	written := 0
	parts := map[string]*relistFigures{}
	for _, p := range relistParts(sc) {
		parts[p.name] = &relistFigures{clients: p.clients}
	}
	for i := range run.Requests {
		r := &run.Requests[i]
		if r.Workload == sc.Spec.Workload[last].Name && r.Status/100 == 2 {
			written++
		}
		if g := parts[r.Workload]; g != nil && time.Duration(r.ArrivalNs) > stopAt {
			g.add(kindOf(r.Verb == "watch", strings.Contains(r.Query, "sendInitialEvents=true")), r.Status, r.Outcome == outcome.Refused)
		}
	}
	recovered := map[[2]int]bool{}
	for i := range run.Notes {
		n := &run.Notes[i]
		g := parts[sc.Spec.Workload[n.Workload].Name]
		if g == nil || time.Duration(n.AtNs) <= stopAt {
			continue
		}
		switch client := [2]int{n.Workload, n.Client}; n.Event {
		case metric.Expired:
			g.expired++
		case metric.Listed:
			if !recovered[client] {
				recovered[client] = true
				g.recovered = append(g.recovered, time.Duration(n.AtNs)-stopAt)
			}
		case metric.EventLate:
			if time.Duration(n.AtNs) > afterwards(sc) {
				g.events++
			}
		}
	}
	for _, p := range relistParts(sc) {
		g := parts[p.name]
		g.written = written
		all = append(all, g.of(p.name)...)
	}
	return all
}

// of returns the figures.
func (g *relistFigures) of(part string) []Figure {
	f := &figures{part: part}
	f.add("connections refused", float64(g.refused))
	f.add("answers 410", float64(g.expired))
	f.add("answers 429", float64(g.statuses[http.StatusTooManyRequests]))
	f.add("answers 503", float64(g.statuses[http.StatusServiceUnavailable]))
	for _, kind := range []string{kindList, kindWatchList, kindWatch} {
		f.add("requests: "+kind, float64(g.kinds[kind]))
	}
	f.add("informers that have recovered", float64(len(g.recovered))/float64(g.clients))
	f.durations("until recovered", g.recovered, true, 50, 100)
	f.add("events received afterwards", float64(g.events)/float64(max(1, g.written*g.clients)))
	return f.all
}
