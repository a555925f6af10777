// Package playground answers the calls of a page in which people try the simulator: it lists the library, checks a scenario,
// runs it, compares two settings of it, imports a log, explains a request and computes a collision table. The page and the
// package do not know how a call reaches the other: in a browser, a worker runs the package as WebAssembly (cmd/playground);
// apfsim serve runs it natively behind a server on the loopback interface. Both give the same bytes.
//
// A call has no files but those of the library and the texts that it contains, and keeps nothing for the next one.
package playground

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// Progress is called now and then with the share of a call that is done, from 0 to 1.
type Progress func(share float64)

// MaxArguments is how many bytes the arguments of a call may have: a scenario, a configuration, and what JSON adds.
const MaxArguments = 64 << 20

// calls are the calls by their names. Each decodes its arguments.
var calls = map[string]func(context.Context, []byte, Progress) (any, error){
	"library":    call(library),
	"scenario":   call(text),
	"check":      call(check),
	"schema":     call(schema),
	"run":        call(run),
	"compare":    call(compareSettings),
	"import":     call(importLog),
	"explain":    call(explain),
	"collisions": call(collisions),
}

// call makes a call of a function with arguments of its own type.
func call[A, R any](f func(context.Context, *A, Progress) (R, error)) func(context.Context, []byte, Progress) (any, error) {
	return func(ctx context.Context, text []byte, progress Progress) (any, error) {
		var arguments A
		if err := json.Unmarshal(text, &arguments); err != nil {
			return nil, fmt.Errorf("the arguments of the call cannot be read: %w", err)
		}
		return f(ctx, &arguments, progress)
	}
}

// Call answers a call. The answer is a JSON object. What is wrong with the arguments is part of it: a list "errors", with
// the place of each.
func Call(ctx context.Context, name string, arguments []byte, progress Progress) []byte {
	f, ok := calls[name]
	if !ok {
		return encode(failed(fmt.Errorf("there is no call %q", document.Abridge(name))))
	}
	answer, err := f(ctx, arguments, progress)
	if err != nil {
		answer = failed(err)
	}
	return encode(answer)
}

func encode(answer any) []byte {
	text, err := json.Marshal(answer)
	if err != nil {
		panic("playground: an answer is no JSON: " + err.Error()) // its types are those of this package
	}
	return text
}

// Mistake is an error or a warning, and where it is.
type Mistake struct {
	File    string `json:"file,omitempty"` // "" for the scenario
	Line    int    `json:"line,omitempty"` // from 1; 0 if the place is not known
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"` // the field
	Message string `json:"message"`
}

// mistakes returns errors as the page reads them.
func mistakes(all document.Errors) []Mistake {
	list := []Mistake{}
	for _, e := range all {
		m := Mistake{e.File, max(e.Line, 0), max(e.Column, 0), e.Path, e.Message}
		if m.File == scenarioFile {
			m.File = ""
		}
		list = append(list, m)
	}
	return list
}

// Failure is the answer to a call that could not be answered.
type Failure struct {
	Errors []Mistake `json:"errors"`
}

func failed(err error) Failure {
	var all document.Errors
	if errors.As(err, &all) {
		return Failure{mistakes(all)}
	}
	return Failure{[]Mistake{{Message: err.Error()}}}
}

// Library is the answer of the call "library".
type Library struct {
	Release string            `json:"release"` // of Kubernetes, by default
	Groups  []scenarios.Group `json:"groups"`
}

func library(context.Context, *struct{}, Progress) (*Library, error) {
	return &Library{rules.Default().Version, scenarios.Groups}, nil
}

// Named names a scenario of the library.
type Named struct {
	Name string `json:"name"`
}

// Text is the answer of the call "scenario": the file of a scenario of the library.
type Text struct {
	Text string `json:"text"`
}

func text(_ context.Context, named *Named, _ Progress) (*Text, error) {
	if !scenarios.Has(named.Name) {
		return nil, fmt.Errorf("%q is no scenario of the library%s", document.Abridge(named.Name), document.Suggest(named.Name, scenarios.Names()))
	}
	content, err := scenarios.Files.ReadFile(scenarios.File(named.Name))
	return &Text{string(content)}, err
}

// Setting is a scenario as a person has set it.
type Setting struct {
	Text   string   `json:"text"`   // YAML
	Name   string   `json:"name"`   // which scenario of several in the text; "" for the first
	Set    []string `json:"set"`    // assignments PATH=VALUE, as those of --set
	Config string   `json:"config"` // flow-control objects, as kubectl prints them, that replace those of the scenario; "" for the scenario's own
	Seed   *uint64  `json:"seed"`   // nil for the scenario's own
	// Files are those that the text names, such as the trace of a log that was imported.
	Files map[string]string `json:"files"`
}

// load reads the scenarios of a setting. The error is document.Errors.
func (s *Setting) load() ([]*scenario.Scenario, error) {
	fsys := files{}
	maps.Copy(fsys, s.Files)
	fsys[scenarioFile] = s.Text
	set := assign.New("setting", s.Set)
	if s.Config != "" {
		fsys[configFile] = s.Config
		set = append(set, assign.New("your configuration", []string{"spec.config.files=[" + configFile + "]", "spec.config.objects=[]"})...)
	}
	all, wrong := loader.Load(fsys, scenarioFile, loader.Options{Set: set})
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the file is empty; want a scenario")
	}
	for _, sc := range all {
		if s.Seed != nil {
			sc.Spec.Seed = *s.Seed
		}
	}
	return all, nil
}

// one returns the scenario that the setting names.
func (s *Setting) one() (*scenario.Scenario, error) {
	all, err := s.load()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, sc := range all {
		if s.Name == "" || sc.Metadata.Name == s.Name {
			return sc, nil
		}
		names = append(names, sc.Metadata.Name)
	}
	return nil, fmt.Errorf("there is no scenario %q in the file%s", document.Abridge(s.Name), document.Hint(s.Name, names))
}

// Checked is the answer of the call "check": the scenarios of a text without errors.
type Checked struct {
	Scenarios []Summary `json:"scenarios"`
}

// Summary is what the page shows of a scenario before it is run.
type Summary struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Seed        uint64    `json:"seed"`
	DurationNs  int64     `json:"durationNs"`
	Controls    []Control `json:"controls"`
	Warnings    []Mistake `json:"warnings"` // and notes
}

// Control is a setting that can be moved, with the value that the scenario gives it.
type Control struct {
	Name    string  `json:"name"`
	Path    string  `json:"path"`
	Minimum float64 `json:"minimum"`
	Maximum float64 `json:"maximum"`
	Step    float64 `json:"step"`
	Unit    string  `json:"unit"`
	Value   float64 `json:"value"`
}

func check(_ context.Context, s *Setting, _ Progress) (*Checked, error) {
	all, err := s.load()
	if err != nil {
		return nil, err
	}
	answer := &Checked{}
	for _, sc := range all {
		controls := []Control{}
		for i := range sc.Metadata.Controls {
			c := &sc.Metadata.Controls[i]
			controls = append(controls, Control{c.Name, c.Path, c.Minimum, c.Maximum, c.Step, c.Unit, c.Value})
		}
		answer.Scenarios = append(answer.Scenarios, Summary{sc.Metadata.Name, sc.Metadata.Description, sc.Spec.Seed, int64(sc.Spec.Duration), controls,
			mistakes(append(sc.Warnings[:len(sc.Warnings):len(sc.Warnings)], sc.Notes...))})
	}
	return answer, nil
}
