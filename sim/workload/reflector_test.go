package workload_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/random"
	"apfsim/sim/workload"
	"apfsim/sim/workload/workloadtest"
)

var update = flag.Bool("update", false, "rewrite the files of testdata")

// reflecting is a behaviour that is one reflector, and writes down what its handler is told.
type reflecting struct {
	*workload.Reflector
	chance random.Stream
	told   []string
}

func reflect(c *workloadtest.Client, s workload.ReflectorSettings) *reflecting {
	b := &reflecting{}
	c.Stream(&b.chance, "reflector")
	b.Reflector = workload.NewReflector(s, c, &b.chance, b)
	return b
}

func (b *reflecting) Changed(nowNs int64, _ *workload.Reflector, previous, o *api.Object) {
	kind := "changed"
	if previous == nil {
		kind = "new"
	}
	b.told = append(b.told, fmt.Sprintf("%v %s %s@%d", time.Duration(nowNs), kind, o.Name, o.Version))
}

func (b *reflecting) Deleted(nowNs int64, _ *workload.Reflector, o *api.Object) {
	b.told = append(b.told, fmt.Sprintf("%v deleted %s", time.Duration(nowNs), o.Name))
}

func (b *reflecting) Listed(nowNs int64, r *workload.Reflector) {
	b.told = append(b.told, fmt.Sprintf("%v listed %d at %d", time.Duration(nowNs), r.Len(), r.Version()))
}

// The scripts in testdata/reflector are what a server answers; beside each is what the reflector then asks
// for, without jitter, and what it tells its handler. The module conformance gives the same scripts to the reflector of client-go.
func TestReflectorFollowsScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/reflector/*.txt")
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
			c := workloadtest.New(nil)
			c.NoJitter = true
			s.Serve(c)
			b := reflect(c, workload.ReflectorSettings{Resource: "pods", WatchList: s.WatchList, SinceLastUse: s.SinceLastUse})
			c.Run(b, s.UntilNs)
			got := c.Log() + "\n" + strings.Join(b.told, "\n") + "\n"
			golden := strings.TrimSuffix(path, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// counting is a behaviour that is one reflector without a handler.
type counting struct{ *workload.Reflector }

// A reflector without a handler counts what is there, as events come and go, and says how long its client takes to read
// one.
func TestReflectorCounts(t *testing.T) {
	c := workloadtest.New(nil)
	s, err := workloadtest.ParseScript("list 100 a@90 b@95\nwatch 1s ADDED c@101, 1s ADDED d@102, 1s MODIFIED a@103, 1s DELETED b@104, 1s DELETED c@105")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(c)
	var chance random.Stream
	c.Stream(&chance, "reflector")
	r := workload.NewReflector(workload.ReflectorSettings{Resource: "pods", PerEvent: every(3 * time.Millisecond)}, c, &chance, nil)
	for i, want := range []int64{2, 3, 4, 4, 3, 2} {
		c.Run(counting{r}, int64(i)*second+second/2)
		if got := r.Len(); got != want {
			t.Errorf("after %d events, there are %d objects, want %d", i, got, want)
		}
	}
	if got := c.Sent[1].ReadNs; got != 3*millisecond {
		t.Errorf("the client takes %v to read an event, want 3ms", time.Duration(got))
	}
}
