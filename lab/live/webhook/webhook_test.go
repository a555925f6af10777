package webhook

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/certificate"
)

// The webhook answers over HTTP/2 as an API server asks: with the UID of the review, after the time that the
// object asks for. An object that asks for nonsense is an error of the webhook, and not a short sleep.
func TestWebhook(t *testing.T) {
	pair, err := certificate.Loopback()
	if err != nil {
		t.Fatal(err)
	}
	server, err := Start(pair)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pair.Pool()}, ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		story, data string
		least       time.Duration
		status      int
	}{
		{"no data", `{}`, 0, 200},
		{"a sleep", `{"sleep":"30ms"}`, 30 * time.Millisecond, 200},
		{"no unit", `{"sleep":"30"}`, 0, 400},
		{"a sleep that is too long", `{"sleep":"31s"}`, 0, 400},
		{"no object", `[]`, 0, 400},
	} {
		t.Run(c.story, func(t *testing.T) {
			began := time.Now()
			response, err := client.Post(server.URL(), "application/json",
				strings.NewReader(`{"request":{"uid":"7","object":{"data":`+c.data+`}}}`))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if took := time.Since(began); response.ProtoMajor != 2 || response.StatusCode != c.status || took < c.least {
				t.Fatalf("HTTP/%d, status %d after %v; want HTTP/2, status %d after %v or more",
					response.ProtoMajor, response.StatusCode, took, c.status, c.least)
			}
			if c.status != http.StatusOK {
				return
			}
			var answer struct {
				Kind     string
				Response struct {
					UID     string
					Allowed bool
				}
			}
			if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
				t.Fatal(err)
			}
			if answer.Kind != "AdmissionReview" || answer.Response.UID != "7" || !answer.Response.Allowed {
				t.Errorf("got %+v, want an AdmissionReview that allows 7", answer)
			}
		})
	}
}
