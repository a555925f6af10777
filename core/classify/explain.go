package classify

import (
	"fmt"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/document"
)

// Verdict says whether a FlowSchema matches a request, and why. The paths in it are those of
// fields below the schema's spec.
type Verdict struct {
	FlowSchema         string `json:"flowSchema"`
	MatchingPrecedence int32  `json:"matchingPrecedence"`
	PriorityLevel      string `json:"priorityLevel"`
	Matched            bool   `json:"matched"`
	// Chosen marks the one schema that the request belongs to: the first that matched, or
	// catch-all if none matched.
	Chosen   bool      `json:"chosen"`
	Match    *Match    `json:"match,omitempty"`    // nil unless Matched
	Failures []Failure `json:"failures,omitempty"` // all reasons why the schema does not match; none if Matched
	// NearMiss is the only failure of a schema that is tried before the chosen one, which
	// suggests that the schema was meant to match. It is nil if there are several failures, or
	// if the schema is clearly meant for other users.
	NearMiss *Failure `json:"nearMiss,omitempty"`
}

// Match names the first subject that matched, and the first rule beside it that matched.
type Match struct {
	SubjectPath string `json:"subjectPath"` // rules[0].subjects[1]
	Subject     string `json:"subject"`     // group "system:nodes"
	RulePath    string `json:"rulePath"`    // rules[0].resourceRules[0]
}

// Failure is one reason why a schema does not match.
type Failure struct {
	Path   string `json:"path"`   // rules[0].resourceRules[1].verbs
	Reason string `json:"reason"` // "delete" is not among "get", "list"
}

// String returns the failure on one line.
func (f Failure) String() string { return f.Path + ": " + f.Reason }

// String returns the verdict on one line, followed by a line for each failure.
func (v Verdict) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (precedence %d, priority level %s): ", v.FlowSchema, v.MatchingPrecedence, v.PriorityLevel)
	if v.Matched {
		fmt.Fprintf(&b, "matched by %s at %s and %s", v.Match.Subject, v.Match.SubjectPath, v.Match.RulePath)
	} else {
		b.WriteString("no match")
	}
	switch {
	case v.Chosen && !v.Matched:
		b.WriteString("; chosen because no FlowSchema matched")
	case v.Matched && !v.Chosen:
		b.WriteString("; not chosen because an earlier FlowSchema matched")
	}
	for _, f := range v.Failures {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Explain returns a verdict on every schema, in the order in which they are tried. It includes
// the schemas after the one that Match returns.
func (c *Classifier) Explain(a *Attributes) []Verdict {
	chosen := c.Match(a)
	verdicts := make([]Verdict, len(c.schemas))
	reached := false // the chosen schema is this one or an earlier one
	for i, s := range c.schemas {
		v := Verdict{
			FlowSchema:         s.Name,
			MatchingPrecedence: s.Spec.MatchingPrecedence,
			PriorityLevel:      s.Spec.PriorityLevelConfiguration.Name,
			Chosen:             s == chosen,
		}
		v.Match, v.Failures = explain(s, a)
		v.Matched = v.Match != nil
		if !reached && !v.Matched {
			v.NearMiss = nearMiss(s, a)
		}
		reached = reached || v.Chosen
		verdicts[i] = v
	}
	return verdicts
}

// explain returns the match of a schema that matches, or all failures of another.
func explain(s *config.FlowSchema, a *Attributes) (*Match, []Failure) {
	e := explanation{request: a}
	for i := range s.Spec.Rules {
		rule, path := &s.Spec.Rules[i], document.Index("rules", i)
		subject, matching := subjectOf(rule, a), ruleOf(rule, a)
		if subject >= 0 && matching >= 0 {
			return &Match{
				SubjectPath: document.Index(path+".subjects", subject),
				Subject:     describe(&rule.Subjects[subject]),
				RulePath:    document.Index(path+"."+rulesField(a), matching),
			}, nil
		}
		if subject < 0 {
			e.subjects(path+".subjects", rule.Subjects)
		}
		if matching < 0 {
			e.rules(path+"."+rulesField(a), rule)
		}
	}
	if len(s.Spec.Rules) == 0 {
		e.fail("rules", "is empty")
	}
	return nil, e.failures
}

// Matching returns the indices of the rule of a schema that matches a request, and of its subject: the first ones, or −1 if the schema
// does not match.
func Matching(s *config.FlowSchema, a *Attributes) (rule, subject int) {
	for i := range s.Spec.Rules {
		if j := subjectOf(&s.Spec.Rules[i], a); j >= 0 && ruleOf(&s.Spec.Rules[i], a) >= 0 {
			return i, j
		}
	}
	return -1, -1
}

// nearMiss returns the failure of the first of the schema's rules that has only one failure,
// or nil if there is no such rule.
//
// If the rule matches the request and only its subjects fail, most schemas are just meant for
// other users. That is a near miss only if a subject resembles the user, or if the rule names
// verbs or resources and so is likely meant for requests like this one.
func nearMiss(s *config.FlowSchema, a *Attributes) *Failure {
	for i := range s.Spec.Rules {
		rule, path := &s.Spec.Rules[i], document.Index("rules", i)
		matching := ruleOf(rule, a)
		if subjectOf(rule, a) >= 0 {
			if failure := nearRule(rule, path, a); failure != nil {
				return failure
			}
			continue
		}
		if matching < 0 {
			continue
		}
		var specific bool
		if a.IsResource() {
			r := &rule.ResourceRules[matching]
			specific = !(isWildcard(r.Verbs) && isWildcard(r.Resources))
		} else {
			r := &rule.NonResourceRules[matching]
			specific = !(isWildcard(r.Verbs) && isWildcard(r.NonResourceURLs))
		}
		e := explanation{request: a}
		e.subjects(path+".subjects", rule.Subjects)
		for j := range rule.Subjects {
			if resembles(&rule.Subjects[j], a) {
				return &e.failures[j]
			}
		}
		switch {
		case specific && len(rule.Subjects) == 1:
			return &e.failures[0]
		case specific:
			return &Failure{path + ".subjects", fmt.Sprintf("none of the %d subjects is the user", len(rule.Subjects))}
		}
	}
	return nil
}

// nearRule returns the failure of the first resource rule, or non-resource rule, that has only
// one, or nil if there is no such rule.
func nearRule(rule *config.PolicyRulesWithSubjects, path string, a *Attributes) *Failure {
	count := len(rule.NonResourceRules)
	if a.IsResource() {
		count = len(rule.ResourceRules)
	}
	for i := range count {
		e := explanation{request: a}
		if at := document.Index(path+"."+rulesField(a), i); a.IsResource() {
			e.resourceRule(at, &rule.ResourceRules[i])
		} else {
			e.nonResourceRule(at, &rule.NonResourceRules[i])
		}
		if len(e.failures) == 1 {
			return &e.failures[0]
		}
	}
	return nil
}

func isWildcard(list []string) bool { return len(list) == 1 && list[0] == config.Wildcard }

// resembles reports whether a subject that does not match the user was probably meant to: it
// is a service account with the same namespace or the same name, or a user name that differs
// only in case.
func resembles(s *config.Subject, a *Attributes) bool {
	switch {
	case s.Kind == config.SubjectServiceAccount && s.ServiceAccount != nil:
		namespace, name, ok := SplitServiceAccount(a.User)
		return ok && (namespace == s.ServiceAccount.Namespace || name == s.ServiceAccount.Name)
	case s.Kind == config.SubjectUser && s.User != nil:
		return strings.EqualFold(s.User.Name, a.User)
	}
	return false
}

// rulesField returns the name of the field with the rules that apply to the request.
func rulesField(a *Attributes) string {
	if a.IsResource() {
		return "resourceRules"
	}
	return "nonResourceRules"
}

// explanation collects the reasons why a request does not match.
type explanation struct {
	request  *Attributes
	failures []Failure
}

func (e *explanation) fail(path, format string, args ...any) {
	e.failures = append(e.failures, Failure{path, fmt.Sprintf(format, args...)})
}

func (e *explanation) subjects(path string, subjects []config.Subject) {
	if len(subjects) == 0 {
		e.fail(path, "is empty")
	}
	for i := range subjects {
		s := &subjects[i]
		reason := fmt.Sprintf("the user is %q", e.request.User)
		if s.Kind == config.SubjectGroup {
			reason = "the user is not a member"
		}
		e.fail(document.Index(path, i), "%s: %s", describe(s), reason)
	}
}

func describe(s *config.Subject) string {
	switch {
	case s.User != nil && s.User.Name == config.Wildcard:
		return "any user"
	case s.User != nil:
		return "user " + strconv.Quote(s.User.Name)
	case s.Group != nil && s.Group.Name == config.Wildcard:
		return "any group"
	case s.Group != nil:
		return "group " + strconv.Quote(s.Group.Name)
	case s.ServiceAccount != nil && s.ServiceAccount.Name == config.Wildcard:
		return "any service account of namespace " + strconv.Quote(s.ServiceAccount.Namespace)
	case s.ServiceAccount != nil:
		return "service account " + strconv.Quote(s.ServiceAccount.Namespace+"/"+s.ServiceAccount.Name)
	}
	return "subject of kind " + strconv.Quote(s.Kind)
}

// rules adds the failures of all rules of the kind that applies to the request.
func (e *explanation) rules(path string, rule *config.PolicyRulesWithSubjects) {
	a := e.request
	switch {
	case a.IsResource() && len(rule.ResourceRules) == 0:
		e.fail(path, "is empty, and the request is for a resource")
	case a.IsResource():
		for i := range rule.ResourceRules {
			e.resourceRule(document.Index(path, i), &rule.ResourceRules[i])
		}
	case len(rule.NonResourceRules) == 0:
		e.fail(path, "is empty, and the request is not for a resource")
	default:
		for i := range rule.NonResourceRules {
			e.nonResourceRule(document.Index(path, i), &rule.NonResourceRules[i])
		}
	}
}

func (e *explanation) resourceRule(path string, r *config.ResourceRule) {
	a := e.request
	if !contains(r.Verbs, a.Verb) {
		e.notAmong(path+".verbs", a.Verb, r.Verbs)
	}
	if !containsResource(r.Resources, a) {
		e.notAmong(path+".resources", a.resourcePath(), r.Resources)
	}
	if !contains(r.APIGroups, a.APIGroup) {
		e.notAmong(path+".apiGroups", a.APIGroup, r.APIGroups)
	}
	switch {
	case inScope(r, a):
	case a.Namespace == "":
		e.fail(path+".clusterScope", "is false, and the request has no namespace")
	default:
		e.notAmong(path+".namespaces", a.Namespace, r.Namespaces)
	}
}

func (e *explanation) nonResourceRule(path string, r *config.NonResourceRule) {
	a := e.request
	if !contains(r.Verbs, a.Verb) {
		e.notAmong(path+".verbs", a.Verb, r.Verbs)
	}
	if !containsPath(r.NonResourceURLs, a.Path) {
		e.fail(path+".nonResourceURLs", "%q is not at or below %s", a.Path, quoted(r.NonResourceURLs))
	}
}

func (e *explanation) notAmong(path, value string, list []string) {
	if len(list) == 0 {
		e.fail(path, "is empty, and the request has %q", value)
		return
	}
	e.fail(path, "%q is not among %s", value, quoted(list))
}

// quoted returns the values in quotes and separated by commas.
func quoted(list []string) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = strconv.Quote(s)
	}
	return strings.Join(texts, ", ")
}
