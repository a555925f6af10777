package conformance

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"apfsim/lab/conformance/behaviours"
	"apfsim/sim/api"
	"apfsim/sim/random"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

// client-go's reflector, given the scripts of package workload, sends the same lists and watches at the same
// times: package workload compares its own with the files .golden, which begin with the requests.
func TestReflectorOfClientGo(t *testing.T) {
	scripts, err := filepath.Glob("../../sim/workload/testdata/reflector/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts: ", err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := workloadtest.ParseScript(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if s.SinceLastUse {
				t.Skip("this is what releases before the present one do")
			}
			golden, err := os.ReadFile(strings.TrimSuffix(path, ".txt") + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := strings.Cut(string(golden), "\n\n")
			synctest.Test(t, func(t *testing.T) {
				got := behaviours.RunReflector(&s)
				if got != want+"\n" {
					t.Errorf("client-go sends\n%s\napfsim\n%s", got, want)
				}
			})
		})
	}
}

// The same with servers that answer by chance: package workload's reflector runs first, and what it was
// answered is the script for client-go's.
func TestReflectorsAgreeOnRandomAnswers(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			s, want := randomScript(rand.New(rand.NewPCG(seed, 0)))
			synctest.Test(t, func(t *testing.T) {
				if got := behaviours.RunReflector(s); got != want {
					t.Errorf("client-go sends\n%s\napfsim\n%s", got, want)
				}
			})
		})
	}
}

// randomScript returns what a server has answered to apfsim's reflector, and what that has sent.
func randomScript(r *rand.Rand) (*workloadtest.Script, string) {
	s := &workloadtest.Script{WatchList: r.IntN(2) == 0, UntilNs: int64(time.Hour)}
	c := workloadtest.New(nil)
	c.NoJitter = true
	version := int64(100)
	c.Serve = func(nowNs int64, q *workload.APIRequest) {
		if len(s.Replies) == 60 {
			return
		}
		version += r.Int64N(3)
		reply := randomReply(r, q, version)
		s.Replies = append(s.Replies, reply)
		reply.Play(c, nowNs, q)
	}
	c.Run(newReflecting(c, s), s.UntilNs)
	return s, c.Log()
}

func randomReply(r *rand.Rand, q *workload.APIRequest, version int64) (reply workloadtest.Reply) {
	status := func() *api.Answer {
		a := &api.Answer{Status: []int{410, 422, 429, 500, 504}[r.IntN(5)], Items: -1}
		if a.Status == 504 && r.IntN(2) == 0 {
			a.Causes = []api.Cause{{Reason: "ResourceVersionTooLarge"}}
		}
		return a
	}
	switch {
	case r.IntN(8) == 0:
		return workloadtest.Reply{Answer: &api.Answer{Failure: api.FailedToConnect}}
	case r.IntN(4) == 0:
		return workloadtest.Reply{Answer: status()}
	case q.Verb == "list":
		a := &api.Answer{Status: 200, Version: version}
		if q.Call.Options.Limit > 0 && r.IntN(3) == 0 {
			a.Continue = "more"
		}
		return workloadtest.Reply{Answer: a}
	}
	step := func(e *api.Event) {
		afterNs := []int64{0, 0, 400, 1000, 90_000}[r.IntN(5)] * 1_000_000
		reply.Watch = append(reply.Watch, workloadtest.Step{AfterNs: afterNs, Event: e})
	}
	object := func() *api.Object {
		return &api.Object{Namespace: "default", Name: string('a' + rune(r.IntN(3))), Version: version, DeletionNs: -1}
	}
	for range r.IntN(4) {
		version++
		step(&api.Event{Type: api.EventType(r.IntN(3)), Version: version, Object: object()})
	}
	if q.Call.Options.SendInitialEvents && r.IntN(3) > 0 {
		step(&api.Event{Type: api.Bookmark, InitialEnd: true, Version: version})
	}
	if r.IntN(3) == 0 {
		version++
		step(&api.Event{Type: api.Bookmark, Version: version})
	}
	if r.IntN(2) == 0 {
		step(&api.Event{Type: api.Error, Failure: status()})
		return reply
	}
	step(nil)
	return reply
}

// newReflecting returns a behaviour that is one reflector.
func newReflecting(c *workloadtest.Client, s *workloadtest.Script) workload.Machine {
	var chance random.Stream
	c.Stream(&chance, "reflector")
	return workload.NewReflector(workload.ReflectorSettings{Resource: "pods", WatchList: s.WatchList}, c, &chance, nil)
}
