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

// A former name leads to a scenario of the library, and is not the name of another one.
func TestFormerNames(t *testing.T) {
	names := Names()
	for former, present := range formerNames {
		if !slices.Contains(names, present) {
			t.Errorf("%s has been renamed to %s, which does not exist", former, present)
		}
		if slices.Contains(names, former) {
			t.Errorf("%s is a former name and a present one", former)
		}
	}
	if got, ok := Find("kubelet-amuck"); got != "kubelet-list-loop" || !ok {
		t.Errorf("kubelet-amuck leads to %q, %v", got, ok)
	}
	if got, ok := Find("borrowing"); got != "borrowing" || !ok {
		t.Errorf("borrowing leads to %q, %v", got, ok)
	}
	if _, ok := Find("no-such-scenario"); ok {
		t.Error("no-such-scenario is found")
	}
	if note := RenameNote("borrowing"); note != "" {
		t.Errorf("a present name has the note %q", note)
	}
}
