package advice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
)

// A rolling upgrade of a new cluster: what each release writes first, and what is contested on the way.
func TestExamineAnUpgrade(t *testing.T) {
	from := rulesOf(t, "1.22")
	r := ExamineMaintenance(MaintenanceInput{From: from, To: rulesOf(t, "1.34"), Objects: config.Suggested(from), Servers: 3})
	var writes, contests []string
	for _, p := range r.Releases {
		for _, w := range p.Writes {
			writes = append(writes, fmt.Sprintf("%s %s %s", p.Release, w.Action, w.Name))
		}
		for _, c := range p.Contests {
			contests = append(contests, fmt.Sprintf("%s %s old %v new %v, %d differences", p.Release, c.Name, c.ExistsOld, c.ExistsNew, len(c.Differences)))
		}
		if (len(p.Rollout) == 2) != (len(p.Contests) > 0) {
			t.Errorf("%s: %d contests and %d moments of the rollout", p.Release, len(p.Contests), len(p.Rollout))
		}
	}
	if want := []string{
		"1.24 create endpoint-controller", "1.24 restore system-leader-election",
		"1.26 restore global-default", "1.26 restore node-high", "1.26 restore system", "1.26 restore workload-high", "1.26 restore workload-low",
		"1.34 delete endpoint-controller", "1.34 delete workload-leader-election",
	}; !slices.Equal(slices.Sorted(slices.Values(writes)), want) {
		t.Errorf("writes %s", strings.Join(writes, "\n"))
	}
	if want := []string{
		"1.24 system-leader-election old true new true, 1 differences", "1.24 endpoint-controller old false new true, 0 differences",
		"1.34 endpoint-controller old true new false, 0 differences", "1.34 workload-leader-election old true new false, 0 differences",
	}; !slices.Equal(contests, want) {
		t.Errorf("contests %s", strings.Join(contests, "\n"))
	}
}

// Objects of an export: one that is annotated false is written by nobody, one that was edited is put right,
// and one that was edited before is listed.
func TestExamineAnExport(t *testing.T) {
	r := rulesOf(t, "1.37")
	objects := config.Suggested(r)
	for i := range objects.FlowSchemas {
		objects.FlowSchemas[i].Origin = &config.Origin{Generation: 1, Annotations: map[string]string{config.AutoupdateAnnotation: "true"}}
	}
	for i := range objects.PriorityLevels {
		objects.PriorityLevels[i].Origin = &config.Origin{Generation: 1, Annotations: map[string]string{config.AutoupdateAnnotation: "true"}}
	}
	edit := func(name, annotation string, generation int64, shares int32) {
		level := objects.PriorityLevel(name)
		limited := *level.Spec.Limited
		limited.NominalConcurrencyShares = &shares
		level.Spec.Limited = &limited
		level.Origin = &config.Origin{Generation: generation, Annotations: map[string]string{config.AutoupdateAnnotation: annotation}}
	}
	edit("workload-low", "true", 2, 7)
	edit("system", "false", 2, 7)
	edit("node-high", "true", 3, 40)
	report := ExamineMaintenance(MaintenanceInput{To: r, Objects: objects, Servers: 3})
	if len(report.Releases) != 1 || len(report.Releases[0].Writes) != 1 {
		t.Fatalf("got %+v", report.Releases)
	}
	w := report.Releases[0].Writes[0]
	if w.Name != "workload-low" || w.Action != "restore" || w.Differences[0].Before != "7" || !strings.HasSuffix(w.Keep, " prioritylevelconfiguration workload-low apf.kubernetes.io/autoupdate-spec=false") {
		t.Errorf("got %+v", w)
	}
	if len(report.Changed) != 1 || report.Changed[0].Name != "node-high" || report.Changed[0].Generation != 3 {
		t.Errorf("changed before: %+v", report.Changed)
	}
}

// The means of a rollout are those of many draws of the servers' phases.
func TestRolloutByDraws(t *testing.T) {
	const draws = 20000
	r := rand.New(rand.NewPCG(1, 0))
	for _, m := range rolloutMixes(4) {
		var share, changes float64
		for range draws {
			type pass struct {
				at  float64
				old bool
			}
			var passes []pass
			for i := range m.OldServers + m.NewServers {
				passes = append(passes, pass{r.Float64(), i < m.OldServers})
			}
			slices.SortFunc(passes, func(a, b pass) int { return int(math.Copysign(1, a.at-b.at)) })
			for i, p := range passes {
				next := passes[(i+1)%len(passes)]
				if p.old {
					share += math.Mod(next.at-p.at+1, 1)
				}
				if p.old != next.old {
					changes++
				}
			}
		}
		if got := share / draws; math.Abs(got-m.OldShare) > 0.01 {
			t.Errorf("%d new servers: the old ones have %v of a minute, want %v", m.NewServers, got, m.OldShare)
		}
		if got := changes / draws; math.Abs(got-m.Changes) > 0.03 {
			t.Errorf("%d new servers: %v changes in a minute, want %v", m.NewServers, got, m.Changes)
		}
	}
	if len(rolloutMixes(1)) != 0 {
		t.Error("one server has no moment with servers of both releases")
	}
}
