package config_test

import (
	"fmt"
	"slices"
	"testing"

	"apfsim/core/config"
)

// What servers do with an object, by its name, annotation and generation. workload-low is a suggested
// object in every release, workload-leader-election one until 1.33, own none.
func TestMaintain(t *testing.T) {
	const kept, restored, deleted = "kept", "put right", "deleted"
	for _, c := range []struct {
		version, name, annotation string
		generation                int64
		want                      string
	}{
		{"1.22", "workload-low", "true", 7, restored},
		{"1.22", "workload-low", "T", 7, restored},
		{"1.22", "workload-low", "false", 1, kept},
		{"1.22", "workload-low", "", 1, restored},
		{"1.22", "workload-low", "", 2, kept},
		{"1.22", "workload-low", "maybe", 2, kept},
		{"1.21", "workload-low", "true", 1, kept},
		{"1.21", "catch-all", "false", 2, restored},
		{"1.37", "catch-all", "false", 2, restored},
		{"1.37", "own", "true", 2, deleted},
		{"1.37", "own", "false", 2, kept},
		{"1.37", "own", "", 1, kept},
		{"1.21", "own", "true", 1, kept},
	} {
		r := release(t, c.version)
		edited := &config.PriorityLevel{Name: c.name, Origin: &config.Origin{Generation: c.generation}}
		if c.annotation != "" {
			edited.Origin.Annotations = map[string]string{config.AutoupdateAnnotation: c.annotation}
		}
		after := config.Maintain(r, config.Merge(config.Suggested(r), config.Objects{PriorityLevels: []*config.PriorityLevel{edited}}))
		got := restored
		switch l := after.PriorityLevel(c.name); {
		case l == nil:
			got = deleted
		case l == edited:
			got = kept
		}
		if got != c.want {
			t.Errorf("%s: %s with the annotation %q and generation %d is %s, want %s", c.version, c.name, c.annotation, c.generation, got, c.want)
		}
	}
}

// The objects of a new cluster become those of the newer release, if the servers maintain them. Before
// 1.22 they create only the mandatory ones.
func TestMaintainANewCluster(t *testing.T) {
	for _, c := range []struct {
		from, to         string
		created, deleted []string
	}{
		{"1.33", "1.34", nil, []string{"endpoint-controller", "workload-leader-election"}},
		{"1.21", "1.22", []string{"node-high", "system-node-high"}, nil},
		{"1.20.6", "1.20.7", nil, nil},
		{"1.21.0", "1.22", []string{"node-high", "probes", "system-node-high"}, nil},
	} {
		before := config.Suggested(release(t, c.from))
		after := config.Maintain(release(t, c.to), before)
		created, deleted := missing(after, before), missing(before, after)
		if !slices.Equal(created, c.created) || !slices.Equal(deleted, c.deleted) {
			t.Errorf("from %s to %s: created %v and deleted %v, want %v and %v", c.from, c.to, created, deleted, c.created, c.deleted)
		}
		if got, want := fmt.Sprint(len(config.Differences(after.PriorityLevel("system").Spec, config.Suggested(release(t, c.to)).PriorityLevel("system").Spec))), "0"; got != want {
			t.Errorf("from %s to %s: system has %s differences", c.from, c.to, got)
		}
	}
}

// missing returns the names of the objects of a that b does not have.
func missing(a, b config.Objects) (names []string) {
	for _, s := range a.FlowSchemas {
		if b.FlowSchema(s.Name) == nil {
			names = append(names, s.Name)
		}
	}
	for _, l := range a.PriorityLevels {
		if b.PriorityLevel(l.Name) == nil {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	return names
}
