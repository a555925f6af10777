package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the path of the main module, which all its import paths begin with.
const module = "apfsim"

// pkg is a package.
type pkg struct {
	name      string   // its folder, relative to the root of the module: core/seats
	subject   string   // the first sentence of the package comment
	lines     int      // of its source files, without tests and generated files
	imports   []string // of its source files without tests, as import paths, sorted
	tests     []string // of its tests, as import paths, sorted
	importers []string // the packages of all modules that import it, except in tests, in the order of readPackages
	effects   []string // calls that read the clock or wait, and go statements, in its code without tests
}

// readPackages returns all packages of the main module, sorted by name, with their importers.
func readPackages(root string) ([]*pkg, error) {
	all, err := readModule(root, "")
	importing := all
	for _, other := range []string{"lab/conformance", "lab/live", "live"} {
		packages, failure := readModule(filepath.Join(root, other), other)
		importing, err = append(importing[:len(importing):len(importing)], packages...), errors.Join(err, failure)
	}
	byPath := map[string]*pkg{}
	for _, p := range all {
		byPath[module+"/"+p.name] = p
	}
	for _, p := range importing {
		for _, imported := range p.imports {
			if to := byPath[imported]; to != nil {
				to.importers = append(to.importers, p.name)
			}
		}
	}
	return all, err
}

// readModule returns all packages of the module in a folder, sorted by name; the folder's own name is before theirs. It
// reads the files themselves and does not use go list, so that files for other systems are included.
func readModule(root, folder string) ([]*pkg, error) {
	var all []*pkg
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if dir != root {
			base := entry.Name()
			if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				return filepath.SkipDir // another module
			}
		}
		name, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		p, err := readPackage(dir, path.Join(folder, filepath.ToSlash(name)))
		if p != nil {
			all = append(all, p)
		}
		return err
	})
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.name, b.name) })
	return all, err
}

// readPackage returns the package in a folder, or nil if the folder has no Go files.
func readPackage(dir, name string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	p := &pkg{name: name}
	for _, file := range files {
		err = errors.Join(err, p.addFile(file))
	}
	slices.Sort(p.imports)
	p.imports = slices.Compact(p.imports)
	slices.Sort(p.tests)
	p.tests = slices.Compact(p.tests)
	return p, err
}

func (p *pkg) addFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	isTest := strings.HasSuffix(file, "_test.go")
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if isTest {
			p.tests = append(p.tests, imported)
		} else {
			p.imports = append(p.imports, imported)
		}
	}
	if isTest {
		return nil
	}
	if text := parsed.Doc.Text(); text != "" && p.subject == "" {
		p.subject = subject(path.Base(p.name), text)
	}
	p.addEffects(parsed)
	if !ast.IsGenerated(parsed) {
		p.lines += bytes.Count(text, []byte("\n"))
	}
	return nil
}

// clockFunctions are the functions of package time that read the clock, or start a timer.
var clockFunctions = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

// addEffects adds the calls and statements of a file that read the clock or start a goroutine.
func (p *pkg) addEffects(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			p.effects = append(p.effects, "starts a goroutine")
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" && slices.Contains(clockFunctions, n.Sel.Name) {
				p.effects = append(p.effects, "calls time."+n.Sel.Name)
			}
		}
		return true
	})
}

// subject returns the first sentence of a package comment, up to its first colon or parenthesis and
// without "Package name" before it. Details follow there; the table needs the subject only.
func subject(base, comment string) string {
	sentence := new(doc.Package).Synopsis(comment)
	for _, prefix := range []string{"Package " + base + " ", "Command " + base + " ", titled(base) + " "} {
		sentence = strings.TrimPrefix(sentence, prefix)
	}
	for _, detail := range []string{": ", " ("} {
		sentence, _, _ = strings.Cut(sentence, detail)
	}
	return strings.TrimRight(sentence, ".:")
}

// titled returns a name with its first letter in upper case, as the comment of a program begins.
func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
