package load

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"apfsim/live/cluster"
	"apfsim/live/guard"
)

// Answer is what the client sees of the answer to a request. Times are since the call of Send.
type Answer struct {
	Status            int // 0 without an answer
	RetryAfterSeconds int // 0 if the answer has none
	SchemaUID         string
	LevelUID          string

	// Rejected is whether flow control has rejected the request. Other parts of a server also answer with
	// status 429, but with an object.
	Rejected bool
	// Refused is the message of a server that does not let the user impersonate, or does not accept the user.
	Refused string

	Latency time.Duration // to the end of the answer; of a watch, to its beginning
	Open    time.Duration // of a watch: how long it was open after that
	Err     error         // why there is no complete answer
}

// mostMessage is how much of an answer is read as a message.
const mostMessage = 1 << 14

// Send sends a request and reads the answer to its end. A watch ends after watchFor, or with the channel.
func Send(ctx context.Context, client *http.Client, server *url.URL, call *Call, watchFor time.Duration, endWatches <-chan struct{}) (a Answer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, call.Method, server.String(), bytes.NewReader(call.Body))
	if err != nil {
		a.Err = err
		return a
	}
	request.URL, request.Header = guard.Under(server, call.Address), call.Header()
	began := time.Now()
	response, err := client.Do(request)
	a.Latency = time.Since(began)
	if err != nil {
		a.Err = err
		return a
	}
	defer response.Body.Close()
	a.Status = response.StatusCode
	a.RetryAfterSeconds, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	a.SchemaUID, a.LevelUID = response.Header.Get(cluster.SchemaHeader), response.Header.Get(cluster.LevelHeader)
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	a.Rejected = a.Status == http.StatusTooManyRequests && mediaType != "application/json"
	switch {
	case call.Watch && a.Status == http.StatusOK:
		timer := time.AfterFunc(watchFor, cancel)
		defer timer.Stop()
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-endWatches:
				cancel()
			case <-done:
			}
		}()
		// The server may end the watch before. Both ends are as meant, and no error.
		_, _ = io.Copy(io.Discard, response.Body)
		a.Open = time.Since(began) - a.Latency
		return a
	case a.Status == http.StatusForbidden || a.Status == http.StatusUnauthorized:
		text, _ := io.ReadAll(io.LimitReader(response.Body, mostMessage))
		if message := cluster.Message(text); a.Status == http.StatusUnauthorized || strings.Contains(message, "impersonate") {
			a.Refused = message
		}
	}
	_, a.Err = io.Copy(io.Discard, response.Body)
	a.Latency = time.Since(began)
	return a
}
