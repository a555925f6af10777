package lint

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/lint/space"
)

// shadows adds findings about FlowSchemas, and parts of them, that match only requests which earlier
// FlowSchemas match too.
//
// A part of a FlowSchema is shadowed if the parts of earlier FlowSchemas cover it. A FlowSchema is
// shadowed if all its parts are. Each finding is proved, but some are missed: see
// [space.Part.CoveredBy].
func (l *linter) shadows() {
	var earlier []*schema
	var earlierParts []space.Part
	for _, s := range l.ordered {
		l.shadowed(s, earlier, earlierParts)
		earlier = append(earlier, s)
		earlierParts = append(earlierParts, s.parts...)
	}
}

// shadow is a shadowed part.
type shadow struct {
	space.Part
	request *classify.Attributes // an example of the part
	by      *schema              // the FlowSchema to which the request is assigned
}

func (l *linter) shadowed(s *schema, earlier []*schema, earlierParts []space.Part) {
	if len(s.parts) == 0 || mandatory(s.Name) {
		return
	}
	var shadows []shadow
	var effective []space.Part
	for _, part := range s.parts {
		if part.CoveredBy(earlierParts) {
			request := part.Request()
			if by := l.schemaOf(request); by != nil && by != s {
				shadows = append(shadows, shadow{part, request, by})
				continue
			}
		}
		effective = append(effective, part)
	}
	if len(effective) == 0 && !s.HasDisabled() {
		s.idle = true
		// Of the suggested objects of 1.18, one FlowSchema shadows another. That is not a finding.
		if !slices.ContainsFunc(shadows, func(d shadow) bool { return !suggestedAnywhere(d.by.FlowSchema) }) && suggestedAnywhere(s.FlowSchema) {
			return
		}
		l.wholly(s, shadows)
		return
	}
	if !s.given {
		return
	}
	l.partly(s, shadows)
	if !suggestedAnywhere(s.FlowSchema) {
		l.overlaps(s, effective, earlier)
		l.nothingOf(s, effective, earlierParts)
	}
}

// wholly adds a finding about a FlowSchema all parts of which are shadowed. If the FlowSchema is one
// of the base, the finding is about the first checked FlowSchema that takes its requests.
func (l *linter) wholly(s *schema, shadows []shadow) {
	var by []string
	least := s.Spec.MatchingPrecedence
	for _, d := range shadows {
		if !slices.Contains(by, describe(d.by)) {
			by = append(by, describe(d.by))
		}
		least = min(least, d.by.Spec.MatchingPrecedence)
	}
	if s.given {
		remedy := "remove it"
		if least > 2 {
			remedy = fmt.Sprintf("give it a matchingPrecedence below %d, or remove it", least)
		}
		l.aboutSchema("shadowed", s.FlowSchema, "spec.matchingPrecedence",
			"never takes effect: every request that it matches goes to an earlier FlowSchema, %s (for example %s); %s",
			strings.Join(by, " or "), sentence(shadows[0].request), remedy)
		return
	}
	for _, d := range shadows {
		if d.by.given {
			l.aboutSchema("shadowed", d.by.FlowSchema, "spec.matchingPrecedence",
				"leaves no request to the suggested FlowSchema %s (for example %s goes to priority level %s, not %s); give it a higher matchingPrecedence or narrower rules",
				describe(s), sentence(d.request), d.by.level(), s.level())
			return
		}
	}
}

// partly adds findings about subjects and rules of a FlowSchema that are shadowed while others are
// not. It adds none if the requests are assigned to the same priority level anyway.
func (l *linter) partly(s *schema, shadows []shadow) {
	wholeRule, wholeSubject := map[string]bool{}, map[string]bool{}
	for i := range s.parts {
		wholeRule[s.parts[i].RulePath], wholeSubject[s.parts[i].SubjectPath] = true, true
	}
	for i := range s.parts {
		part := &s.parts[i]
		if s.HasDisabled() || !slices.ContainsFunc(shadows, func(d shadow) bool { return samePart(&d.Part, part) }) {
			wholeRule[part.RulePath], wholeSubject[part.SubjectPath] = false, false
		}
	}
	reported := map[string]bool{}
	for _, d := range shadows {
		if d.by.level() == s.level() {
			continue
		}
		path, what := d.RulePath, fmt.Sprintf("%s has no effect for %s", d.RulePath, d.SubjectPath)
		switch {
		case wholeSubject[d.SubjectPath]:
			path, what = d.SubjectPath, d.SubjectPath+" has no effect"
		case wholeRule[d.RulePath]:
			what = d.RulePath + " has no effect"
		}
		if reported[what] {
			continue
		}
		reported[what] = true
		l.aboutSchema("shadowed-part", s.FlowSchema, path,
			"%s: all its requests go to an earlier FlowSchema (for example %s goes to %s); remove it, or give this FlowSchema a matchingPrecedence below %d",
			what, sentence(d.request), describe(d.by), d.by.Spec.MatchingPrecedence)
	}
}

// overlaps adds a finding for each earlier FlowSchema that takes requests of effective parts to
// another level. It adds none for suggested FlowSchemas, and none for earlier parts all of whose
// requests s matches too: these are exceptions that are deliberately tried before the rule.
func (l *linter) overlaps(s *schema, effective []space.Part, earlier []*schema) {
	for _, e := range earlier {
		if e.level() == s.level() || suggestedAnywhere(e.FlowSchema) {
			continue
		}
		for i := range effective {
			request := overlap(&effective[i], e, s)
			if request == nil || l.schemaOf(request) != e {
				continue
			}
			l.aboutSchema("overlap", s.FlowSchema, effective[i].RulePath,
				"an earlier FlowSchema takes some of its requests to another priority level: for example %s goes to %s, not to %s; this is correct if %s is meant to come first",
				sentence(request), describe(e), s.level(), e.Name)
			break
		}
	}
}

// overlap returns a request that both a part of s and a part of e match, where the part of e has
// requests that s does not match. It returns nil if it finds none.
func overlap(part *space.Part, e, s *schema) *classify.Attributes {
	for i := range e.parts {
		if e.parts[i].CoveredBy(s.parts) {
			continue
		}
		if request := part.Overlap(&e.parts[i]); request != nil {
			return request
		}
	}
	return nil
}

func samePart(a, b *space.Part) bool {
	return a.SubjectPath == b.SubjectPath && a.RulePath == b.RulePath
}

// schemaOf returns the FlowSchema to which the classifier assigns a request, or nil if there is none.
func (l *linter) schemaOf(a *classify.Attributes) *schema {
	won := l.classifier.Match(a)
	for _, s := range l.ordered {
		if s.FlowSchema == won {
			return s
		}
	}
	return nil
}

// describe returns a FlowSchema with its precedence and its priority level.
func describe(s *schema) string {
	return fmt.Sprintf("%s (precedence %d, priority level %s)", s.Name, s.Spec.MatchingPrecedence, s.level())
}

// sentence returns a description of a request.
func sentence(a *classify.Attributes) string {
	if !a.IsResource() {
		return fmt.Sprintf("%q of %s by %s", a.Verb, a.Path, a.User)
	}
	resource := request.JoinSubresource(a.Resource, a.Subresource)
	if a.APIGroup != "" {
		resource += " of " + a.APIGroup
	}
	scope := "without a namespace"
	if a.Namespace != "" {
		scope = "in namespace " + a.Namespace
	}
	return fmt.Sprintf("%q of %s %s by %s", a.Verb, resource, scope, a.User)
}
