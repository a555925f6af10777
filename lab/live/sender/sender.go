// Package sender sends requests at given times, whether or not earlier ones have been answered.
package sender

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Request is one request, and when it is to be sent.
type Request struct {
	AuditID string        // by which the server's logs call it
	At      time.Duration // after the start
	Client  *http.Client
	Method  string
	URL     string
	Body    []byte // nil for none
	Type    string // the media type of the body; "" for JSON

	// Watch is how long the answer is read; it is then cancelled. 0 reads all of it.
	Watch time.Duration
}

// Response is what became of a request.
type Response struct {
	AuditID    string
	Late       time.Duration // how much later than At it was sent
	Latency    time.Duration // from there to the end of the answer
	Status     int           // 0 without an answer
	RetryAfter int           // seconds; 0 if the answer has none
	Err        error         // why there is no answer
}

// Send sends all requests, which are in the order of their times, and returns when all are answered.
// The responses are in the order of the requests. If the context ends, the rest is not sent.
func Send(ctx context.Context, start time.Time, requests []Request) []Response {
	responses := make([]Response, len(requests))
	var sending sync.WaitGroup
	for i := range requests {
		r := &requests[i]
		responses[i].AuditID = r.AuditID
		if err := sleepUntil(ctx, start.Add(r.At)); err != nil {
			responses[i].Err = err
			continue
		}
		sending.Go(func() {
			began := time.Now()
			responses[i] = r.send(ctx)
			responses[i].Late = began.Sub(start.Add(r.At))
			responses[i].Latency = time.Since(began)
		})
	}
	sending.Wait()
	return responses
}

// sleepUntil returns at the time, or with an error when the context ends.
func sleepUntil(ctx context.Context, at time.Time) error {
	if d := time.Until(at); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (r *Request) send(ctx context.Context) Response {
	answer := Response{AuditID: r.AuditID}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		answer.Err = err
		return answer
	}
	request.Header.Set("Audit-ID", r.AuditID)
	request.Header.Set("Accept", "application/json")
	if r.Body != nil {
		request.Header.Set("Content-Type", cmp.Or(r.Type, "application/json"))
	}
	response, err := r.Client.Do(request)
	if err != nil {
		answer.Err = err
		return answer
	}
	defer response.Body.Close()
	answer.Status = response.StatusCode
	answer.RetryAfter, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	cancelled := false
	if r.Watch > 0 && response.StatusCode == http.StatusOK {
		ending := time.AfterFunc(r.Watch, cancel)
		defer func() { ending.Stop() }()
		cancelled = true
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil && !cancelled {
		answer.Err = err
	}
	return answer
}
