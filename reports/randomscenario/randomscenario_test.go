package randomscenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

var (
	number = flag.Int("n", 30, "how many random scenarios to run")
	first  = flag.Uint64("seed", 1, "the first of their seeds; 0 for a random one, which is printed")
)

// Whatever a scenario does, its run ends without a panic, all sums of its summary and its series are those of its request
// log, and so is what it is judged by, and a second run is the same, with another number of threads.
func TestRandomScenarios(t *testing.T) {
	from := *first
	if from == 0 {
		from = rand.Uint64N(1e12)
	}
	var (
		next           atomic.Int64
		lock           sync.Mutex
		done, requests int
		failures       []failure
		workers        sync.WaitGroup
	)
	outcomes := map[string]int{}
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(*number); i = next.Add(1) - 1 {
				s := New(from + uint64(i))
				lines, err := try(s, i%10 == 0)
				lock.Lock()
				if err != nil {
					failures = append(failures, failure{s, err})
				}
				for j := range lines {
					outcomes[lines[j].Outcome]++
				}
				requests += len(lines)
				if done++; done%500 == 0 {
					t.Logf("%d scenarios, %d requests, %d failures", done, requests, len(failures))
				}
				lock.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%d scenarios from seed %d, %d failures, %d requests: %v", *number, from, len(failures), requests, outcomes)
	slices.SortFunc(failures, func(a, b failure) int { return cmp.Compare(a.scenario.Seed, b.scenario.Seed) })
	for i, f := range failures {
		if i == 10 {
			t.Errorf("and %d more", len(failures)-i)
			break
		}
		t.Errorf("seed %d: %v\n%s", f.scenario.Seed, f.err, reproduce(t, f.scenario))
	}
	for _, outcome := range []string{"executed", "rejected", "refused", "lost", "waiting", "executing"} {
		if *number >= 30 && outcomes[outcome] < *number {
			t.Errorf("only %d requests in all were %s", outcomes[outcome], outcome)
		}
	}
}

// Scenarios in which something was once wrong that few others show.
func TestScenariosThatHaveFailed(t *testing.T) {
	for seed, what := range map[uint64]string{
		6:     "requests that take less than the mean of their kind leave nothing outstanding in the next interval",
		37:    "a workload has the marks of a level that it sends requests to in the warm-up only",
		24862: "a request that a store executes at the end of the run is late after the time that it will take",
		60331: "where nothing is executed, each request counts with what it has occupied or what the scenario gives it",
		60341: "a flow that is served all that it demands has 100 % of its fair share, and not a last digit less",
	} {
		s := New(seed)
		if _, err := try(s, true); err != nil {
			t.Errorf("%s: seed %d: %v\n%s", what, seed, err, reproduce(t, s))
		}
	}
}

// failure is a scenario in which something is wrong.
type failure struct {
	scenario *Scenario
	err      error
}

// try runs a scenario, checks the run, and possibly compares it with a second one, and checks both of two seeds together.
// It returns the request log.
func try(s *Scenario, twice bool) ([]Line, error) {
	ran, err := s.Run()
	if err == nil {
		err = ran.Check()
	}
	if err == nil && twice {
		err = errors.Join(again(s, ran), writeReports(ran), replications(s, ran))
	}
	if err != nil {
		return nil, err
	}
	return ran.Lines()
}

// writeReports writes what apfsim run prints, and the page, which must be possible of each result.
func writeReports(ran *Ran) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return errors.Join(render.Text(io.Discard, report.RunDocument(ran.Result), format.TextOptions{}), render.HTML(io.Discard, report.RunDocument(ran.Result)))
}

// again runs a scenario again, on one thread or on several.
func again(s *Scenario, ran *Ran) error {
	threads := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(threads)
	runtime.GOMAXPROCS(map[bool]int{true: 4, false: 1}[threads == 1])
	second, err := s.Run()
	if err != nil {
		return err
	}
	first, err := json.Marshal(ran.Result)
	if err != nil {
		return err
	}
	if text, err := json.Marshal(second.Result); err != nil || !bytes.Equal(text, first) || !bytes.Equal(second.Log, ran.Log) {
		return errors.Join(err, errors.New("a second run is another"))
	}
	return nil
}

// reproduce writes a scenario that has failed, and says how to run it.
func reproduce(t *testing.T, s *Scenario) string {
	dir, err := os.MkdirTemp("", "apfsim-random-"+strconv.FormatUint(s.Seed, 10)+"-")
	if err != nil {
		t.Fatal(err)
	}
	path, err := s.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	return "to repeat it: make random N=1 SEED=" + strconv.FormatUint(s.Seed, 10) +
		"\nor:           apfsim run " + path + " --requests -o " + filepath.Join(dir, "results")
}

// A seed stands for a scenario, and the scenarios of different seeds are different.
func TestSeeds(t *testing.T) {
	if a, b := New(7), New(7); !reflect.DeepEqual(a, b) {
		t.Errorf("two scenarios of one seed:\n%s\n%s", a.YAML, b.YAML)
	}
	if New(7).YAML == New(8).YAML {
		t.Error("the scenarios of two seeds are the same")
	}
}
