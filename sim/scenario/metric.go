package scenario

import (
	"slices"
	"strings"

	"apfsim/document"
)

// metric is what thresholds can be set on.
type metric struct {
	stats    []stat
	tags     []string
	required string // a tag that must be given
	example  string
	apf      bool    // exists with PriorityAndFairness alone
	whole    bool    // of the run as a whole alone, not over windows
	ofLevel  *metric // further statistics, of a priority level alone
}

type stat struct {
	name string
	unit Unit
}

// requiredExample is the required tag with a value.
func (m *metric) requiredExample() string {
	if m.required == tagWorkload {
		return tagWorkload + ":mice"
	}
	return m.required + ":workload-low"
}

func (m *metric) stat(name string) (Unit, bool) {
	for _, s := range m.stats {
		if s.name == name {
			return s.unit, true
		}
	}
	if m.ofLevel != nil {
		return m.ofLevel.stat(name)
	}
	return 0, false
}

func (m *metric) statNames() []string {
	names := make([]string, len(m.stats))
	for i, s := range m.stats {
		names[i] = s.name
		if s.name == "p" {
			names[i] = "p(N)"
		}
	}
	if m.ofLevel != nil {
		names = append(names, m.ofLevel.statNames()...)
	}
	return names
}

// metricOf returns the metric that a statistic belongs to and what messages call it, nil if there
// is none.
func metricOf(name, stat string) (m *metric, called string) {
	m = metrics[name]
	if m != nil && m.ofLevel != nil {
		if _, ok := m.ofLevel.stat(stat); ok {
			return m.ofLevel, stat + " of " + name
		}
	}
	return m, name
}

// Tags. Those of flow control have a meaning with PriorityAndFairness alone.
const (
	tagWorkload      = "workload"
	tagFlowSchema    = "flowSchema"
	tagPriorityLevel = "priorityLevel"
	tagFlow          = "flow"
	tagReason        = "reason"
)

var (
	requestTags = []string{tagWorkload, tagFlowSchema, tagPriorityLevel, tagFlow}
	flowTags    = []string{tagFlowSchema, tagPriorityLevel, tagFlow}
	levelTags   = []string{tagPriorityLevel}

	workloadTags = []string{tagWorkload}

	rejectionReasons = []string{"queue-full", "concurrency-limit", "time-out"}

	durationStats = []stat{{"mean", Nanoseconds}, {"avg", Nanoseconds}, {"min", Nanoseconds}, {"med", Nanoseconds},
		{"max", Nanoseconds}, {"p", Nanoseconds}, {"count", PlainNumber}}
	countStats = []stat{{"count", PlainNumber}, {"rate", Fraction}}
)

// metricNames are the metrics in the order in which messages list them.
var metricNames = []string{"wait", "execution", "latency", "rejectedWait", "arrived", "executed", "rejected",
	"timedOut", "retries", "waiting", "executing", "stall", "virtualWait", "virtualRejected", "fairness", "utilisation", "starvation", "service", "demand", "fairShare"}

var metrics = map[string]*metric{
	"wait":         {stats: durationStats, tags: requestTags, example: "p(99) < 100ms"},
	"execution":    {stats: durationStats, tags: requestTags, example: "p(99) < 100ms"},
	"latency":      {stats: durationStats, tags: requestTags, example: "p(99) < 1s"},
	"rejectedWait": {stats: durationStats, tags: requestTags, example: "max < 1s"},
	"arrived": {stats: []stat{{"count", PlainNumber}, {"perSecond", PlainNumber}}, tags: requestTags,
		example: "perSecond > 100"},
	"executed": {stats: countStats, tags: requestTags, example: "rate > 0.99"},
	"rejected": {stats: countStats, tags: append(slices.Clone(requestTags), tagReason), example: "rate == 0"},
	"timedOut": {stats: countStats, tags: requestTags, example: "rate == 0"},
	"retries":  {stats: []stat{{"count", PlainNumber}, {"rate", PlainNumber}}, tags: requestTags, example: "count < 100"},
	"waiting": {stats: countStats, tags: requestTags, example: "count < 100",
		ofLevel: &metric{stats: []stat{{"mean", PlainNumber}}, tags: levelTags, required: tagPriorityLevel, apf: true, whole: true}},
	"executing": {stats: countStats, tags: requestTags, example: "count < 100"},
	"stall": {stats: []stat{{"max", Nanoseconds}, {"count", PlainNumber}, {"share", Fraction}}, tags: workloadTags,
		required: tagWorkload, example: "max < 1s", whole: true},
	"virtualWait":     {stats: durationStats, tags: workloadTags, required: tagWorkload, example: "p(99) < 1s", whole: true},
	"virtualRejected": {stats: []stat{{"rate", Fraction}}, tags: workloadTags, required: tagWorkload, example: "rate < 0.01", whole: true},
	"fairness": {stats: []stat{{"jain", Fraction}, {"maxMinError", PlainNumber}, {"leastRatio", PlainNumber}, {"flows", PlainNumber}},
		tags: levelTags, required: tagPriorityLevel, example: "jain > 0.95", apf: true, whole: true},
	"utilisation": {stats: []stat{{"mean", PlainNumber}, {"peak", PlainNumber}, {"saturated", Fraction}},
		tags: levelTags, required: tagPriorityLevel, example: "mean < 0.9", apf: true, whole: true},
	"starvation": {stats: []stat{{"max", Nanoseconds}}, tags: flowTags, example: "max < 1s", apf: true, whole: true},
	"service":    {stats: []stat{{"seatSeconds", PlainNumber}}, tags: flowTags, example: "seatSeconds > 10", apf: true, whole: true},
	"demand":     {stats: []stat{{"seatSeconds", PlainNumber}}, tags: flowTags, example: "seatSeconds > 10", apf: true, whole: true},
	"fairShare": {stats: []stat{{"seatSeconds", PlainNumber}, {"ratio", PlainNumber}}, tags: flowTags,
		example: "ratio > 0.9", apf: true, whole: true},
}

// example returns an expression that suits a metric.
func example(name string) string {
	if m := metrics[name]; m != nil {
		return m.example
	}
	return metrics["wait"].example
}

// thresholds checks that all metrics, tags and values exist.
func (v *validator) thresholds() {
	s := &v.scenario.Spec
	for i := range s.Thresholds {
		if t := &s.Thresholds[i]; t.overPath != "" && metrics[t.Metric] != nil {
			v.windows(t)
		}
	}
	// A metric's mistakes are reported once, not with each of its expressions.
	lastKey, last := "", (*metric)(nil)
	for i := range s.Thresholds {
		t := &s.Thresholds[i]
		m, called := metricOf(t.Metric, t.Stat)
		if t.keyPath == lastKey && m == last {
			continue
		}
		lastKey, last = t.keyPath, m
		fail := func(format string, args ...any) { v.mistakes.Add(t.keyPlace, t.keyPath, format, args...) }
		if m == nil {
			fail("unknown metric %s%s", t.Metric, document.Hint(t.Metric, metricNames))
			continue
		}
		apf := s.Servers.FlowControl != MaxInFlight && s.Servers.FlowControl != NoFlowControl
		if m.apf && !apf {
			fail("there is no %s with flowControl %s", called, s.Servers.FlowControl)
			continue
		}
		if m.required != "" && t.Tag(m.required) == "" {
			fail("%s wants the tag %s, as %s{%s}", called, m.required, t.Metric, m.requiredExample())
		}
		for _, tag := range t.Tags {
			switch {
			case !slices.Contains(m.tags, tag.Name):
				fail("%s has no tag %s%s", called, tag.Name, document.Hint(tag.Name, m.tags))
			case slices.Contains(flowTags, tag.Name) && !apf:
				fail("there is no %s with flowControl %s", tag.Name, s.Servers.FlowControl)
			default:
				if values, known := v.tagValues(tag.Name); known && !slices.Contains(values, tag.Value) {
					fail("there is no %s %q%s", tag.Name, document.Abridge(tag.Value), document.Hint(tag.Value, values))
				}
			}
		}
	}
}

// mostWindows is how many windows a run is divided into at most.
const mostWindows = 100_000

// windows checks what a threshold must hold over.
func (v *validator) windows(t *Threshold) {
	fail := func(format string, args ...any) { v.mistakes.Add(t.overPosition, t.overPath, format, args...) }
	s := &v.scenario.Spec
	judged := s.Duration - s.Warmup
	m, called := metricOf(t.Metric, t.Stat)
	switch {
	case m.whole:
		var others []string
		for _, name := range metricNames {
			if !metrics[name].whole {
				others = append(others, name)
			}
		}
		fail("%s is measured over the whole run alone; want it without over, or one of %s", called, strings.Join(others, ", "))
	case t.Over <= 0:
		fail("want more than 0s; without over, a threshold is for the run as a whole")
	case judged <= 0: // a mistake of its own
	case t.Over > judged:
		fail("%v is more than the %v between warm-up and end; want at most that", t.Over, judged)
	case judged/t.Over > mostWindows:
		fail("%v divides the %v between warm-up and end into %d windows; want at most %d: %v or more",
			t.Over, judged, judged/t.Over, mostWindows, (judged+mostWindows-1)/mostWindows)
	case judged%t.Over != 0:
		v.warnings.Add(t.overPosition, t.overPath, "%v does not divide the %v between warm-up and end; the last %v are in no window, and not judged",
			t.Over, judged, judged%t.Over)
	}
}

// tagValues returns the values that a tag can have, if that is known before the run.
func (v *validator) tagValues(tag string) (values []string, known bool) {
	switch tag {
	case tagWorkload:
		for i := range v.scenario.Spec.Workload {
			values = append(values, v.scenario.Spec.Workload[i].Name)
		}
		return values, true
	case tagReason:
		return rejectionReasons, true
	case tagFlowSchema:
		for _, objects := range v.scenario.Configurations() {
			for _, schema := range objects.FlowSchemas {
				values = append(values, schema.Name)
			}
		}
		return values, v.configured
	case tagPriorityLevel:
		for _, objects := range v.scenario.Configurations() {
			for _, level := range objects.PriorityLevels {
				values = append(values, level.Name)
			}
		}
		return values, v.configured
	}
	return nil, false
}
