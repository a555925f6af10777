package advice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// changes returns the objects that change when a new cluster of a release is upgraded, one on each line.
func changes(t *testing.T, from, to string) string {
	t.Helper()
	before, after := rulesOf(t, from), rulesOf(t, to)
	u, err := CompareReleases(UpgradeInput{From: before, To: after, Objects: config.Suggested(before), ServerLimit: 600})
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
	u, err := CompareReleases(UpgradeInput{From: from, To: to, Objects: config.Suggested(from), ServerLimit: 600})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(u.Levels, func(l UpgradedLevel) bool { return l.Name == "workload-low" })
	if before, after := u.Levels[i].Before, u.Levels[i].After; before.Nominal != 60 || after.Nominal != 245 || after.Lower != 24 {
		t.Errorf("workload-low has %+v before and %+v after the upgrade", before, after)
	}
	i = slices.IndexFunc(u.Levels, func(l UpgradedLevel) bool { return l.Name == "node-high" })
	if before, after := u.Levels[i].Before, u.Levels[i].After; before != nil || after.Nominal != 98 {
		t.Errorf("node-high has %+v before and %+v after the upgrade", before, after)
	}
}

// loaded returns the objects of a file beside those of a new cluster.
func loaded(t *testing.T, release *rules.Rules, text string) config.Objects {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := loader.LoadConfig(release, scenario.BaseSuggested, []string{file})
	if err := c.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	return c.Objects
}

const level = `
apiVersion: flowcontrol.apiserver.k8s.io/%s
kind: PriorityLevelConfiguration
metadata: {name: %s}
spec: {type: Limited, limited: {%sConcurrencyShares: 50, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}}}
`

// The release that stopped serving a version is named, whether it is part of the upgrade or older.
func TestReleaseThatStoppedServing(t *testing.T) {
	for _, c := range []struct{ from, to, version, shares, removedIn string }{
		{"1.33", "1.34", "v1beta3", "nominal", "1.32"},
		{"1.30", "1.37", "v1beta3", "nominal", "1.32"},
		{"1.28", "1.29", "v1beta2", "assured", "1.29"},
		{"1.33", "1.37", "v1beta2", "assured", "1.29"},
		{"1.24", "1.28", "v1beta1", "assured", "1.26"},
		{"1.34", "1.35", "v1beta1", "assured", "1.26"},
		{"1.20", "1.30", "v1alpha1", "assured", "1.21"},
	} {
		from := rulesOf(t, c.from)
		u, err := CompareReleases(UpgradeInput{From: from, To: rulesOf(t, c.to), Objects: loaded(t, from, fmt.Sprintf(level, c.version, "mine", c.shares)), ServerLimit: 600})
		if err != nil {
			t.Fatal(err)
		}
		if len(u.APIVersions) != 1 || u.APIVersions[0].RemovedIn != c.removedIn {
			t.Errorf("%s to %s with %s: %+v; want removed in %s", c.from, c.to, c.version, u.APIVersions, c.removedIn)
		}
	}
}

// What the servers before the upgrade already put right each minute is not what the new release does, and the limits
// before the upgrade are those that last.
func TestObjectsThatAreMaintainedAlready(t *testing.T) {
	from := rulesOf(t, "1.33")
	u, err := CompareReleases(UpgradeInput{From: from, To: rulesOf(t, "1.34"), Objects: loaded(t, from, fmt.Sprintf(level, "v1", "workload-low", "nominal")), ServerLimit: 600})
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Maintained) != 1 || u.Maintained[0].Release != "1.33" || u.Maintained[0].Change != PutRight || u.Maintained[0].Name != "workload-low" {
		t.Errorf("1.33 maintains %+v, want workload-low put right", u.Maintained)
	}
	for _, o := range u.Objects {
		if o.Name == "workload-low" {
			t.Errorf("1.34 changes %+v, which 1.33 has put right already", o)
		}
	}
	for _, l := range u.Levels {
		if l.Name == "workload-low" && (l.Before.Nominal != 245 || l.After.Nominal != 245) {
			t.Errorf("workload-low has %d seats before and %d after the upgrade, want 245", l.Before.Nominal, l.After.Nominal)
		}
	}
	rules := map[string]bool{}
	for _, r := range u.Rules {
		rules[r.Rule] = r.Release == "1.34"
	}
	for _, rule := range []string{"seats of a list", "most seats of a list", "seats of a watch"} {
		if !rules[rule] {
			t.Errorf("the upgrade to 1.34 does not name the change of %s: %+v", rule, u.Rules)
		}
	}
}
