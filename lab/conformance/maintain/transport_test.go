package maintain

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// secureServer returns a server that speaks HTTP/2.
func secureServer(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// A kubelet that closes its connections (client-go, util/connrotation) ends its watch, as if that had ended in order. A
// list that is under way is sent again a second later, and a write is not: package workload has the same rules.
func TestTransportClosesLikeUpstream(t *testing.T) {
	var lists, writes atomic.Int32
	var listed [2]time.Time
	reached := make(chan struct{}, 3)
	s := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		hold := func() {
			reached <- struct{}{}
			<-r.Context().Done()
		}
		switch {
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			hold()
		case r.Method == http.MethodPut:
			writes.Add(1)
			hold()
		case lists.Add(1) == 1:
			hold()
		default:
			listed[1] = time.Now()
			io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		}
	})
	dialer := connrotation.NewDialer((&net.Dialer{}).DialContext)
	client, err := kubernetes.NewForConfig(&restclient.Config{Host: s.URL, Dial: dialer.DialContext, TLSClientConfig: restclient.TLSClientConfig{Insecure: true},
		ContentConfig: restclient.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); err != nil {
			t.Errorf("the list: %v", err)
		}
	})
	both.Go(func() {
		if err := client.CoreV1().RESTClient().Put().Resource("nodes").Name("n").Body([]byte("{}")).Do(ctx).Error(); err == nil {
			t.Error("the write has succeeded")
		}
	})
	watch, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-reached
	}
	listed[0] = time.Now()
	dialer.CloseAll()
	if e, open := <-watch.ResultChan(); open {
		t.Errorf("the watch has the event %v", e)
	}
	both.Wait()
	if n := lists.Load(); n != 2 {
		t.Errorf("the list was sent %d times", n)
	}
	if wait := listed[1].Sub(listed[0]); wait < time.Second {
		t.Errorf("the list was sent again after %v", wait)
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("the write was sent %d times", n)
	}
}

// Closing idle connections leaves alone one on which a watch is open.
func TestIdleClosesNothingWithAWatch(t *testing.T) {
	s := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		if r.URL.Path == "/watch" {
			<-r.Context().Done()
		}
	})
	var dials atomic.Int32
	transport := utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	get := func(path string) *http.Response {
		r, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	watch := get("/watch")
	utilnet.CloseIdleConnectionsFor(transport)
	get("/").Body.Close()
	if n := dials.Load(); n != 1 {
		t.Errorf("with a watch there were %d connections, want the same one", n)
	}
	watch.Body.Close()
}

// silentProxy passes bytes on until it is silent, and keeps its connections open then.
type silentProxy struct {
	net.Listener
	silent chan struct{}
}

func newSilentProxy(t *testing.T, to string) *silentProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &silentProxy{l, make(chan struct{})}
	t.Cleanup(func() { l.Close() })
	pass := func(from, to net.Conn) {
		buffer := make([]byte, 1<<16)
		for {
			n, err := from.Read(buffer)
			select {
			case <-p.silent:
				if err != nil {
					return
				}
				continue // it reads on, and loses what it reads
			default:
			}
			if err != nil {
				to.Close()
				return
			}
			to.Write(buffer[:n])
		}
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				return
			}
			go pass(client, server)
			go pass(server, client)
		}
	}()
	return p
}

// The transport of client-go sends a ping on a silent connection, and closes it when there is no answer, here after one
// second and three. A server that is slow answers the pings, whatever its handlers do.
func TestPingsLikeUpstream(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "3")
	reached := make(chan struct{}, 1)
	s := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		if r.URL.Path == "/slow" {
			time.Sleep(5 * time.Second) // longer than both
			return
		}
		<-r.Context().Done()
	})
	proxy := newSilentProxy(t, s.Listener.Addr().String())
	transport := utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})
	get := func(path string) error {
		r, err := http.NewRequest(http.MethodGet, "https://"+proxy.Addr().String()+path, nil)
		if err != nil {
			return err
		}
		response, err := transport.RoundTrip(r)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	if err := get("/slow"); err != nil {
		t.Errorf("a slow server has lost its connection: %v", err)
	}
	<-reached
	lost := make(chan time.Time)
	go func() {
		if err := get("/silent"); err == nil {
			t.Error("a server that is silent has answered")
		}
		lost <- time.Now()
	}()
	<-reached
	silentAt := time.Now()
	close(proxy.silent)
	after := (<-lost).Sub(silentAt)
	if after < 3500*time.Millisecond {
		t.Errorf("the connection was lost after %v, want 4 s after the last frame", after)
	}
}
