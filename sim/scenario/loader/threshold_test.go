package loader

import (
	"strings"
	"testing"
	"time"

	"apfsim/sim/quantity"
)

// The values of tags, and whether there are priority levels, come from the scenario.
func TestThresholdsAreCheckedAgainstTheScenario(t *testing.T) {
	for _, c := range []struct{ thresholds, more, want string }{
		{`{"wait{workload:mouse}": [max < 1s]}`, "", `there is no workload "mouse"; want one of mice`},
		{`{"wait{flowSchema:service-account}": [max < 1s]}`, "", `there is no flowSchema "service-account" (did you mean "service-accounts"?)`},
		{`{"wait{priorityLevel:workload-lo}": [max < 1s]}`, "", `there is no priorityLevel "workload-lo" (did you mean "workload-low"?)`},
		{`{"wait{priorityLevel:exempt}": [max < 1s]}`, "servers: {flowControl: MaxInFlight}", "there is no priorityLevel with flowControl MaxInFlight"},
		{"{starvation: [max < 1s]}", "servers: {flowControl: None}", "there is no starvation with flowControl None"},
	} {
		text := withSpec("thresholds: " + c.thresholds + "\n  " + c.more)
		_, mistakes := Load(files("s.yaml", text), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Message != c.want {
			t.Errorf("%s: mistakes %v, want %s", c.thresholds, mistakes, c.want)
		}
	}
}

func TestThresholdsAreListsOfExpressions(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`thresholds: {wait: [], latency: null, rejected: "rate == 0", retries: [null, 1], executed: [rate > 0.5]}`)),
		"s.yaml", Options{})
	wantMistakes(t, mistakes,
		`s.yaml:6:16: spec.thresholds.wait: has no expression; want a list such as ["p(99) < 100ms"]`,
		`s.yaml:6:26: spec.thresholds.latency: has no expression; want a list such as ["p(99) < 1s"]`,
		`s.yaml:6:51: spec.thresholds.rejected: "rate == 0" is a string; want a list`,
		"s.yaml:6:74: spec.thresholds.retries[0]: is empty",
		"s.yaml:6:80: spec.thresholds.retries[1]: 1 is a number; want a string: put it in quotes")
}

func TestThresholdsOverWindows(t *testing.T) {
	s := mustLoad(t, withSpec(`thresholds: {wait: ["max < 1s", {threshold: "p(99) < 100ms", over: 10s}, {threshold: "min > 0"}]}`))
	for i, want := range []quantity.Duration{0, quantity.Duration(10 * time.Second), 0} {
		if got := s.Spec.Thresholds[i].Over; got != want {
			t.Errorf("threshold %d is over %v, want %v", i, got, want)
		}
	}
	if th := s.Spec.Thresholds[1]; th.Text != "p(99) < 100ms" || th.Percentile != 99 || th.Position.String() != "s.yaml:6:47" {
		t.Errorf("%+v", th)
	}
	if len(s.Warnings) > 0 {
		t.Error(s.Warnings)
	}
}

func TestThresholdsOverWindowsThatAreWrong(t *testing.T) {
	_, mistakes := Load(files("s.yaml", withSpec(`warmup: 10s
  thresholds:
    wait:
    - {threshold: max < 1s, over: 10}
    - {threshold: max < 1s, over: soon}
    - {threshold: max < 1s, over: 0s}
    - {threshold: max < 1s, over: 51s}
    - {threshold: max < 1s, over: 1us}
    - {threshold: max < 1s, ovr: 10s}
    - {over: 10s}
    - {threshold: max < 1, over: 10s}
    - {threshold: [max < 1s], over: 10s}
    wiat: [{threshold: max < 1s, over: 10s}]
    fairness{priorityLevel:system}: [{threshold: jain > 0.5, over: 10s}]
    starvation: [{threshold: max < 1s, over: 100s}]
    waiting{priorityLevel:system}: [{threshold: count < 1, over: 10s}, {threshold: mean < 1, over: 10s}]`)), "s.yaml", Options{})
	wantMistakes(t, mistakes,
		"s.yaml:9:35: spec.thresholds.wait[0].over: 10 has no unit; want a duration such as 60s or 1h30m",
		`s.yaml:10:35: spec.thresholds.wait[1].over: "soon" is not a duration; want one such as 60s or 1h30m`,
		"s.yaml:11:35: spec.thresholds.wait[2].over: want more than 0s; without over, a threshold is for the run as a whole",
		"s.yaml:12:35: spec.thresholds.wait[3].over: 51s is more than the 50s between warm-up and end; want at most that",
		"s.yaml:13:35: spec.thresholds.wait[4].over: 1µs divides the 50s between warm-up and end into 50000000 windows; want at most 100000: 500µs or more",
		`s.yaml:14:29: spec.thresholds.wait[5].ovr: unknown field (did you mean "over"?)`,
		"s.yaml:15:7: spec.thresholds.wait[6].threshold: is missing",
		"s.yaml:16:19: spec.thresholds.wait[7].threshold: limit 1 has no unit; want a duration such as 100ms",
		"s.yaml:17:19: spec.thresholds.wait[8].threshold: is a list; want a string",
		`s.yaml:18:5: spec.thresholds.wiat: unknown metric wiat (did you mean "wait"?)`,
		"s.yaml:19:68: spec.thresholds[\"fairness{priorityLevel:system}\"][0].over: fairness is measured over the whole run alone; "+
			"want it without over, or one of wait, execution, latency, rejectedWait, arrived, executed, rejected, timedOut, retries, waiting, executing, refused, lost",
		"s.yaml:20:46: spec.thresholds.starvation[0].over: starvation is measured over the whole run alone; "+
			"want it without over, or one of wait, execution, latency, rejectedWait, arrived, executed, rejected, timedOut, retries, waiting, executing, refused, lost",
		"s.yaml:21:100: spec.thresholds[\"waiting{priorityLevel:system}\"][1].over: mean of waiting is measured over the whole run alone; "+
			"want it without over, or one of wait, execution, latency, rejectedWait, arrived, executed, rejected, timedOut, retries, waiting, executing, refused, lost")
}

// What is left at the end and makes no window is told of.
func TestWindowsThatDoNotDivideTheRunAreWarnedOf(t *testing.T) {
	const text = `s.yaml:6:51: spec.thresholds.wait[0].over: 25s does not divide the 1m0s between warm-up and end; the last 10s are in no window and are not evaluated`
	s := mustLoad(t, withSpec(`thresholds: {wait: [{threshold: max < 1s, over: 25s}]}`))
	wantMistakes(t, s.Warnings, text)
	set := mustLoad(t, withSpec(""), `spec.thresholds={wait: [{threshold: max < 1s, over: 25s}]}`)
	if len(set.Warnings) != 1 || !strings.HasPrefix(set.Warnings[0].Error(), "--set spec.thresholds=") {
		t.Error(set.Warnings)
	}
}
