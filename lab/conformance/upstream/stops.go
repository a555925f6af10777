package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"apfsim/lab/conformance/trial"
)

// patience is for how long a process may take to end.
const patience = 5 * time.Minute

// Stop returns what clients see of a generic API server that stops: the filters, the health checks, the
// signals of its life, the HTTP server and its connections with TLS, up to the end of RunWithContext. The
// clients have the transport of client-go. Only the sockets are simulated, so that time can be.
func Stop(t *testing.T, st *trial.Stop) (seen []trial.Seen) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, st)
		time.Sleep(time.Until(p.signalAt))
		p.signal()
		select {
		case <-p.gone:
		case <-time.After(patience):
			t.Errorf("the server is still there %v after it was told to stop", patience)
		}
		p.listener.end()
		p.clients.Wait()
		time.Sleep(patience) // until all goroutines of a server whose process would be gone have ended
		p.mu.Lock()
		defer p.mu.Unlock()
		seen = p.seen
	})
	return seen
}

// process is a server whose clients observe it.
type process struct {
	listener *listener
	signal   context.CancelFunc
	signalAt time.Time
	gone     chan struct{} // closed when RunWithContext has returned
	clients  sync.WaitGroup

	mu   sync.Mutex
	seen []trial.Seen
}

func (p *process) note(who, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, trial.Seen{At: time.Since(p.signalAt), Who: who, What: what})
}

// start starts a server and its clients.
func start(t *testing.T, st *trial.Stop) *process {
	ctx, signal := context.WithCancel(context.Background())
	p := &process{listener: newListener(), signal: signal, signalAt: time.Now().Add(trial.Before), gone: make(chan struct{})}
	c := genericserver.NewConfig(serializer.NewCodecFactory(runtime.NewScheme()))
	c.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	c.LoopbackClientConfig = &rest.Config{}
	c.ExternalAddress = p.listener.Addr().String()
	c.SecureServing = &genericserver.SecureServingInfo{Listener: p.listener, Cert: certificate()}
	c.LongRunningFunc = LongRunning
	c.RequestTimeout = st.RequestTimeout
	c.ShutdownDelayDuration = time.Duration(st.Shutdown.Delay)
	c.ShutdownSendRetryAfter = st.Shutdown.SendRetryAfter
	c.ShutdownWatchTerminationGracePeriod = time.Duration(st.Shutdown.WatchTerminationGracePeriod)
	c.Authentication.Authenticator = authenticator.RequestFunc(authenticate)
	client := newCluster(t, st.Objects.Objects).client
	factory := informers.NewSharedInformerFactory(client, 0)
	c.FlowControl = flowcontrol.New(factory, client.FlowcontrolV1(), st.Seats)
	// The check of the log has a goroutine that never ends.
	c.HealthzChecks, c.LivezChecks, c.ReadyzChecks = nil, nil, nil
	s, err := c.Complete(factory).New("stop", genericserver.NewEmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	s.Handler.NonGoRestfulMux.HandlePrefix("/api/", resources())
	s.AddPreShutdownHookOrDie("hook", func() error {
		time.Sleep(time.Duration(st.Shutdown.Hooks))
		if st.Shutdown.HookError {
			return errors.New("as wanted")
		}
		return nil
	})
	go func() {
		select {
		case <-c.DrainedNotify():
			p.note(trial.Process, trial.Drained)
		case <-p.gone:
		}
	}()
	go func() {
		defer close(p.gone)
		if err := s.PrepareRun().RunWithContext(ctx); (err != nil) != st.Shutdown.HookError {
			t.Errorf("RunWithContext: %v", err)
		}
		p.note(trial.Process, trial.Gone)
	}()
	time.Sleep(time.Second) // until the hooks after the start are over
	for i := range st.Clients {
		p.send(&st.Clients[i])
	}
	return p
}

// authenticate knows the server's own client from all others.
func authenticate(r *http.Request) (*authenticator.Response, bool, error) {
	who := &user.DefaultInfo{Name: "u", Groups: []string{user.AllAuthenticated}}
	if r.UserAgent() == ownAgent {
		who = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	}
	return &authenticator.Response{User: who}, true, nil
}

// ownAgent is the user agent of the server's own client. What follows the slash does not matter.
const ownAgent = "kube-apiserver/v1.37.2"

// executionHeader says how long a GET takes.
const executionHeader = "Execution"

// resources serves what takes a while, and watches without events.
func resources() http.Handler {
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	watches := handlers.ListResource(nil, silence{}, &handlers.RequestScope{
		Namer:            byRequestInfo{},
		Serializer:       serializer.NewCodecFactory(scheme),
		Kind:             version.WithKind("Pod"),
		Resource:         version.WithResource("pods"),
		MetaGroupVersion: metav1.SchemeGroupVersion,
	}, true, time.Hour)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			watches(w, r)
			return
		}
		execution, err := time.ParseDuration(r.Header.Get(executionHeader))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		time.Sleep(execution)
		w.WriteHeader(http.StatusOK)
	})
}

// silence is a storage in which nothing happens.
type silence struct{}

// Watch implements rest.Watcher.
func (silence) Watch(ctx context.Context, _ *metainternalversion.ListOptions) (watch.Interface, error) {
	flowcontrol.WatchInitialized(ctx)
	return watch.NewFake(), nil
}

// send sends what a client sends.
func (p *process) send(c *trial.Client) {
	kept := p.listener.transport(c.HTTP1)
	for _, at := range c.Times() {
		p.clients.Go(func() {
			time.Sleep(time.Until(p.signalAt.Add(at)))
			transport := kept
			if c.PerRequest {
				transport = p.listener.transport(c.HTTP1)
				defer transport.CloseIdleConnections()
			}
			p.get(transport, c)
		})
	}
}

// get sends one request and notes what comes of it.
func (p *process) get(transport *http.Transport, c *trial.Client) {
	path := "/api/v1/namespaces/n/pods/x"
	switch {
	case c.Path != "":
		path = c.Path
	case c.Watch:
		path = "/api/v1/namespaces/n/pods?watch=true"
	case c.Log:
		path += "/log"
	}
	r, err := http.NewRequest(http.MethodGet, "https://"+p.listener.Addr().String()+path, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set(executionHeader, c.Execution.String())
	r.Header.Set("User-Agent", "kubelet/v1.37.2")
	if c.Own {
		r.Header.Set("User-Agent", ownAgent)
	}
	response, err := transport.RoundTrip(r)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		p.note(c.Name, trial.Refused)
		return
	case err != nil:
		p.note(c.Name, trial.Broken)
		return
	}
	defer response.Body.Close()
	what := fmt.Sprint(response.StatusCode)
	if after := response.Header.Get("Retry-After"); after != "" {
		what += " Retry-After " + after
	}
	p.note(c.Name, what)
	_, err = io.Copy(io.Discard, response.Body)
	switch {
	case err != nil:
		p.note(c.Name, trial.Broken)
	case c.Watch && response.StatusCode == http.StatusOK:
		p.note(c.Name, trial.Ends)
	}
}
