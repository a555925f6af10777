package incident

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"apfsim/core/estimate"
	"apfsim/lab/incidentlogs"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace"
	"apfsim/sim/trace/httplog"
	"apfsim/sim/trace/requests"
	"apfsim/sim/trace/serverlog"
)

// runLogged runs a scenario and returns its request log.
func runLogged(t *testing.T, sc *scenario.Scenario) []incidentlogs.Line {
	t.Helper()
	lines, err := incidentlogs.Run(sc)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// rejectedShare returns the share of the requests that arrived before a time and ended which were rejected.
func rejectedShare(lines []incidentlogs.Line, beforeNs int64) (share float64, rejected, ended int) {
	for i := range lines {
		switch l := &lines[i]; {
		case l.ArrivalNs >= beforeNs:
		case l.Outcome == trace.Rejected:
			rejected++
			ended++
		case l.Outcome == trace.Executed:
			ended++
		}
	}
	return float64(rejected) / float64(max(1, ended)), rejected, ended
}

// overloadedScenario is a random server in a random load of lists and writes, of which some overload it.
func overloadedScenario(r *rand.Rand) (text string, seats int, store estimate.Store) {
	seats = 20 + r.IntN(150)
	objects := 100 + r.Int64N(2000)
	store = estimate.Store{{Name: "pods"}: {Objects: objects, AverageBytes: 1000}}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: random}\nspec:\n  duration: 40s\n  seed: %d\n", 1+r.IntN(1000))
	fmt.Fprintf(&b, "  servers: {maxRequestsInflight: %d, maxMutatingRequestsInflight: 0, adjustmentPhase: %dms}\n", seats, 100+r.IntN(9000))
	fmt.Fprintf(&b, "  resources: [{resource: pods, objects: %d, averageBytes: 1000}]\n  workload:\n", objects)
	load := 0.3 + 1.7*r.Float64() // of all seats
	for i, w := range []struct{ as, request string }{
		{`{serviceAccount: "team-{i}/lister"}`, `{verb: list, resource: pods, namespace: "team-{i}"}`},
		{`{user: "person-{i}", groups: ["system:authenticated"]}`, `{verb: update, resource: configmaps, namespace: default, name: "c-{i}"}`},
		{`{serviceAccount: "team-{i}/getter"}`, `{verb: get, resource: pods, namespace: "team-{i}", name: x}`},
	} {
		width := 1.0
		if i == 0 {
			width = min(10, math.Ceil(float64(objects)/100))
		}
		const clients = 8
		executionMs := 50 + 200*r.Float64()
		rate := load / 3 * float64(seats) / width / (executionMs / 1000) / clients
		fmt.Fprintf(&b, "  - name: w%d\n    clients: %d\n    as: %s\n    request: %s\n    execution: {exponential: {mean: %.3fms}}\n    arrivals: {poisson: {rate: %.4f/s}}\n",
			i, clients, w.as, w.request, executionMs, rate)
	}
	return b.String(), seats, store
}

// logOf returns what a server would log: an audit log, and with httplog also the lines of kube-apiserver. The latency
// is up to a millisecond longer than wait and execution.
func logOf(r *rand.Rand, lines []incidentlogs.Line, audit, httplog, times bool) (entries []serverlog.Entry) {
	for i := range lines {
		l := &lines[i]
		status, endNs := 200, l.ArrivalNs+l.WaitNs+l.ExecutionNs+r.Int64N(ms)
		switch l.Outcome {
		case trace.Rejected:
			status, endNs = 429, l.ArrivalNs+l.WaitNs
		case trace.Executed:
		default:
			continue // it has no end yet
		}
		asks := func(e *serverlog.Entry) {
			e.User, e.Groups = "", nil
			e.SourceIP, e.UserAgent = l.User, "agent"
			e.Verb, e.APIGroup, e.Resource, e.Subresource, e.Namespace, e.Name = l.Verb, l.APIGroup, l.Resource, l.Subresource, l.Namespace, l.Name
			e.Path, e.Query, e.Status = l.Path, l.Query, status
		}
		id := fmt.Sprint("r-", i)
		if audit {
			entries = append(entries, completed(id, l.ArrivalNs, endNs, func(e *serverlog.Entry) {
				asks(e)
				e.User, e.Groups = l.User, l.Groups
				if !times {
					e.StageNs, e.StageUnknown = e.ArrivalNs, true
				}
			}))
		}
		if httplog {
			entries = append(entries, served(id, l.ArrivalNs, endNs, func(e *serverlog.Entry) {
				asks(e)
				e.FlowSchema, e.PriorityLevel, e.Seats, e.FinalSeats, e.AdditionalNs = l.FlowSchema, l.PriorityLevel, l.Seats, l.FinalSeats, l.AdditionalLatencyNs
				if l.Outcome == trace.Executed {
					e.ExecutionNs = l.ExecutionNs
				}
			}))
		}
	}
	return entries
}

// The definition: the log of a simulated server is imported, and the scenario of the import is run. Either as large a share
// of the requests is rejected as in the log, or the first line says that they do not agree. With both logs they agree, also
// if the seats of the server are not known: those that are found are those of the server. Without execution times, or
// with waits for execution times, as in an audit log alone, they do not, and this is said.
func TestReplayAgreesWithItsLogOrSaysSo(t *testing.T) {
	rejections, extracts := 0, 0
	for _, n := range []int{3, 2, 0, 1, 4}[:some(1, 5)] { // the first ones have full queues, and rejections
		r := rand.New(rand.NewPCG(uint64(n), 11))
		text, seats, store := overloadedScenario(r)
		truth, errs := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", loader.Options{})
		if err := errs.Err(); err != nil {
			t.Fatal(err)
		}
		logged := runLogged(t, truth[0])
		for _, c := range []struct {
			what                           string
			audit, httplog, times, metrics bool
			agrees, disagrees              bool
		}{
			{what: "both logs and metrics", audit: true, httplog: true, times: true, metrics: true, agrees: true},
			{what: "both logs", audit: true, httplog: true, times: true, agrees: true},
			{what: "httplog", httplog: true, times: true},
			{what: "audit log", audit: true, times: true},
			{what: "audit log without times", audit: true, disagrees: true},
		} {
			settings, err := ReadSettings(nil, "", nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if c.metrics {
				settings.limitKnown, settings.limitExact, settings.serverLimit, settings.store = true, true, seats, store
			}
			dir := t.TempDir()
			source := file("log", logOf(r, logged, c.audit, c.httplog, c.times)...)
			if c.httplog { // it says when the server adjusts its limits
				open := source.Open
				source.Open = func(ctx context.Context, at time.Time, adjusted func(httplog.Adjustment)) (serverlog.Reader, error) {
					if adjusted != nil {
						adjusted(httplog.Adjustment{TimeNs: noon + truth[0].Spec.AdjustmentPhaseNs(0)})
					}
					return open(ctx, at, adjusted)
				}
			}
			report, err := importWith(&Options{Sources: []requests.Source{source}, Settings: settings, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			again, errs := loader.Load(nil, filepath.Join(dir, ScenarioFile), loader.Options{})
			if err := errs.Err(); err != nil {
				t.Fatal(err)
			}
			at := fmt.Sprintf("scenario %d, %s", n, c.what)
			startNs := logged[0].ArrivalNs
			inLog, rejected, ended := rejectedShare(logged, startNs+report.CompleteUntilNs)
			inReplay, rejectedAgain, _ := rejectedShare(runLogged(t, again[0]), report.CompleteUntilNs)
			if got := report.Replay; got.RejectedInLog != int64(rejected) || got.RejectedInReplay != int64(rejectedAgain) || got.Requests != int64(ended) {
				t.Errorf("%s: %d of %d are rejected in the log, %d in the replay; the report has %+v", at, rejected, ended, rejectedAgain, got)
			}
			var out strings.Builder
			if err := render.Text(&out, report.Document(dir, ScenarioFile), format.TextOptions{Width: 100}); err != nil {
				t.Fatal(err)
			}
			agrees := strings.HasPrefix(out.String(), "The replay agrees with its log: ")
			if agrees == report.Replay.Disagrees() || !agrees && !strings.HasPrefix(out.String(), "The replay does not agree with its log: ") {
				t.Errorf("%s: the first line is: %.100s", at, out.String())
			}
			// b − c may be a tenth of the rejected requests, or as much as chance explains: 2.6 standard deviations of b + c, which is at most the sum.
			tolerance := 0.1*max(inLog, inReplay) + 2.6*math.Sqrt(float64(rejected+rejectedAgain))/float64(ended)
			if agrees && (c.disagrees || math.Abs(inLog-inReplay) > tolerance) || !agrees && c.agrees {
				t.Errorf("%s: %.4f are rejected in the log, %.4f in the replay: %.300s", at, inLog, inReplay, out.String())
			}
			if found := settings.serverLimit; c.agrees && 10*max(found-seats, seats-found) > seats {
				t.Errorf("%s: the server has %d seats, and %d are found", at, seats, found)
			}
			rejections += rejected
			if report.QueuesFull {
				t.Errorf("%s: the queues were empty at the start", at)
			}
		}
		// Of the second half alone, the queues may be full when it begins: this is said, and no seats are looked for.
		settings, err := ReadSettings(nil, "", nil, "")
		if err != nil {
			t.Fatal(err)
		}
		from := Moment{Ns: int64(truth[0].Spec.Duration) / 2}
		report, err := importWith(&Options{Sources: []requests.Source{file("log", logOf(r, logged, true, true, true)...)}, Settings: settings, Dir: t.TempDir(), From: &from})
		if err != nil {
			t.Fatal(err)
		}
		if report.QueuesFull {
			extracts++
			if settings.limitEstimated || !slices.Contains(report.Replay.Unknown, trace.UnknownQueues) {
				t.Errorf("scenario %d: %d seats are found; unknown is %v", n, settings.serverLimit, report.Replay.Unknown)
			}
		}
	}
	if rejections == 0 || extracts == 0 {
		t.Errorf("%d were rejected, and %d extracts begin with full queues", rejections, extracts)
	}
}

// What no server can have logged does not end the import: the scenario is read and run.
func TestDamagedDecisions(t *testing.T) {
	damaged := func(change func(*serverlog.Entry)) func(*serverlog.Entry) {
		return func(e *serverlog.Entry) {
			executed(ms)(e)
			change(e)
		}
	}
	_, r := replayed(t, Options{Sources: []requests.Source{file("log",
		completed("a", 0, 5*ms, nil), served("a", 0, 5*ms, damaged(func(e *serverlog.Entry) { e.Seats = 99_999 })),
		completed("b", ms, 6*ms, nil), served("b", ms, 6*ms, damaged(func(e *serverlog.Entry) { e.FinalSeats, e.AdditionalNs = 99_999, ms })),
		completed("c", 2*ms, 7*ms, nil), served("c", 2*ms, 7*ms, damaged(func(e *serverlog.Entry) { e.WaitNs = math.MaxInt64 })),
		completed("d", 3*ms, 8*ms, nil), served("d", 3*ms, 8*ms, damaged(func(e *serverlog.Entry) { e.FinalSeats, e.AdditionalNs = 1, math.MaxInt64 })),
		completed("e", 4*ms, 9*ms, nil), served("e", 4*ms, 9*ms, executed(ms)),
	)}})
	if r.Replay == nil || r.Replay.Requests < 3 {
		t.Errorf("the replay is %+v", r.Replay)
	}
}
