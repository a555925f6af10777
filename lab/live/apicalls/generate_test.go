package apicalls

import (
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"apfsim/live/guard"
)

// generate makes calls that a server answers at random.
func generate(seed uint64, n int) (calls []Call) {
	g, random := NewGenerator(seed), rand.New(rand.NewPCG(seed, 1))
	for len(calls) < n {
		next := g.Next()
		answers := make([]Answer, len(next))
		for i := range next {
			a := &answers[i]
			a.ID, a.Status = next[i].ID, []int{200, 200, 201, 404, 409}[random.IntN(5)]
			if a.Status < 300 {
				a.ResourceVersion = pointer(number(next[i].ID))
			}
			if next[i].Verb == "list" && random.IntN(2) == 0 {
				a.Continue = "c"
			}
		}
		calls = append(calls, next...)
		g.Answered(next, answers)
	}
	return calls
}

// The calls have ascending times and IDs, refer to earlier ones, and are those of the seed. All verbs and
// resources, and everything that a call may have, occur.
func TestGenerator(t *testing.T) {
	has := map[string]int{}
	for seed := range uint64(20) {
		calls := generate(seed, 500)
		if !reflect.DeepEqual(calls, generate(seed, 500)) {
			t.Fatalf("seed %d generates different calls", seed)
		}
		for i := range calls {
			c := &calls[i]
			if c.ID != int64(i)+1 || i > 0 && c.ArrivalNs < calls[i-1].ArrivalNs {
				t.Fatalf("seed %d: %s at %d comes after %s", seed, c, c.ArrivalNs, &calls[i-1])
			}
			for _, id := range c.References() {
				if id >= c.ID || calls[id-1].ArrivalNs == c.ArrivalNs {
					t.Errorf("seed %d: %s refers to a call that has not been answered", seed, c)
				}
			}
			r := resourceOf(c.APIGroup, c.Resource)
			name := c.Name
			if c.Verb == "create" {
				name = ""
			}
			if r == nil || c.Path != r.Path(c.Namespace, name) {
				t.Fatalf("seed %d: %s has another path than its attributes", seed, c)
			}
			has[c.Verb]++
			has[c.Resource]++
			has["patchType "+c.PatchType]++
			for part := range strings.SplitSeq(c.Query, "&") {
				parameter, _, _ := strings.Cut(part, "=")
				has[parameter]++
			}
			for what, is := range map[string]bool{
				"dryRun": c.DryRun, "bodyResourceVersion": c.BodyResourceVersion != "", "bodyUID": c.BodyUID != "", "preconditions": c.Preconditions != nil,
				"finalizers": len(c.Finalizers) > 0, "no finalizers": c.Finalizers != nil && len(c.Finalizers) == 0, "fieldManager": c.FieldManager != "",
				"ahead": strings.Contains(c.Query, "+1000"), "together": i > 0 && c.ArrivalNs == calls[i-1].ArrivalNs, "all namespaces": c.Namespace == "",
			} {
				if is {
					has[what]++
				}
			}
		}
	}
	for _, what := range strings.Fields(`get list watch create update patch delete deletecollection
		configmaps secrets leases roles widgets events pods
		resourceVersion resourceVersionMatch limit continue sendInitialEvents allowWatchBookmarks labelSelector fieldSelector
		force gracePeriodSeconds propagationPolicy orphanDependents
		dryRun bodyResourceVersion bodyUID preconditions finalizers fieldManager ahead together`) {
		if has[what] < 10 {
			t.Errorf("%s occurs %d times in 10000 calls", what, has[what])
		}
	}
	for _, what := range []string{"patchType apply", "no finalizers", "all namespaces"} {
		if has[what] < 10 {
			t.Errorf("%s occurs %d times in 10000 calls", what, has[what])
		}
	}
}

// The guard of a server's clients lets all calls pass.
func TestGuardLetsCallsPass(t *testing.T) {
	server, err := guard.Server("https://127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	transport := guard.Transport{Server: server, Writes: true}
	for seed := range uint64(20) {
		calls := generate(seed, 500)
		for i := range calls {
			c := &calls[i]
			address := server.String() + c.Path
			if c.Query != "" {
				address += "?" + c.Query
			}
			r, err := http.NewRequest(methods[c.Verb], address, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if err := transport.Check(r); err != nil {
				t.Errorf("seed %d: %s: %v", seed, c, err)
			}
		}
	}
}
