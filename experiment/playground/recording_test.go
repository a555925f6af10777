package playground

import (
	"testing"
)

// What a recording says at any time is what the level can have: no more seats in use than the limit, no queue longer than its
// limit, each request in a queue of its hand, and all that the result counts.
func TestRecordingIsOneOfTheLevel(t *testing.T) {
	set := []string{"spec.workload[elephants].arrivals.poisson.rate=150/s", "level[tenants].queues=8", "level[tenants].handSize=3"}
	var ran Ran
	callInto(t, "run", asJSON(t, Running{Setting{Text: storyText(t), Set: set}, Window{Requests: MaxRecorded}}), &ran)
	r := ran.Recording
	if r.FromNs != 0 || r.ToNs != 20e9 || r.Requests < 3000 {
		t.Fatalf("%d requests from %d to %d", r.Requests, r.FromNs, r.ToNs)
	}
	var rejected, waited int64
	for i := range r.Requests {
		level, flow := r.Levels[r.Flows[r.Flow[i]].Level], r.Flows[r.Flow[i]]
		if level.Name != "tenants" || level.Queues != 8 || level.HandSize != 3 || len(flow.Hand) != 3 {
			t.Fatalf("request %d: level %+v, flow %+v", i, level, flow)
		}
		if q := r.Queue[i]; q >= 0 && q != flow.Hand[0] && q != flow.Hand[1] && q != flow.Hand[2] {
			t.Errorf("request %d is in queue %d, and its hand is %v", i, q, flow.Hand)
		}
		if d := r.DispatchNs[i]; d >= 0 && (d < r.ArrivalNs[i] || r.EndNs[i] >= 0 && r.EndNs[i] < d) {
			t.Errorf("request %d: arrival %d, dispatch %d, end %d", i, r.ArrivalNs[i], d, r.EndNs[i])
		}
		if d := r.DispatchNs[i]; d > r.ArrivalNs[i] {
			waited++
		}
		if left := Left(r.Left[i]); (left == Rejected || left == TimedOut) && r.ArrivalNs[i] >= 2e9 {
			rejected++
		}
		if at := r.ArrivalNs[i]; i%50 == 0 {
			inUse, lengths := 0, make([]int, level.Queues)
			for k := range r.Requests {
				switch {
				case r.ArrivalNs[k] > at, r.EndNs[k] >= 0 && r.EndNs[k] <= at:
				case r.DispatchNs[k] >= 0 && r.DispatchNs[k] <= at:
					inUse += r.Seats[k]
				case r.Queue[k] >= 0:
					lengths[r.Queue[k]]++
				}
			}
			if inUse > 10 {
				t.Errorf("at %d, %d seats are in use", at, inUse)
			}
			for q, n := range lengths {
				if n > level.QueueLengthLimit {
					t.Errorf("at %d, queue %d has %d requests", at, q, n)
				}
			}
		}
	}
	var counted int64
	for _, w := range ran.Workloads {
		counted += w.Rejected
	}
	if rejected != counted || rejected == 0 || waited == 0 {
		t.Errorf("%d rejected and %d that waited; the result counts %d rejected", rejected, waited, counted)
	}
	// A part of the run has the same requests.
	var part Ran
	callInto(t, "run", asJSON(t, Running{Setting{Text: storyText(t), Set: set}, Window{FromNs: 10e9, Requests: 200}}), &part)
	p := part.Recording
	if p.Requests != 200 || p.ToNs <= 10e9 || p.ToNs >= 20e9 {
		t.Fatalf("%d requests until %d", p.Requests, p.ToNs)
	}
	at := map[int64]int{}
	for i, n := range r.Number {
		at[n] = i
	}
	for k, n := range p.Number {
		i, ok := at[n]
		if !ok || p.ArrivalNs[k] != r.ArrivalNs[i] || p.DispatchNs[k] != r.DispatchNs[i] || p.EndNs[k] != r.EndNs[i] || p.Left[k] != r.Left[i] {
			t.Errorf("request %d differs", n)
		}
	}
}
