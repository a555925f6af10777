package scenario

import (
	"io/fs"
	"path/filepath"
	"strings"

	"apfsim/document"
	"apfsim/document/yaml"
)

// Options are changes to what a scenario file says.
type Options struct {
	// Set are assignments to fields of every scenario of the file and of its levels, one
	// after the other.
	Set []Assignment
	// ConfigFiles, if any, replace spec.config.files and spec.config.objects; the base
	// stays. They are files of the host, relative to its working directory.
	ConfigFiles []string
	// Cache, if any, lets several loads with one file system read each file once: they agree on
	// what it holds, even if it changes meanwhile.
	Cache *Cache
}

// Load reads the scenarios of a file, one a document. A nil fsys is the host's file
// system, where any path will do. What the scenarios refer to is read from the same
// file system, relative to the file.
//
// The scenarios are nil when there are mistakes. These are in the order of their places,
// and are all there are: in the file, in the assignments, and in the files referred to.
func Load(fsys fs.FS, name string, options Options) ([]*Scenario, document.Errors) {
	if fsys == nil {
		fsys = host
	}
	l := loader{fsys: fsys, name: displayName(fsys, name), options: options, files: options.Cache}
	if l.files == nil {
		l.files = NewCache()
	}
	l.file = l.files.text(fsys, name)
	if l.file.err != nil {
		var mistakes document.Errors
		mistakes.Add(document.Position{File: displayName(fsys, name)}, "", "%s", unreadable(fsys, name, l.file.err))
		return nil, mistakes
	}
	docs, mistakes := yaml.Parse(displayName(fsys, name), l.file.text)
	assignments, wrong := parseAssignments(options.Set)
	mistakes = append(mistakes, wrong...)
	var scenarios []*Scenario
	for i := range docs {
		s, wrong := l.load(&docs[i], assignments)
		scenarios = append(scenarios, s)
		mistakes = append(mistakes, wrong...)
	}
	mistakes = append(mistakes, repeatedNames(scenarios, docs)...)
	if len(mistakes) > 0 {
		return nil, distinct(mistakes.Sorted())
	}
	return scenarios, nil
}

type loader struct {
	fsys    fs.FS
	name    string
	file    *fileText
	options Options
	files   *Cache
}

// load reads one document.
func (l *loader) load(doc *document.Document, assignments []assignment) (*Scenario, document.Errors) {
	s := newScenario()
	s.File, s.files, s.document = l.name, l.fsys, doc
	s.addInput(Input{Name: filepath.Base(l.name), Path: l.name, sum: l.file.sum})
	v := validator{doc: doc, scenario: s, files: l.files}
	for i := range assignments {
		a := &assignments[i]
		if a.level != "" {
			continue
		}
		if err := a.apply(doc, a.path); err != nil {
			v.elsewhere.Add(a.place, "", "%v", err)
		}
	}
	if v.header() {
		d := document.Decoder{File: l.name}
		d.Decode(doc.Root, "", s)
		v.mistakes = append(v.mistakes, d.Errors...)
		v.config(l.options.ConfigFiles)
		if v.configured {
			v.levels(assignments)
		}
		v.spec()
	}
	s.Warnings, s.Notes = v.warnings.Sorted(), distinct(v.notes.Sorted())
	all := append(v.mistakes, v.elsewhere...)
	for _, places := range []document.Errors{all, s.Warnings} {
		for i := range places {
			places[i].Position = positionOf(places[i].Position, assignments)
		}
	}
	for i := range s.Spec.Thresholds {
		t := &s.Spec.Thresholds[i]
		t.Position = positionOf(t.Position, assignments)
	}
	return s, all
}

// header checks that the document is a scenario at all. If it says that it is something
// else, nothing in it would make sense.
func (v *validator) header() bool {
	if v.doc.Root == nil || v.doc.Root.Kind != document.Object {
		kind := document.Null
		if v.doc.Root != nil {
			kind = v.doc.Root.Kind
		}
		v.fail("", "is %v; want an object with apiVersion %s", kind, APIVersion)
		return false
	}
	text := func(name string) string {
		if n := v.doc.Root.Get(name); n != nil && n.Kind == document.String {
			return n.Text
		}
		return ""
	}
	if kind := text("kind"); kind == "List" || strings.HasPrefix(text("apiVersion"), "flowcontrol.apiserver.k8s.io/") {
		v.fail("kind", "%q: want %s; flow-control objects go with --config, beside a scenario", document.Abridge(kind), Kind)
		return false
	}
	ok := true
	for _, field := range []struct{ name, want string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		n := v.doc.Root.Get(field.name)
		// The decoder reports one that is missing or no string.
		if n != nil && n.Kind == document.String && n.Text != field.want {
			v.fail(field.name, "%q: want %s%s", document.Abridge(n.Text), field.want, document.Suggest(n.Text, []string{field.want}))
			ok = false
		}
	}
	return ok
}

// repeatedNames returns a mistake for each scenario called like one before it.
func repeatedNames(scenarios []*Scenario, docs []document.Document) document.Errors {
	var mistakes document.Errors
	first := map[string]int{}
	for i, s := range scenarios {
		name := s.Metadata.Name
		if name == "" {
			continue
		}
		if at, found := first[name]; found {
			mistakes.Add(docs[i].Position("metadata.name"), "metadata.name",
				"%q is the name of the scenario on line %d, too", name, docs[at].Position("metadata").Line)
			continue
		}
		first[name] = i
	}
	return mistakes
}

// distinct leaves out what several scenarios of a file have in common: a mistake in an
// assignment or in a file that they all refer to.
func distinct(sorted document.Errors) document.Errors {
	seen := map[document.Error]bool{}
	kept := sorted[:0]
	for _, m := range sorted {
		if !seen[m] {
			seen[m] = true
			kept = append(kept, m)
		}
	}
	return kept
}

// resolve returns the name of a file that the scenario mentions.
func (s *Scenario) resolve(name string) string { return resolve(s.files, s.File, name) }
