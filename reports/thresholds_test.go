package reports_test

import (
	"slices"
	"strings"
	"testing"

	"apfsim/reports/result"
	"apfsim/sim/metric"
)

func tags(pairs ...string) []metric.Tag {
	var ts []metric.Tag
	for i := 0; i < len(pairs); i += 2 {
		ts = append(ts, metric.Tag{Name: pairs[i], Value: pairs[i+1]})
	}
	return ts
}

func thresholdOf(key, metricName string, ts []metric.Tag, stat, op string, limit float64, unit metric.Unit) metric.Threshold {
	return metric.Threshold{Metric: metricName, Tags: ts, Stat: stat, Op: op, Limit: limit, Unit: unit, Key: key, Text: stat + " " + op}
}

func TestThresholdsHaveTheValuesOfTheStory(t *testing.T) {
	const plain, duration = metric.NoUnit, metric.Nanoseconds
	for _, c := range []struct {
		metric string
		tags   []metric.Tag
		stat   string
		unit   metric.Unit
		want   float64
	}{
		{"wait", tags("workload", "mice"), "max", duration, 3e9},
		{"wait", tags("workload", "mice", "priorityLevel", "low"), "mean", duration, 1.5e9}, // without the one that passes by
		{"wait", tags("flow", "service-accounts/b"), "max", duration, 3e9},
		{"wait", tags("flow", "service-accounts/b", "workload", "mice"), "count", plain, 2},
		{"latency", tags("flowSchema", "service-accounts"), "count", plain, 2},
		{"rejectedWait", nil, "max", duration, 4e9},
		{"execution", tags("workload", "elephants"), "med", duration, 10e9},
		{"arrived", nil, "perSecond", plain, 7.0 / 20},
		{"arrived", tags("workload", "unheard"), "count", plain, 0},
		{"executed", nil, "rate", metric.NoUnit, 3.0 / 7},
		{"rejected", tags("workload", "mice"), "rate", metric.NoUnit, 2.0 / 6},
		{"rejected", tags("reason", "queue-full"), "count", plain, 1},
		{"rejected", tags("reason", "concurrency-limit"), "count", plain, 0},
		{"timedOut", nil, "count", plain, 1},
		{"retries", nil, "count", plain, 1},
		{"waiting", nil, "count", plain, 1},
		{"executing", nil, "count", plain, 1},
		{"utilisation", tags("priorityLevel", "low"), "mean", plain, 0.5},
		{"utilisation", tags("priorityLevel", "low"), "peak", plain, 3},
		{"utilisation", tags("priorityLevel", "low"), "saturated", metric.NoUnit, 0.425},
		{"fairness", tags("priorityLevel", "low"), "maxMinError", plain, 11.0 / 17},
		{"fairness", tags("priorityLevel", "low"), "leastRatio", plain, 6.0 / 17},
		{"fairness", tags("priorityLevel", "low"), "flows", plain, 2},
		{"waiting", tags("priorityLevel", "low"), "mean", plain, 7.5 / 20},
		{"waiting", tags("priorityLevel", "low"), "count", plain, 1},
		{"waiting", tags("priorityLevel", "exempt"), "mean", plain, 0},
		{"starvation", nil, "max", duration, 3e9},
		{"starvation", tags("flow", "service-accounts/a"), "max", duration, 0},
		{"service", tags("flowSchema", "service-accounts"), "seatSeconds", plain, 35},
		{"demand", nil, "seatSeconds", plain, 24 + 17},
		{"demand", tags("flow", "service-accounts/b"), "seatSeconds", plain, 17},
		{"fairShare", tags("flow", "service-accounts/a"), "seatSeconds", plain, 18},
		{"fairShare", tags("flow", "service-accounts/a", "priorityLevel", "low"), "ratio", plain, 29.0 / 18},
		{"fairShare", tags("flowSchema", "service-accounts"), "ratio", plain, 1},
	} {
		v := storyResult(thresholdOf("k", c.metric, c.tags, c.stat, "<=", c.want+1e-6, c.unit)).Summary.Thresholds[0]
		if v.Value == nil {
			t.Errorf("%s %v %s: no value: %s", c.metric, c.tags, c.stat, v.Note)
			continue
		}
		nearNumber(t, c.metric+" "+c.stat, *v.Value, c.want)
		if !v.Passed || (v.Unit == "ns") != (c.unit == duration) {
			t.Errorf("%s %s: %+v", c.metric, c.stat, v)
		}
	}
}

// Nothing passes for want of samples, whatever the comparison.
func TestThresholdsWithoutSamplesFail(t *testing.T) {
	for _, c := range []struct {
		metric string
		tags   []metric.Tag
		stat   string
	}{
		{"wait", tags("workload", "unheard"), "max"},
		{"wait", tags("workload", "unheard"), "count"},
		{"rejected", tags("workload", "unheard"), "rate"},
		{"rejected", tags("workload", "unheard"), "count"},
		{"wait", tags("workload", "elephants", "flow", "service-accounts/b"), "max"},
		{"wait", tags("flow", "service-accounts/nobody"), "max"},
		{"arrived", tags("flow", "service-accounts/nobody"), "count"},
		{"starvation", tags("flow", "service-accounts/nobody"), "max"},
		{"demand", tags("flow", "service-accounts/nobody"), "seatSeconds"},
		{"fairShare", tags("flow", "service-accounts/nobody"), "ratio"},
		{"waiting", tags("priorityLevel", "gone"), "mean"},
		{"fairness", tags("priorityLevel", "exempt"), "jain"},
		{"fairness", tags("priorityLevel", "exempt"), "flows"},
		{"utilisation", tags("priorityLevel", "exempt"), "mean"},
		{"utilisation", tags("priorityLevel", "exempt"), "saturated"},
	} {
		exempt := c.metric == "utilisation" // which is why it has none
		for _, op := range []string{"<", ">=", "!="} {
			s := storyResult(thresholdOf("k", c.metric, c.tags, c.stat, op, 1, metric.NoUnit)).Summary
			if v := s.Thresholds[0]; v.Passed || v.Value != nil || v.Note == "" || s.Passed || strings.Contains(v.Note, "exempt") != exempt {
				t.Errorf("%s %v %s %s: %+v", c.metric, c.tags, c.stat, op, v)
			}
		}
	}
}

func TestOneFailedThresholdFailsTheRun(t *testing.T) {
	holds := thresholdOf("a", "arrived", nil, "count", "==", 7, metric.NoUnit)
	fails := thresholdOf("b", "arrived", nil, "count", ">", 7, metric.NoUnit)
	if s := storyResult(holds).Summary; !s.Passed {
		t.Error("all thresholds hold")
	}
	if s := storyResult(holds, fails, holds).Summary; s.Passed || !s.Thresholds[2].Passed {
		t.Errorf("thresholds %+v", s.Thresholds)
	}
	sc := storyScenario()
	sc.Spec.Thresholds = metric.Thresholds{holds, fails, holds}
	alone := newStage(sc) // nobody else judges
	alone.tell()
	if s := alone.collector.Result().Summary; s.Passed {
		t.Errorf("the collector alone: thresholds %+v", s.Thresholds)
	}
}

// A flow's figures are not told apart by workload.
func TestAWorkloadOfAFlowThatSeveralShareHasNoAnswer(t *testing.T) {
	sc := storyScenario()
	sc.Spec.Thresholds = metric.Thresholds{
		thresholdOf("k", "arrived", tags("workload", "mice", "flow", "service-accounts/b"), "count", ">", 0, metric.NoUnit),
		thresholdOf("k", "arrived", tags("flow", "service-accounts/b"), "count", "==", 2, metric.NoUnit)}
	s := newStage(sc)
	s.arrive(11, mice, flowB, 1)
	s.arrive(12, elephants, flowB, 1)
	verdicts := s.collector.Result().Summary.Thresholds
	if v := verdicts[0]; v.Passed || v.Value != nil {
		t.Errorf("%+v", v)
	}
	if v := verdicts[1]; !v.Passed {
		t.Errorf("of all workloads: %+v", v)
	}
}

// Of flows that nothing is served to there is a demand, and no ratio.
func TestWithoutAFairShareThereIsNoRatio(t *testing.T) {
	sc := storyScenario()
	sc.Spec.Thresholds = metric.Thresholds{
		thresholdOf("k", "demand", nil, "seatSeconds", "==", 3, metric.NoUnit),
		thresholdOf("k", "fairShare", nil, "seatSeconds", "==", 0, metric.NoUnit),
		thresholdOf("k", "fairShare", nil, "ratio", ">=", 0, metric.NoUnit),
	}
	s := newStage(sc)
	s.arrive(11, mice, flowB, 3)
	s.tick(30)
	summary := s.collector.Result().Summary
	if r := summary.Flows[0].Ratio; r != nil {
		t.Errorf("ratio %v", *r)
	}
	verdicts := summary.Thresholds
	if !verdicts[0].Passed || !verdicts[1].Passed || verdicts[2].Passed || verdicts[2].Note != metric.NoSamples {
		t.Errorf("%+v", verdicts)
	}
}

// A threshold on a percentile of few requests is judged, and the summary names the percentile once. At most three are named.
func TestThresholdsOnPercentilesOfFewRequests(t *testing.T) {
	percentile := func(name, workload string, percent float64, limit float64) metric.Threshold {
		th := thresholdOf(name, name, tags("workload", workload), "p", "<", limit, metric.Nanoseconds)
		th.Percentile = percent
		return th
	}
	s := storyResult(percentile("wait", "mice", 99, 4e9), percentile("wait", "mice", 99, 1e9)).Summary
	s.TrustThresholds()
	if !s.Thresholds[0].Passed || s.Thresholds[1].Passed {
		t.Errorf("the thresholds are not judged: %+v", s.Thresholds)
	}
	want := []result.Trust{{ID: result.FewSamples, Sentence: "wait p99 of mice is of 3 requests"}}
	if s.Verdict == nil || !slices.Equal(s.Verdict.Trust, want) {
		t.Errorf("trust %+v, want %+v", s.Verdict, want)
	}
	s = storyResult(percentile("wait", "mice", 99, 4e9), percentile("wait", "mice", 50, 4e9), percentile("latency", "mice", 90, 4e9),
		percentile("latency", "mice", 99, 4e9), percentile("latency", "elephants", 99, 4e9)).Summary
	s.TrustThresholds()
	const named = "wait p99 of mice is of 3 requests; wait median of mice is of 3 requests; latency p90 of mice is of 2 requests; 2 more percentiles of thresholds"
	if s.Verdict == nil || s.Verdict.Trust[0].Sentence != named {
		t.Errorf("trust %+v, want %q", s.Verdict, named)
	}
	s = storyResult(thresholdOf("wait", "wait", nil, "max", "<", 4e9, metric.Nanoseconds)).Summary
	if s.TrustThresholds(); s.Verdict != nil {
		t.Errorf("a maximum needs no number of requests: %+v", s.Verdict)
	}
}
