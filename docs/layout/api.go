package main

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// apiFile has what other modules can use of the packages that apiPackages names, so that a change of it is seen in a diff.
const apiFile = "docs/reference/api.txt"

// apiPackages are the packages that other modules are meant to use: all of core, and what a run of a scenario needs.
var apiPackages = []string{"scenarios", "sim", "sim/scenario", "sim/scenario/loader", "sim/server"}

// ofAPI says whether other modules are meant to use a package.
func ofAPI(name string) bool { return in(name, "core") || slices.Contains(apiPackages, name) }

// indented indents all lines of a declaration but the first, and none that is empty.
var indented = strings.NewReplacer("\n\n", "\n\n\t", "\n", "\n\t")

// api returns the exported declarations of the packages that other modules are meant to use, without comments and bodies.
func api(root string, all []*pkg) (string, error) {
	var b strings.Builder
	for _, p := range all {
		if p.lines == 0 || !ofAPI(p.name) {
			continue
		}
		declarations, err := exported(filepath.Join(root, p.name))
		if err != nil {
			return "", err
		}
		b.WriteString("package " + module + "/" + p.name + "\n")
		for _, d := range declarations {
			b.WriteString("\n\t" + indented.Replace(d) + "\n")
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// exported returns the exported declarations of the package in a folder: constants, variables and functions in the order of
// their names, then types, each with its functions and methods.
func exported(dir string) (all []string, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	p, err := doc.NewFromFiles(files, parsed, dir)
	if err != nil {
		return nil, err
	}
	add := func(d ast.Decl) {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
		var b bytes.Buffer
		if err == nil {
			err = format.Node(&b, files, d)
		}
		all = append(all, b.String())
	}
	values := func(values []*doc.Value) {
		for _, v := range values {
			add(v.Decl)
		}
	}
	functions := func(functions []*doc.Func) {
		for _, f := range functions {
			add(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, t := range p.Types {
		add(t.Decl)
		values(t.Consts)
		values(t.Vars)
		functions(t.Funcs)
		functions(t.Methods)
	}
	return all, err
}
