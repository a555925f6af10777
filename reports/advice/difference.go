package advice

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/lint"
	"apfsim/lint/identity"
	"apfsim/reports/result"
)

// Difference says what a change of the configuration does: whose requests go to another level, whose seats change, and whose
// requests no FlowSchema matches but catch-all.
type Difference struct {
	SchemaVersion string           `json:"schemaVersion"`
	From          string           `json:"from"` // releases of Kubernetes before and after the change
	To            string           `json:"to"`
	Moved         []MovedRequests  `json:"moved"`
	Levels        []UpgradedLevel  `json:"priorityLevels"` // that change
	CatchAll      []MovedRequests  `json:"catchAll"`       // after the change
	Findings      []ChangedFinding `json:"findings"`       // of the change itself, and those of the configuration that it had not before
	Work          []rules.Change   `json:"work,omitempty"` // rules that change the work of the servers, if it comes with an upgrade
}

// MovedRequests are requests of one client that go from one FlowSchema to another.
type MovedRequests struct {
	Client       string          `json:"client"`
	ControlPlane bool            `json:"controlPlane"` // they leave a level that is kept for the control plane
	Before       identity.Target `json:"before"`
	After        identity.Target `json:"after"`
	User         string          `json:"user"`     // of the first request
	Requests     []string        `json:"requests"` // such as "get pods in namespace default"
}

// ChangedFinding is a finding of package lint.
type ChangedFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// DifferenceInput are two configurations of whole clusters, and the releases of their servers.
type DifferenceInput struct {
	From, To      *rules.Rules
	Before, After config.Objects
	ServerLimit   int      // seats of a server
	Assumed       []string // names of levels that something else brings
}

// CompareConfigurations returns what the change does to the clients that package identity knows, and to those that the
// configurations name.
func CompareConfigurations(in DifferenceInput) *Difference {
	d := &Difference{SchemaVersion: result.SchemaVersion, From: in.From.Version, To: in.To.Version,
		Moved: []MovedRequests{}, Levels: []UpgradedLevel{}, CatchAll: []MovedRequests{}, Findings: []ChangedFinding{}}
	if rules.Upgrade(in.From, in.To) != nil {
		d.Work = slices.DeleteFunc(rules.Changes(in.From, in.To), func(c rules.Change) bool { return !c.OfWork() })
	}
	before, after := config.Complete(in.From, in.Before), config.Complete(in.To, in.After)
	var u Upgrade
	u.levels(DivideSeats(in.From, before, in.ServerLimit), DivideSeats(in.To, after, in.ServerLimit))
	d.Levels = append(d.Levels, slices.DeleteFunc(u.Levels, func(l UpgradedLevel) bool {
		return l.Before != nil && l.After != nil && sameSeats(l.Before, l.After)
	})...)
	for _, f := range d.findings(in, before, after) {
		d.Findings = append(d.Findings, ChangedFinding{f.Rule, f.Severity.String(), f.Message})
	}
	before, after = assuming(before, in.Assumed), assuming(after, in.Assumed)
	requests := identity.Requests(in.To, before, after)
	was, is := identity.Routes(requests, before), identity.Routes(requests, after)
	for i, r := range requests {
		if r.Bypasses(in.From) {
			continue
		}
		c := identity.Change{Request: r, Before: was[i], After: is[i]}
		if c.Before.Level != c.After.Level {
			d.Moved = appendMoved(d.Moved, c)
		}
		if c.After.FlowSchema == config.CatchAll {
			d.CatchAll = appendMoved(d.CatchAll, c)
		}
	}
	return d
}

// findings returns those of the change itself, and those that the configuration had not before. A finding with other figures
// is the same: the shares of one level change the seats of all.
func (d *Difference) findings(in DifferenceInput, before, after config.Objects) []lint.Finding {
	check := func(r *rules.Rules, o config.Objects) []lint.Finding {
		own, suggested := splitSuggested(r, o)
		return lint.Check(lint.Input{Objects: own, Base: suggested, ServerLimit: in.ServerLimit, Rules: r, Assumed: in.Assumed})
	}
	words := func(f lint.Finding) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, f.Message) + " " + f.Rule + " " + f.Kind + " " + f.Name
	}
	had := map[string]bool{}
	for _, f := range check(in.From, before) {
		had[words(f)] = true
	}
	return append(lint.FewerQueues(in.To, before, after),
		slices.DeleteFunc(check(in.To, after), func(f lint.Finding) bool { return had[words(f)] })...)
}

// splitSuggested splits the objects into those that are as the servers of the release create them and the others.
func splitSuggested(r *rules.Rules, o config.Objects) (own, suggested config.Objects) {
	created := config.Suggested(r)
	for _, s := range o.FlowSchemas {
		to := &own
		if c := created.FlowSchema(s.Name); c != nil && reflect.DeepEqual(c.Spec, s.Spec) {
			to = &suggested
		}
		to.FlowSchemas = append(to.FlowSchemas, s)
	}
	for _, p := range o.PriorityLevels {
		to := &own
		if c := created.PriorityLevel(p.Name); c != nil && reflect.DeepEqual(c.Spec, p.Spec) {
			to = &suggested
		}
		to.PriorityLevels = append(to.PriorityLevels, p)
	}
	return own, suggested
}

// assuming returns the objects with levels that something else brings.
func assuming(o config.Objects, names []string) config.Objects {
	for _, name := range names {
		if o.PriorityLevel(name) == nil {
			o.PriorityLevels = append(slices.Clone(o.PriorityLevels), &config.PriorityLevel{Name: name})
		}
	}
	return o
}

func sameSeats(a, b *LevelSeats) bool {
	x, y := *a, *b
	same := (x.Reachable == nil) == (y.Reachable == nil) && (x.Reachable == nil || *x.Reachable == *y.Reachable)
	x.Reachable, y.Reachable = nil, nil
	return same && x == y
}

// appendMoved adds a request to those of the same client that go the same way.
func appendMoved(all []MovedRequests, c identity.Change) []MovedRequests {
	i := slices.IndexFunc(all, func(m MovedRequests) bool {
		return m.Client == c.Identity.Name && m.Before == c.Before && m.After == c.After
	})
	if i < 0 {
		i = len(all)
		all = append(all, MovedRequests{Client: c.Identity.Name, Before: c.Before, After: c.After, User: c.User})
	}
	all[i].ControlPlane = all[i].ControlPlane || c.TakesControlPlane() && c.Before.Level != c.After.Level
	text := c.Verb + " " + c.Path
	if c.IsResource() {
		text = c.Verb + " " + request.JoinSubresource(request.JoinResource(c.APIGroup, c.Resource), c.Subresource)
		if c.Namespace != "" {
			text += " in namespace " + c.Namespace
		}
	}
	if !slices.Contains(all[i].Requests, text) {
		all[i].Requests = append(all[i].Requests, text)
	}
	return all
}
