package incident

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
)

// The number of a server's seats follows from the nominal limits of its levels, although these are
// rounded up.
func TestServerLimit(t *testing.T) {
	r := rules.Default()
	objects := config.Suggested(r)
	for _, limit := range []int{1, 37, 200, 600, 3001} {
		nominal, sum := map[string]int{}, 0
		for _, l := range flowcontrol.New(0, r, limit, objects, nil, nil).Levels() {
			nominal[l.Name()] = l.Limits().Nominal
			sum += l.Limits().Nominal
		}
		got, exact := ServerLimit(r, objects, nominal)
		again := map[string]int{}
		for _, l := range flowcontrol.New(0, r, got, objects, nil, nil).Levels() {
			again[l.Name()] = l.Limits().Nominal
		}
		if !exact || got < limit || fmt.Sprint(again) != fmt.Sprint(nominal) {
			t.Errorf("%d seats: got %d (%v), which has the limits %v, want %v", limit, got, exact, again, nominal)
		}
		nominal["other"] = 1
		if got, exact := ServerLimit(r, objects, nominal); exact || got != sum+1 {
			t.Errorf("%d seats with a level that the configuration does not have: got %d (%v), want the sum, %d", limit, got, exact, sum+1)
		}
	}
}

// The first adjustment from the start on counts, or else an earlier one and the period.
func TestAdjustmentPhase(t *testing.T) {
	all := []int64{100 * second, 110*second + ms, 120*second + 2*ms}
	for _, c := range []struct{ start, want int64 }{
		{95 * second, 5 * second}, {100 * second, 0}, {101 * second, 9*second + ms}, {10 * second, 0}, {123 * second, 7*second + 2*ms},
	} {
		if got := adjustmentPhase(all, c.start); *got != c.want {
			t.Errorf("from %d s on: %d, want %d", c.start/second, *got, c.want)
		}
	}
	if adjustmentPhase(nil, 0) != nil {
		t.Error("without adjustments there is a phase")
	}
}

// A patch release that is too new is taken as the newest that is known, and a minor one that is not supported is
// said to be replaced by the default.
func TestVersionOfTheMetrics(t *testing.T) {
	for version, want := range map[string]string{
		"v1.36.3": "1.36.3", "v1.36.99": "1.36.6", "v1.36.3-gke.100": "1.36.3", "v1.36.3+k3s1": "1.36.3", "v1.99.0": rules.Default().Version,
	} {
		name := filepath.Join(t.TempDir(), "metrics.txt")
		if err := os.WriteFile(name, []byte(`kubernetes_build_info{git_version="`+version+`"} 1`+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSettings(nil, "", nil, name)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := s.scenario(newReport(), "x")
		if !strings.Contains(text, `kubernetesVersion: "`+want+`" # `) || strings.Contains(text, "not supported") != (version == "v1.99.0") {
			t.Errorf("%s: %s", version, text)
		}
	}
}

// Files of a configuration are copied under names of their own.
func TestCopiesOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i, name := range []string{"scenario.yaml", "a/c.yaml", "b/c.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: level-%d}\n"+
			"spec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}\n", i)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, path)
	}
	s, err := ReadSettings(nil, "", names, "")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := s.scenario(newReport(), "Incident 7!")
	if !strings.Contains(text, `files: ["config-scenario.yaml", "c.yaml", "config-c.yaml"]`) || !strings.Contains(text, "base: Suggested") ||
		!strings.Contains(text, "  name: \"incident-7\"\n") {
		t.Error(text)
	}
	if _, err := ReadSettings(nil, "1.99", []string{dir}, filepath.Join(dir, "none")); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three mistakes", err)
	}
}

func TestParseMoment(t *testing.T) {
	for text, want := range map[string]Moment{
		"2026-11-21T12:00:00Z":      {true, noon},
		"2026-11-21T14:00:00+02:00": {true, noon},
		"1m30s":                     {false, 90 * second},
	} {
		if got, err := ParseMoment(text); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "12:00", "-5s", "2026-11-21 12:00:00"} {
		if got, err := ParseMoment(text); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}
