package apicalls

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// The handlers of a simulated server, and a run with its request log, answer the calls of scenarios/traces as a live
// server has. To record its answers anew: bin/apicalls -record live/apicalls/testdata -replay scenarios/traces/*.jsonl
func TestRecordedAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no recorded answers", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		live, err := ReadAnswers(file)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := ReadCalls(filepath.Join("..", "..", "..", "scenarios", "traces", filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		check := func(t *testing.T, simulated []Answer) {
			t.Helper()
			found, compared, err := Compare(calls, live, simulated)
			if err != nil || compared == 0 {
				t.Fatal(compared, err)
			}
			for i := range found {
				t.Error(found[i].String())
			}
		}
		t.Run(name+"/handlers", func(t *testing.T) {
			simulated, err := Handle(calls)
			if err != nil {
				t.Fatal(err)
			}
			check(t, Relative(simulated))
		})
		t.Run(name+"/run", func(t *testing.T) {
			simulated, err := Simulate(context.Background(), calls, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			check(t, RelativeTo(calls, live, simulated))
		})
	}
}
