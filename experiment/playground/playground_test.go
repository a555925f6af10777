package playground

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// callInto makes a call and decodes its answer.
func callInto(t *testing.T, name, arguments string, answer any) {
	t.Helper()
	text := Call(t.Context(), name, []byte(arguments), func(float64) {})
	if all := errorsOf(t, text); len(all) > 0 {
		t.Fatalf("%s: %v", name, all)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		t.Fatal(err)
	}
}

// errorsOf returns the errors of an answer.
func errorsOf(t *testing.T, answer []byte) []Mistake {
	t.Helper()
	var failure Failure
	if err := json.Unmarshal(answer, &failure); err != nil {
		t.Fatal(err)
	}
	return failure.Errors
}

// asJSON writes arguments.
func asJSON(t *testing.T, arguments any) string {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func storyText(t *testing.T) string {
	t.Helper()
	text, err := pageFiles.ReadFile("page/story.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run on the page is that of the program: with the same seed and the same settings, the same decisions, whether they are
// recorded or not.
func TestRunIsThatOfTheProgram(t *testing.T) {
	set := []string{"spec.workload[elephants].arrivals.poisson.rate=150/s", "level[tenants].queues=8"}
	seed := uint64(7)
	arguments := Running{Setting: Setting{Text: storyText(t), Set: set, Seed: &seed}}
	var ran Ran
	callInto(t, "run", asJSON(t, arguments), &ran)
	if ran.Recording != nil {
		t.Error("recorded what was not asked for")
	}
	sc, err := arguments.one()
	if err != nil {
		t.Fatal(err)
	}
	measured, err := execute(t.Context(), sim.New(sc), func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	s := measured.Summary
	if ran.Fingerprint != s.Fingerprint || ran.Seed != 7 || ran.Sentence != s.Verdict.Sentence || !strings.Contains(ran.Page, s.Fingerprint) {
		t.Errorf("got %s with seed %d: %s; want %s: %s", ran.Fingerprint, ran.Seed, ran.Sentence, s.Fingerprint, s.Verdict.Sentence)
	}
	arguments.Recording = Window{FromNs: 5e9, Requests: 300}
	var recorded Ran
	callInto(t, "run", asJSON(t, arguments), &recorded)
	if recorded.Fingerprint != ran.Fingerprint {
		t.Errorf("recorded: got %s, want %s", recorded.Fingerprint, ran.Fingerprint)
	}
}

// Every scenario of the library has a text without errors, and the values of its controls are those of the text.
func TestLibrary(t *testing.T) {
	var all Library
	callInto(t, "library", `{}`, &all)
	n := 0
	for _, group := range all.Groups {
		for _, entry := range group.Scenarios {
			n++
			var text Text
			callInto(t, "scenario", asJSON(t, Named{entry.Name}), &text)
			var checked Checked
			callInto(t, "check", asJSON(t, Setting{Text: text.Text}), &checked)
			own, wrong := loader.Load(scenarios.Files, scenarios.File(entry.Name), loader.Options{})
			if len(wrong) > 0 || len(checked.Scenarios) != len(own) {
				t.Errorf("%s: got %d scenarios, want %d; %v", entry.Name, len(checked.Scenarios), len(own), wrong)
			}
		}
	}
	if n != len(scenarios.Names()) {
		t.Errorf("the library has %d scenarios, and the page %d", len(scenarios.Names()), n)
	}
	var checked Checked
	callInto(t, "check", asJSON(t, Setting{Text: storyText(t)}), &checked)
	values := map[string]float64{}
	for _, c := range checked.Scenarios[0].Controls {
		values[c.Name] = c.Value
	}
	if values["Requests of each elephant"] != 10 || values["Queues"] != 1 || values["Seats"] != 10 || len(values) != 7 {
		t.Errorf("controls: %v", values)
	}
}

// The controls of the library lead to scenarios that can be run, wherever they are moved, each alone and all together. Each
// group has some.
func TestControlsOfTheLibrary(t *testing.T) {
	for _, group := range scenarios.Groups {
		controls := 0
		for _, entry := range group.Scenarios {
			var text Text
			callInto(t, "scenario", asJSON(t, Named{entry.Name}), &text)
			var checked Checked
			callInto(t, "check", asJSON(t, Setting{Text: text.Text}), &checked)
			for _, sc := range checked.Scenarios {
				controls += len(sc.Controls)
				tries := [][]string{nil, nil}
				for _, c := range sc.Controls {
					for i, value := range []float64{c.Minimum, c.Maximum} {
						set := fmt.Sprint(c.Path, "=", value, c.Unit)
						tries = append(tries, []string{set})
						tries[i] = append(tries[i], set)
					}
				}
				for _, set := range tries {
					setting := Setting{Text: text.Text, Name: sc.Name, Set: set}
					if _, err := setting.one(); err != nil {
						t.Errorf("%s with %s: %v", sc.Name, set, err)
					}
				}
			}
		}
		if controls == 0 {
			t.Errorf("no scenario of %q has controls", group.Title)
		}
	}
}

// Errors have their places, all at once, and no call fails in another way.
func TestErrorsHavePlaces(t *testing.T) {
	text := strings.Replace(storyText(t), "duration: 20s", "duration: 20 s", 1)
	text = strings.Replace(text, "mean: 20ms", "mean: -20ms", 1)
	line := func(part string) int { return 1 + strings.Count(text[:strings.Index(text, part)], "\n") }
	got := errorsOf(t, Call(t.Context(), "check", []byte(asJSON(t, Setting{Text: text})), nil))
	var lines []int
	for _, m := range got {
		if m.File != "" || m.Column == 0 {
			t.Errorf("%+v has no place in the text", m)
		}
		lines = append(lines, m.Line)
	}
	if want := []int{line("duration: 20 s"), line("mean: -20ms")}; !slices.Equal(lines, want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
	for _, c := range []struct{ name, arguments, want string }{
		{"nothing", `{}`, `there is no call "nothing"`},
		{"run", `[`, "the arguments of the call cannot be read"},
		{"run", `{"text":""}`, "is empty"},
		{"run", `{"text":"a: [1"}`, ""},
		{"run", asJSON(t, Running{Setting{Text: storyText(t), Name: "other"}, Window{}}), `there is no scenario "other" in the file`},
		{"run", asJSON(t, Running{Setting{Text: storyText(t)}, Window{Requests: MaxRecorded + 1}}), "want from 0 to 100000"},
		{"run", asJSON(t, Running{Setting{Text: strings.Replace(storyText(t), "warmup: 2s", "warmup: auto", 1)}, Window{}}), "spec.warmup: auto is not supported here"},
		{"check", asJSON(t, Setting{Text: storyText(t), Config: "kind: Pod\napiVersion: v1"}), "has no FlowSchema or PriorityLevelConfiguration"},
		{"check", asJSON(t, Setting{Text: strings.Replace(storyText(t), "base: Mandatory", "files: [../../etc/passwd]", 1)}), "etc/passwd"},
		{"check", asJSON(t, Setting{Text: strings.Replace(storyText(t), "base: Mandatory", "files: [/etc/passwd]", 1)}), "etc/passwd"},
		{"scenario", `{"name":"elephant-and-mice"}`, "elephants-and-mice"},
		{"compare", `{"seeds":0}`, "want from 1 to 20"},
		{"explain", asJSON(t, Asked{Setting: Setting{Text: storyText(t)}, Request: "list", User: "jane"}), "want VERB RESOURCE"},
		{"collisions", `{"handSizes":[9],"queues":[8]}`, "hand size 9, 8 queues"},
		{"collisions", `{"elephants":[100000]}`, "want from 1 to 1000"},
	} {
		all := errorsOf(t, Call(t.Context(), c.name, []byte(c.arguments), func(float64) {}))
		if len(all) == 0 || !strings.Contains(all[0].Message, c.want) {
			t.Errorf("%s %.60s: got %v, want %q", c.name, c.arguments, all, c.want)
		}
	}
}

// clusterObjects are those of a cluster.
const clusterObjects = `
apiVersion: v1
kind: List
items:
- apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: PriorityLevelConfiguration
  metadata: {name: mine}
  spec: {type: Limited, limited: {nominalConcurrencyShares: 1000, limitResponse: {type: Reject}}}
- apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: FlowSchema
  metadata: {name: mine}
  spec:
    matchingPrecedence: 1000
    priorityLevelConfiguration: {name: mine}
    rules:
    - subjects: [{kind: Group, group: {name: "system:serviceaccounts"}}]
      resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`

// Objects of a cluster take the place of those of the scenario.
func TestObjectsOfACluster(t *testing.T) {
	setting := Setting{Text: storyText(t), Config: clusterObjects}
	var ran Ran
	callInto(t, "run", asJSON(t, Running{setting, Window{Requests: 100}}), &ran)
	var levels []string
	for _, l := range ran.Recording.Levels {
		levels = append(levels, l.Name)
	}
	if !slices.Equal(levels, []string{"catch-all", "mine"}) {
		t.Errorf("levels %v", levels)
	}
	var explained Printed
	callInto(t, "explain", asJSON(t, Asked{Setting: setting, Request: "get configmaps settings", User: "system:serviceaccount:mouse-1:web", Namespace: "mouse-1"}), &explained)
	if !strings.Contains(explained.Printed, "mine") {
		t.Errorf("explained:\n%s", explained.Printed)
	}
}

// A comparison runs both settings with the same seeds: with the same setting, nothing differs.
func TestComparison(t *testing.T) {
	base := Setting{Text: storyText(t)}
	head := base
	head.Set = []string{"spec.workload[elephants].arrivals.poisson.rate=200/s"}
	for _, c := range []struct {
		head Setting
		want string
	}{{base, "<b>NO CHANGE</b>"}, {head, "<b>WORSE</b>"}} {
		var compared Compared
		callInto(t, "compare", asJSON(t, Comparing{base, c.head, 3, Window{Requests: 1000}}), &compared)
		from := strings.Index(compared.Page, "<header>")
		if header := compared.Page[from:strings.Index(compared.Page, "</header>")]; !strings.Contains(header, c.want) {
			t.Errorf("want %q in:\n%s", c.want, header)
		}
		var ran Ran
		callInto(t, "run", asJSON(t, Running{c.head, Window{Requests: 1000}}), &ran)
		if a, b := compared.Recordings[0], compared.Recordings[1]; asJSON(t, b) != asJSON(t, ran.Recording) || (asJSON(t, a) == asJSON(t, b)) != (len(c.head.Set) == 0) {
			t.Errorf("%v: the recordings are not those of the runs with the first seed", c.head.Set)
		}
	}
}

// The collision table is that of the documentation of Kubernetes, or of what is asked for.
func TestCollisions(t *testing.T) {
	var table Printed
	callInto(t, "collisions", `{"handSizes":[6],"queues":[128],"elephants":[4]}`, &table)
	var published Printed
	callInto(t, "collisions", `{}`, &published)
	for text, want := range map[string]string{table.Printed: "128", published.Printed: "1024"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %s:\n%s", want, text)
		}
	}
}
