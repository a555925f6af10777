package result

import (
	"slices"
	"testing"

	"apfsim/sim/metric"
)

// Every statistic of the registry is in the table, under its own name or the canonical one. A
// percentile is if summaries have it.
func TestTableHasTheRegistry(t *testing.T) {
	for _, m := range metric.All() {
		for _, s := range m.Statistics {
			th := metric.Threshold{Metric: m.Name, Stat: s.Name, Unit: s.Unit}
			if s.Name == "p" {
				th.Percentile = 99
			}
			if name := th.Name(); !InSummary(&name) {
				t.Errorf("no definition of %s", name)
			}
		}
	}
	if name := metric.MustParseName("wait.p(97.3)"); InSummary(&name) {
		t.Errorf("%s is in summaries", name)
	}
}

// The name of every definition is canonical, and none is defined twice.
func TestNamesOfTheTableAreCanonical(t *testing.T) {
	for i := range table() {
		name := table()[i].name
		tags := name.Tags
		m, _ := metric.Find(name.Metric, name.Stat)
		if m.Required != "" {
			name.Tags = append(TagOf(m.Required, "x"), tags...)
		}
		parsed, err := metric.ParseName(name.String())
		if err != nil || !parsed.Equal(&name) || parsed.Unit != name.Unit {
			t.Errorf("%s is parsed as %s: %v", name, parsed, err)
		}
		if byKey()[keyOf(&name)] != &table()[i] {
			t.Errorf("%s is defined twice", name)
		}
	}
}

// Of what has no samples no statistic is listed but the number of arrivals.
func TestStatisticsWithoutSamples(t *testing.T) {
	s := &Summary{DurationNs: 1e9, Workloads: []Group{{Name: "idle"}}}
	var names []string
	for _, st := range Statistics(s) {
		names = append(names, st.Name.String())
	}
	want := []string{"arrived.count", "arrived.perSecond", "arrived{workload:idle}.count", "arrived{workload:idle}.perSecond"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// Throughput counts requests that were executed, not those that arrived.
func TestThroughput(t *testing.T) {
	s := &Summary{DurationNs: 12e9, WarmupNs: 2e9, Workloads: []Group{{Name: "w", Counts: metric.Counts{Arrived: 50, Executed: 40}}}}
	all := Statistics(s)
	if i, err := FindStatistic(all, "executed{workload:w}.perSecond"); err != nil || all[i].Value != 4 || all[i].Name.Unit != metric.RequestsPerSecond {
		t.Errorf("%v, error %v; want 4 requests/s", all, err)
	}
}

// StatisticValue reads a number from the part of a summary that its tags select, and says where the
// summary does not have the number.
func TestValueByTags(t *testing.T) {
	counts := func(n int64) metric.Counts { return metric.Counts{Arrived: n} }
	s := &Summary{
		DurationNs: 1e9, Total: Group{Counts: counts(10)},
		Workloads:      []Group{{Name: "w", Counts: counts(9)}},
		FlowSchemas:    []Group{{Name: "s", Counts: counts(8)}},
		PriorityLevels: []Level{{Group: Group{Name: "low", Counts: counts(7)}, PeakSeats: 3}},
		Flows: []Flow{
			{Group: Group{Name: "s/a", Counts: counts(1)}, FlowSchema: "s", PriorityLevel: "low", StarvationNs: 5},
			{Group: Group{Name: "s/b", Counts: counts(2)}, FlowSchema: "s", PriorityLevel: "low", StarvationNs: 6},
			{Group: Group{Name: "s/b", Counts: counts(4)}, FlowSchema: "s", PriorityLevel: "high", StarvationNs: 7},
		},
	}
	for _, c := range []struct {
		name  string
		value float64
		note  string
		ok    bool
	}{
		{"arrived.count", 10, "", true},
		{"arrived{workload:w}.count", 9, "", true},
		{"arrived{flowSchema:s}.count", 8, "", true},
		{"arrived{flowSchema:other}.count", 0, "", true},
		{"wait{flowSchema:other}.mean", 0, metric.NoSamples, true},
		{"arrived{priorityLevel:low}.count", 7, "", true},
		{"arrived{flow:s/a}.count", 1, "", true},
		{"arrived{flow:s/a,flowSchema:other}.count", 0, NoSuchFlow, true},
		{"arrived{flow:s/b,priorityLevel:high}.count", 4, "", true},
		{"arrived{flow:s/b}.count", 0, "", false}, // two flows
		{"arrived{workload:w,flow:s/a}.count", 0, "", false},
		{"arrived{workload:w,flowSchema:s}.count", 0, "", false},
		{"wait.p(97.3)", 0, "", false},
		{"starvation.max", 7, "", true},
		{"starvation{flowSchema:s,priorityLevel:low}.max", 6, "", true},
		{"starvation{flow:s/c}.max", 0, NoSuchFlow, true},
		{"utilisation{priorityLevel:low}.peak", 3, "", true},
		{"utilisation{priorityLevel:low}.mean", 0, metric.NoLimit, true},
		{"utilisation{priorityLevel:gone}.peak", 0, NoSuchLevel, true},
	} {
		name := metric.MustParseName(c.name)
		value, note, ok := StatisticValue(s, &name)
		if note == "" && value != c.value || note != c.note || ok != c.ok {
			t.Errorf("%s: %v, %q, %v; want %v, %q, %v", c.name, value, note, ok, c.value, c.note, c.ok)
		}
	}
}

// Metrics that are only read by their names are not in lists.
func TestStatisticsByName(t *testing.T) {
	s := &Summary{DurationNs: 1e9, Total: Group{Counts: metric.Counts{Arrived: 3}, TooLate: &Distribution{Count: 1, MeanNs: 6e10}},
		Servers:        []Server{{Group: Group{Name: "0"}, Crashes: 2}, {Group: Group{Name: "1"}}},
		PriorityLevels: []Level{{Group: Group{Name: "batch"}, Limits: Limits{Nominal: 49}}}}
	for name, want := range map[string]float64{
		"crashes{server:0}.count": 2, "crashes{server:1}.count": 0, "limit{priorityLevel:batch}.nominal": 49, "tooLate.mean": 6e10, "tooLate.count": 1,
	} {
		n := metric.MustParseName(name)
		if value, note, ok := StatisticValue(s, &n); value != want || note != "" || !ok {
			t.Errorf("%s is %v (%s, %v), want %v", name, value, note, ok, want)
		}
	}
	for _, listed := range Statistics(s) {
		if m, _ := metric.Find(listed.Name.Metric, listed.Name.Stat); m.ByName {
			t.Errorf("%s is listed", listed.Name)
		}
	}
}
