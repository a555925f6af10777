package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/rules"
)

// changes returns the objects that change when a new cluster of a release is upgraded, one on each line.
func changes(t *testing.T, from, to string) string {
	t.Helper()
	before, after := rulesOf(t, from), rulesOf(t, to)
	u, err := Compare(Input{From: before, To: after, Objects: config.Suggested(before), ServerLimit: 600})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, o := range u.Objects {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", o.Release, o.Change, o.Kind, o.Name))
	}
	return strings.Join(lines, "\n")
}

func rulesOf(t *testing.T, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What the servers of the new release do with the objects of a new cluster. The servers before 1.22
// correct only the mandatory objects, and 1.22 corrects the others that nobody has changed.
func TestObjectsThatAnUpgradeChanges(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"1.18", "1.19", ``},
		{"1.19", "1.20", `1.20 put right PriorityLevelConfiguration catch-all`},
		{"1.18", "1.22", `
1.20 put right PriorityLevelConfiguration catch-all
1.22 put right FlowSchema global-default
1.22 put right PriorityLevelConfiguration workload-low
1.22 put right PriorityLevelConfiguration global-default
1.22 created FlowSchema system-node-high
1.22 created PriorityLevelConfiguration node-high`},
		{"1.23", "1.24", `
1.24 put right FlowSchema system-leader-election
1.24 created FlowSchema endpoint-controller`},
		{"1.33", "1.34", `
1.34 deleted FlowSchema workload-leader-election
1.34 deleted FlowSchema endpoint-controller`},
		// 1.34 deletes the FlowSchema endpoint-controller, which 1.24 has created.
		{"1.23", "1.37", `
1.24 put right FlowSchema system-leader-election
1.26 put right PriorityLevelConfiguration system
1.26 put right PriorityLevelConfiguration node-high
1.26 put right PriorityLevelConfiguration workload-high
1.26 put right PriorityLevelConfiguration workload-low
1.26 put right PriorityLevelConfiguration global-default
1.34 deleted FlowSchema workload-leader-election`},
	} {
		if got, want := changes(t, c.from, c.to), strings.TrimSpace(c.want); got != want {
			t.Errorf("%s to %s: got\n%s\nwant\n%s", c.from, c.to, got, want)
		}
	}
}

// From 1.22 on, workload-low has the 245 seats that were those of global-default in 1.18, and it lends
// 90 % of them from 1.26 on.
func TestLevelsThatAnUpgradeChanges(t *testing.T) {
	from, to := rulesOf(t, "1.18"), rulesOf(t, "1.26")
	u, err := Compare(Input{From: from, To: to, Objects: config.Suggested(from), ServerLimit: 600})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(u.Levels, func(l Level) bool { return l.Name == "workload-low" })
	if before, after := u.Levels[i].Before, u.Levels[i].After; before.Nominal != 60 || after.Nominal != 245 || after.Lower != 24 {
		t.Errorf("workload-low has %+v before and %+v after the upgrade", before, after)
	}
	i = slices.IndexFunc(u.Levels, func(l Level) bool { return l.Name == "node-high" })
	if before, after := u.Levels[i].Before, u.Levels[i].After; before != nil || after.Nominal != 98 {
		t.Errorf("node-high has %+v before and %+v after the upgrade", before, after)
	}
}
