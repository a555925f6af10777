package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	upstreamcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/lab/conformance/generate"
	"apfsim/lab/conformance/upstream"
	"apfsim/sim/clock"
)

// stay is a request of any width that occupies seats of one level for a while.
type stay struct {
	group      string // which goes to one level
	fromNs, ns int64
	seats      int
}

// Random levels and demands of any width: the same current limits at every adjustment.
// The widths are not those of the work estimator, so that the demand is as large and as
// odd as it pleases.
func TestAllocation(t *testing.T) {
	random := newRandom(6)
	compared, hesitant := 0, 0
	for range 40 {
		objects, seats := generate.Levels(random.Uint64())
		levels := len(objects.PriorityLevels) - 2
		var stays []stay
		const periods = 12
		at := int64(1)
		for at < periods*flowcontrol.AdjustmentPeriodNs {
			at += 1 + random.Int64N(2e9)
			s := stay{group: "system:masters", fromNs: at, ns: 1 + random.Int64N(25e9), seats: 1 + random.IntN(seats)}
			if k := random.IntN(levels + 1); k < levels {
				s.group = fmt.Sprintf("group-%d", k)
			}
			if random.IntN(2) == 0 {
				s.seats = 1 + random.IntN(1+s.seats/5)
			}
			stays = append(stays, s)
		}
		ours := occupy(objects, seats, stays, periods)
		upstreams := func() (limits []map[string]int) {
			upstream.Control(t, objects, seats, func(control upstreamcontrol.Interface) {
				limits = occupyUpstream(t, control, stays, periods)
			})
			return limits
		}
		theirs := upstreams()
		for i := range ours {
			same := func(theirs []map[string]int) bool { // but for levels of other rounds
				maps.DeleteFunc(theirs[i], func(name string, _ int) bool { _, ok := ours[i][name]; return !ok })
				return maps.Equal(ours[i], theirs[i])
			}
			if same(theirs) {
				compared += len(ours[i])
				continue
			}
			if !slices.ContainsFunc(repeated(upstreams, 30), same) {
				t.Fatalf("%d seats, adjustment %d: ours %v, upstream's %v\n%s", seats, i, ours[i], theirs[i], shown(objects))
			}
			hesitant++ // in what follows too
			break
		}
	}
	t.Logf("%d limits; %d times upstream came to ours at another try", compared, hesitant)
}

// repeated returns what comes of so many tries: where a share of the seats is half a seat but for
// rounding, upstream's answer depends on the order in which Go goes through a map.
func repeated[T any](try func() T, times int) (all []T) {
	for range times {
		all = append(all, try())
	}
	return all
}

// starter starts requests whose end it does not know.
type starter struct {
	queueset.Host // TimedOut is not called
	started       []*flowcontrol.Request
}

func (s *starter) HeldBack(*queueset.Request) {}

func (s *starter) Dispatched(q *queueset.Request) {
	s.started = append(s.started, q.Owner.(*flowcontrol.Request))
}

// occupy returns the limits after every adjustment.
func occupy(objects config.Objects, seats int, stays []stay, periods int) (limits []map[string]int) {
	type event struct {
		arrive *stay
		finish *flowcontrol.Request
	}
	var events clock.Queue[event]
	host := &starter{}
	control := flowcontrol.New(0, rules.Default(), seats, objects, host, nil)
	events.Schedule(0, 0, event{})
	lengths := map[*flowcontrol.Request]int64{}
	for i := range stays {
		events.Schedule(stays[i].fromNs, 1, event{arrive: &stays[i]})
	}
	for len(limits) < periods {
		e, _ := events.Next()
		now := events.NowNs()
		switch {
		case e.arrive != nil:
			a := classify.Attributes{User: "user", Groups: []string{e.arrive.group}, Verb: "get", Path: "/"}
			route := control.Route(&a)
			r := &flowcontrol.Request{}
			r.Owner, r.Work = r, estimate.Work{InitialSeats: e.arrive.seats}
			lengths[r] = e.arrive.ns
			control.Arrive(now, r, &route)
		case e.finish != nil:
			control.Finish(now, e.finish)
		default:
			control.Adjust(now)
			events.Schedule(now+flowcontrol.AdjustmentPeriodNs, 0, event{})
			all := map[string]int{}
			for _, l := range control.Levels() {
				all[l.Name()] = l.CurrentLimit()
			}
			limits = append(limits, all)
		}
		for _, r := range host.started {
			events.Schedule(now+lengths[r], 0, event{finish: r})
		}
		host.started = nil
	}
	return limits
}

func occupyUpstream(t *testing.T, control upstreamcontrol.Interface, stays []stay, periods int) (limits []map[string]int) {
	start := time.Now()
	until := func(ns int64) { time.Sleep(time.Until(start.Add(time.Duration(ns)))) }
	// What still waits in the end is cancelled.
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(periods)*10*time.Second)
	defer cancel()
	var busy sync.WaitGroup
	for i := range stays {
		s := &stays[i]
		busy.Go(func() {
			until(s.fromNs)
			control.Handle(ctx,
				upstreamcontrol.RequestDigest{
					RequestInfo: &request.RequestInfo{Path: "/", Verb: "get"},
					User:        &user.DefaultInfo{Name: "user", Groups: []string{s.group}},
				},
				func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string) {},
				func() workestimate.WorkEstimate { return workestimate.WorkEstimate{InitialSeats: uint64(s.seats)} },
				func(bool) {}, func() { time.Sleep(time.Duration(s.ns)) })
		})
	}
	for i := range periods {
		until(int64(i)*flowcontrol.AdjustmentPeriodNs + 1)
		synctest.Wait()
		limits = append(limits, upstream.Limits(t))
	}
	busy.Wait()
	return limits
}
