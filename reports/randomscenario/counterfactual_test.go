package randomscenario

import (
	"context"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// judged runs a scenario and judges it.
func judged(sc *scenario.Scenario) (*result.Result, error) {
	run := sim.New(sc)
	m := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
	ctx, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	err := run.Execute(ctx, func(_ int64, events uint64) {
		if events > mostEvents {
			giveUp(errTooLong)
		}
	})
	if err != nil {
		return nil, err
	}
	r := m.Result()
	judge.Verdict(r)
	return r, nil
}

// damage is the harm of a run in seconds, by workload and by what became of the requests: those that requests waited, and as many
// for each request that was not served as a request waits at most by default.
type damage struct {
	queues, servers, answers []float64 // rejected or waited; refused or lost; too late, errors and unfinished
	clients                  []float64 // never sent, or waited for the client's own limit
}

func (d *damage) kinds() [][]float64 { return [][]float64{d.queues, d.servers, d.answers, d.clients} }

func damageOf(r *result.Result) (d damage) {
	for i := range r.Summary.Workloads {
		g := &r.Summary.Workloads[i]
		n := g.NotServed
		if n == nil {
			n = &result.NotServed{}
		}
		waited := 15 * float64(n.Rejected)
		for _, times := range []*result.Distribution{g.Wait, g.RejectedWait} {
			if times != nil {
				waited += float64(times.Count) * float64(times.MeanNs) / 1e9
			}
		}
		d.queues = append(d.queues, waited)
		d.servers = append(d.servers, 15*float64(n.Refused+n.Lost))
		d.answers = append(d.answers, 15*float64(n.Failures.Total()))
		own := 0.0
		if c := g.Clients; c != nil {
			own = 15 * float64(c.Count("neverSent"))
			if l := c.Noted("limiterWait"); l != nil && l.Time != nil {
				own += float64(l.Time.Count) * float64(l.Time.MeanNs) / 1e9
			}
		}
		d.clients = append(d.clients, own)
	}
	return d
}

func (d *damage) sum() (sum float64) {
	for _, kind := range d.kinds() {
		for _, x := range kind {
			sum += x
		}
	}
	return sum
}

// gone returns which part of the damage is gone in another run. What that run has more of, of other kinds or of other workloads, counts
// not: a server that does not crash serves more, and more of it may be rejected.
func (d *damage) gone(other *damage) float64 {
	gone := 0.0
	for k, kind := range d.kinds() {
		for i, x := range kind {
			gone += max(0, x-other.kinds()[k][i])
		}
	}
	return gone / d.sum()
}

// without takes a cause away from a scenario. It is false for a kind of cause that has no scenario without it.
func without(sc *scenario.Scenario, c *result.Cause) bool {
	spec := &sc.Spec
	made := func(do func(w *workload.Workload)) bool {
		found := false
		for i := range spec.Workload {
			if w := &spec.Workload[i]; slices.Contains(c.Workloads, w.Name) {
				do(w)
				found = true
			}
		}
		return found
	}
	switch c.Kind {
	case result.ByDemand:
		return made(func(w *workload.Workload) {
			if outer, _, isCallback := strings.Cut(w.Name, "/"); isCallback {
				for i := range spec.Workload {
					for k := range spec.Workload[i].Requests {
						if spec.Workload[i].Name == outer {
							spec.Workload[i].Requests[k].Calls = nil
						}
					}
				}
				return
			}
			w.Clients, w.Arrivals.Trace = 0, nil
		})
	case result.BySeats:
		spec.Servers.MaxRequestsInflight *= 20
		changeLevel(sc, c.Level, func(l *config.LimitedSpec) {
			shares := max(30, 20*value(l.NominalConcurrencyShares, 30))
			l.NominalConcurrencyShares = &shares
		})
	case result.ByHand:
		changeLevel(sc, c.Level, func(l *config.LimitedSpec) {
			if q := l.LimitResponse.Queuing; q != nil {
				many := *q
				many.Queues = 4096
				l.LimitResponse.Queuing = &many
			}
		})
	case result.ByLending:
		figures := map[string]float64{}
		for _, f := range c.Figures {
			figures[f.Name] = f.Value
		}
		if factor := (figures["seats"] + figures["seatsMissing"]) / max(1, figures["nominalSeats"]); figures["lentSeats"] == 0 && factor > 1 {
			spec.Servers.MaxRequestsInflight = int(factor * float64(spec.Servers.MaxRequestsInflight))
			spec.Servers.MaxMutatingRequestsInflight = int(factor * float64(spec.Servers.MaxMutatingRequestsInflight))
		}
		changeLevel(sc, c.Level, func(l *config.LimitedSpec) { l.LendablePercent = new(int32) })
	case result.ByWideLists:
		spec.Servers.ChangeRules = func(r *rules.Rules) { r.MaxListSeats, r.MaxMutatingSeats, r.FinalSeats = 1, 1, false }
	case result.ByExecution:
		steady := true
		if s := spec.Servers.Capacity; s != nil && len(s.Speed) > 0 {
			s.Speed, steady = nil, false
		}
		spec.Events = slices.DeleteFunc(spec.Events, func(e scenario.Event) bool { return e.Speed != nil })
		if steady && !strings.Contains(c.Sentence, "speed") {
			return made(func(w *workload.Workload) {
				w.Execution, w.Delay, w.ClientTimeout = quantity.Distribution{}, quantity.Distribution{}, quantity.Distribution{}
				for i := range w.Requests {
					w.Requests[i].Execution = quantity.Constant(1000)
				}
			})
		}
	case result.ByCores:
		spec.Servers.Capacity = nil
		spec.Events = slices.DeleteFunc(spec.Events, func(e scenario.Event) bool { return e.Speed != nil })
	case result.ByMemory:
		spec.Servers.Memory = nil
	case result.ByEtcd:
		s := spec.Store
		s.Read, s.Write, s.ReadCapacity, s.WriteCapacity = quantity.Constant(0), quantity.Constant(0), nil, nil
	case result.ByNetwork:
		spec.Servers.Network = nil
	case result.ByWebhook:
		for i := range spec.Workload {
			for k := range spec.Workload[i].Requests {
				spec.Workload[i].Requests[k].Calls = nil
			}
		}
	case result.ByStoppedServer:
		spec.Events = slices.DeleteFunc(spec.Events, func(e scenario.Event) bool {
			return e.Stop != nil || e.Crash != nil || e.Lose != nil || e.Rollout != nil || e.Start != nil
		})
		spec.Servers.Probes, spec.Servers.Memory = nil, nil
	case result.ByRetries:
		for i := range spec.Workload {
			spec.Workload[i].Retry = workload.Retry{}
		}
	case result.ByClientLimit:
		return made(func(w *workload.Workload) { w.RateLimit = nil })
	case result.ByInFlightLimit:
		spec.Servers.FlowControl = "None"
	default:
		return false
	}
	return true
}

func value(p *int32, otherwise int32) int32 {
	if p == nil {
		return otherwise
	}
	return *p
}

// changeLevel changes a priority level in all configurations of a scenario.
func changeLevel(sc *scenario.Scenario, name string, change func(*config.LimitedSpec)) {
	for _, objects := range sc.Configurations() {
		for i := range objects.PriorityLevels {
			if l := *objects.PriorityLevels[i]; l.Name == name && l.Spec.Limited != nil {
				limited := *l.Spec.Limited
				change(&limited)
				l.Spec.Limited = &limited
				objects.PriorityLevels[i] = &l
			}
		}
	}
}
