package library

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"apfsim/core/config"
	"apfsim/core/filter"
	"apfsim/core/rules"
)

// A level with one seat and one place in its queue: of three requests, one executes, one waits and one is rejected. The one
// that waits is dispatched when the first ends, and another one times out.
func TestLimitedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := config.Suggested(rules.Default())
		level := objects.PriorityLevel("global-default").Spec.Limited
		level.LendablePercent = new(int32(0))
		level.LimitResponse.Queuing = &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 1}
		end := make(chan struct{})
		l := NewLimited(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }), filter.Settings{
			Rules: rules.Default(), MaxRequestsInFlight: 1, RequestTimeoutNs: int64(time.Minute), Objects: objects,
		})
		send := func() *httptest.ResponseRecorder {
			r, w := httptest.NewRequest("GET", "/orders", nil), httptest.NewRecorder()
			r.SetBasicAuth("jane", "")
			go l.ServeHTTP(w, r)
			synctest.Wait()
			return w
		}
		status := func(name string, w *httptest.ResponseRecorder, want string) {
			t.Helper()
			if got := w.Header().Get("Retry-After"); got != want {
				t.Errorf("%s: Retry-After %q, status %d; want Retry-After %q", name, got, w.Code, want)
			}
		}
		first, second, third := send(), send(), send()
		status("the third, of which the queue is full", third, "1")
		end <- struct{}{}
		synctest.Wait()
		fourth := send()
		time.Sleep(14 * time.Second) // a request waits for a quarter of the timeout
		status("the fourth before its limit", fourth, "")
		time.Sleep(2 * time.Second)
		status("the fourth after its limit", fourth, "1")
		end <- struct{}{}
		synctest.Wait()
		status("the first", first, "")
		status("the second", second, "")
		l.do(func(int64) {
			for _, level := range l.filter.Levels() {
				if n := level.Queues().Executing(); n != 0 {
					t.Errorf("%d requests of %s execute at the end", n, level.Name())
				}
			}
		})
	})
}
