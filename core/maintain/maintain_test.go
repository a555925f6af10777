package maintain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
)

// release returns what servers of a release do.
func release(t *testing.T, version string) *maintain.Release {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return maintain.For(r)
}

// created returns the store of a cluster in which one server of a release has started.
func created(t *testing.T, version string) *maintain.Store {
	t.Helper()
	s := &maintain.Store{}
	r := release(t, version)
	s.Do(r.Pass(s, true)...)
	s.Do(r.Pass(s, false)...)
	s.Do(s.Conditions()...)
	return s
}

// said returns writes, one on each line, as "create FlowSchema probes", without the reasons.
func said(writes []maintain.Write) string {
	var lines []string
	for _, w := range writes {
		what, _, _ := strings.Cut(w.String(), ":")
		lines = append(lines, what)
	}
	return strings.Join(lines, "\n")
}

// expect compares writes with lines of text.
func expect(t *testing.T, what string, writes []maintain.Write, want ...string) {
	t.Helper()
	if got := said(writes); got != strings.Join(want, "\n") {
		t.Errorf("%s: got the writes\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
	}
}

// edit stores an object as an operator has left it: with a value of the annotation and a generation.
func edit(s *maintain.Store, k maintain.Kind, name, annotation string, generation int64, change func(*maintain.Object)) {
	o := *s.Find(k, name)
	before := &o
	after := o
	after.Annotation, after.Generation = annotation, generation
	if change != nil {
		change(&after)
	}
	s.Do(maintain.Write{Action: maintain.Edit, Reason: maintain.Operator, Before: before, After: &after})
}

// shares changes the shares of a level.
func shares(n int32) func(*maintain.Object) {
	return func(o *maintain.Object) {
		level := *o.Level
		if level.Spec.Limited != nil {
			limited := *level.Spec.Limited
			limited.NominalConcurrencyShares = &n
			level.Spec.Limited = &limited
		} else {
			exempt := *level.Spec.Exempt
			exempt.NominalConcurrencyShares = &n
			level.Spec.Exempt = &exempt
		}
		o.Level = &level
	}
}

// level returns a priority level as a manifest has it: with annotations, but without a generation.
func level(name string, n int32, annotations map[string]string) config.Objects {
	limited := config.LimitedSpec{NominalConcurrencyShares: &n, LendablePercent: new(int32),
		LimitResponse: config.LimitResponse{Type: config.ResponseReject}}
	return config.Objects{PriorityLevels: []*config.PriorityLevel{{Name: name, Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &limited},
		Origin: &config.Origin{Annotations: annotations}}}}
}

// M1: in an empty store, a server creates 6 levels and 9 FlowSchemas that are suggested and 2 and 2 that
// are mandatory, all annotated true and of generation 1. Then each FlowSchema gets a condition, once.
func TestM1EmptyStore(t *testing.T) {
	s, r := &maintain.Store{}, release(t, "1.37")
	writes := r.Pass(s, true)
	expect(t, "the first pass", writes,
		"create PriorityLevelConfiguration system", "create PriorityLevelConfiguration node-high",
		"create PriorityLevelConfiguration leader-election", "create PriorityLevelConfiguration workload-high",
		"create PriorityLevelConfiguration workload-low", "create PriorityLevelConfiguration global-default",
		"create FlowSchema system-nodes", "create FlowSchema system-node-high", "create FlowSchema probes",
		"create FlowSchema system-leader-election", "create FlowSchema kube-controller-manager",
		"create FlowSchema kube-scheduler", "create FlowSchema kube-system-service-accounts",
		"create FlowSchema service-accounts", "create FlowSchema global-default",
		"create PriorityLevelConfiguration catch-all", "create PriorityLevelConfiguration exempt",
		"create FlowSchema exempt", "create FlowSchema catch-all")
	s.Do(writes...)
	for _, o := range s.All() {
		if o.Annotation != "true" || o.Generation != 1 {
			t.Errorf("%v %s: annotation %q and generation %d", o.Kind(), o.Name(), o.Annotation, o.Generation)
		}
	}
	conditions := s.Conditions()
	if len(conditions) != 11 {
		t.Errorf("%d conditions are written, want one for each of 11 FlowSchemas", len(conditions))
	}
	s.Do(conditions...)
	for _, w := range conditions {
		if w.After.Dangling != maintain.DanglingFalse || s.Find(maintain.FlowSchema, w.After.Name()).Generation != 1 {
			t.Errorf("%v: %+v", &w, w.After)
		}
	}
	expect(t, "conditions that are right", s.Conditions())
}

// M2: another server, and each further pass, finds nothing to write, whatever the release.
func TestM2NothingToWrite(t *testing.T) {
	for _, version := range rules.Versions() {
		s, r := created(t, version), release(t, version)
		expect(t, version+" starting", r.Pass(s, true))
		expect(t, version, r.Pass(s, false))
	}
}

// M3: an edit of the shares of workload-low, whose annotation is true, is put back by the next pass of any
// server. The generation rises twice.
func TestM3EditIsPutBack(t *testing.T) {
	s, r := created(t, "1.37"), release(t, "1.37")
	writes := s.Apply(level("workload-low", 7, nil))
	expect(t, "the edit", writes, "edit PriorityLevelConfiguration workload-low")
	s.Do(writes...)
	writes = r.Pass(s, false)
	expect(t, "the next pass", writes, "restore PriorityLevelConfiguration workload-low")
	s.Do(writes...)
	if o := s.Find(maintain.PriorityLevel, "workload-low"); o.Generation != 3 || o.Level.Spec.Shares() != 100 || o.Annotation != "true" {
		t.Errorf("workload-low has %d shares, generation %d and the annotation %q", o.Level.Spec.Shares(), o.Generation, o.Annotation)
	}
}

// M4: the same edit together with the annotation false stays.
func TestM4EditWithAnnotationStays(t *testing.T) {
	s := created(t, "1.37")
	s.Do(s.Apply(level("workload-low", 7, map[string]string{config.AutoupdateAnnotation: "false"}))...)
	expect(t, "the next pass", release(t, "1.37").Pass(s, false))
}

// M5 and the decision table: what servers do with an object, by its name, annotation and generation.
// workload-low is a suggested object in every release, catch-all is mandatory, own is neither.
func TestM5DecisionTable(t *testing.T) {
	const none = ""
	for _, c := range []struct {
		version, name, annotation string
		generation                int64
		shares                    int32  // 100 is the suggested number
		want                      string // the action and the annotation afterwards
	}{
		{"1.37", "workload-low", "", 1, 100, "annotate true"},
		{"1.37", "workload-low", "maybe", 1, 100, "annotate true"},
		{"1.37", "workload-low", "", 1, 7, "restore true"},
		{"1.37", "workload-low", "", 2, 100, "annotate false"},
		{"1.37", "workload-low", "", 2, 7, "annotate false"},
		{"1.37", "workload-low", "maybe", 2, 7, "annotate false"},
		{"1.37", "workload-low", "true", 7, 7, "restore true"},
		{"1.37", "workload-low", "T", 7, 7, "restore T"},
		{"1.37", "workload-low", "1", 7, 100, none},
		{"1.37", "workload-low", "false", 1, 7, none},
		{"1.37", "workload-low", "F", 1, 7, none},
		{"1.37", "workload-low", "0", 1, 7, none},
		{"1.22", "workload-low", "", 1, 7, "restore true"},
		{"1.22", "workload-low", "", 2, 7, "annotate false"},
		{"1.21", "workload-low", "true", 1, 7, none},
		{"1.37", "catch-all", "false", 2, 7, "restore true"},
		{"1.37", "catch-all", "t", 2, 7, "restore t"},
		{"1.21", "catch-all", "false", 2, 7, "restore "},
		{"1.37", "own", "true", 2, 7, "delete true"},
		{"1.37", "own", "TRUE", 2, 7, "delete TRUE"},
		{"1.37", "own", "false", 2, 7, none},
		{"1.37", "own", "", 1, 7, none},
		{"1.37", "own", "maybe", 1, 7, none},
		{"1.21", "own", "true", 1, 7, none},
	} {
		s := created(t, c.version)
		if c.name == "own" {
			s.Do(s.Apply(level("own", 7, nil))...)
		}
		edit(s, maintain.PriorityLevel, c.name, c.annotation, c.generation, shares(c.shares))
		got := none
		for _, w := range release(t, c.version).Pass(s, false) {
			if w.Object().Name() != c.name {
				t.Errorf("%+v: another object is written: %v", c, &w)
				continue
			}
			got += fmt.Sprintf("%v %s", w.Action, w.Object().Annotation)
			if w.Action == maintain.Annotate && (w.After.Generation != c.generation || w.After.Level.Spec.Shares() != c.shares) {
				t.Errorf("%+v: the annotation is not the only change: %+v", c, w.After)
			}
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// M6: the annotation of the level catch-all is set to true again.
func TestM6MandatoryAnnotation(t *testing.T) {
	s := created(t, "1.37")
	edit(s, maintain.PriorityLevel, "catch-all", "false", 1, nil)
	writes := release(t, "1.37").Pass(s, false)
	expect(t, "the next pass", writes, "annotate PriorityLevelConfiguration catch-all")
	if o := writes[0].After; o.Annotation != "true" || o.Generation != 1 || writes[0].Reason != maintain.Mandatory {
		t.Errorf("got %v: %+v", &writes[0], o)
	}
}

// M7: shares and lendablePercent of the level exempt are kept, although it is mandatory, also by a server
// that does not know these fields.
func TestM7ExemptKeepsItsShares(t *testing.T) {
	for _, version := range []string{"1.27", "1.28", "1.37"} {
		s := created(t, "1.37")
		edit(s, maintain.PriorityLevel, "exempt", "true", 2, shares(50))
		for _, w := range release(t, version).Pass(s, false) {
			if w.Object().Name() == "exempt" {
				t.Errorf("%s: %v", version, &w)
			}
		}
	}
}

// M8: an operator's own FlowSchema is deleted by the next pass if it is annotated true, and else kept.
func TestM8OwnObject(t *testing.T) {
	for annotation, want := range map[string][]string{"true": {"delete FlowSchema own"}, "": nil} {
		s := created(t, "1.37")
		own := *s.Find(maintain.FlowSchema, "service-accounts").Schema
		own.Name = "own"
		s.Do(s.Apply(config.Objects{FlowSchemas: []*config.FlowSchema{&own}})...)
		edit(s, maintain.FlowSchema, "own", annotation, 1, nil)
		expect(t, annotation, release(t, "1.37").Pass(s, false), want...)
	}
}

// M9: without the level workload-low, its FlowSchema dangles until a pass creates the level again.
func TestM9LevelDeleted(t *testing.T) {
	s := created(t, "1.37")
	w, ok := s.Remove(maintain.PriorityLevel, "workload-low")
	if !ok {
		t.Fatal("there is no workload-low")
	}
	s.Do(w)
	writes := s.Conditions()
	expect(t, "without the level", writes, "status FlowSchema service-accounts")
	if writes[0].Reason != maintain.LevelMissing || writes[0].After.Dangling != maintain.DanglingTrue {
		t.Errorf("got %v", &writes[0])
	}
	s.Do(writes...)
	writes = release(t, "1.37").Pass(s, false)
	expect(t, "the next pass", writes, "create PriorityLevelConfiguration workload-low")
	s.Do(writes...)
	expect(t, "with the level", s.Conditions(), "status FlowSchema service-accounts")
}

// M16: a server of 1.21 creates suggested objects only when the level exempt does not exist, and only when
// it starts.
func TestM16SuggestedOnceBefore122(t *testing.T) {
	s, r := created(t, "1.21"), release(t, "1.21")
	for _, o := range s.All() {
		if o.Annotation != "" {
			t.Errorf("%v %s has the annotation %q", o.Kind(), o.Name(), o.Annotation)
		}
	}
	w, _ := s.Remove(maintain.FlowSchema, "probes")
	s.Do(w)
	expect(t, "a restart", r.Pass(s, true))
	expect(t, "a pass", r.Pass(s, false))
	w, _ = s.Remove(maintain.PriorityLevel, "exempt")
	s.Do(w)
	expect(t, "a restart without exempt", r.Pass(s, true), "create FlowSchema probes")
	expect(t, "a pass without exempt", r.Pass(s, false), "create PriorityLevelConfiguration exempt")
}

// The objects of a new cluster become those of the newer release, if the servers maintain them. Before
// 1.22 they create only the mandatory ones.
func TestUpgradeOfANewCluster(t *testing.T) {
	for _, c := range []struct {
		from, to         string
		created, deleted []string
	}{
		{"1.33", "1.34", nil, []string{"endpoint-controller", "workload-leader-election"}},
		{"1.21", "1.22", []string{"node-high", "system-node-high"}, nil},
		{"1.20.6", "1.20.7", nil, nil},
		{"1.21.0", "1.22", []string{"node-high", "probes", "system-node-high"}, nil},
	} {
		s, r := created(t, c.from), release(t, c.to)
		var created, deleted []string
		for range 2 {
			for _, w := range r.Pass(s, true) {
				switch w.Action {
				case maintain.Create:
					created = append(created, w.Object().Name())
				case maintain.Delete:
					deleted = append(deleted, w.Object().Name())
				}
				s.Do(w)
			}
		}
		slices.Sort(created)
		if !slices.Equal(created, c.created) || !slices.Equal(deleted, c.deleted) {
			t.Errorf("from %s to %s: created %v and deleted %v, want %v and %v", c.from, c.to, created, deleted, c.created, c.deleted)
		}
		if s.Find(maintain.PriorityLevel, "system").Generation != 1 {
			t.Errorf("from %s to %s: the level system has changed", c.from, c.to)
		}
	}
}

// A server of 1.25 does not know lendablePercent: it neither sees that 1.26 has written it, nor keeps it
// when it writes the object for another reason. 1.26 then writes it again.
func TestFieldsThatAServerDoesNotKnow(t *testing.T) {
	s, old, new := created(t, "1.25"), release(t, "1.25"), release(t, "1.26")
	s.Do(new.Pass(s, false)...)
	if percent := s.Find(maintain.PriorityLevel, "system").Level.Spec.LendablePercent(); percent != 33 {
		t.Errorf("1.26 writes lendablePercent %d", percent)
	}
	expect(t, "1.25", old.Pass(s, false))
	edit(s, maintain.PriorityLevel, "system", "", 1, nil)
	writes := old.Pass(s, false)
	expect(t, "1.25 without the annotation", writes, "annotate PriorityLevelConfiguration system")
	s.Do(writes...)
	if percent := s.Find(maintain.PriorityLevel, "system").Level.Spec.LendablePercent(); percent != 0 {
		t.Errorf("1.25 keeps lendablePercent %d", percent)
	}
	expect(t, "1.26", new.Pass(s, false), "restore PriorityLevelConfiguration system")
}

// The objects of an export keep their annotations and generations; those of a manifest are applied by an
// operator to the objects of the release.
func TestStoreOfAConfiguration(t *testing.T) {
	exported := level("system", 3, map[string]string{config.AutoupdateAnnotation: "false"})
	exported.PriorityLevels[0].Origin.Generation = 4
	objects := config.Merge(config.Suggested(rules.Latest()), exported)
	objects = config.Merge(objects, level("workload-low", 7, nil))
	objects = config.Merge(objects, level("own", 7, nil))
	same := *objects.PriorityLevel("node-high")
	same.Origin = &config.Origin{}
	objects = config.Merge(objects, config.Objects{PriorityLevels: []*config.PriorityLevel{&same}})
	s := maintain.Of(release(t, "1.37"), objects)
	for name, want := range map[string]string{"node-high": "true 1", "system": "false 4", "workload-low": "true 2", "own": " 1", "global-default": "true 1"} {
		o := s.Find(maintain.PriorityLevel, name)
		if got := fmt.Sprintf("%s %d", o.Annotation, o.Generation); got != want {
			t.Errorf("%s: annotation and generation are %q, want %q", name, got, want)
		}
		if o.Level != objects.PriorityLevel(name) {
			t.Errorf("%s: the object is another one", name)
		}
	}
	expect(t, "the first pass", release(t, "1.37").Pass(s, true), "restore PriorityLevelConfiguration workload-low")
}

// Servers maintain a suggested object of their release from 1.22 on, and no object of others, whatever its annotation is.
func TestMaintains(t *testing.T) {
	own := maintain.Of(release(t, "1.37"), config.Merge(config.Suggested(rules.Latest()), level("own", 7, map[string]string{config.AutoupdateAnnotation: "true"})))
	for _, c := range []struct {
		version, level string
		want           bool
	}{
		{"1.20", "workload-low", false}, {"1.22", "workload-low", true}, {"1.37", "workload-low", true},
		{"1.20", "own", false}, {"1.37", "own", false}, {"1.20", "exempt", true}, {"1.37", "exempt", true},
	} {
		o := own.Find(maintain.PriorityLevel, c.level)
		if got := release(t, c.version).Maintains(o); got != c.want {
			t.Errorf("%s maintains %s, with the annotation %q and generation %d: %v, want %v", c.version, c.level, o.Annotation, o.Generation, got, c.want)
		}
	}
}

// Each reason has a text of its own, which completes "because".
func TestReasons(t *testing.T) {
	texts := map[string]bool{}
	for r := maintain.Missing; r <= maintain.Operator; r++ {
		texts[r.String()] = true
	}
	if want := int(maintain.Operator) + 1; len(texts) != want || texts[""] {
		t.Errorf("%d texts of %d reasons: %v", len(texts), want, texts)
	}
}
