// Package lint finds what is valid in a flow-control configuration and still wrong: rules that match
// no request, FlowSchemas that earlier ones leave nothing to, levels without seats, edits that the
// server undoes.
//
// A finding of severity Error or Warning is certain under the assumptions that its rule states; what
// is only likely is a Note. The package reads no files: whoever uses it brings decoded objects and,
// where a rule goes by load, plain numbers.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/seats"
	"apfsim/document"
	"apfsim/lint/space"
)

// Severity says how much a finding matters.
type Severity int

// The severities, the least first.
const (
	Note    Severity = iota // worth knowing
	Warning                 // does not do what it seems to do, or puts requests at risk
	Error                   // has no effect, or is refused or undone by the server
)

// String returns the severity as it is printed.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// Finding is one thing that is wrong.
type Finding struct {
	Rule     string
	Severity Severity
	Message  string
	Position document.Position // of the field, as near as the text has it
	Kind     string            // of the object: FlowSchema or PriorityLevelConfiguration; "" if unknown
	Name     string            // of the object
}

// Input is what is looked at.
type Input struct {
	Objects     config.Objects // findings are about these
	Base        config.Objects // what the servers have besides; an object of the same kind and name is replaced
	ServerLimit int            // seats of a server: the sum of its two max-inflight flags
	Minor       int            // the Kubernetes release, 1.Minor

	// Incomplete says that some objects could not be read: rules that go by what is missing are silent.
	Incomplete bool

	Stored estimate.Store // what a server knows of its stored objects; nil: nothing
	Load   *Load          // of a run; nil: none
	Off    []string       // ids of the rules that are switched off
}

// Load is what a run has found.
type Load struct {
	Scenario string
	Levels   map[string]LevelLoad // by name; only levels that requests arrived at
}

// LevelLoad is the load of one priority level over the measured part of a run.
type LevelLoad struct {
	Arrived          int64   // requests
	Demand           float64 // seats that are in use on average if all that arrives is executed at once; 0 when unknown
	ExecutionSeconds float64 // mean execution time of a request; 0 when unknown
}

// Check returns what is wrong, as [Sort] orders it.
func Check(in Input) []Finding {
	l := newLinter(in)
	for _, s := range l.schemas {
		l.flowSchema(s)
	}
	l.shadows()
	for _, level := range l.in.Objects.PriorityLevels {
		l.priorityLevel(level)
	}
	l.catchAll()
	Sort(l.findings)
	return slices.Compact(l.findings)
}

// Sort puts findings in the order of file, line, column, rule and message.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Position.File, b.Position.File), cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
}

// linter collects the findings about one configuration.
type linter struct {
	in       Input
	all      config.Objects // with the base and the mandatory objects
	levels   map[string]level
	schemas  []*schema // of the files
	ordered  []*schema // all that are not dangling, in the order in which they are tried
	real     *classify.Classifier
	findings []Finding
}

// level is a priority level and its seats.
type level struct {
	*config.PriorityLevel
	seats.Limits
}

// schema is a FlowSchema and the sets of requests that its rules match.
type schema struct {
	*config.FlowSchema
	given bool // by the files, not the base
	parts []space.Part
}

func newLinter(in Input) *linter {
	l := &linter{in: in, all: config.Complete(config.Merge(in.Base, in.Objects)), levels: map[string]level{}}
	shares := 0.0
	for _, p := range l.all.PriorityLevels {
		shares += float64(p.Spec.Shares())
	}
	for _, p := range l.all.PriorityLevels {
		borrowing, bounded := p.Spec.BorrowingLimitPercent()
		l.levels[p.Name] = level{p, seats.NewLimits(in.ServerLimit, p.Spec.Shares(), shares, p.Spec.LendablePercent(), borrowing, bounded)}
	}
	var active []*config.FlowSchema
	for _, s := range l.all.FlowSchemas {
		known := &schema{FlowSchema: s, given: slices.Contains(in.Objects.FlowSchemas, s), parts: space.PartsOf(s)}
		if known.given {
			l.schemas = append(l.schemas, known)
		}
		if _, exists := l.levels[known.level()]; exists {
			l.ordered = append(l.ordered, known)
			active = append(active, s)
		}
	}
	slices.SortStableFunc(l.ordered, func(a, b *schema) int {
		return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
	l.real = classify.New(active)
	return l
}

func (s *schema) level() string { return s.Spec.PriorityLevelConfiguration.Name }

// mandatory reports whether the server fixes the object of this name.
func mandatory(name string) bool { return name == config.Exempt || name == config.CatchAll }

// aboutSchema notes a finding about a field of a FlowSchema; path is below the object.
func (l *linter) aboutSchema(rule string, s *config.FlowSchema, path, format string, args ...any) {
	l.add(rule, s.Origin, "FlowSchema", s.Name, path, fmt.Sprintf(format, args...))
}

// aboutLevel notes a finding about a field of a priority level; path is below the object.
func (l *linter) aboutLevel(rule string, p *config.PriorityLevel, path, format string, args ...any) {
	l.add(rule, p.Origin, "PriorityLevelConfiguration", p.Name, path, fmt.Sprintf(format, args...))
}

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

// Invalid returns a finding for each mistake that decoding has found: what a server refuses.
func Invalid(mistakes document.Errors) (findings []Finding) {
	for _, m := range mistakes.Sorted() {
		message := m.Message
		if m.Path != "" {
			message = m.Path + ": " + message
		}
		findings = append(findings, Finding{Rule: "invalid", Severity: ruleOf("invalid").Severity, Message: message, Position: m.Position})
	}
	return findings
}
