package scenario

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/document/yaml"
)

// levelFields are the fields of a priority level that can be assigned to, and where they
// stand in its spec; "" where there is none.
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

// levelField takes level[NAME].FIELD apart; both are "" for another path.
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
		return "", "", fmt.Errorf("%q is no field of a level%s", document.Abridge(field), document.Hint(field, levelFieldNames()))
	}
	return level, field, nil
}

// levels gives priority levels what is assigned to them, from the start of the run until an
// event of the scenario puts another in their place.
func (v *validator) levels(assignments []assignment) {
	done := map[string]bool{}
	for i := range assignments {
		if name := assignments[i].level; name != "" && !done[name] {
			done[name] = true
			v.level(name, assignments)
		}
	}
}

// level changes one level, whose fields belong together, and checks it as a server would.
func (v *validator) level(name string, assignments []assignment) {
	s := v.scenario
	var doc document.Document
	var at int
	var last document.Position
	before := len(v.elsewhere)
	for i := range assignments {
		a := &assignments[i]
		if a.level != name {
			continue
		}
		last = a.place
		if control := s.Spec.Servers.FlowControl; control == MaxInFlight || control == NoFlowControl {
			v.elsewhere.Add(a.place, "", "there are no priority levels with flowControl %s", control)
			continue
		}
		index, path, err := s.levelPath(name, a.field)
		if err == nil {
			if doc.Root == nil {
				at, doc = index, levelDocument(s.Objects.PriorityLevels[index])
			}
			err = a.apply(&doc, "items[0].spec."+path)
		}
		if err != nil {
			v.elsewhere.Add(a.place, "", "%v", err)
		}
	}
	if len(v.elsewhere) > before {
		return
	}
	decoded := config.Decode(doc)
	for _, m := range decoded.Errors {
		place := positionOf(m.Position, assignments)
		if place == m.Position { // of what only does not go with what is assigned
			place = last
		}
		v.elsewhere.Add(place, m.Path[strings.LastIndexByte(m.Path, '.')+1:], "%s", m.Message)
	}
	if len(decoded.Errors) == 0 {
		changed := decoded.Objects.PriorityLevels[0]
		changed.Origin = s.Objects.PriorityLevels[at].Origin
		s.Objects.PriorityLevels = slices.Clone(s.Objects.PriorityLevels)
		s.Objects.PriorityLevels[at] = changed
	}
}

// levelDocument returns a level as kubectl prints it.
func levelDocument(level *config.PriorityLevel) document.Document {
	text, err := yaml.Marshal(config.Objects{PriorityLevels: []*config.PriorityLevel{level}}.Manifest())
	if err != nil {
		panic(fmt.Sprintf("scenario: priority level %s does not become YAML: %v", level.Name, err))
	}
	docs, mistakes := yaml.Parse("", text)
	if len(mistakes) > 0 {
		panic(fmt.Sprintf("scenario: priority level %s does not come back from YAML: %v", level.Name, mistakes))
	}
	return docs[0]
}

// levelPath returns the index of a priority level among the objects, and where a field stands
// in its spec.
func (s *Scenario) levelPath(level, field string) (at int, path string, err error) {
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
