package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sourceFile is a file of the package that is changed.
type sourceFile struct {
	path string
	text string
	fset *token.FileSet
	tree *ast.File
}

func (f *sourceFile) offset(pos token.Pos) int { return f.fset.Position(pos).Offset }

func (f *sourceFile) pos(offset int) token.Pos { return f.tree.FileStart + token.Pos(offset) }

func (f *sourceFile) source(node ast.Node) string {
	return f.text[f.offset(node.Pos()):f.offset(node.End())]
}

// listed is what 'go list -json' says of a package.
type listed struct {
	ImportPath, Name, Dir, Export      string
	GoFiles, TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports          []string
}

// program is the package that is changed.
type program struct {
	listed
	fset     *token.FileSet
	files    []*sourceFile
	importer types.Importer
}

// list returns what 'go list' says of packages.
func list(dir string, args ...string) ([]listed, error) {
	command := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,TestImports,XTestImports"}, args...)...)
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	var all []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := decoder.Decode(&p); err {
		case nil:
			all = append(all, p)
		case io.EOF:
			return all, nil
		default:
			return nil, err
		}
	}
}

// load reads a package and compiles what it imports.
func load(dir, path string) (*program, error) {
	all, err := list(dir, "-deps", "-export", path)
	if err != nil {
		return nil, err
	}
	p := &program{listed: all[len(all)-1], fset: token.NewFileSet()} // go list prints a package after what it imports
	exports := map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	p.importer = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(p.fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &sourceFile{path: path, text: string(text), fset: p.fset, tree: tree})
	}
	return p, nil
}

// compiles reports whether the package with a change passes the type checker.
func (p *program) compiles(m *mutant) bool {
	var trees []*ast.File
	for _, f := range p.files {
		tree := f.tree
		if f == m.file {
			var err error
			if tree, err = parser.ParseFile(p.fset, f.path, m.mutate(), parser.SkipObjectResolution); err != nil {
				return false
			}
		}
		trees = append(trees, tree)
	}
	_, err := (&types.Config{Importer: p.importer}).Check(p.ImportPath, p.fset, trees, nil)
	return err == nil
}

// draw returns n random mutants that compile, in the order of the text, or all of them if there are no more.
func (p *program) draw(n int, seed uint64) []*mutant {
	var all []*mutant
	for _, f := range p.files {
		all = append(all, candidates(f)...)
	}
	place := map[*mutant]int{}
	for i, m := range all {
		place[m] = i
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var drawn []*mutant
	for _, m := range all {
		if len(drawn) < n && p.compiles(m) {
			drawn = append(drawn, m)
		}
	}
	slices.SortFunc(drawn, func(a, b *mutant) int { return place[a] - place[b] })
	return drawn
}

// batches divides mutants into those that one build can contain: all that are within functions, and each of the
// others alone. They are numbered from 1 in their order.
func batches(mutants []*mutant) [][]int {
	var within []int
	var all [][]int
	for i, m := range mutants {
		if m.function != nil {
			within = append(within, i+1)
		} else {
			all = append(all, []int{i + 1})
		}
	}
	if within != nil {
		all = slices.Insert(all, 0, within)
	}
	return all
}

// variable is the environment variable with the number of the active mutant, and the name of the variable in the
// changed package that has its value.
const variable = "activeMutant"

// overlay returns the text of each file that differs in the build of a batch. A function with mutants begins with
// one branch for each of them, which executes the changed body. So a hundred mutants are compiled in one build.
func (p *program) overlay(mutants []*mutant, batch []int) map[string]string {
	files := map[string]string{
		filepath.Join(p.Dir, "zz_active_mutant.go"): fmt.Sprintf(
			"package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar %s, _ = strconv.Atoi(os.Getenv(%q))\n\nvar _ = %[2]s\n", p.Name, variable, variable),
	}
	for _, f := range p.files {
		var b strings.Builder
		written := 0
		for _, number := range batch {
			m := mutants[number-1]
			switch {
			case m.file != f:
				continue
			case m.function == nil:
				b.WriteString(m.replace(written, m.end))
				written = m.end
				continue
			}
			body := m.function.body
			if begin := f.offset(body.Lbrace) + 1; written < begin {
				b.WriteString(f.text[written:begin])
				written = begin
			}
			results, call := "", "%s; return"
			if r := m.function.results; r != nil {
				results, call = f.source(r), "return %s"
			}
			fmt.Fprintf(&b, " if %s == %d { "+call+" };", variable, number,
				fmt.Sprintf("func() %s %s()", results, m.replace(f.offset(body.Lbrace), f.offset(body.End()))))
		}
		if written > 0 {
			b.WriteString(f.text[written:])
			files[f.path] = b.String()
		}
	}
	return files
}
