package space

import (
	"cmp"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/document"
)

// maxSteps bounds the number of subtractions in the proof that one part is covered.
const maxSteps = 20_000

// Part is the set of requests that one subject of a FlowSchema matches together with one resource
// rule, or with one path of a non-resource rule.
type Part struct {
	SubjectPath, RulePath string // paths within the object
	Subject               config.Subject
	Resource              bool // the part is that of a resource rule
	Box                   Box  // of a resource rule
	Verbs                 Set  // of a non-resource rule
	Paths                 Paths
}

// PartsOf returns the parts of a FlowSchema that match requests. A subject that matches everyone is split into the users
// who have authenticated and those who have not, because the two groups are often matched by
// different FlowSchemas.
func PartsOf(s *config.FlowSchema) (parts []Part) {
	for i := range s.Spec.Rules {
		rule, path := &s.Spec.Rules[i], document.Index("spec.rules", i)
		for j := range rule.Subjects {
			if Nobody(&rule.Subjects[j]) {
				continue
			}
			subjects := []config.Subject{rule.Subjects[j]}
			if Everyone(&rule.Subjects[j]) {
				subjects = []config.Subject{group(classify.Authenticated), group(classify.Unauthenticated)}
			}
			for _, subject := range subjects {
				base := Part{SubjectPath: document.Index(path+".subjects", j), Subject: subject}
				for k := range rule.ResourceRules {
					p := base
					p.RulePath, p.Resource, p.Box = document.Index(path+".resourceRules", k), true, BoxOf(&rule.ResourceRules[k])
					if _, ok := p.Box.And(p.Box); ok {
						parts = append(parts, p)
					}
				}
				for k := range rule.NonResourceRules {
					r := &rule.NonResourceRules[k]
					for m, url := range r.NonResourceURLs {
						p := base
						p.RulePath = document.Index(document.Index(path+".nonResourceRules", k)+".nonResourceURLs", m)
						p.Verbs, p.Paths = Matching(r.Verbs), PathsOf(url)
						if !p.Verbs.Empty() {
							parts = append(parts, p)
						}
					}
				}
			}
		}
	}
	return parts
}

// CoveredBy reports whether the other parts together contain all requests of p. A true result is a
// proof. A false result is not: CoveredBy ignores users that only several subjects together match,
// and paths that only several items together cover, and it gives up after maxSteps.
func (p *Part) CoveredBy(others []Part) bool {
	var boxes []Box
	verbs := p.Verbs // those that no other part covers for all paths of p
	for i := range others {
		other := &others[i]
		if other.Resource != p.Resource || !includes(&other.Subject, &p.Subject) {
			continue
		}
		if p.Resource {
			boxes = append(boxes, other.Box)
		} else if other.Paths.Contain(p.Paths) {
			verbs = verbs.And(other.Verbs.Not())
		}
	}
	if !p.Resource {
		return verbs.Empty()
	}
	steps := maxSteps
	_, found := p.Box.Uncovered(boxes, &steps)
	return !found
}

// Uncovered returns a part of a box, for requests of a subject, that is in none of the parts; found
// is false if they cover the box.
func Uncovered(b Box, subject *config.Subject, parts []Part) (part Box, found bool) {
	var boxes []Box
	for i := range parts {
		if parts[i].Resource && includes(&parts[i].Subject, subject) {
			boxes = append(boxes, parts[i].Box)
		}
	}
	steps := maxSteps
	return b.Uncovered(boxes, &steps)
}

// Overlap returns a request in the intersection of p and other, of a user that the subject of p
// matches. It returns nil if it finds none, and if the subject of other does not include that of p.
func (p *Part) Overlap(other *Part) *classify.Attributes {
	if other.Resource != p.Resource || !includes(&other.Subject, &p.Subject) {
		return nil
	}
	if p.Resource {
		if both, ok := p.Box.And(other.Box); ok {
			return both.Request(&p.Subject)
		}
		return nil
	}
	verbs := p.Verbs.And(other.Verbs)
	if path := p.Paths.Example(other.Paths); path != "" && !verbs.Empty() {
		return pathRequest(&p.Subject, verbs, path)
	}
	return nil
}

// Request returns a request of the part, which must not be empty.
func (p *Part) Request() *classify.Attributes {
	if p.Resource {
		return p.Box.Request(&p.Subject)
	}
	return pathRequest(&p.Subject, p.Verbs, cmp.Or(p.Paths.Exact, p.Paths.Prefix))
}

func pathRequest(s *config.Subject, verbs Set, path string) *classify.Attributes {
	a := &classify.Attributes{Verb: verbs.Example("get"), Path: path}
	a.User, a.Groups = ExampleUser(s)
	return a
}
