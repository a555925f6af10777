package writers

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"apfsim/sim/quantity"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// electionStory is what happens to the servers of an election.
type electionStory struct {
	name          string
	candidates    int
	until         time.Duration
	restart       time.Duration
	renewDeadline time.Duration // 10 s if 0
	rules         Rules
}

// between says whether a request was received in a period.
func (r Request) between(from, to time.Duration) bool {
	return r.AtNs >= int64(from) && r.AtNs < int64(to)
}

var electionStories = []electionStory{
	{name: "a leader renews its lease", candidates: 1, until: 30 * time.Second},
	{name: "slow writes", candidates: 1, until: 40 * time.Second,
		rules: Rules{LatencyNs: func(Request) int64 { return int64(1300 * time.Millisecond) }}},
	// Row N13: the round begins 2 s after the last success, and ends 10 s later.
	{name: "N13: all writes fail", candidates: 1, until: 80 * time.Second, restart: 10 * time.Second,
		rules: Rules{Fails: func(r Request) int {
			if r.Verb == "update" && r.between(11*time.Second, 45*time.Second) {
				return 500
			}
			return 0
		}}},
	{name: "N13: another candidate takes over", candidates: 3, until: 80 * time.Second, restart: 10 * time.Second,
		rules: Rules{
			LatencyNs: func(r Request) int64 { return int64(10+r.Client) * int64(time.Millisecond) },
			Fails: func(r Request) int {
				if r.Verb == "update" && r.between(11*time.Second, 35*time.Second) {
					return 500
				}
				return 0
			}}},
	{name: "all requests fail slowly", candidates: 1, until: 60 * time.Second, restart: 3 * time.Second, renewDeadline: 11 * time.Second,
		rules: Rules{
			LatencyNs: func(Request) int64 { return int64(700 * time.Millisecond) },
			Fails: func(r Request) int {
				if r.between(11*time.Second, 30*time.Second) {
					return 503
				}
				return 0
			}}},
	{name: "a time of failures that is shorter than the deadline", candidates: 2, until: 40 * time.Second,
		rules: Rules{
			LatencyNs: func(r Request) int64 { return int64(10+r.Client) * int64(time.Millisecond) },
			Fails: func(r Request) int {
				if r.between(11*time.Second, 18*time.Second) {
					return 500
				}
				return 0
			}}},
	// A request that is never answered costs half of the deadline; then the leader reads.
	{name: "one write is not answered", candidates: 1, until: 40 * time.Second,
		rules: Rules{Lost: func(r Request) bool { return r.Verb == "update" && r.between(9*time.Second, 11*time.Second) }}},
	{name: "no write is answered", candidates: 1, until: 90 * time.Second, restart: 10 * time.Second,
		rules: Rules{Lost: func(r Request) bool { return r.Verb == "update" && r.between(11*time.Second, 50*time.Second) }}},
	// The tick that passes while a try is under way is not lost.
	{name: "failures that take longer than the retry period", candidates: 1, until: 40 * time.Second,
		rules: Rules{
			LatencyNs: func(r Request) int64 {
				if r.between(11*time.Second, 18*time.Second) {
					return int64(1100 * time.Millisecond)
				}
				return int64(10 * time.Millisecond)
			},
			Fails: func(r Request) int {
				if r.Verb == "update" && r.between(11*time.Second, 18*time.Second) {
					return 500
				}
				return 0
			}}},
}

const electionSeed = 7

// theirElection runs client-go's candidates. A candidate that has lost the lease comes back as a new process.
func theirElection(t *testing.T, story electionStory) *Server {
	defer seedJitter(electionSeed)()
	server := NewServer(story.rules)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		begin := time.Now()
		for i := range story.candidates {
			client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://server", QPS: -1, Transport: server.Transport(i, begin), Timeout: story.renewDeadline / 2,
				ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
			go func() {
				for process := 1; ctx.Err() == nil; process++ {
					leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
						Lock: &resourcelock.LeaseLock{
							LeaseMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: "scheduler"},
							Client:     client.CoordinationV1(),
							LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%d-%d", i, process)},
						},
						LeaseDuration: 15 * time.Second, RenewDeadline: story.renewDeadline, RetryPeriod: 2 * time.Second,
						Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
					})
					time.Sleep(story.restart)
				}
			}()
		}
		time.Sleep(story.until)
		cancel()
		time.Sleep(time.Minute) // all goroutines end
	})
	return server
}

// ourElection runs apfsim's candidates.
func ourElection(story electionStory) *Server {
	server := NewServer(story.rules)
	c := Client{workloadtest.New(nil), electionSeed}
	server.Serve(c.Client)
	c.Run((&workload.LeaderElection{
		Lease: "kube-system/scheduler", Candidates: story.candidates,
		LeaseDuration: quantity.Duration(15 * time.Second), RenewDeadline: quantity.Duration(story.renewDeadline), RetryPeriod: quantity.Duration(2 * time.Second),
		Restart: quantity.Duration(story.restart),
	}).Machine(c), int64(story.until))
	return server
}

// The candidates of apfsim send what those of client-go send, at the same times, when both draw the same random
// numbers.
func TestElection(t *testing.T) {
	for _, story := range electionStories {
		t.Run(story.name, func(t *testing.T) {
			if story.renewDeadline == 0 {
				story.renewDeadline = 10 * time.Second
			}
			compareLogs(t, theirElection(t, story).Log, ourElection(story).Log, story.until)
		})
	}
}

// compareLogs compares two logs of requests up to a time. The order of requests of one time does not count.
func compareLogs(t *testing.T, theirs, our []Request, until time.Duration) {
	t.Helper()
	inOrder := func(log []Request) []Request {
		log = slices.DeleteFunc(slices.Clone(log), func(r Request) bool { return r.AtNs >= int64(until) })
		slices.SortStableFunc(log, func(a, b Request) int { return cmp.Or(cmp.Compare(a.AtNs, b.AtNs), a.Client-b.Client) })
		return log
	}
	theirs, our = inOrder(theirs), inOrder(our)
	var log strings.Builder
	log.WriteString("client-go                                | apfsim\n")
	for i := range min(len(theirs), len(our)) {
		fmt.Fprintf(&log, "%-40v | %v\n", theirs[i], our[i])
		if theirs[i] != our[i] {
			t.Fatalf("request %d differs:\n%s", i, log.String())
		}
	}
	if len(theirs) != len(our) || len(our) == 0 {
		t.Fatalf("client-go has sent %d requests, apfsim %d; those that both have sent:\n%s", len(theirs), len(our), log.String())
	}
}

// by returns a random number from 0 to 1 that depends only on a request, a seed and a purpose.
func (r Request) by(seed, purpose uint64) float64 {
	return rand.New(rand.NewPCG(seed<<8|purpose, uint64(r.AtNs)<<2|uint64(r.Client))).Float64()
}

// Candidates of apfsim and client-go do the same, whatever the servers answer.
func TestElectionByChance(t *testing.T) {
	handovers := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		fails, lost, slowest := 0.6*r.Float64(), 0.3*r.Float64(), float64(time.Second)*3*r.Float64()
		if seed%2 == 0 {
			lost = 0
		}
		story := electionStory{name: fmt.Sprintf("seed %d", seed), candidates: 1 + int(seed%4), until: 5 * time.Minute,
			restart: time.Duration(r.Int64N(int64(20 * time.Second))), renewDeadline: time.Duration(5+r.IntN(9)) * time.Second,
			rules: Rules{
				LatencyNs: func(r Request) int64 { return 1 + int64(slowest*r.by(seed, 1)) },
				Fails: func(r Request) int {
					if r.by(seed, 2) < fails {
						return 500
					}
					return 0
				},
				// The first requests, which are all sent at 0, do not time out together: nobody knows who would
				// draw the next random number first.
				Lost: func(r Request) bool { return r.AtNs > 0 && r.by(seed, 3) < lost },
			}}
		server := ourElection(story)
		compareLogs(t, theirElection(t, story).Log, server.Log, story.until)
		if t.Failed() {
			t.Fatal(story.name)
		}
		leaders := map[int]bool{}
		for _, q := range server.Log {
			if q.Verb == "update" {
				leaders[q.Client] = true
			}
		}
		if len(leaders) > 1 {
			handovers++
		}
	}
	if handovers < 20 {
		t.Errorf("the lease has changed hands with %d of 150 seeds only", handovers)
	}
}
