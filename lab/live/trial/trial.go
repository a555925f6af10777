// Package trial makes one live run of a case: it simulates the scenario, sends the requests of that run to a
// kube-apiserver at their times, and reads from the logs of the server what became of them.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"apfsim/core/estimate"
	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/certificate"
	"apfsim/lab/live/fitted"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/lab/live/webhook"

	"apfsim/sim/scenario"
	"go.yaml.in/yaml/v3"
)

// Trial is one live run.
type Trial struct {
	Case string
	File string // of the scenario

	Prediction *outcome.Run // of the scenario itself, before the live run
	Live       *outcome.Run
	Replay     *outcome.Run // of what was measured

	PhaseNs    int64                  // of the adjustments, from time 0
	Overhead   time.Duration          // how much longer than the webhook's sleep a request executes, calibrated
	Overheads  []time.Duration        // the same in the run itself, sorted
	Late       []time.Duration        // how late the requests were sent, sorted
	Noise      []time.Duration        // how long requests that never wait seem to have waited, by the log, sorted
	Counted    map[observed.Count]int // by the server's metrics, during the run
	Missing    []string               // what was lost: audit IDs with what is missing
	WrongUsers []string               // audit IDs of requests that the server took for another user's
	Fit        *fitted.Result         // of a scenario that is fitted to the logs
}

// Run makes a live run. The files of the run are written to dir. name is unique among the runs: it begins the
// audit IDs.
func Run(ctx context.Context, b *apiserver.Binaries, file, name, dir string) (_ *Trial, err error) {
	t := &Trial{File: file}
	sc, err := outcome.Load(file)
	if err != nil {
		return nil, err
	}
	t.Case = sc.Metadata.Name
	t.Prediction, err = outcome.Simulate(ctx, sc, filepath.Join(dir, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	pair, err := certificate.Loopback()
	if err != nil {
		return nil, err
	}
	hook, err := webhook.Start(pair)
	if err != nil {
		return nil, err
	}
	defer hook.Close()
	server, err := apiserver.Start(ctx, b, serverOptions(sc, users(t.Prediction.Requests)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	a := &admin{server, server.Client(apiserver.Administrator)}
	if err := a.prepare(ctx, file, t.Prediction.Requests, hook); err != nil {
		return nil, err
	}
	if t.Overhead, err = a.calibrate(ctx); err != nil {
		return nil, err
	}
	prefix := name + "-"
	requests, slept := t.requests(server, prefix)
	before, err := a.scrape(ctx)
	if err != nil {
		return nil, err
	}
	// Time 0 of the scenario is an adjustment without load, so that the first window of demand is a whole one.
	start, err := observed.WaitForAdjustment(ctx, server.HTTPLog, time.Now())
	if err != nil {
		return nil, err
	}
	responses := sender.Send(ctx, start, withReferences(requests, a, prefix, time.Duration(sc.Spec.Duration)))
	if err := sleepUntil(ctx, start.Add(time.Duration(sc.Spec.Duration))); err != nil {
		return nil, err
	}
	after, err := a.scrape(ctx)
	if err != nil {
		return nil, err
	}
	if err := server.Running(); err != nil {
		return nil, err
	}
	if t.Counted, err = observed.Difference(before, after); err != nil {
		return nil, err
	}
	logs, err := observed.ReadLogs(server.HTTPLog, server.AuditLog, prefix)
	if err != nil {
		return nil, err
	}
	if err := keep(dir, server, before, after); err != nil {
		return nil, err
	}
	t.join(prefix, start, logs, responses, slept)
	t.setNoise(logs, prefix)
	store, err := after.Store()
	if err != nil {
		return nil, err
	}
	_, resources, err := caseObjects(file)
	if err != nil {
		return nil, err
	}
	for i := range resources {
		r := &resources[i]
		known := store[estimate.Resource{Group: r.Group, Name: r.Resource}]
		r.Objects, r.AverageBytes = known.Objects, known.AverageBytes
	}
	if t.Replay, err = outcome.Replay(ctx, file, dir, t.Live.Requests, t.PhaseNs, resources); err != nil {
		return nil, err
	}
	fittedTo, err := logsOf(file, dir, start, start.Add(time.Duration(sc.Spec.Duration)))
	if err != nil {
		return nil, err
	}
	t.Fit, err = fitted.Check(ctx, *fittedTo)
	return t, err
}

// The names of the files of a run.
const (
	auditLog      = "audit.log"
	httpLog       = "kube-apiserver.log"
	beforeMetrics = "before.metrics"
	afterMetrics  = "after.metrics"
	configFile    = "config.yaml"
)

// logsOf returns the logs of a time of a run, with the flow-control objects of its case.
func logsOf(file, dir string, from, to time.Time) (*fitted.Logs, error) {
	objects, _, err := caseObjects(file)
	if err != nil {
		return nil, err
	}
	logs := &fitted.Logs{Dir: dir, Audit: auditLog, HTTP: httpLog, Metrics: afterMetrics, From: from, To: to}
	if len(objects) > 0 {
		logs.Config = configFile
		text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, configFile), text, 0o644); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// serverOptions returns the options of a server of a scenario with some users.
func serverOptions(sc *scenario.Scenario, users []apiserver.User) apiserver.Options {
	return apiserver.Options{
		MaxRequestsInflight:         sc.Spec.Servers.MaxRequestsInflight,
		MaxMutatingRequestsInflight: sc.Spec.Servers.MaxMutatingRequestsInflight,
		RequestTimeout:              time.Duration(sc.Spec.Servers.RequestTimeout),
		Users:                       users,
	}
}

// users returns who sends the requests.
func users(requests []outcome.Outcome) (all []apiserver.User) {
	seen := map[string]bool{}
	for i := range requests {
		r := &requests[i]
		if !seen[r.User] {
			seen[r.User] = true
			all = append(all, apiserver.User{Name: r.User, Groups: slices.DeleteFunc(slices.Clone(r.Groups),
				func(g string) bool { return g == "system:authenticated" })}) // which the server adds
		}
	}
	return all
}

// requests returns what is to be sent, and by audit ID how long the webhook is to sleep.
func (t *Trial) requests(server *apiserver.Server, prefix string) ([]sender.Request, map[string]time.Duration) {
	var all []sender.Request
	slept := map[string]time.Duration{}
	clients := map[string]*http.Client{}
	for i := range t.Prediction.Requests {
		o := &t.Prediction.Requests[i]
		r := sender.Request{AuditID: fmt.Sprint(prefix, o.ID), At: time.Duration(o.ArrivalNs), Method: http.MethodGet,
			URL: server.URL + o.Path, Watch: time.Duration(o.WatchNs)}
		if o.Query != "" {
			r.URL += "?" + o.Query
		}
		if clients[o.User] == nil {
			clients[o.User] = server.Client(apiserver.User{Name: o.User})
		}
		r.Client = clients[o.User]
		if o.Verb == "create" {
			sleep := max(0, time.Duration(o.ExecutionNs)-t.Overhead)
			slept[r.AuditID] = sleep
			r.Method = http.MethodPost
			r.Body, _ = json.Marshal(configMap(strings.ToLower(r.AuditID), map[string]string{webhook.SleepKey: sleep.String()}))
		}
		all = append(all, r)
	}
	return all, slept
}

func sleepUntil(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep copies the logs and the metrics of a run to its folder.
func keep(dir string, server *apiserver.Server, before, after observed.Scrape) error {
	for name, file := range map[string]string{auditLog: server.AuditLog, httpLog: server.HTTPLog} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	for name, text := range map[string]observed.Scrape{beforeMetrics: before, afterMetrics: after} {
		if text == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
