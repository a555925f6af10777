package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/core/document"
	"apfsim/reports"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/yaml"
)

// parameter is one --over: a field, and the values that it takes one after the other.
type parameter struct {
	reports.SweepParameter
	field string // of the scenario, as --set knows it; "" if it is one of a level
	level string // the name of the priority level whose
	limit string // field it is
}

// levelFields are the fields of a level that can be swept, and where they stand in its spec.
var levelFields = []struct{ name, limited, exempt string }{
	{"handSize", "limited.limitResponse.queuing.handSize", ""},
	{"queues", "limited.limitResponse.queuing.queues", ""},
	{"queueLengthLimit", "limited.limitResponse.queuing.queueLengthLimit", ""},
	{"nominalConcurrencyShares", "limited.nominalConcurrencyShares", "exempt.nominalConcurrencyShares"},
	{"lendablePercent", "limited.lendablePercent", "exempt.lendablePercent"},
	{"borrowingLimitPercent", "limited.borrowingLimitPercent", ""},
}

func levelFieldNames() (names []string) {
	for _, f := range levelFields {
		names = append(names, f.name)
	}
	return names
}

// mostPoints is how many points a grid has at most: all are read before the first is run.
const mostPoints = 10_000

// overPlace is where a mistake in an --over is.
func overPlace(text string) document.Place {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return document.Place{File: "--over " + text}
}

// parseOver takes the texts of --over apart: PATH=VALUE,VALUE,...
func parseOver(texts []string) ([]parameter, document.Mistakes) {
	var all []parameter
	var mistakes document.Mistakes
	points := 1
	for _, text := range texts {
		at := overPlace(text)
		fail := func(format string, args ...any) { mistakes.Add(at, "", format, args...) }
		name, list, found := cutOutside(text, '=')
		if !found {
			fail("want PATH=VALUE,VALUE,..., as 'spec.workload[elephants].clients=1,4,16'")
			continue
		}
		p := parameter{SweepParameter: reports.SweepParameter{Path: strings.TrimSpace(name)}}
		before := len(mistakes)
		for rest, more := list, true; more; {
			var value string
			value, rest, more = cutOutside(rest, ',')
			switch value = strings.TrimSpace(value); {
			case value == "":
				fail("a value is missing; want PATH=VALUE,VALUE,..., and null for none")
			case slices.Contains(p.Values, value):
				fail("%s stands twice", value)
			}
			p.Values = append(p.Values, value)
		}
		if err := p.parsePath(); err != nil {
			fail("%v", err)
		}
		if len(mistakes) > before {
			continue
		}
		if len(p.Values) > mostPoints/points {
			fail("there are more than %d points; want fewer values, or several sweeps", mostPoints)
			continue
		}
		points *= len(p.Values)
		all = append(all, p)
	}
	return all, mistakes
}

// cutOutside cuts a text at the first separator that is outside of quotes and brackets.
func cutOutside(text string, separator byte) (before, after string, found bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == separator && depth == 0:
			return text[:i], text[i+1:], true
		case strings.IndexByte("[{(", c) >= 0:
			depth++
		case strings.IndexByte("]})", c) >= 0:
			depth--
		}
	}
	return text, "", false
}

// parsePath finds out what kind of path it is.
func (p *parameter) parsePath() error {
	head, _, _ := strings.Cut(p.Path, ".")
	head, _, _ = strings.Cut(head, "[")
	switch {
	case strings.HasPrefix(p.Path, "level["):
		name, rest, err := bracketed(p.Path[len("level"):])
		if err != nil {
			return err
		}
		field, dotted := strings.CutPrefix(rest, ".")
		if !dotted || !slices.Contains(levelFieldNames(), field) {
			return fmt.Errorf("%q is no field of a level; want one of %s%s", field, strings.Join(levelFieldNames(), ", "), document.Suggest(field, levelFieldNames()))
		}
		p.level, p.limit = name, field
	case within(p.Path, "spec.seed"), within(p.Path, "spec.replications"):
		return fmt.Errorf("%s is the same at every point, so that points do not differ by chance; want --seed and --replications", p.Path)
	case strings.HasPrefix(p.Path, "spec."):
		p.field = p.Path
	default:
		return fmt.Errorf("%q: want spec.FIELD, spec.workload[NAME].FIELD or level[NAME].FIELD%s", p.Path, document.Suggest(head, []string{"spec", "level"}))
	}
	return nil
}

// bracketed takes the name in brackets apart from what follows it; it may be quoted.
func bracketed(text string) (name, rest string, err error) {
	text = text[1:]
	if quoted, err := strconv.QuotedPrefix(text); err == nil && text[0] == '"' {
		if rest, closed := strings.CutPrefix(text[len(quoted):], "]"); closed {
			name, err = strconv.Unquote(quoted)
			return name, rest, err
		}
	}
	name, rest, found := strings.Cut(text, "]")
	if name = strings.TrimSpace(name); !found || name == "" || name[0] == '"' {
		return "", "", fmt.Errorf("[%s: want a name in brackets, as [elephants]", text)
	}
	return name, rest, nil
}

var isIndex = regexp.MustCompile(`^[0-9]+$`)

// findWorkload puts the index of a workload in place of its name.
func (p *parameter) findWorkload(sc *scenario.Scenario) error {
	const list = "spec.workload"
	if !strings.HasPrefix(p.field, list+"[") {
		return nil
	}
	name, rest, err := bracketed(p.field[len(list):])
	if err != nil {
		return err
	}
	if isIndex.MatchString(name) && p.field[len(list)+1] != '"' {
		return nil
	}
	var names []string
	for i := range sc.Spec.Workload {
		names = append(names, sc.Spec.Workload[i].Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("there is no workload %q%s", name, suggestOrList(name, names))
	}
	p.field = document.Index(list, i) + rest
	return nil
}

// key returns the path in the one spelling that all others come to.
func (p *parameter) key() string {
	if p.field != "" {
		return p.field
	}
	return document.Join("level", p.level) + "." + p.limit
}

// within reports whether a path is that of around, or of a part of it.
func within(path, around string) bool {
	rest, found := strings.CutPrefix(path, around)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// resolve returns those parameters that make sense for the scenario, and what is wrong with
// the others.
func resolve(all []parameter, sc *scenario.Scenario) (valid []parameter, mistakes document.Mistakes) {
	for _, p := range all {
		before := len(mistakes)
		if err := p.findWorkload(sc); err != nil {
			mistakes.Add(overPlace(p.Path), "", "%v", err)
		}
		for i := range valid {
			if a, b := valid[i].key(), p.key(); within(a, b) || within(b, a) {
				mistakes.Add(overPlace(p.Path), "", "is swept already by --over %s", valid[i].Path)
			}
		}
		if len(mistakes) == before {
			valid = append(valid, p)
		}
	}
	return valid, mistakes
}

// suggestOrList proposes the nearest name or, when none is near, all there are.
func suggestOrList(name string, names []string) string {
	if s := document.Suggest(name, names); s != "" {
		return s
	}
	return "; want one of " + strings.Join(names, ", ")
}

// grid is the points of a sweep, read and checked.
type grid struct {
	sweep  *reports.Sweep
	base   *scenario.Scenario   // without the parameters
	points []*scenario.Scenario // in the order of the sweep's points
}

// newGrid reads the scenario at every point. All mistakes are told together.
func newGrid(ctx context.Context, arg string, over []string, options scenario.Options) (*grid, error) {
	parameters, mistakes := parseOver(over)
	loaded, err := loadScenarios([]string{arg}, options)
	if err != nil {
		if len(mistakes) > 0 {
			err = fmt.Errorf("%w\n%w", mistakes, err)
		}
		return nil, err
	}
	if len(loaded) != 1 {
		return nil, fmt.Errorf("%s: has %d scenarios; want one in a file", arg, len(loaded))
	}
	g := &grid{base: loaded[0], sweep: &reports.Sweep{SchemaVersion: reports.SchemaVersion, Version: buildVersion(),
		Scenario: loaded[0].Metadata.Name, Set: append([]string{}, options.Set...)}}
	// The points show what is wrong besides.
	parameters, wrong := resolve(parameters, g.base)
	mistakes = append(mistakes, wrong...)
	for i := range parameters {
		g.sweep.Parameters = append(g.sweep.Parameters, parameters[i].SweepParameter)
	}
	type point struct {
		*scenario.Scenario
		mistakes document.Mistakes
	}
	n := g.sweep.Points()
	read := newInOrder(ctx, runtime.GOMAXPROCS(0), n, func(ctx context.Context, i int) (point, error) {
		sc, mistakes := g.load(arg, options, parameters, g.sweep.Point(i))
		return point{sc, mistakes}, ctx.Err()
	})
	defer read.stop()
	found := pointMistakes{sweep: g.sweep, at: map[document.Mistake]*seenAt{}}
	for i := range n {
		p, err := read.next()
		if err != nil {
			return nil, err
		}
		found.add(i, p.mistakes)
		g.points = append(g.points, p.Scenario)
	}
	if mistakes = append(mistakes, found.mistakes()...); len(mistakes) > 0 {
		return nil, mistakes
	}
	g.sweep.Inputs, err = inputs(arg, options.ConfigFiles, g.points)
	return g, err
}

// load reads the scenario with the values of one point.
func (g *grid) load(arg string, options scenario.Options, parameters []parameter, values []string) (*scenario.Scenario, document.Mistakes) {
	options.Set = slices.Clone(options.Set)
	labels := map[string]string{} // of mistakes, by those that come of --set
	for i := range parameters {
		if p := &parameters[i]; p.field != "" {
			set := p.field + "=" + values[i]
			options.Set = append(options.Set, set)
			labels[set] = overPlace(p.Path + "=" + values[i]).File
		}
	}
	loaded, err := loadScenarios([]string{arg}, options)
	if err != nil {
		mistakes, ok := err.(document.Mistakes)
		if !ok {
			panic("apfsim: scenarios are read with other than mistakes: " + err.Error())
		}
		for i := range mistakes {
			mistakes[i].File = overLabel(mistakes[i].File, labels)
		}
		base := *g.base // what is wrong with the levels can be told all the same
		return nil, append(mistakes, setLevels(&base, parameters, values)...)
	}
	sc := loaded[0]
	return sc, setLevels(sc, parameters, values)
}

// overLabel returns the place of a mistake in a --set that stands for an --over, and others
// as they are. Long ones are abridged.
func overLabel(place string, labels map[string]string) string {
	text, found := strings.CutPrefix(place, "--set ")
	if !found {
		return place
	}
	if label, known := labels[text]; known {
		return label
	}
	if start, abridged := strings.CutSuffix(text, "…"); abridged {
		for set, label := range labels {
			if strings.HasPrefix(set, start) {
				return label
			}
		}
	}
	return place
}

// setLevels gives priority levels the values of a point.
func setLevels(sc *scenario.Scenario, parameters []parameter, values []string) document.Mistakes {
	var mistakes document.Mistakes
	done := map[string]bool{}
	for i := range parameters {
		name := parameters[i].level
		if name == "" || done[name] {
			continue
		}
		done[name] = true
		mistakes = append(mistakes, setLevel(sc, name, parameters, values)...)
	}
	return mistakes
}

// setLevel changes one level, whose fields belong together, and checks it as a server would.
func setLevel(sc *scenario.Scenario, name string, parameters []parameter, values []string) document.Mistakes {
	var mistakes document.Mistakes
	places := map[string]document.Place{} // by the fields' names
	var last document.Place
	old := sc.Objects.PriorityLevel(name)
	var doc document.Document
	for i := range parameters {
		p := &parameters[i]
		if p.level != name {
			continue
		}
		last = overPlace(p.Path + "=" + values[i])
		places[p.limit] = last
		if sc.Spec.Servers.FlowControl != scenario.PriorityAndFairness {
			mistakes.Add(last, "", "there are no priority levels with flowControl %s", sc.Spec.Servers.FlowControl)
			continue
		}
		if old == nil {
			var names []string
			for _, l := range sc.Objects.PriorityLevels {
				names = append(names, l.Name)
			}
			mistakes.Add(overPlace(p.Path), "", "there is no priority level %q%s", name, suggestOrList(name, names))
			continue
		}
		if doc.Root == nil {
			doc = levelDocument(old)
		}
		path, err := levelPath(&old.Spec, p.limit)
		if err != nil {
			mistakes.Add(overPlace(p.Path), "", "%s %v", name, err)
			continue
		}
		value, err := yamlValue(values[i])
		if err == nil {
			err = doc.Set("items[0].spec."+path, value)
		}
		if err != nil {
			mistakes.Add(last, "", "%v", err)
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	objects, wrong := config.Decode(doc)
	for _, m := range wrong {
		field := m.Path[strings.LastIndexByte(m.Path, '.')+1:]
		at, known := places[field]
		if !known {
			at = last
		}
		mistakes.Add(at, field, "%s", m.Message)
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	replaceLevel(sc, old, objects.PriorityLevels[0])
	return nil
}

// levelDocument returns a level as kubectl prints it.
func levelDocument(level *config.PriorityLevel) document.Document {
	text, err := yaml.Marshal(config.Objects{PriorityLevels: []*config.PriorityLevel{level}}.Manifest())
	if err != nil {
		panic(fmt.Sprintf("apfsim: priority level %s does not become YAML: %v", level.Name, err))
	}
	docs, mistakes := yaml.Parse("", text)
	if len(mistakes) > 0 {
		panic(fmt.Sprintf("apfsim: priority level %s does not come back from YAML: %v", level.Name, mistakes))
	}
	return docs[0]
}

// levelPath returns where a field stands in the spec of a level.
func levelPath(spec *config.PriorityLevelSpec, name string) (string, error) {
	for _, f := range levelFields {
		switch {
		case f.name != name:
			continue
		case spec.Type == config.TypeExempt && f.exempt == "":
			return "", fmt.Errorf("is exempt, and has no %s", name)
		case spec.Type == config.TypeExempt:
			return f.exempt, nil
		case strings.Contains(f.limited, ".queuing.") && spec.Queuing() == nil:
			return "", fmt.Errorf("has no queues: its limitResponse is %s", spec.Limited.LimitResponse.Type)
		}
		return f.limited, nil
	}
	panic("apfsim: no field of a level: " + name)
}

// yamlValue reads one value.
func yamlValue(text string) (*document.Node, error) {
	if text == "~" || text == "null" {
		return &document.Node{Kind: document.Null}, nil
	}
	docs, mistakes := yaml.Parse("", []byte(text))
	switch {
	case len(mistakes) > 0:
		return nil, fmt.Errorf("%s", mistakes[0].Message)
	case len(docs) != 1:
		return nil, fmt.Errorf("want one value")
	}
	return docs[0].Root, nil
}

// replaceLevel puts a level in the place of another, from the start of the run until an event
// of the scenario changes it.
func replaceLevel(sc *scenario.Scenario, old, level *config.PriorityLevel) {
	replace := func(objects *config.Objects) {
		objects.PriorityLevels = slices.Clone(objects.PriorityLevels)
		for i, l := range objects.PriorityLevels {
			if l == old {
				objects.PriorityLevels[i] = level
			}
		}
	}
	replace(&sc.Objects)
	sc.Spec.Events = slices.Clone(sc.Spec.Events)
	for i := range sc.Spec.Events {
		replace(&sc.Spec.Events[i].Objects)
	}
}

// pointMistakes are those of all points, each told once.
type pointMistakes struct {
	sweep *reports.Sweep
	order []document.Mistake
	at    map[document.Mistake]*seenAt
}

// seenAt is the first point of a mistake, and how many have it.
type seenAt struct{ first, points int }

func (p *pointMistakes) add(point int, mistakes document.Mistakes) {
	for _, m := range mistakes {
		if seen := p.at[m]; seen != nil {
			seen.points++
			continue
		}
		p.order = append(p.order, m)
		p.at[m] = &seenAt{point, 1}
	}
}

// mistakes returns them all. One that is not in a value by itself is told with its point.
func (p *pointMistakes) mistakes() (all document.Mistakes) {
	for _, m := range p.order {
		seen := p.at[m]
		if !strings.HasPrefix(m.File, "--over ") {
			m.Message += " (at " + p.sweep.Describe(seen.first)
			if seen.points > 1 {
				m.Message += fmt.Sprintf(", and %d more", seen.points-1)
			}
			m.Message += ")"
		}
		all = append(all, m)
	}
	return all
}

// inputs returns the files that the scenarios of all points are read from, each once.
func inputs(arg string, configFiles []string, points []*scenario.Scenario) ([]reports.SweepInput, error) {
	var all []reports.SweepInput
	seen := map[string]bool{}
	add := func(open func() (fs.File, error), name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		file, err := open()
		if err != nil {
			return err
		}
		defer file.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, file); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, reports.SweepInput{Name: name, SHA256: hex.EncodeToString(sum.Sum(nil))})
		return nil
	}
	for _, sc := range points {
		var names []string
		if len(configFiles) == 0 {
			names = append(names, sc.Spec.Config.Files...)
		}
		for i := range sc.Spec.Events {
			names = append(names, sc.Spec.Events[i].Apply.Files...)
		}
		for i := range sc.Spec.Workload {
			if t := sc.Spec.Workload[i].Arrivals.Trace; t != nil {
				names = append(names, t.File)
			}
		}
		openNamed := func(name string) (fs.File, error) {
			switch name = filepath.FromSlash(name); {
			case sc.File != arg: // of the library
				return scenarios.Files.Open(path.Join(path.Dir(sc.File), filepath.ToSlash(name)))
			case filepath.IsAbs(name):
				return os.Open(name)
			}
			return os.Open(filepath.Join(filepath.Dir(sc.File), name))
		}
		base := filepath.Base(sc.File)
		if err := add(func() (fs.File, error) { return openNamed(base) }, base); err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := add(func() (fs.File, error) { return openNamed(name) }, name); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range configFiles {
		delete(seen, "--config "+filepath.Base(name)) // that of another folder
		if err := add(func() (fs.File, error) { return os.Open(name) }, "--config "+filepath.Base(name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
