package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func project(t *testing.T) []*pkg {
	t.Helper()
	all, err := readPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPackagesFollowTheRules(t *testing.T) {
	all := project(t)
	for _, violation := range violations(all) {
		t.Error(violation)
	}
	for _, name := range outputFormats {
		if !slices.ContainsFunc(all, func(p *pkg) bool { return p.name == name }) {
			t.Errorf("the output format %s does not exist", name)
		}
	}
	for name := range own {
		if !slices.ContainsFunc(all, func(p *pkg) bool { return p.name == name }) {
			t.Errorf("the package %s, which has an exception, does not exist", name)
		}
	}
}

func TestTableIsCurrent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _, err := split(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, table(project(t))); diff != "" {
		t.Errorf("the table in %s is not current; run: go run ./docs/layout\n%s", page, diff)
	}
}

// A change of what other modules can use is in the diff of the file that lists it.
func TestAPIIsCurrent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, apiFile))
	if err != nil {
		t.Fatal(err)
	}
	all := project(t)
	want, err := api(root, all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("%s is not current; run: make layout\n%s", apiFile, diff)
	}
	for _, name := range apiPackages {
		if !slices.ContainsFunc(all, func(p *pkg) bool { return p.name == name }) {
			t.Errorf("the package %s, which is part of the API, does not exist", name)
		}
	}
}

// The API is what is exported, without comments and bodies.
func TestExported(t *testing.T) {
	dir := t.TempDir()
	text := `// Package sample is a sample.
package sample

// C is exported.
const C, d = 1, 2

var V = f()

func f() int { return d }

// F is exported.
func F(x int) (y int) {
	return x
}

// T is exported.
type T struct {
	A, b int // one of them is not
}

func (t *T) M() {}
func (t *T) n() {}

type hidden struct{}

func (hidden) M() {}
`
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := exported(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"const C, _ = 1, 2", "var V = f()", "func F(x int) (y int)",
		"type T struct {\n\tA int\n\t// contains filtered or unexported fields\n}", "func (t *T) M()"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each rule reports a package that violates it.
func TestViolationsAreReported(t *testing.T) {
	valid := func() pkg {
		return pkg{name: "core/seats", subject: "divides seats", lines: 10, imports: []string{"math"}}
	}
	if found := violations([]*pkg{new(valid())}); found != nil {
		t.Fatalf("a valid package is reported: %q", found)
	}
	for _, c := range []struct {
		name   string
		change func(p *pkg)
		want   string
	}{
		{"core imports a module", func(p *pkg) { p.imports = []string{"gonum.org/v1/gonum/stat"} },
			"core/seats imports gonum.org/v1/gonum/stat; core imports only core, document and the standard library"},
		{"core takes a lock", func(p *pkg) { p.imports = []string{"sync"} },
			"core/seats imports sync; core does no input or output and takes no lock"},
		{"core reads the clock", func(p *pkg) { p.effects = []string{"calls time.Now"} },
			"core/seats calls time.Now; core gets the time as an argument"},
		{"core imports a format of documents", func(p *pkg) { p.imports = []string{"apfsim/document/yaml"} },
			"core/seats imports apfsim/document/yaml; core imports only core, document and the standard library"},
		{"sim imports reports", func(p *pkg) { p.name, p.imports = "sim/server", []string{"apfsim/reports/result"} },
			"sim/server imports reports/result, which is a layer above it"},
		{"reports imports experiment", func(p *pkg) { p.name, p.imports = "reports/render", []string{"apfsim/experiment"} },
			"reports/render imports experiment, which is a layer above it"},
		{"reports imports a command", func(p *pkg) { p.name, p.imports = "reports/render", []string{"apfsim/cmd/apfsim"} },
			"reports/render imports cmd/apfsim, which is a layer above it"},
		{"an output format imports another", func(p *pkg) { p.name, p.imports = "reports/render", []string{"apfsim/reports/charts"} },
			"reports/render imports reports/charts; an output format does not import another"},
		{"a renderer imports a result", func(p *pkg) { p.name, p.imports = "reports/charts", []string{"apfsim/reports/result"} },
			"reports/charts imports reports/result; a renderer knows documents only, of reports/report, and reports/format"},
		{"a renderer imports what is simulated", func(p *pkg) { p.name, p.imports = "reports/render", []string{"apfsim/sim/metric"} },
			"reports/render imports sim/metric; a renderer knows documents only, of reports/report, and reports/format"},
		{"k8s.io", func(p *pkg) { p.name, p.imports = "sim/server", []string{"k8s.io/apiserver/pkg/util/flowcontrol"} },
			"sim/server imports k8s.io/apiserver/pkg/util/flowcontrol; only those of lab and live may"},
		{"k8s.io in a test", func(p *pkg) { p.tests = []string{"k8s.io/api/flowcontrol/v1"} },
			"core/seats imports k8s.io/api/flowcontrol/v1; only those of lab and live may"},
		{"a single importer", func(p *pkg) { p.importers = []string{"core/filter"} },
			"core/seats is imported only by core/filter: it is a file of that package, or a subject of its own with a reason in docs/layout"},
		{"an exception without need", func(p *pkg) { p.name, p.importers = "internal/extsort", []string{"lint", "sim"} }, "internal/extsort needs no exception in docs/layout"},
		{"a package comment without a verb", func(p *pkg) { p.subject = "is the seats" },
			"core/seats has a package comment that does not begin with a verb that says what the package does: is the seats"},
		{"no package comment", func(p *pkg) { p.subject = "" }, "core/seats has no package comment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := valid()
			c.change(&p)
			if found := violations([]*pkg{&p}); !slices.Contains(found, c.want) {
				t.Errorf("got %q, want %q", found, c.want)
			}
		})
	}
}

func TestReadPackage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": "// Package sample counts things: a detail. It has a second sentence.\npackage sample\n\nimport \"apfsim/core/seats\"\n\n" +
			"type T struct{ Field int }\n\nfunc (T) Method() {}\n\nfunc F() {}\n\nconst C, d = 1, 2\n",
		"a_windows.go": "package sample\n\nimport \"time\"\n\nfunc now() { go time.Now() }\n",
		"a_test.go":    "package sample\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {}\n",
		"z.go":         "// Code generated by a tool. DO NOT EDIT.\n\npackage sample\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readPackage(dir, "x/sample")
	if err != nil {
		t.Fatal(err)
	}
	want := &pkg{name: "x/sample", subject: "counts things", lines: 17,
		imports: []string{"apfsim/core/seats", "time"}, tests: []string{"testing"},
		effects: []string{"starts a goroutine", "calls time.Now"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pkg{})); diff != "" {
		t.Error(diff)
	}
}

func TestRewriteWantsTheLinesAroundTheTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "layout.md")
	if err := os.WriteFile(file, []byte("# Source layout\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(file, ""); err == nil || !strings.Contains(err.Error(), "are missing") {
		t.Errorf("error %v, want that the lines are missing", err)
	}
}

// In reports, the packages and the longest chain of imports are counted.
func TestDepthOfReports(t *testing.T) {
	var all []*pkg
	for i := range mostReports + 1 {
		p := &pkg{name: fmt.Sprintf("reports/r%02d", i), subject: "counts things", lines: 500}
		if i > 0 {
			p.imports = []string{fmt.Sprintf("apfsim/reports/r%02d", i-1)}
		}
		all = append(all, p)
	}
	want := []string{fmt.Sprintf("reports/r%02d begins a chain of %d imports within reports; at most %d", deepestReports, deepestReports+1, deepestReports)}
	if got := reportsTooDeep(all[:deepestReports+1]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := reportsTooDeep(all), fmt.Sprintf("reports has %d packages; at most %d", mostReports+1, mostReports); !slices.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The page answers where things are with files that exist.
func TestFilesOfThePageExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Where is what\n")
	section, _, _ = strings.Cut(section, "\n## ")
	files := regexp.MustCompile("\\| `([^`]+)` \\|\n").FindAllStringSubmatch(section, -1)
	if len(files) < 20 {
		t.Fatalf("%d files, want 20 at least", len(files))
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(root, file[1])); err != nil {
			t.Error(err)
		}
	}
}
