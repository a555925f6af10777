// Package upstreamtests runs the tests of flow control of k8s.io/apiserver against core. The tests are those of the
// module, as they are; what they test is put into its place when they are built (go test -overlay): a declaration of
// testdata/PACKAGE.go replaces upstream's declaration of the same name, which is renamed. The functions that replace
// nothing have names with "our".
package upstreamtests

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// suite is the tests of one package of upstream.
type suite struct {
	folder string            // below k8s.io/apiserver/pkg/util
	runs   map[string]string // tests that run with core, and the function of core that each must have called, as "seats.divide"
	listed map[string]string // tests that say nothing about core, and why
	older  map[string]string // of runs, some that fail under the rules of an older release, and which one
}

const (
	ownList = "tests upstream's list of the requests of a queue"
	ownMain = "sets up the others"
)

var suites = []suite{
	{
		folder: "flowcontrol/fairqueuing/queueset",
		runs: map[string]string{
			"TestBaseline":                        "queueset.dispatch",
			"TestContextCancel":                   "queueset.TimeOut",
			"TestDifferentFlowsExpectEqual":       "queueset.dispatch",
			"TestDifferentFlowsExpectUnequal":     "queueset.dispatch",
			"TestDifferentFlowsWithoutQueuing":    "queueset.accommodates",
			"TestDifferentWidths":                 "queueset.dispatch",
			"TestExampt":                          "queueset.accommodates",
			"TestFindDispatchQueueLocked":         "queueset.dispatch",
			"TestRequestSeats":                    "estimate.MaxSeats",
			"TestRequestWork":                     "queueset.totalWork",
			"TestSeatSecondsRollover":             "queueset.windBack",
			"TestSeparations":                     "queueset.Release",
			"TestTooWide":                         "queueset.dispatch",
			"TestTotalRequestsExecutingWithPanic": "queueset.Finish",
			"TestUniformFlowsHandSize1":           "queueset.dispatch",
			"TestUniformFlowsHandSize3":           "queueset.leastWork",
			"TestWindup":                          "queueset.bound",
		},
		listed: map[string]string{
			"TestFIFORemoveFromFIFOFunc":                          ownList,
			"TestFIFOQueueWorkEstimate":                           ownList,
			"TestFIFOWithEnqueueDequeueMultipleRequests":          ownList,
			"TestFIFOWithEnqueueDequeueSingleRequest":             ownList,
			"TestFIFOWithEnqueueDequeueSomeRequestsRemainInQueue": ownList,
			"TestFIFOWithRemoveIsIdempotent":                      ownList,
			"TestFIFOWithRemoveMultipleRequestsInArrivalOrder":    ownList,
			"TestFIFOWithRemoveMultipleRequestsInRandomOrder":     ownList,
			"TestFIFOWithWalk":                                    ownList,
			"TestFairAlloc":                                       "tests a function of the tests",
			"TestFinishRequestLocked":                             "sets private counters of a queue set to arbitrary numbers, and looks at them",
			"TestMain":                                            ownMain,
			"TestNoRestraint":                                     "tests the tests, with a queue set of their own",
		},
		older: map[string]string{"TestDifferentWidths": "1.22", "TestSeatSecondsRollover": "1.22", "TestWindup": "1.18"},
	},
	{
		folder: "flowcontrol/request",
		runs: map[string]string{
			"TestListWorkEstimator":  "estimate.seatsByBytes",
			"TestSeatSecondsPerSeat": "estimate.DurationPerSeat",
			"TestSeatSecondsString":  "estimate.SeatsTimesDuration",
			"TestWorkEstimator":      "estimate.Estimate",
		},
		listed: map[string]string{
			"TestStorageObjectCountTracker":          "core is told what a server knows of its objects",
			"TestStorageObjectCountTrackerWithPrune": "core is told what a server knows of its objects",
		},
		older: map[string]string{"TestWorkEstimator": "1.34"},
	},
	{
		folder: "flowcontrol",
		runs: map[string]string{
			"TestBorrowing":                           "seats.Adjust",
			"TestConcAlloc":                           "seats.divide",
			"TestDroppedRequestsTracker":              "flowcontrol.revise",
			"TestDroppedRequestsTrackerPLIndependent": "flowcontrol.revise",
			"TestGetInterestedWatchCount":             "estimate.interested",
			"TestGetInterestedWatchCountWithIndex":    "estimate.countsForMutations",
			"TestLiterals":                            "classify.Matching",
			"TestAPFControllerWithGracefulShutdown":   "seats.Adjust",
			"TestConfigConsumer":                      "seats.Adjust",
			"TestQueueWaitTimeLatencyTracker":         "queueset.dispatch",
			"TestMatching":                            "classify.Matching",
			"TestPolicyRules":                         "classify.Matching",
			"TestUpdateBorrowing":                     "seats.Adjust",
			"Test_GetMaxSeats":                        "seats.Cap",
		},
		listed: map[string]string{
			"TestMain":          ownMain,
			"TestRegisterWatch": "looks at upstream's map of watches",
		},
		older: map[string]string{"TestUpdateBorrowing": "1.27"},
	},
	{
		folder: "shufflesharding",
		runs: map[string]string{
			"TestCardDuplication":     "dealer.Deal",
			"TestDealer_DealIntoHand": "dealer.Deal",
			"TestNewDealer":           "dealer.New",
			"TestRequiredEntropyBits": "dealer.EntropyBits",
			"TestUniformDistribution": "dealer.Deal",
		},
	},
}

func (s *suite) path() string { return "k8s.io/apiserver/pkg/util/" + s.folder }

// program is the file name of the tests when they are built.
func (s *suite) program() string { return filepath.Base(s.folder) + ".test" }

var realTime = flag.Bool("realtime", false, "run upstream's tests, of which one has the real clock")

// Upstream's tests pass with core in the place of upstream's code. That core was in their way is sure because of the
// functions of core that were called, and because some tests fail when core follows older rules.
func TestUpstreamTestsPassWithCore(t *testing.T) {
	if !*realTime {
		t.Skip("one of the tests has the real clock and takes 50 s; make conformance-upstream-tests runs them")
	}
	m := findModules(t)
	programs := m.build(t)
	for _, s := range suites {
		for name, want := range s.runs {
			t.Run(s.folder+"/"+name, func(t *testing.T) {
				t.Parallel()
				output, called, err := m.run(t, &s, filepath.Join(programs, s.program()), name, m.release)
				if err != nil {
					t.Fatalf("%v\n%s", err, output[max(0, len(output)-4000):])
				}
				if !called[want] {
					t.Errorf("%s of core was not called; what was: %v", want, slices.Sorted(maps.Keys(called)))
				}
				if older := s.older[name]; older != "" {
					output, _, err := m.run(t, &s, filepath.Join(programs, s.program()), name, older)
					if err == nil || !strings.Contains(string(output), "--- FAIL: "+name) || strings.Contains(string(output), "panic:") {
						t.Errorf("under the rules of %s: %v; want a failure of the test\n%s", older, err, output[max(0, len(output)-4000):])
					}
				}
			})
		}
	}
}

// Each test of upstream's packages is run or listed, and there is no other.
func TestEveryUpstreamTestHasItsPlace(t *testing.T) {
	m := findModules(t)
	for _, s := range suites {
		placed := slices.Sorted(maps.Keys(s.runs))
		for name := range s.listed {
			placed = append(placed, name)
		}
		var found []string
		for _, file := range m.parse(t, filepath.Join(m.apiserver, "pkg/util", s.folder), true) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
					found = append(found, f.Name.Name)
				}
			}
		}
		slices.Sort(placed)
		slices.Sort(found)
		if !slices.Equal(placed, found) {
			t.Errorf("%s has the tests\n%s\nwant, as in suites:\n%s", s.folder, strings.Join(found, "\n"), strings.Join(placed, "\n"))
		}
	}
}

// modules are where the sources are.
type modules struct {
	apiserver, apfsim string // folders
	release           string // of Kubernetes, as "1.37.2"
}

func findModules(t *testing.T) (m modules) {
	t.Helper()
	var version string
	fields := strings.Fields(output(t, exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "k8s.io/apiserver", "apfsim")))
	m.apiserver, version, m.apfsim = fields[0], fields[1], fields[2]
	m.release = "1" + strings.TrimPrefix(version, "v0")
	return m
}

func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", c, err, out, complaints.String())
	}
	return string(out)
}

// parse returns the files of a folder that are tests, or those that are not, by their names.
func (m *modules) parse(t *testing.T, folder string, tests bool) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no Go files (%v)", folder, err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") == tests {
			files[name] = parseFile(t, token.NewFileSet(), name)
		}
	}
	return files
}

func parseFile(t *testing.T, set *token.FileSet, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// build builds upstream's tests, and returns the folder of the programs. The go command wants no replacement in its cache
// of modules, so that upstream's module has another path, too.
func (m *modules) build(t *testing.T) (programs string) {
	t.Helper()
	folder := filepath.Join(m.apfsim, "bin", "upstreamtests") // always the same, for the cache of compiled packages
	upstream := filepath.Join(folder, "apiserver")
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o755), os.Symlink(m.apiserver, upstream)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		write(t, filepath.Join(folder, name), read(t, filepath.Join("..", name)))
	}
	output(t, exec.Command("go", "mod", "edit", "-replace=k8s.io/apiserver="+upstream, "-replace=apfsim="+m.apfsim, filepath.Join(folder, "go.mod")))

	overlay := struct{ Replace map[string]string }{map[string]string{}}
	build := []string{"test", "-c", "-vet=off", "-modfile", filepath.Join(folder, "go.mod"), "-overlay", filepath.Join(folder, "overlay.json"),
		"-cover", "-coverpkg=apfsim/core/classify,apfsim/core/dealer,apfsim/core/estimate,apfsim/core/flowcontrol,apfsim/core/queueset,apfsim/core/seats", "-o", folder}
	for _, s := range suites {
		below := filepath.Join("pkg/util", s.folder)
		ours := absolute(t, filepath.Join("testdata", filepath.Base(s.folder)+".go"))
		overlay.Replace[filepath.Join(upstream, below, "apfsim.go")] = ours
		for name, content := range m.replace(t, filepath.Join(m.apiserver, below), ours) {
			changed := filepath.Join(folder, strings.ReplaceAll(below, "/", "_")+"_"+name)
			write(t, changed, content)
			overlay.Replace[filepath.Join(upstream, below, name)] = changed
		}
		build = append(build, s.path())
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "overlay.json"), text)
	output(t, exec.Command("go", build...))
	return folder
}

// replace returns the files of a package of upstream that change so that a file of ours can be added to it. A declaration
// that is in ours, too, gets a name with "upstream"; a struct T has the fields of our TFields, too.
func (m *modules) replace(t *testing.T, folder, ours string) map[string][]byte {
	t.Helper()
	missing := map[string]bool{} // what of ours replaces something that has not been found
	types := map[string]bool{}
	file := parseFile(t, token.NewFileSet(), ours)
	for _, d := range file.Decls {
		for name := range declared(d) {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				types[name] = true
			} else if _, ok := d.(*ast.FuncDecl); ok {
				receiver, _, _ := strings.Cut(name, ".")
				missing[name] = !types[receiver] && !strings.HasPrefix(strings.ToLower(name[strings.LastIndex(name, ".")+1:]), "our")
			}
		}
	}
	extended := map[string]bool{}
	for name := range types {
		if base, ok := strings.CutSuffix(name, "Fields"); ok {
			extended[base] = true
		}
	}

	files := map[string][]byte{}
	maps.DeleteFunc(missing, func(_ string, replaces bool) bool { return !replaces })
	for name := range m.parse(t, folder, false) {
		set := token.NewFileSet()
		insertions := map[int]string{}
		for _, d := range parseFile(t, set, name).Decls {
			for declaration, ident := range declared(d) {
				if missing[declaration] {
					insertions[set.Position(ident.Pos()).Offset] = "upstream"
					delete(missing, declaration)
				}
			}
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				s, ok := s.(*ast.TypeSpec)
				if !ok || !extended[s.Name.Name] {
					continue
				}
				if fields, ok := s.Type.(*ast.StructType); ok {
					insertions[set.Position(fields.Fields.Opening).Offset+1] = s.Name.Name + "Fields;"
					delete(extended, s.Name.Name)
				}
			}
		}
		if len(insertions) == 0 {
			continue
		}
		content, at := []byte(nil), 0
		source := read(t, name)
		for _, offset := range slices.Sorted(maps.Keys(insertions)) {
			content = append(append(content, source[at:offset]...), insertions[offset]...)
			at = offset
		}
		files[filepath.Base(name)] = append(content, source[at:]...)
	}
	if len(missing)+len(extended) > 0 {
		t.Fatalf("%s has no declarations of %v %v, which %s replaces or extends", folder, slices.Sorted(maps.Keys(missing)), slices.Sorted(maps.Keys(extended)), ours)
	}
	return files
}

// declared returns the names of a declaration; of a method, as Type.Method.
func declared(d ast.Decl) map[string]*ast.Ident {
	names := map[string]*ast.Ident{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			name = fmt.Sprint(receiver) + "." + name
		}
		names[name] = d.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				names[s.Name.Name] = s.Name
			}
		}
	}
	return names
}

// run runs one test of upstream under the rules of a release, and returns which functions of core it has called, as
// "seats.divide".
func (m *modules) run(t *testing.T, s *suite, program, test, release string) (output []byte, called map[string]bool, err error) {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	c := exec.Command(program, "-test.run", "^"+test+"$", "-test.coverprofile", profile)
	c.Dir = filepath.Join(m.apiserver, "pkg/util", s.folder)
	c.Env = append(os.Environ(), "APFSIM_RULES="+release)
	if output, err = c.CombinedOutput(); err != nil {
		return output, nil, err
	}
	if strings.Contains(string(output), "no tests to run") {
		return output, nil, fmt.Errorf("%s has no test %s", s.folder, test)
	}
	return output, m.functions(t, profile), nil
}

// functions returns the functions of core of which a coverage profile has executed a statement. Its lines are
// "apfsim/core/seats/seats.go:51.70,53.2 1 42": the last number counts.
func (m *modules) functions(t *testing.T, profile string) map[string]bool {
	t.Helper()
	called := map[string]bool{}
	sources := map[string][]function{}
	for line := range strings.Lines(string(read(t, profile))) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if !strings.HasPrefix(name, "apfsim/core/") || strings.HasSuffix(rest, " 0") {
			continue
		}
		path := filepath.Join(m.apfsim, strings.TrimPrefix(name, "apfsim/"))
		if sources[path] == nil {
			sources[path] = functionsOf(t, path)
		}
		text, _, _ := strings.Cut(rest, ".")
		at, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range sources[path] {
			if f.from <= at && at <= f.to {
				called[filepath.Base(filepath.Dir(path))+"."+f.name] = true
			}
		}
	}
	return called
}

// function is a function or a method, and its lines.
type function struct {
	name     string
	from, to int
}

func functionsOf(t *testing.T, path string) (all []function) {
	t.Helper()
	set := token.NewFileSet()
	for _, d := range parseFile(t, set, path).Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			all = append(all, function{f.Name.Name, set.Position(f.Pos()).Line, set.Position(f.End()).Line})
		}
	}
	return all
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
