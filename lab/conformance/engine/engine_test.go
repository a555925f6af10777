package engine

import (
	"context"
	"flag"
	"fmt"
	"reflect"
	"testing"

	"apfsim/core/rules"
	"apfsim/reports/record"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

var (
	library = flag.Bool("library", false, "run all scenarios of the library of at most -requests requests")
	most    = flag.Int("requests", 200_000, "with -library")
	differ  = flag.Bool("differ", false, "say where two runs differ first")
)

// few are scenarios that take seconds. They have waits up to deadlines, a change of the configuration, servers that stop
// and start, watches, and webhooks that call back.
var few = []string{"autoscaler-lease-behind-lists", "edit-undone", "rolling-restart-without-delay", "watch-storm", "webhook-deadlock"}

// decided is what a run decides.
type decided struct {
	fingerprint string
	requests    int
	lines       []string // each decision, with -differ
}

// run runs a scenario until it has too many requests.
func run(t *testing.T, sc *scenario.Scenario, most int, options ...sim.Option) (d decided) {
	r := sim.New(sc, options...)
	f := record.NewFingerprint()
	r.Observe(f.Observer())
	ctx, end := context.WithCancel(t.Context())
	defer end()
	r.Observe(server.Observer{Arrived: func(int64, *server.Request) {
		if d.requests++; d.requests > most {
			end()
		}
	}})
	if *differ {
		r.Observe(d.tracer())
	}
	if err := r.Execute(ctx, nil); err != nil && d.requests <= most {
		t.Fatalf("%s: %v", sc.Metadata.Name, err)
	}
	d.fingerprint = f.String()
	return d
}

// tracer notes the decisions.
func (d *decided) tracer() server.Observer {
	note := func(what string) func(int64, *server.Request) {
		return func(nowNs int64, r *server.Request) {
			flow := "no flow"
			if r.Flow != nil {
				flow = r.Flow.Level + " " + r.Flow.Schema.Name + " " + r.Flow.Distinguisher
			}
			d.lines = append(d.lines, fmt.Sprintln(nowNs, what, r.Number, "at server", r.Server, flow, "queue", r.QueueIndex(), "work", r.Work, r.Rejection, r.RetryAfterSeconds))
		}
	}
	return server.Observer{Queued: note("queued"), Dispatched: note("dispatched"), Rejected: note("rejected"), Refused: note("refused"), GivenUp: note("given up"),
		Adjusted: func(nowNs int64, s *server.Server) {
			for l := range s.EachLevel {
				d.lines = append(d.lines, fmt.Sprintln(nowNs, "limit at server", s.Index(), l.Name(), l.CurrentLimit()))
			}
		}}
}

// compare says where two runs differ first.
func (d *decided) compare(t *testing.T, want *decided) {
	for i := range min(len(d.lines), len(want.lines)) {
		if d.lines[i] != want.lines[i] {
			from, to := max(0, i-3), i+4
			t.Errorf("decision %d\nwith upstream's code\n%swith core\n%s", i, d.lines[from:min(to, len(d.lines))], want.lines[from:min(to, len(want.lines))])
			return
		}
	}
}

// unlike says why upstream cannot decide as core does in a scenario: it has the rules of one release.
func unlike(sc *scenario.Scenario) string {
	s := &sc.Spec.Servers
	newest := rules.Default()
	for i, version := range s.Releases() {
		r, err := s.RulesFor(s.KubernetesVersion.At(i))
		switch {
		case err != nil:
			return err.Error()
		case !reflect.DeepEqual(ofFlowControl(r), ofFlowControl(newest)):
			return "it is about the rules of Kubernetes " + version
		}
	}
	switch {
	case s.FlowControl != server.PriorityAndFairness:
		return "it has no API Priority and Fairness"
	case len(s.Seats.Differences([]*rules.Rules{newest})) > 0:
		return "its seats are a what-if"
	}
	return ""
}

// ofFlowControl returns the rules that the engine replaces.
func ofFlowControl(r *rules.Rules) rules.Rules {
	own := *r
	own.Version, own.ExemptProbes, own.Objects, own.Server, own.Storage, own.Node = "", false, rules.Objects{}, rules.Server{}, rules.Storage{}, rules.Node{}
	return own
}

// With upstream's own code in the place of core, clients that wait for answers, servers that stop, and stores see the
// same.
func TestDecisionsAreUpstreams(t *testing.T) {
	names := few
	if *library {
		names = scenarios.Names()
	}
	for _, name := range names {
		all, errs := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
		if err := errs.Err(); err != nil {
			t.Fatal(err)
		}
		for _, sc := range all {
			t.Run(sc.Metadata.Name, func(t *testing.T) {
				if why := unlike(sc); why != "" {
					t.Skip(why)
				}
				want := run(t, sc, *most)
				if want.requests > *most {
					t.Skipf("it has more than %d requests", *most)
				}
				Simulate(t, func(engine sim.Option) {
					got := run(t, sc, *most, engine)
					if got.fingerprint != want.fingerprint {
						t.Errorf("the fingerprint is %s with upstream's code, %s with core", got.fingerprint, want.fingerprint)
						got.compare(t, &want)
					}
				})
				t.Logf("%d requests", want.requests)
			})
		}
	}
}
