package change

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
)

// model is who owns which fields by the definitions, for comparison: sets as maps, and nothing clever.
type model struct {
	fields map[string]string
	owners map[string]map[string]bool // by manager, "apply " or "update " before it
}

func (m *model) update(manager string, fields map[string]string) {
	set, removed := changes(m.fields, fields)
	m.take("", set, removed)
	key := "update " + manager
	for f := range set {
		if m.owners[key] == nil {
			m.owners[key] = map[string]bool{}
		}
		m.owners[key][f] = true
	}
	m.fields = fields
}

// apply returns the conflicts, as "manager field".
func (m *model) apply(manager string, config map[string]string, force bool) (conflicts []string) {
	key := "apply " + manager
	after := maps.Clone(m.fields)
	maps.Copy(after, config)
	for f := range m.owners[key] {
		_, stays := config[f]
		for other, owns := range m.owners {
			stays = stays || other != key && owns[f]
		}
		if !stays {
			delete(after, f)
		}
	}
	set, removed := changes(m.fields, after)
	for other, owns := range m.owners {
		for f := range set {
			if other != key && owns[f] {
				conflicts = append(conflicts, other+" "+f)
			}
		}
	}
	if len(conflicts) > 0 && !force {
		slices.Sort(conflicts)
		return conflicts
	}
	m.take(key, set, removed)
	m.owners[key] = map[string]bool{}
	for f := range config {
		m.owners[key][f] = true
	}
	m.take(key, nil, nil)
	m.fields = after
	return nil
}

// take takes fields from all managers but one, which only loses what has been removed.
func (m *model) take(keeper string, set, removed map[string]bool) {
	for manager, owns := range m.owners {
		for f := range owns {
			if removed[f] || set[f] && manager != keeper {
				delete(owns, f)
			}
		}
		if len(owns) == 0 {
			delete(m.owners, manager)
		}
	}
}

func changes(before, after map[string]string) (set, removed map[string]bool) {
	set, removed = map[string]bool{}, map[string]bool{}
	for f, v := range after {
		if was, ok := before[f]; !ok || was != v {
			set[f] = true
		}
	}
	for f := range before {
		if _, ok := after[f]; !ok {
			removed[f] = true
		}
	}
	return set, removed
}

// Random updates and applies by few managers, of few fields with few values, give the same fields, owners and
// conflicts as the model.
func TestOwnersAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	applies, conflicts, shared := 0, 0, 0
	for range 2000 {
		m := model{fields: map[string]string{}, owners: map[string]map[string]bool{}}
		var live *api.Object
		for step := range 12 {
			manager := string(rune('a' + r.IntN(3)))
			given := map[string]string{}
			for f := range 4 {
				if r.IntN(2) == 0 {
					given[fmt.Sprint("f", f)] = fmt.Sprint(r.IntN(2))
				}
			}
			var answer api.Answer
			w := Write{Kind: Update, Strategy: Strategy{Unconditional: true}, Options: &request.Options{FieldManager: manager, Force: r.IntN(3) == 0},
				Body: &api.Body{Fields: given}, Answer: &answer}
			var want []string
			if r.IntN(2) == 0 || live == nil {
				w.Kind = Apply
				applies++
				want = m.apply(manager, given, w.Options.Force)
			} else if len(m.owners) == 0 {
				m.fields = given // it is not tracked
				break            // and the next apply would be by before-first-apply, too
			} else {
				m.update(manager, given)
			}
			outcome := w.Change(int64(step), live)
			var got []string
			for _, c := range answer.Causes {
				got = append(got, c.Message)
			}
			if len(got) != len(want) || (outcome == Failed) != (len(want) > 0) {
				t.Fatalf("step %d: conflicts %q, want %q", step, got, want)
			}
			if outcome == Failed {
				conflicts++
				continue
			}
			next := w.Next
			live = &next
			if !maps.Equal(live.Fields, m.fields) {
				t.Fatalf("step %d: fields %v, want %v", step, live.Fields, m.fields)
			}
			if len(live.Owners) != len(m.owners) {
				t.Fatalf("step %d: owners %+v, want %v", step, live.Owners, m.owners)
			}
			count := map[string]int{}
			for _, o := range live.Owners {
				key := "update " + o.Manager
				if o.Applies {
					key = "apply " + o.Manager
				}
				if want := slices.Sorted(maps.Keys(m.owners[key])); !slices.Equal(o.Fields, want) {
					t.Fatalf("step %d: %s owns %v, want %v", step, key, o.Fields, want)
				}
				for _, f := range o.Fields {
					if count[f]++; count[f] == 2 {
						shared++
					}
				}
			}
			if len(live.Owners) == 0 {
				break
			}
		}
	}
	if applies < 1000 || conflicts < 1000 || shared < 1000 {
		t.Errorf("%d applies, %d conflicts, %d shared fields: the test tests too little", applies, conflicts, shared)
	}
}

// What is applied again changes nothing.
func TestApplyAgain(t *testing.T) {
	var answer api.Answer
	w := Write{Kind: Apply, Options: &request.Options{FieldManager: "a"}, Body: &api.Body{Fields: map[string]string{"x": "1"}}, Answer: &answer}
	if o := w.Change(0, nil); o != Computed {
		t.Fatal(o)
	}
	live := w.Next
	if o := w.Change(5e9, &live); o != Computed || !Same(&w.Next, &live) {
		t.Errorf("%v: %+v is not %+v", o, w.Next, live)
	}
}

func TestStrategies(t *testing.T) {
	for _, test := range []struct {
		resource api.Resource
		want     Strategy
	}{
		{api.Resource{Name: "configmaps"}, Strategy{Unconditional: true}},
		{api.Resource{Name: "pods"}, Strategy{Unconditional: true, Graceful: true, Returns: true, Index: NodeField}},
		{api.Resource{Name: "events"}, Strategy{Unconditional: true, Creates: true, Events: true}},
		{api.Resource{Group: "coordination.k8s.io", Name: "leases"}, Strategy{Creates: true}},
		{api.Resource{Group: "rbac.authorization.k8s.io", Name: "roles"}, Strategy{Unconditional: true, Creates: true}},
		{api.Resource{Group: "admissionregistration.k8s.io", Name: "validatingwebhookconfigurations"}, Strategy{}},
		{api.Resource{Group: "flowcontrol.apiserver.k8s.io", Name: "flowschemas"}, Strategy{Unconditional: true}},
		{api.Resource{Group: "storage.k8s.io", Name: "csinodes"}, Strategy{Returns: true}},
		{api.Resource{Group: "example.com", Name: "widgets"}, Strategy{Custom: true}},
		{api.Resource{Group: "apps", Name: "deployments"}, Strategy{Unconditional: true}},
	} {
		if got := StrategyOf(test.resource); got != test.want {
			t.Errorf("%v: %+v, want %+v", test.resource, got, test.want)
		}
	}
}
