package result

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// FindStatistic returns the index in all of the statistic that text names, in any of its spellings. The
// error says what is wrong with the name and suggests a similar one; it is ErrNoSamples if the
// name is right and there is no value.
func FindStatistic(all []Statistic, text string) (int, error) {
	want, err := metric.ParseName(text)
	if err != nil {
		return 0, err
	}
	found := []int{}
	for i := range all {
		if all[i].Name.Equal(&want) || want.Tag(metric.TagFlow) != "" && all[i].IsThatOf(&want) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if ofAll := ofOneServer(all, &want); ofAll != nil {
			return FindStatistic(all, ofAll.String())
		}
		return 0, fmt.Errorf("%s: %w", want, missing(all, &want))
	}
	return 0, fmt.Errorf("%s: flows of several priority levels have this name; use one of %s, %s", want, all[found[0]].Name, all[found[1]].Name)
}

// ofOneServer returns the name of the same statistic without the tag of the only server, whose statistics are
// listed as those of all servers; nil if the name has no such tag, or needs it.
func ofOneServer(all []Statistic, name *metric.Name) *metric.Name {
	at := slices.IndexFunc(name.Tags, func(t metric.Tag) bool { return t.Name == metric.TagServer })
	if m, _ := metric.Find(name.Metric, name.Stat); at < 0 || m.Required == metric.TagServer {
		return nil
	}
	one := false
	for i := range all {
		switch server := all[i].Name.Tag(metric.TagServer); {
		case server == name.Tags[at].Value:
			one = true
		case server != "":
			return nil
		}
	}
	if !one {
		return nil
	}
	without := *name
	without.Tags = slices.Delete(slices.Clone(name.Tags), at, at+1)
	return &without
}

// CheckName says what is wrong with the name of a statistic for runs of the scenarios, as far as that is
// known before they are run. The flows are not known.
func CheckName(text string, scenarios ...*scenario.Scenario) error {
	id, err := metric.ParseName(text)
	if err != nil || id.Tag("flow") != "" {
		return err
	}
	if _, err = FindStatistic(Statistics(namesOf(scenarios)), text); errors.Is(err, ErrNoSamples) {
		return nil
	}
	return err
}

// namesOf returns a summary without requests, of all workloads, FlowSchemas and levels that
// there are in the scenarios.
func namesOf(scenarios []*scenario.Scenario) *Summary {
	var s Summary
	groups := func(to *[]Group) func(name string) {
		seen := map[string]bool{}
		return func(name string) {
			if !seen[name] {
				seen[name] = true
				*to = append(*to, Group{Name: name})
			}
		}
	}
	var levels []Group
	addWorkload, addSchema, addLevel := groups(&s.Workloads), groups(&s.FlowSchemas), groups(&levels)
	addObjects := func(objects *config.Objects) {
		for _, schema := range objects.FlowSchemas {
			addSchema(schema.Name)
		}
		for _, level := range objects.PriorityLevels {
			addLevel(level.Name)
		}
	}
	for _, sc := range scenarios {
		if !sc.Spec.Steady() {
			for i := len(s.Servers); i < sc.Spec.Servers.Replicas; i++ {
				s.Servers = append(s.Servers, Server{Group: Group{Name: strconv.Itoa(i)}})
			}
		}
		for i := range sc.Spec.Workload {
			addWorkload(sc.Spec.Workload[i].Name)
		}
		if sc.Spec.Servers.FlowControl != server.PriorityAndFairness {
			continue
		}
		for _, objects := range sc.Configurations() {
			addObjects(&objects)
		}
	}
	for _, g := range levels {
		s.PriorityLevels = append(s.PriorityLevels, Level{Group: g})
	}
	return &s
}

// IsThatOf says whether s is the wanted statistic of a flow, whose name may have the tags of
// its FlowSchema and its level, too.
func (s *Statistic) IsThatOf(want *metric.Name) bool {
	if s.Name.Metric != want.Metric || s.Name.Stat != want.Stat || s.Name.Percentile != want.Percentile {
		return false
	}
	for _, t := range want.Tags {
		value := s.Name.Tag(t.Name)
		switch t.Name {
		case "flowSchema":
			value = s.Schema
		case "priorityLevel":
			value = s.Level
		}
		if value != t.Value {
			return false
		}
	}
	return s.Name.Tag(metric.TagReason) == want.Tag(metric.TagReason)
}

// missing says why there is no such statistic.
func missing(all []Statistic, want *metric.Name) error {
	groups := 0
	for _, t := range want.Tags {
		if t.Name == metric.TagReason {
			continue
		}
		if t.Name != metric.TagStatus {
			groups++
		}
		var values []string
		seen := map[string]bool{"": true}
		for i := range all {
			if v := all[i].Name.Tag(t.Name); !seen[v] {
				seen[v] = true
				values = append(values, v)
			}
		}
		if !seen[t.Value] {
			return fmt.Errorf("there is no %s %q%s", t.Name, t.Value, Nearest(t.Value, values))
		}
	}
	switch {
	case want.Tag(metric.TagFlow) == "" && groups > 1, want.Tag(metric.TagFlow) != "" && want.Tag("workload") != "":
		return errors.New("summaries do not divide requests by several tags; use one")
	case want.Stat == "p" && !InSummary(want):
		return errors.New("summaries have no such percentile; use p(50), p(90), p(95), p(99) or p(99.9)")
	}
	return ErrNoSamples
}

// Nearest returns a hint at the most similar of some values or, if none is similar, at a few of them.
func Nearest(value string, values []string) string {
	if s := document.Suggest(value, values); s != "" || len(values) == 0 {
		return s
	}
	const most = 8
	more := ""
	if len(values) > most {
		values, more = values[:most], ", ..."
	}
	return "; there are " + strings.Join(values, ", ") + more
}
