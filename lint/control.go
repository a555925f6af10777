package lint

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/lint/identity"
	"apfsim/lint/space"
)

// suggestedHere returns the FlowSchemas that the servers of the release suggest, with their suggested specs: those whose names
// are among the objects, and whose levels exist.
func (l *linter) suggestedHere() config.Objects {
	o := config.Objects{PriorityLevels: l.all.PriorityLevels}
	for _, s := range config.Suggested(l.in.Rules).FlowSchemas {
		if l.all.FlowSchema(s.Name) != nil {
			o.FlowSchemas = append(o.FlowSchemas, s)
		}
	}
	return o
}

// takeover is what a FlowSchema takes from a suggested one.
type takeover struct {
	by, from string           // FlowSchemas
	example  identity.Change  // the first request
	names    []string         // of the identities
	subjects []config.Subject // that match the requests
	path     string           // of the first subject
}

// controlPlane adds findings about FlowSchemas that take requests of the control plane from suggested ones, one for each
// pair of FlowSchemas. It classifies typical requests of each identity: see package identity.
func (l *linter) controlPlane() {
	all, highest := l.takeovers(l.all), map[string]int32{} // precedence of the suggested FlowSchemas from which a FlowSchema takes requests
	for _, t := range all {
		highest[t.by] = max(highest[t.by], config.Suggested(l.in.Rules).FlowSchema(t.from).Spec.MatchingPrecedence)
	}
	for _, t := range all {
		s, from := l.all.FlowSchema(t.by), l.all.FlowSchema(t.from)
		switch {
		case from.HasDisabled():
			continue // the server refuses it, and keeps the one that it has
		case l.own(s):
		case l.own(from):
			l.aboutSchema("takes-control-plane", from, "spec", "has another spec than the suggested FlowSchema with its name, so that requests of %s go to FlowSchema %s: for example %s goes to priority level %s, not %s; use the suggested spec, which 'apfsim config defaults' prints",
				several(t.names), t.by, sentence(&t.example.Attributes), t.example.After.Level, t.example.Before.Level)
			continue
		default:
			continue
		}
		what, remedy := "takes requests of %s from the suggested FlowSchema %s", fmt.Sprintf("give it a matchingPrecedence above %d, or name only the users, namespaces and resources that it is meant for",
			highest[t.by])
		if t.by == t.from {
			what, remedy = "assigns requests of %s to another level than the suggested FlowSchema %s", "use the suggested spec, which 'apfsim config defaults' prints"
		}
		first := len(l.findings)
		l.aboutSchema("takes-control-plane", s, t.path, what+": for example %s goes to priority level %s, not %s; %s",
			several(t.names), t.from, sentence(&t.example.Attributes), t.example.After.Level, t.example.Before.Level, remedy)
		for i := range l.findings[first:] {
			if l.meant(t) {
				l.findings[first+i].Severity = Note
			}
		}
	}
}

// own reports whether a FlowSchema is one of the checked objects, and not as some release suggests it.
func (l *linter) own(s *config.FlowSchema) bool {
	return slices.Contains(l.in.Objects.FlowSchemas, s) && !suggestedAnywhere(s)
}

// meant reports whether a FlowSchema names the service accounts whose requests it takes, and queues them: then it is likely
// that they were to get a level of their own.
func (l *linter) meant(t takeover) bool {
	p, queues := l.levels[t.example.After.Level], true
	if !p.assumed {
		queues = p.Spec.Queuing() != nil
	}
	return queues && !slices.ContainsFunc(t.subjects, func(s config.Subject) bool {
		return s.ServiceAccount == nil || s.ServiceAccount.Name == config.Wildcard
	})
}

// takeovers returns what the FlowSchemas of some objects take from the suggested ones, in the order of the requests.
func (l *linter) takeovers(o config.Objects) (all []takeover) {
	suggested := l.suggestedHere()
	requests := identity.Requests(l.in.Rules, o)
	before, after := identity.Routes(requests, suggested), identity.Routes(requests, o)
	for i, r := range requests {
		c := identity.Change{Request: r, Before: before[i], After: after[i]}
		if c.Before.Level == c.After.Level || !c.TakesControlPlane() {
			continue
		}
		j := slices.IndexFunc(all, func(t takeover) bool { return t.by == c.After.FlowSchema && t.from == c.Before.FlowSchema })
		subject, path := subjectOf(o.FlowSchema(c.After.FlowSchema), &c.Attributes)
		if j < 0 {
			j = len(all)
			all = append(all, takeover{by: c.After.FlowSchema, from: c.Before.FlowSchema, example: c, path: path})
		}
		if t := &all[j]; !slices.Contains(t.names, r.Identity.Name) {
			t.names = append(t.names, r.Identity.Name)
		}
		all[j].subjects = append(all[j].subjects, subject)
	}
	return all
}

// subjectOf returns the subject of a FlowSchema that matches a request, and its path. Catch-all takes requests that it does not match.
func subjectOf(s *config.FlowSchema, a *classify.Attributes) (config.Subject, string) {
	i, j := classify.Matching(s, a)
	if i < 0 {
		return config.Subject{}, "spec.matchingPrecedence"
	}
	return s.Spec.Rules[i].Subjects[j], document.Index(document.Index("spec.rules", i)+".subjects", j)
}

// several returns at most three names, and the number of the others.
func several(names []string) string {
	switch n := len(names); {
	case n == 1:
		return names[0]
	case n <= 3:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return fmt.Sprintf("%s, %s and %d others", names[0], names[1], n-2)
	}
}

// widened says why a FlowSchema must not be given a wider rule: it would take requests of the control plane that it does not
// take now. It returns "" if it would take none.
func (l *linter) widened(s *schema, rule *config.PolicyRulesWithSubjects, r *config.ResourceRule) string {
	wider := *s.FlowSchema
	wider.Name += "-wider" // which comes after it, so that only what is added is classified by it
	added := *r
	added.ClusterScope, added.Namespaces = true, []string{config.Wildcard}
	wider.Spec.Rules = []config.PolicyRulesWithSubjects{{Subjects: rule.Subjects, ResourceRules: []config.ResourceRule{added}}}
	changes := identity.TakesControlPlane(l.in.Rules, l.all, config.Merge(l.all, config.Objects{FlowSchemas: []*config.FlowSchema{&wider}}))
	if len(changes) == 0 {
		return ""
	}
	return fmt.Sprintf("requests of %s, for example %s, would go to priority level %s too, so that it must name other users first",
		changes[0].Identity.Name, sentence(&changes[0].Attributes), s.level())
}

// nothingOf adds a finding if a subject includes all service accounts, and earlier FlowSchemas take all their requests
// that the part matches to another level.
func (l *linter) nothingOf(s *schema, effective, earlier []space.Part) {
	reported := map[string]bool{}
	for _, part := range effective {
		if reported[part.SubjectPath] || part.Subject.Group == nil || part.Subject.Group.Name != classify.Authenticated {
			continue
		}
		accounts := part
		accounts.Subject = config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: classify.ServiceAccounts}}
		if !accounts.CoveredBy(earlier) {
			continue
		}
		request := accounts.Request()
		by := l.schemaOf(request)
		if by == nil || by == s || by.level() == s.level() {
			continue
		}
		reported[part.SubjectPath] = true
		order := ""
		if by.Spec.MatchingPrecedence == s.Spec.MatchingPrecedence {
			order = ", which has the same precedence and comes first by name"
		}
		l.aboutSchema("takes-nothing-of", s.FlowSchema, part.SubjectPath,
			"takes no request of service accounts, which %s includes: for example %s goes to %s%s; this is correct if it is meant for other users",
			subjectName(&part.Subject), sentence(request), describe(by), order)
	}
}

// oneFlow adds a finding about a FlowSchema for many users whose requests are one flow, although its level could separate
// them.
func (l *linter) oneFlow(s *schema, p level) {
	q := p.Spec.Queuing()
	if s.idle || s.Spec.DistinguisherMethod != nil || p.assumed || q == nil || q.Queues <= q.HandSize || suggestedAnywhere(s.FlowSchema) {
		return
	}
	for _, part := range s.parts {
		if subject := &part.Subject; subject.Group != nil || manyUsers(subject) {
			l.aboutSchema("one-flow", s.FlowSchema, "spec", "makes the requests of all its users one flow, which uses %d of the %d queues of priority level %s: one user delays all others; add distinguisherMethod: {type: %s}",
				q.HandSize, q.Queues, p.Name, config.ByUser)
			return
		}
	}
}

// FewerQueues returns findings about levels whose queues a change makes fewer while servers run. A server removes a queue when it
// is empty; if a request of it is still in its additional latency, the server removes another queue later, or
// panics (kubernetes#140884, which no release has mended). Before and after are the objects of a whole cluster.
func FewerQueues(release *rules.Rules, before, after config.Objects) (findings []Finding) {
	l := linter{in: Input{Rules: release}}
	if !release.FinalSeats {
		return nil // no request has an additional latency
	}
	for _, p := range after.PriorityLevels {
		was := before.PriorityLevel(p.Name)
		if was == nil || was.Spec.Queuing() == nil || p.Spec.Limited == nil {
			continue
		}
		queues, path := int32(0), "spec.limited.limitResponse.type"
		if q := p.Spec.Queuing(); q != nil {
			queues, path = q.Queues, "spec.limited.limitResponse.queuing.queues"
		}
		if queues < was.Spec.Queuing().Queues {
			l.aboutLevel("fewer-queues", p, path,
				"has %d queues after the change and %d before it: while writes of the level are in their additional latency, a running kube-apiserver may panic or lose another queue (kubernetes#140884, in all releases from %s on); keep the queues, or add a level with another name and move the FlowSchemas to it",
				queues, was.Spec.Queuing().Queues, additionalLatency)
		}
	}
	return l.findings
}

// additionalLatency is the first release in which writes have an additional latency.
var additionalLatency = rules.Since(func(r *rules.Rules) bool { return r.FinalSeats })
