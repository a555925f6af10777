package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
)

// cuts bounds the work of proving that one cell is covered.
const cuts = 20_000

// shadows notes what earlier FlowSchemas leave nothing to.
//
// A cell of a FlowSchema is shadowed when the cells of earlier ones whose subject includes its
// subject cover all its requests; the FlowSchema is when all its cells are. This is sound, not
// complete: users that only several groups together include are not recognised, but for everyone,
// who is in system:authenticated or in system:unauthenticated.
func (l *linter) shadows() {
	var earlier []*schema
	for _, s := range l.ordered {
		l.shadowed(s, earlier)
		earlier = append(earlier, s)
	}
}

// shadow is a cell that earlier FlowSchemas cover.
type shadow struct {
	cell
	by      *schema              // that a request of the cell goes to
	request *classify.Attributes // which does
}

func (l *linter) shadowed(s *schema, earlier []*schema) {
	if len(s.cells) == 0 || mandatory(s.Name) {
		return
	}
	var shadows []shadow
	var live []cell
	for _, c := range s.cells {
		if covered(c, earlier) {
			request := c.request()
			if by := l.goesTo(request); by != nil && by != s {
				shadows = append(shadows, shadow{c, by, request})
				continue
			}
		}
		live = append(live, c)
	}
	if len(live) == 0 {
		// In 1.18 a suggested one leaves nothing to another.
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
		l.overlaps(s, live, earlier)
	}
}

// wholly notes that nothing is left to a FlowSchema. If it is one of the base, the finding is about
// the first given one that takes its requests.
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

// partly notes which subjects and rules of a FlowSchema have no effect although others have. It is no
// harm if the requests come to the same priority level.
func (l *linter) partly(s *schema, shadows []shadow) {
	wholeRule, wholeSubject := map[string]bool{}, map[string]bool{}
	for _, c := range s.cells {
		wholeRule[c.rulePath], wholeSubject[c.subjectPath] = true, true
	}
	for _, c := range s.cells {
		if !slices.ContainsFunc(shadows, func(d shadow) bool { return same(d.cell, c) }) {
			wholeRule[c.rulePath], wholeSubject[c.subjectPath] = false, false
		}
	}
	said := map[string]bool{}
	for _, d := range shadows {
		if d.by.level() == s.level() {
			continue
		}
		path, what := d.rulePath, fmt.Sprintf("%s has no effect for %s", d.rulePath, d.subjectPath)
		switch {
		case wholeSubject[d.subjectPath]:
			path, what = d.subjectPath, d.subjectPath+" has no effect"
		case wholeRule[d.rulePath]:
			what = d.rulePath + " has no effect"
		}
		if said[what] {
			continue
		}
		said[what] = true
		l.aboutSchema("shadowed-part", s.FlowSchema, path,
			"%s: all its requests go to an earlier FlowSchema (for example %s goes to %s); remove it, or give this FlowSchema a matchingPrecedence below %d",
			what, sentence(d.request), describe(d.by), d.by.Spec.MatchingPrecedence)
	}
}

// overlaps notes requests that an earlier FlowSchema takes from live cells to another level, once for
// each earlier one. What suggested FlowSchemas take is meant so, and so is what a narrower cell takes:
// the exception before the rule.
func (l *linter) overlaps(s *schema, live []cell, earlier []*schema) {
	for _, e := range earlier {
		if e.level() == s.level() || suggestedAnywhere(e.FlowSchema) {
			continue
		}
		for _, c := range live {
			request := overlap(c, e, s)
			if request == nil || l.goesTo(request) != e {
				continue
			}
			l.aboutSchema("overlap", s.FlowSchema, c.rulePath,
				"an earlier FlowSchema takes some of its requests to another priority level: for example %s goes to %s, not to %s; this is right if %s is meant to come first",
				sentence(request), describe(e), s.level(), e.Name)
			break
		}
	}
}

// overlap returns a request of the subject of a cell of s that the cell and a cell of e match which
// has requests besides those of s, nil if none is found.
func overlap(c cell, e, s *schema) *classify.Attributes {
	for i := range e.cells {
		other := &e.cells[i]
		if other.resource != c.resource || !includes(&other.subject, &c.subject) || covered(*other, []*schema{s}) {
			continue
		}
		if c.resource {
			if both, ok := c.box.and(other.box); ok {
				return both.request(&c.subject)
			}
			continue
		}
		both := c.verbs.and(other.verbs)
		if path := c.paths.example(other.paths); path != "" && !both.empty() {
			return pathRequest(&c.subject, both, path)
		}
	}
	return nil
}

func same(a, b cell) bool { return a.subjectPath == b.subjectPath && a.rulePath == b.rulePath }

// covered reports whether earlier FlowSchemas match all requests of the cell.
func covered(c cell, earlier []*schema) bool {
	var boxes []box
	left := c.verbs
	for _, e := range earlier {
		for i := range e.cells {
			other := &e.cells[i]
			if other.resource != c.resource || !includes(&other.subject, &c.subject) {
				continue
			}
			if c.resource {
				boxes = append(boxes, other.box)
			} else if other.paths.contain(c.paths) {
				left = left.and(other.verbs.not())
			}
		}
	}
	if !c.resource {
		return left.empty()
	}
	steps := cuts
	_, found := c.box.uncovered(boxes, &steps)
	return !found
}

// request returns a request that the cell matches.
func (c *cell) request() *classify.Attributes {
	if c.resource {
		return c.box.request(&c.subject)
	}
	return pathRequest(&c.subject, c.verbs, cmp.Or(c.paths.exact, c.paths.prefix))
}

func pathRequest(s *config.Subject, verbs set, path string) *classify.Attributes {
	a := &classify.Attributes{Verb: verbs.example("get"), Path: path}
	a.User, a.Groups = someone(s)
	return a
}

// goesTo returns the FlowSchema that the classifier assigns a request to.
func (l *linter) goesTo(a *classify.Attributes) *schema {
	won := l.real.Match(a)
	for _, s := range l.ordered {
		if s.FlowSchema == won {
			return s
		}
	}
	return nil
}

// describe names a FlowSchema with what decides its place and effect.
func describe(s *schema) string {
	return fmt.Sprintf("%s (precedence %d, priority level %s)", s.Name, s.Spec.MatchingPrecedence, s.level())
}

// sentence describes a request.
func sentence(a *classify.Attributes) string {
	if !a.IsResource() {
		return fmt.Sprintf("%q of %s by %s", a.Verb, a.Path, a.User)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	if a.APIGroup != "" {
		resource += " of " + a.APIGroup
	}
	scope := "without a namespace"
	if a.Namespace != "" {
		scope = "in namespace " + a.Namespace
	}
	return fmt.Sprintf("%q of %s %s by %s", a.Verb, resource, scope, a.User)
}
