package sender

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// The first request is answered only after the second has arrived: the sender does not wait for answers.
func TestRequestsDoNotWaitForAnswers(t *testing.T) {
	second := make(chan struct{})
	var mu sync.Mutex
	bodies := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("Audit-ID")
		mu.Lock()
		bodies[id] = string(body)
		mu.Unlock()
		if id == "x-1" {
			<-second
			return
		}
		close(second)
		w.Header().Set("Retry-After", "4")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	responses := Send(context.Background(), time.Now(), []Request{
		{AuditID: "x-1", Client: server.Client(), Method: http.MethodGet, URL: server.URL},
		{AuditID: "x-2", At: time.Millisecond, Client: server.Client(), Method: http.MethodPost, URL: server.URL, Body: []byte("{}")},
	})
	for i, want := range []Response{{AuditID: "x-1", Status: 200}, {AuditID: "x-2", Status: 429, RetryAfter: 4}} {
		got := responses[i]
		if got.Late < 0 || got.Latency <= 0 {
			t.Errorf("%s was sent %v late and answered after %v; want at least 0 and more", got.AuditID, got.Late, got.Latency)
		}
		got.Late, got.Latency = 0, 0
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if bodies["x-1"] != "" || bodies["x-2"] != "{}" {
		t.Errorf("the server read %q, want no body and then {}", bodies)
	}
}

// The answer to a watch never ends by itself. The sender ends it, and that is no error.
func TestWatchesEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	responses := Send(context.Background(), time.Now(), []Request{
		{AuditID: "x-1", Client: server.Client(), Method: http.MethodGet, URL: server.URL, Watch: 20 * time.Millisecond},
	})
	if r := responses[0]; r.Status != 200 || r.Err != nil || r.Latency < 20*time.Millisecond {
		t.Errorf("got %+v, want status 200 after 20 ms or more", r)
	}
}

// A sender whose run is interrupted sends nothing more, and says of each request why.
func TestInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	responses := Send(ctx, time.Now(), []Request{{AuditID: "x-1", At: time.Hour}, {AuditID: "x-2", At: time.Hour}})
	for i, id := range []string{"x-1", "x-2"} {
		if responses[i].AuditID != id || responses[i].Err == nil {
			t.Errorf("got %+v, want an error of %s", responses[i], id)
		}
	}
}
