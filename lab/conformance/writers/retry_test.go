package writers

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// retryStory is how several clients write one object once.
type retryStory struct {
	name    string
	clients int
	backoff wait.Backoff
	rules   Rules
	seed    uint64 // of the jitter; 0 for one that is always half of what it may be

	lockstep bool // who of the clients comes first is not compared
}

// conflictsUntil refuses the writes of the first time.
func conflictsUntil(until time.Duration) Rules {
	return Rules{Fails: func(r Request) int {
		if r.Verb == "update" && r.AtNs-firstNs < int64(until) {
			return 409
		}
		return 0
	}}
}

// firstNs is when the writers begin: apfsim's begin in the middle of their interval of an hour, or anywhere in it.
var firstNs int64

// staggered lets the requests of each client take another time, so that no two of them come together.
func staggered(r Request) int64 {
	i := int64(r.Client)
	return 10*int64(time.Millisecond) + i*int64(time.Millisecond) + i*i*10_007
}

var retryStories = []retryStory{
	{name: "no conflict", clients: 1, backoff: retry.DefaultRetry},
	{name: "two conflicts", clients: 1, backoff: retry.DefaultRetry, rules: conflictsUntil(50 * time.Millisecond), seed: 3},
	{name: "only conflicts", clients: 1, backoff: retry.DefaultRetry, rules: conflictsUntil(time.Hour), seed: 4},
	{name: "only conflicts, with DefaultBackoff", clients: 1, backoff: retry.DefaultBackoff, rules: conflictsUntil(time.Hour), seed: 5},
	{name: "an error that is no conflict", clients: 1, backoff: retry.DefaultRetry, rules: Rules{Fails: func(r Request) int {
		if r.Verb == "update" {
			return 500
		}
		return 0
	}}},
	{name: "C17: ten clients in lockstep", clients: 10, backoff: retry.DefaultRetry, lockstep: true},
	{name: "D12: ten clients", clients: 10, backoff: retry.DefaultRetry, rules: Rules{LatencyNs: staggered}},
	{name: "D12: ten clients with DefaultBackoff", clients: 10, backoff: retry.DefaultBackoff, rules: Rules{LatencyNs: staggered}},
	{name: "D12: twenty clients", clients: 20, backoff: retry.DefaultRetry, rules: Rules{LatencyNs: staggered}},
}

// theirRetries returns the log of client-go's clients, and who has written.
func theirRetries(t *testing.T, story retryStory) (*Server, []bool) {
	defer seedJitter(story.seed)()
	server := NewServer(story.rules)
	wrote := make([]bool, story.clients)
	synctest.Test(t, func(t *testing.T) {
		server.Put("counters-0", map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": "counters-0"}})
		begin := time.Now()
		for i := range story.clients {
			client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://server", QPS: -1, Transport: server.Transport(i, begin),
				ContentConfig: rest.ContentConfig{ContentType: "application/json"}}).CoreV1().ConfigMaps("shared")
			go func() {
				err := retry.RetryOnConflict(story.backoff, func() error {
					var o *corev1.ConfigMap
					o, err := client.Get(context.Background(), "counters-0", metav1.GetOptions{})
					if err != nil {
						return err
					}
					o.Data = map[string]string{fmt.Sprintf("f%d", i): "1"}
					_, err = client.Update(context.Background(), o, metav1.UpdateOptions{})
					return err
				})
				wrote[i] = err == nil
			}()
		}
		time.Sleep(time.Minute)
	})
	return server, wrote
}

// ourRetries is the same with apfsim's clients. Times count from the first request.
func ourRetries(story retryStory) (*Server, []bool) {
	server := NewServer(story.rules)
	server.Put("counters-0", &api.Body{})
	c := Client{workloadtest.New(nil), story.seed}
	c.Name = "counters"
	server.Serve(c.Client)
	settings := &workload.Writer{Resource: "configmaps", Namespace: "shared", Objects: 1, With: workload.Put, Version: true,
		RetryOnConflict: &workload.Conflict{Steps: story.backoff.Steps, Duration: quantity.Duration(story.backoff.Duration), Factor: story.backoff.Factor, Jitter: story.backoff.Jitter},
		Every:           quantity.Constant(quantity.Duration(time.Hour))}
	all := NewSeveral(c, story.clients, func(c workload.Client) workload.Machine { return settings.Machine(c) })
	serve := c.Serve
	c.Serve = func(nowNs int64, r *workload.APIRequest) {
		if len(server.Log) == 0 {
			firstNs = nowNs
		}
		serve(nowNs, r)
	}
	c.Run(all, int64(time.Hour)-1)
	for i := range server.Log {
		server.Log[i].AtNs -= firstNs
	}
	firstNs = 0
	wrote := make([]bool, story.clients)
	done := 0
	for _, n := range c.Noted {
		if n.Event == metric.WriteDone {
			wrote[done] = true
			done++
		}
	}
	return server, wrote
}

// The writers of apfsim send what client-go's RetryOnConflict sends, at the same times, and as many of them write.
func TestRetryOnConflict(t *testing.T) {
	count := func(wrote []bool) (n int) {
		for _, w := range wrote {
			if w {
				n++
			}
		}
		return n
	}
	for _, story := range retryStories {
		t.Run(story.name, func(t *testing.T) {
			theirs, theyWrote := theirRetries(t, story)
			our, weWrote := ourRetries(story)
			if story.lockstep {
				for i := range theirs.Log {
					theirs.Log[i].Client = 0
				}
				for i := range our.Log {
					our.Log[i].Client = 0
				}
			}
			compareLogs(t, theirs.Log, our.Log, time.Hour)
			if count(theyWrote) != count(weWrote) {
				t.Errorf("%d of client-go's clients have written, and %d of apfsim's", count(theyWrote), count(weWrote))
			}
			if story.lockstep && count(weWrote) != 5 {
				t.Errorf("%d of the clients in lockstep have written, want 5", count(weWrote))
			}
			t.Logf("%d of %d have written", count(weWrote), story.clients)
		})
	}
}
