// Package webhook serves a validating webhook that allows everything, after as long as the object says. A
// dry run of a create therefore executes in the server for a chosen time, without writing anything.
package webhook

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"apfsim/lab/live/certificate"
)

// SleepKey is the key in the data of a ConfigMap whose value says how long the webhook sleeps, as
// time.ParseDuration reads it. The webhook allows an object without it at once.
const SleepKey = "sleep"

// maxSleep bounds what an object can ask for: the longest timeout that Kubernetes allows for a webhook.
const maxSleep = 30 * time.Second

// Server is a webhook that listens on loopback.
type Server struct {
	certificate *certificate.Pair
	listener    net.Listener
	http        http.Server
}

// Start starts a webhook with this certificate on a free port of loopback.
func Start(pair *certificate.Pair) (*Server, error) {
	own, err := pair.TLS()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{certificate: pair, listener: listener, http: http.Server{
		Handler:   Handler{},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
		// The API server sends all its reviews over one connection. Those over the limit would wait.
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: 10_000},
		ErrorLog: log.New(discard{}, "", 0),
	}}
	go s.http.ServeTLS(listener, "", "")
	return s, nil
}

// discard ignores what it is given: connections that end are no errors here.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Close ends the webhook and its connections.
func (s *Server) Close() error { return s.http.Close() }

// URL is where the webhook listens.
func (s *Server) URL() string { return fmt.Sprintf("https://%s/sleep", s.listener.Addr()) }

// Configuration returns the ValidatingWebhookConfiguration that has an API server call the webhook for
// each ConfigMap that is created.
func (s *Server) Configuration() map[string]any {
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingWebhookConfiguration",
		"metadata":   map[string]any{"name": "sleep"},
		"webhooks": []any{map[string]any{
			"name":                    "sleep.apfsim.example",
			"admissionReviewVersions": []any{"v1"},
			"sideEffects":             "None", // else a dry run would be rejected
			"failurePolicy":           "Fail",
			"timeoutSeconds":          int(maxSleep.Seconds()),
			"clientConfig":            map[string]any{"url": s.URL(), "caBundle": s.certificate.Certificate},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"},
				"operations": []any{"CREATE"}, "resources": []any{"configmaps"},
			}},
		}},
	}
}

// Handler answers the reviews of an API server.
type Handler struct{}

// review is an AdmissionReview, as far as it matters here.
type review struct {
	Request struct {
		UID    string `json:"uid"`
		Object struct {
			Data map[string]string `json:"data"`
		} `json:"object"`
	} `json:"request"`
}

// ServeHTTP implements http.Handler.
func (Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in review
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, fmt.Sprintf("the body is not an AdmissionReview: %v", err), http.StatusBadRequest)
		return
	}
	sleep, err := in.sleep()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if wait(r.Context(), sleep) != nil {
		return // the API server no longer waits for the answer
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1",
		"kind":       "AdmissionReview",
		"response":   map[string]any{"uid": in.Request.UID, "allowed": true},
	})
}

// sleep returns how long the webhook is to sleep.
func (r *review) sleep() (time.Duration, error) {
	text, ok := r.Request.Object.Data[SleepKey]
	if !ok {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && (d < 0 || d > maxSleep) {
		err = errors.New("is out of range")
	}
	if err != nil {
		return 0, fmt.Errorf("data.%s: %q: use a duration from 0s to %v", SleepKey, text, maxSleep)
	}
	return d, nil
}

// wait waits for d, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
