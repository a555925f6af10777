package config

import (
	"slices"
	"strings"

	"apfsim/document"
)

// invalid reports whether the object has an error in the value at a path, or within it.
func (v *validator) invalid(path string) bool {
	full := v.full(path)
	for _, e := range v.Errors[v.first:] {
		if document.Within(e.Path, full) {
			return true
		}
	}
	return false
}

// identified reports whether the name of the object is valid, no other object has it, and all errors about the object were
// added.
func (v *validator) identified() bool {
	return !v.invalid("metadata.name") && len(v.Errors) < maxErrors
}

// disableInvalid makes the invalid parts of a FlowSchema match nothing. It reports whether the FlowSchema is of use without them.
func (v *validator) disableInvalid(s *FlowSchema) bool {
	if !v.identified() || v.invalid("spec.matchingPrecedence") || v.invalid("spec.priorityLevelConfiguration") {
		return false
	}
	if v.invalid("spec.distinguisherMethod") {
		s.Spec.DistinguisherMethod = &DistinguisherMethod{ByUser}
	}
	for i := range s.Spec.Rules {
		rule, path := &s.Spec.Rules[i], document.Index("spec.rules", i)
		for j := range rule.Subjects {
			if v.invalid(document.Index(path+".subjects", j)) {
				rule.Subjects[j] = Subject{Kind: SubjectUser, User: &UserSubject{}}
			}
		}
		for j := range rule.ResourceRules {
			if v.invalid(document.Index(path+".resourceRules", j)) {
				rule.ResourceRules[j] = ResourceRule{}
			}
		}
		for j := range rule.NonResourceRules {
			if v.invalid(document.Index(path+".nonResourceRules", j)) {
				rule.NonResourceRules[j] = NonResourceRule{}
			}
		}
	}
	return len(s.Spec.Rules) > 0
}

// HasDisabled reports whether the FlowSchema was loaded with invalid parts, which match nothing here. A server refuses it.
func (s *FlowSchema) HasDisabled() bool {
	return slices.ContainsFunc(s.Spec.Rules, func(rule PolicyRulesWithSubjects) bool {
		return len(rule.Subjects) == 0 || len(rule.ResourceRules)+len(rule.NonResourceRules) == 0 ||
			slices.ContainsFunc(rule.Subjects, func(s Subject) bool { return s.User != nil && s.User.Name == "" }) ||
			slices.ContainsFunc(rule.ResourceRules, func(r ResourceRule) bool { return len(r.Verbs) == 0 }) ||
			slices.ContainsFunc(rule.NonResourceRules, func(r NonResourceRule) bool { return len(r.Verbs) == 0 })
	})
}

// replaceInvalid gives the invalid fields of a level their defaults. It reports whether the level can be used then.
func (v *validator) replaceInvalid(l *PriorityLevel, shares string) bool {
	if !v.identified() || v.invalid("spec.type") || l.Name == Exempt || l.Name == CatchAll {
		return false
	}
	spec := &l.Spec
	limited := spec.Limited
	if limited == nil {
		limited = &LimitedSpec{}
	}
	*spec = PriorityLevelSpec{Type: TypeLimited, Limited: limited}
	for path, reset := range map[string]func(){
		shares:                  func() { limited.NominalConcurrencyShares = nil },
		"lendablePercent":       func() { limited.LendablePercent = nil },
		"borrowingLimitPercent": func() { limited.BorrowingLimitPercent = nil },
	} {
		if v.invalid("spec.limited." + path) {
			reset()
		}
	}
	response := &limited.LimitResponse
	if v.invalid("spec.limited.limitResponse") || response.Type == "" || !strings.Contains(ResponseQueue+ResponseReject, response.Type) {
		*response = LimitResponse{Type: ResponseQueue, Queuing: &Queuing{}}
	}
	spec.setDefaults()
	return true
}
