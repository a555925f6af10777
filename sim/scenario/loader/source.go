package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/document/yaml"
)

// Source is the content of one file or folder of flow-control objects, or of standard input.
type Source struct {
	Name  string   // as positions have it
	Files []string // that were read: the file itself, or those below the folder
	config.Decoded
	err error // why it cannot be read at all
}

// manifestEndings are how files end that are read in a folder.
var manifestEndings = []string{".yaml", ".yml", ".json"}

// config reads a file or a folder, once.
func (c *Cache) config(fsys fs.FS, name string) *Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := cachedFile{fsys == host, name}
	if known := c.configs[file]; known != nil {
		return known
	}
	s := &Source{Name: displayName(fsys, name)}
	c.configs[file] = s
	s.read(c, fsys, name)
	return s
}

// read reads the source from the cache, whose lock is held.
func (s *Source) read(c *Cache, fsys fs.FS, name string) {
	if s.Files, s.err = manifests(fsys, name); s.err != nil {
		return
	}
	var docs []document.Document
	var errors, notes document.Errors
	patches := map[string]string{} // the kustomization of each
	for _, file := range s.Files {
		if strings.HasPrefix(filepath.Base(file), "kustomization.") {
			for _, patch := range c.patchesLocked(fsys, file) {
				patches[patch] = file
			}
		}
	}
	s.Files = slices.DeleteFunc(s.Files, func(file string) bool {
		by := patches[file]
		if by != "" {
			notes.Add(document.Position{File: file}, "", "skipped, because it is a patch of %s and no complete object; for the objects with it: kustomize build %s | apfsim config validate -",
				by, filepath.ToSlash(filepath.Dir(by)))
		}
		return by != ""
	})
	for _, file := range s.Files {
		read := c.textLocked(fsys, file)
		if read.err != nil {
			errors.Add(document.Position{File: displayName(fsys, file)}, "", "%s", unreadable(fsys, file, read.err))
			continue
		}
		more, wrong := parseManifests(displayName(fsys, file), read.text)
		docs, errors = append(docs, more...), append(errors, wrong...)
	}
	s.Decoded = config.Decode(docs...)
	s.Errors, s.Notes = append(errors, s.Errors...), notes
	others := fmt.Sprintf("%s of other kinds: %v", count(s.Skipped.Total(), "object"), s.Skipped)
	none := len(s.Objects.FlowSchemas) == 0 && len(s.Objects.PriorityLevels) == 0
	switch {
	case !none && len(s.Skipped) > 0:
		s.Notes.Add(document.Position{File: s.Name}, "", "skipped %s", others)
	case !none || len(s.Errors) > 0:
	case len(notes) > 0:
		s.nothing("only patches of Kustomize; want what kustomize build prints")
	case len(s.Skipped) > 0:
		s.nothing("only " + others)
	case len(docs) > 0:
		s.nothing("an empty list")
	default:
		s.nothing("nothing")
	}
}

// patchesLocked returns the files that a kustomization applies to the objects of other files. They have parts of objects,
// which look like objects that are invalid.
func (c *Cache) patchesLocked(fsys fs.FS, kustomization string) (files []string) {
	docs, _ := yaml.Parse(kustomization, c.textLocked(fsys, kustomization).text)
	for _, doc := range docs {
		for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
			list := doc.Root.Get(field)
			if list == nil {
				continue
			}
			for _, item := range list.Items {
				if path := item.Get("path"); path != nil {
					item = path
				}
				if item.Kind == document.String {
					files = append(files, resolve(fsys, kustomization, item.Text))
				}
			}
		}
	}
	return files
}

// nothing notes that there is no object of flow control.
func (s *Source) nothing(found string) {
	s.Errors.Add(document.Position{File: s.Name}, "", "has no FlowSchema or PriorityLevelConfiguration; found %s", found)
}

// Summary says in one line what was read; what was skipped is in the notes.
func (s *Source) Summary() string {
	text := fmt.Sprintf("%s: %s, %s", s.Name, count(len(s.Objects.FlowSchemas), "FlowSchema"), count(len(s.Objects.PriorityLevels), "PriorityLevelConfiguration"))
	if len(s.Files) > 1 {
		text += fmt.Sprintf(" in %d files", len(s.Files))
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// manifests returns the file itself or, for a folder, the files below it that may hold
// objects, in the order of their names. Hidden ones do not count.
func manifests(fsys fs.FS, name string) ([]string, error) {
	if fsys == host && name == Stdin {
		return []string{name}, nil
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	join := path.Join
	if fsys == host {
		join = filepath.Join
	}
	if _, err := fs.Stat(fsys, join(name, "Chart.yaml")); err == nil {
		return nil, errChart
	}
	var files []string
	err = fs.WalkDir(fsys, name, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == name:
			return nil
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), "."), d.IsDir(), !slices.Contains(manifestEndings, strings.ToLower(path.Ext(d.Name()))):
			return nil
		}
		files = append(files, file)
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errNoManifests
	}
	return files, err
}

var (
	errChart       = errors.New("is a Helm chart; want its rendered objects, as from: helm template CHART | apfsim config validate -")
	errNoManifests = errors.New("is a folder without a file that ends in " + strings.Join(manifestEndings, ", "))
)

// parseManifests parses a file of objects, as kubectl or Helm prints them.
func parseManifests(file string, text []byte) ([]document.Document, document.Errors) {
	docs, errors := yaml.ParseManifests(file, withoutNotes(text), config.Foreign)
	if len(errors) == 0 {
		return docs, nil
	}
	// A chart's template breaks the YAML around it in many ways, all of which have one cause.
	if at := templateAction.FindIndex(text); at != nil {
		start := bytes.LastIndexByte(text[:at[0]], '\n') + 1
		end := at[1]
		if newline := bytes.IndexByte(text[at[0]:at[1]], '\n'); newline >= 0 {
			end = at[0] + newline
		}
		place := document.Position{File: file, Line: 1 + bytes.Count(text[:start], []byte{'\n'}), Column: 1 + len([]rune(string(text[start:at[0]])))}
		return nil, document.Errors{{Position: place, Message: fmt.Sprintf(
			"%q is a Helm template; want its rendered objects, as from: helm template CHART | apfsim config validate -",
			document.Abridge(string(text[at[0]:end])))}}
	}
	return docs, errors
}

// templateAction is an action of a Go template as charts have them.
var templateAction = regexp.MustCompile(`\{\{-?\s*(/\*|\.|\$|(if|else|range|with|end|define|include|template|block|toYaml|tpl|required|default|printf|quote|nindent|indent|list|dict)\b)[^}]*\}\}`)

// withoutNotes blanks the lines of a text that helm install --dry-run or helm get prints around
// the objects of a release: its name and state before them, and NOTES after them.
func withoutNotes(text []byte) []byte {
	release := bytes.HasPrefix(text, []byte("NAME: "))
	if !release && !bytes.Contains(text, []byte("\n# Source: ")) && !bytes.HasPrefix(text, []byte("# Source: ")) {
		return text
	}
	lines := bytes.Split(text, []byte{'\n'})
	heading, notes := release, false
	for i, line := range lines {
		switch line := string(bytes.TrimRight(line, "\r")); {
		case line == "NOTES:":
			notes = true
		case line == "HOOKS:", line == "MANIFEST:":
			lines[i], heading = nil, false
		}
		if heading || notes {
			lines[i] = nil
		}
	}
	return bytes.Join(lines, []byte{'\n'})
}
