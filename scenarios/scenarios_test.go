package scenarios

import (
	"slices"
	"testing"
)

// Groups has each scenario once.
func TestGroupsHaveAllScenarios(t *testing.T) {
	var grouped []string
	for _, group := range Groups {
		for _, s := range group.Scenarios {
			grouped = append(grouped, s.Name)
			if s.Title == "" {
				t.Errorf("%s has no title", s.Name)
			}
		}
	}
	slices.Sort(grouped)
	if names := slices.Sorted(slices.Values(Names())); !slices.Equal(grouped, names) {
		t.Errorf("groups have %v\nthe library has %v", grouped, names)
	}
}
