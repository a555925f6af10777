// Package lint finds problems in a valid flow-control configuration: rules that match no request,
// FlowSchemas without effect because earlier ones match the same requests, levels without seats,
// edits that the server undoes.
//
// A finding of severity Error or Warning is certain under the assumptions that its rule states. A
// problem that is only likely is a Note. The package reads no files. Its input is decoded objects
// and, for rules that depend on load, numbers.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/core/seats"
	"apfsim/document"
	"apfsim/lint/space"
)

// Severity says how much a finding matters.
type Severity int

// The severities in ascending order.
const (
	Note    Severity = iota // possibly unintended
	Warning                 // does not have the effect that it seems to have, or puts requests at risk
	Error                   // has no effect, or is refused or undone by the server
)

// String returns the name of the severity in messages.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// Finding is one problem in a configuration.
type Finding struct {
	Rule     string // the ID of the rule
	Severity Severity
	Message  string
	Position document.Position // of the field, or of the closest enclosing value in the text
	Kind     string            // of the object: FlowSchema or PriorityLevelConfiguration; "" if unknown
	Name     string            // of the object
}

// Input is the configuration to check, with the properties of its servers that the rules depend on.
type Input struct {
	Objects     config.Objects // the objects to check
	Base        config.Objects // other objects of the servers; one with the kind and name of a checked object is ignored
	ServerLimit int            // seats of a server: the sum of its two max-inflight flags
	Rules       *rules.Rules   // of the release

	// Incomplete says that some objects could not be read. Rules that depend on the absence of an
	// object then have no findings.
	Incomplete bool

	// Assumed are the names of levels that do not have to be among the objects, because something else brings them. Their
	// specs are unknown.
	Assumed []string

	Stored estimate.Store // what a server knows about its stored objects; nil if that is unknown
	Load   *Load          // load of a run; nil if there is none
	Off    []string       // IDs of the rules that are switched off
}

// Load is the load that a run has measured.
type Load struct {
	Scenario string
	Levels   map[string]LevelLoad // by name; without the levels at which no request arrived
}

// LevelLoad is the load of one priority level in the measured part of a run.
type LevelLoad struct {
	Arrived          int64   // number of requests
	Demand           float64 // average number of seats that the requests would occupy if none of them waited; 0 if unknown
	ExecutionSeconds float64 // mean execution time of a request; 0 if unknown
}

// Check returns the findings in the order of [Sort].
func Check(in Input) []Finding {
	l := newLinter(in)
	l.shadows()
	for _, s := range l.schemas {
		l.flowSchema(s)
	}
	l.controlPlane()
	for _, level := range l.in.Objects.PriorityLevels {
		l.priorityLevel(level)
	}
	l.catchAll()
	Sort(l.findings)
	return slices.Compact(l.findings)
}

// Sort sorts findings by file, line, column, rule and message.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
}

// linter collects the findings about one configuration.
type linter struct {
	in         Input
	all        config.Objects   // the checked objects, the base and the mandatory objects
	levels     map[string]level // by name
	schemas    []*schema        // the checked FlowSchemas
	ordered    []*schema        // all FlowSchemas that are not dangling, in the order in which they are tried
	classifier *classify.Classifier
	findings   []Finding
}

// level is a priority level with its limits.
type level struct {
	*config.PriorityLevel
	seats.Limits
	assumed bool // of Input.Assumed: it has no spec
}

// schema is a FlowSchema with the sets of requests that it matches.
type schema struct {
	*config.FlowSchema
	given bool // one of the checked objects, not of the base
	idle  bool // earlier FlowSchemas take all its requests, so that it does them no harm
	parts []space.Part
}

func newLinter(in Input) *linter {
	l := &linter{in: in, all: config.Complete(in.Rules, config.Merge(in.Base, in.Objects)), levels: map[string]level{}}
	shares := 0.0
	for _, p := range l.all.PriorityLevels {
		shares += float64(p.Spec.Shares())
	}
	for _, p := range l.all.PriorityLevels {
		borrowing, bounded := p.Spec.BorrowingLimitPercent()
		if !in.Rules.Lending {
			borrowing, bounded = 0, true
		}
		l.levels[p.Name] = level{p, seats.NewLimits(in.ServerLimit, p.Spec.Shares(), shares, p.Spec.LendablePercent(), borrowing, bounded), false}
	}
	for _, name := range in.Assumed {
		if _, exists := l.levels[name]; !exists {
			assumed := &config.PriorityLevel{Name: name}
			l.levels[name] = level{assumed, seats.Limits{}, true}
			l.all.PriorityLevels = append(l.all.PriorityLevels, assumed)
		}
	}
	var active []*config.FlowSchema
	for _, s := range l.all.FlowSchemas {
		checked := &schema{FlowSchema: s, given: slices.Contains(in.Objects.FlowSchemas, s), parts: space.PartsOf(s)}
		if checked.given {
			l.schemas = append(l.schemas, checked)
		}
		if _, exists := l.levels[checked.level()]; exists {
			l.ordered = append(l.ordered, checked)
			active = append(active, s)
		}
	}
	slices.SortStableFunc(l.ordered, func(a, b *schema) int {
		return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
	l.classifier = classify.New(active)
	return l
}

// level returns the name of the priority level to which the FlowSchema refers.
func (s *schema) level() string { return s.Spec.PriorityLevelConfiguration.Name }

// mandatory reports whether this is the name of a mandatory object, whose spec is fixed.
func mandatory(name string) bool { return name == config.Exempt || name == config.CatchAll }

// aboutSchema adds a finding about a field of a FlowSchema. The path is within the object.
func (l *linter) aboutSchema(rule string, s *config.FlowSchema, path, format string, args ...any) {
	l.add(rule, s.Origin, "FlowSchema", s.Name, path, fmt.Sprintf(format, args...))
}

// aboutLevel adds a finding about a field of a priority level. The path is within the object.
func (l *linter) aboutLevel(rule string, p *config.PriorityLevel, path, format string, args ...any) {
	l.add(rule, p.Origin, "PriorityLevelConfiguration", p.Name, path, fmt.Sprintf(format, args...))
}

// add adds a finding unless its rule is switched off.
func (l *linter) add(id string, origin *config.Origin, kind, name, path, message string) {
	if slices.Contains(l.in.Off, id) {
		return
	}
	f := Finding{Rule: id, Severity: ruleOf(id).Severity, Message: kind + " " + name + ": " + message, Kind: kind, Name: name}
	if origin != nil {
		f.Position = origin.Position(path)
	}
	l.findings = append(l.findings, f)
}

// Invalid returns a finding of the rule "invalid" for each error of config.Decode.
func Invalid(errs document.Errors) (findings []Finding) {
	for _, e := range errs.Sorted() {
		message := e.Message
		if e.Path != "" {
			message = e.Path + ": " + message
		}
		findings = append(findings, Finding{Rule: "invalid", Severity: ruleOf("invalid").Severity, Message: message, Position: e.Position})
	}
	return findings
}
