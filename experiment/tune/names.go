package tune

import (
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/sim/metric"
	"apfsim/sim/random"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// The hand of a flow follows from the names of its FlowSchema and its user. Where a scenario invents the users, which it
// does with {i}, one set of names can be lucky: a candidate could then suffice because of the queues that these names
// happen to be dealt. Each run but the first therefore has other names.

// invents says whether the scenario invents names that can be drawn anew. A goal about a flow names its user, so that no
// name is changed then.
func invents(sc *scenario.Scenario) bool {
	for i := range sc.Spec.Thresholds {
		if sc.Spec.Thresholds[i].Tag(metric.TagFlow) != "" {
			return false
		}
	}
	return slices.ContainsFunc(sc.Spec.Workload, func(w workload.Workload) bool { return w.As.Invented() })
}

// withNames returns the scenario with other names of the users that it invents, which depend on the seed. FlowSchemas that
// name these users, their groups or their service accounts name the new ones.
func withNames(sc *scenario.Scenario, seed uint64) *scenario.Scenario {
	var stream random.Stream
	stream.Open(seed, "", 0, "names of users")
	mark := strconv.FormatInt(36*36*36+stream.Int64N(35*36*36*36), 36)
	own := *sc
	own.Spec.Workload = slices.Clone(sc.Spec.Workload)
	renamed := renaming{}
	for i := range own.Spec.Workload {
		w := &own.Spec.Workload[i]
		if before := w.As; before.Invented() {
			w.As = before.Marked(mark)
			renamed.add(sc.Objects.FlowSchemas, before, w.As, w.Clients)
		}
	}
	if len(renamed) > 0 {
		own.Objects.FlowSchemas = renamed.schemas(sc.Objects.FlowSchemas)
	}
	return &own
}

// renaming has the new names of users and groups that FlowSchemas name.
type renaming map[string]string

// The prefixes of the names that service accounts and their groups have.
const (
	accountPrefix = "system:serviceaccount:"
	groupPrefix   = "system:serviceaccounts:"
)

// nameOfSubject is the user or the group that a subject matches.
func nameOfSubject(s *config.Subject) string {
	switch {
	case s.User != nil:
		return s.User.Name
	case s.Group != nil:
		return s.Group.Name
	case s.ServiceAccount.Name == config.Wildcard:
		return groupPrefix + s.ServiceAccount.Namespace
	}
	return accountPrefix + s.ServiceAccount.Namespace + ":" + s.ServiceAccount.Name
}

// add adds the names of clients that FlowSchemas name.
func (r renaming) add(schemas []*config.FlowSchema, before, after workload.Identity, clients int) {
	named := map[string]bool{}
	for _, s := range schemas {
		for i := range s.Spec.Rules {
			for k := range s.Spec.Rules[i].Subjects {
				named[nameOfSubject(&s.Spec.Rules[i].Subjects[k])] = true
			}
		}
	}
	for i := range clients {
		user, groups := before.For(i)
		newUser, newGroups := after.For(i)
		if named[user] {
			r[user] = newUser
		}
		for k, g := range groups {
			if named[g] && g != newGroups[k] {
				r[g] = newGroups[k]
			}
		}
	}
}

// schemas returns FlowSchemas with the new names.
func (r renaming) schemas(all []*config.FlowSchema) []*config.FlowSchema {
	all = slices.Clone(all)
	for i, s := range all {
		own := *s
		own.Spec.Rules = slices.Clone(s.Spec.Rules)
		changed := false
		for k := range own.Spec.Rules {
			rule := &own.Spec.Rules[k]
			rule.Subjects = slices.Clone(rule.Subjects)
			for m := range rule.Subjects {
				if name, ok := r[nameOfSubject(&rule.Subjects[m])]; ok {
					rule.Subjects[m] = renamedSubject(rule.Subjects[m], name)
					changed = true
				}
			}
		}
		if changed {
			all[i] = &own
		}
	}
	return all
}

// renamedSubject returns a subject that matches the user or the group of this name.
func renamedSubject(s config.Subject, name string) config.Subject {
	switch {
	case s.User != nil:
		s.User = &config.UserSubject{Name: name}
	case s.Group != nil:
		s.Group = &config.GroupSubject{Name: name}
	case s.ServiceAccount.Name == config.Wildcard:
		s.ServiceAccount = &config.ServiceAccountSubject{Namespace: strings.TrimPrefix(name, groupPrefix), Name: config.Wildcard}
	default:
		namespace, account, _ := strings.Cut(strings.TrimPrefix(name, accountPrefix), ":")
		s.ServiceAccount = &config.ServiceAccountSubject{Namespace: namespace, Name: account}
	}
	return s
}
