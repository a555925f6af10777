package assign

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// levelFields are the fields of a priority level that can be assigned to, and their paths in its
// spec; "" if there is none.
var levelFields = []struct{ name, limited, exempt string }{
	{"handSize", "limited.limitResponse.queuing.handSize", ""},
	{"queues", "limited.limitResponse.queuing.queues", ""},
	{"queueLengthLimit", "limited.limitResponse.queuing.queueLengthLimit", ""},
	{"nominalConcurrencyShares", "limited.nominalConcurrencyShares", "exempt.nominalConcurrencyShares"},
	{"lendablePercent", "limited.lendablePercent", "exempt.lendablePercent"},
	{"borrowingLimitPercent", "limited.borrowingLimitPercent", ""},
}

func levelFieldNames() []string {
	names := make([]string, len(levelFields))
	for i := range levelFields {
		names[i] = levelFields[i].name
	}
	return names
}

func isLevelPath(path string) bool { return strings.HasPrefix(path, "level[") }

// levelField parses level[NAME].FIELD; level and field are "" for another path.
func levelField(path string) (level, field string, err error) {
	if !isLevelPath(path) {
		return "", "", nil
	}
	names, err := document.Names(path)
	if err != nil {
		return "", "", err
	}
	if len(names) != 3 {
		return "", "", fmt.Errorf("%q: want level[NAME].FIELD, as level[workload-low].handSize", document.Abridge(path))
	}
	level, field = names[1], names[2]
	if !slices.Contains(levelFieldNames(), field) {
		return "", "", fmt.Errorf("%q is not a field of a level%s", document.Abridge(field), document.Hint(field, levelFieldNames()))
	}
	return level, field, nil
}

// ApplyToLevels gives priority levels of a scenario their values, from the start of the run until an
// event of the scenario puts another level in their place.
func (l List) ApplyToLevels(s *scenario.Scenario) (errors document.Errors) {
	done := map[string]bool{}
	for i := range l {
		if name := l[i].level; name != "" && !done[name] {
			done[name] = true
			errors = append(errors, l.applyToLevel(s, name)...)
		}
	}
	return errors
}

// applyToLevel changes one level, whose fields belong together, and checks it as a server would.
func (l List) applyToLevel(s *scenario.Scenario, name string) (errors document.Errors) {
	var doc document.Document
	var at int
	var last document.Position
	for i := range l {
		a := &l[i]
		if a.level != name {
			continue
		}
		last = a.position
		if control := s.Spec.Servers.FlowControl; control == server.MaxInFlight || control == server.NoFlowControl {
			errors.Add(a.position, "", "there are no priority levels with flowControl %s", control)
			continue
		}
		index, path, err := levelPath(s, name, a.field)
		if err == nil {
			if doc.Root == nil {
				at, doc = index, levelDocument(s.Objects.PriorityLevels[index])
			}
			err = a.apply(&doc, "items[0].spec."+path)
		}
		if err != nil {
			errors.Add(a.position, "", "%v", err)
		}
	}
	if len(errors) > 0 {
		return errors
	}
	decoded := config.Decode(doc)
	held, mistakes := inRelease(s, decoded.Objects)
	for _, e := range append(decoded.Errors, mistakes...) {
		position := l.Position(e.Position)
		if position == e.Position { // a value that was not assigned does not agree with one that was
			position = last
		}
		errors.Add(position, e.Path[strings.LastIndexByte(e.Path, '.')+1:], "%s", e.Message)
	}
	if len(errors) == 0 {
		changed := held.PriorityLevels[0]
		changed.Origin = s.Objects.PriorityLevels[at].Origin
		s.Objects.PriorityLevels = slices.Clone(s.Objects.PriorityLevels)
		s.Objects.PriorityLevels[at] = changed
	}
	return errors
}

// inRelease returns what the servers of the scenario hold of objects in an API version that knows all
// fields. A value that they would replace is an error.
func inRelease(s *scenario.Scenario, objects config.Objects) (config.Objects, document.Errors) {
	release, err := s.Spec.Servers.Rules()
	if err != nil {
		return objects, nil // the check of the scenario reports the version
	}
	held, notes, mistakes := objects.In(release)
	for _, n := range notes {
		if n.Path != "apiVersion" {
			mistakes = append(mistakes, n)
		}
	}
	return held, mistakes
}

// levelDocument returns a level as kubectl prints it.
func levelDocument(level *config.PriorityLevel) document.Document {
	text, err := yaml.Marshal(config.Objects{PriorityLevels: []*config.PriorityLevel{level}}.Manifest(rules.Latest()))
	if err != nil {
		panic(fmt.Sprintf("assign: priority level %s does not become YAML: %v", level.Name, err))
	}
	docs, errors := yaml.Parse("", text)
	if len(errors) > 0 {
		panic(fmt.Sprintf("assign: priority level %s does not come back from YAML: %v", level.Name, errors))
	}
	return docs[0]
}

// levelPath returns the index of a priority level among the objects, and the path of a field in
// its spec.
func levelPath(s *scenario.Scenario, level, field string) (at int, path string, err error) {
	var names []string
	for _, l := range s.Objects.PriorityLevels {
		names = append(names, l.Name)
	}
	if at = slices.Index(names, level); at < 0 {
		return 0, "", fmt.Errorf("there is no priority level %q%s", document.Abridge(level), document.Hint(level, names))
	}
	spec := &s.Objects.PriorityLevels[at].Spec
	f := levelFields[slices.Index(levelFieldNames(), field)]
	switch {
	case spec.Type == config.TypeExempt && f.exempt == "":
		err = fmt.Errorf("%s is exempt, and has no %s", level, field)
	case spec.Type == config.TypeExempt:
		return at, f.exempt, nil
	case strings.Contains(f.limited, ".queuing.") && spec.Queuing() == nil:
		err = fmt.Errorf("%s has no queues: its limitResponse is %s", level, spec.Limited.LimitResponse.Type)
	}
	return at, f.limited, err
}
