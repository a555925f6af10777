package workload_test

import (
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
)

func candidates(n int) *workload.LeaderElection {
	return &workload.LeaderElection{Lease: "kube-system/controller-{i}", Candidates: n,
		LeaseDuration: quantity.Duration(15 * time.Second), RenewDeadline: quantity.Duration(10 * time.Second),
		RetryPeriod: quantity.Duration(2 * time.Second), Restart: quantity.Duration(10 * time.Second)}
}

// One of five candidates creates the lease, and renews it every 2 s plus the time of its PUT; the others read
// it, each every 2 s × [1, 2.2) plus the time of its GET.
func TestOneLeads(t *testing.T) {
	s := newServer()
	s.Run(candidates(5).Machine(s.Client), 100*second)
	if n := s.Count(metric.LeaderGained); n != 1 {
		t.Fatalf("%d leaders", n)
	}
	// The first PUT follows the POST at once; then there is one each 2.01 s.
	if got, want := s.count("update", "leases"), 1+int((100*second-20*millisecond)/(2010*millisecond)); got != want {
		t.Errorf("%d renewals, want %d", got, want)
	}
	last := map[int32]int64{}
	for _, q := range s.Sent {
		if q.Verb == "get" && q.AtNs > second {
			if before, ok := last[q.Token]; ok {
				within(t, "gap between GETs", q.AtNs-before, 2010*millisecond, 4410*millisecond)
			}
			last[q.Token] = q.AtNs
		}
		if q.Namespace != "kube-system" || q.Name != "controller-0" && q.Verb != "create" || q.TimeoutNs != 5*second {
			t.Fatalf("request %v with time-out %v", q, time.Duration(q.TimeoutNs))
		}
	}
	if len(last) != 4 {
		t.Errorf("%d candidates read the lease, want 4", len(last))
	}
}

// Row N13: from 30 s on the leader's PUTs fail. It steps down 12 s after its last success: its next round
// begins 2 s after it, and lasts 10 s. Another takes over when it has not seen the lease change for 15 s.
func TestLeaderCannotRenew(t *testing.T) {
	s := newServer()
	lastSuccessNs, leader, tries := int64(0), int32(-1), 0
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Verb != "update" {
			return nil
		}
		if leader < 0 {
			leader = r.Token
		}
		if r.Token == leader && nowNs >= 30*second {
			tries++
			return &api.Answer{Status: 500}
		}
		if r.Token == leader {
			lastSuccessNs = nowNs + 10*millisecond
		}
		return nil
	}
	s.Run(candidates(3).Machine(s.Client), 120*second)
	var lost, gained []int64
	for _, n := range s.Noted {
		if n.Event == metric.LeaderLost {
			lost = append(lost, n.AtNs)
		} else {
			gained = append(gained, n.AtNs)
			if len(gained) == 2 && n.Ns != n.AtNs-lost[0] {
				t.Errorf("there was no leader for %v, want %v", time.Duration(n.Ns), time.Duration(n.AtNs-lost[0]))
			}
		}
	}
	if len(lost) != 1 || len(gained) != 2 {
		t.Fatalf("lost at %v, gained at %v", lost, gained)
	}
	// The round tries every 2 s from its begin on, but not at its end. Each try fails to renew, reads, and fails to take.
	if tries != 10 {
		t.Errorf("the leader sent %d PUTs that failed, want two in each of five tries", tries)
	}
	if lost[0] != lastSuccessNs+12*second {
		t.Errorf("the leader stepped down %v after its last success, want 12s", time.Duration(lost[0]-lastSuccessNs))
	}
	// The others have seen the last change at their next GET, up to 4.4 s after it, wait 15 s, and notice that
	// up to 4.4 s later.
	within(t, "from the last success to the next leader", gained[1]-lastSuccessNs, 15*second, 15*second+2*4450*millisecond)
}

// Two candidates that take over at the same time send the same PUT; one is answered 409, and waits.
func TestTwoTakeOver(t *testing.T) {
	s := newServer()
	s.NoJitter = true // all candidates wait for the same time
	s.put(0, "leases/kube-system/controller-0", nil, api.Object{Namespace: "kube-system", Name: "controller-0", DeletionNs: -1,
		Fields: map[string]string{"spec.holderIdentity": "gone"}})
	s.Run(candidates(2).Machine(s.Client), 20*second)
	if n := s.Count(metric.LeaderGained); n != 1 {
		t.Fatalf("%d leaders", n)
	}
	first := s.Noted[0]
	// GETs at 0, 2.01, 4.02 … 16.08 s; the one of 14.07 s is less than 15 s after the first was answered, and
	// so is not the one of 16.08 s.
	if want := 16080*millisecond + 20*millisecond; first.AtNs != want {
		t.Errorf("taken over at %v, want %v", time.Duration(first.AtNs), time.Duration(want))
	}
	if want := int64(0); first.Ns != first.AtNs-want {
		t.Errorf("nobody has led for %v, want since the start", time.Duration(first.Ns))
	}
}

// A lease without a holder, such as one that a scenario only counts, is taken at once.
func TestLeaseWithoutHolder(t *testing.T) {
	s := newServer()
	s.put(0, "leases/kube-system/controller-0", nil, api.Object{Namespace: "kube-system", Name: "controller-0", DeletionNs: -1})
	s.Run(candidates(1).Machine(s.Client), second)
	if s.Count(metric.LeaderGained) != 1 || s.Noted[0].AtNs != 20*millisecond {
		t.Errorf("notes %+v", s.Noted)
	}
}

// A leader that has lost the lease comes back after 10 s as another process, to which its own old record is
// somebody else's. Nothing is sent after the end of the workload.
func TestLeaderComesBack(t *testing.T) {
	s := newServer()
	s.UntilNs = 100 * second
	s.fails = func(nowNs int64, r *workload.APIRequest) *api.Answer {
		if r.Verb == "update" && nowNs >= 10*second && nowNs < 30*second {
			return &api.Answer{Failure: api.BrokenConnection}
		}
		return nil
	}
	s.Run(candidates(1).Machine(s.Client), 200*second)
	// The last success ends at 8.07 s. Lost at 20.07 s, back at 30.07 s, and 15 s later at the earliest.
	if len(s.Noted) != 3 || s.Noted[1].AtNs != 20070*millisecond {
		t.Fatalf("notes %+v", s.Noted)
	}
	within(t, "gained again", s.Noted[2].AtNs, 45080*millisecond, 45080*millisecond+4450*millisecond)
	if last := s.Sent[len(s.Sent)-1]; last.AtNs >= 100*second {
		t.Errorf("sent %v after the end", last)
	}
}
