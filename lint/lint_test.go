package lint_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/lint"

	"github.com/rogpeppe/go-internal/txtar"
)

// decode returns the objects in a text, and findings about the invalid ones.
func decode(t testing.TB, name, text string) (config.Objects, []lint.Finding) {
	t.Helper()
	docs, errs := yaml.Parse(name, []byte(text))
	if err := errs.Err(); err != nil {
		t.Fatal(err)
	}
	decoded := config.Decode(docs...)
	held, _, refused := decoded.Objects.In(rules.Latest())
	return held, lint.Invalid(append(decoded.Errors, refused...))
}

// input returns the input for a cluster of Kubernetes 1.37 with the default limits and the suggested
// objects.
func input(objects config.Objects) lint.Input {
	return lint.Input{Objects: objects, Base: config.Suggested(rules.Latest()), ServerLimit: 600, Rules: rules.Latest()}
}

// Each rule has a file of examples. Those with a name that begins with "bad" have findings of that
// rule and of no other. The others are similar and have no findings.
func TestExamples(t *testing.T) {
	for _, rule := range lint.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join("testdata", rule.ID+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			bad, good := 0, 0
			var before config.Objects
			for _, file := range archive.Files {
				objects, findings := decode(t, file.Name, string(file.Data))
				if file.Name == "before.yaml" {
					before = objects
					continue
				}
				in := input(objects)
				for line := range strings.Lines(string(archive.Comment)) {
					key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					switch key {
					case "version":
						if in.Rules, err = rules.For(value); err != nil {
							t.Fatal(err)
						}
					case "stored":
						in.Stored = estimate.Store{
							{Name: "configmaps"}: {Objects: 2001, AverageBytes: 1246},
							{Name: "pods"}:       {Objects: 200_000, AverageBytes: 5000},
						}
					}
				}
				findings = append(append(findings, lint.Check(in)...), lint.FewerQueues(in.Rules, before, objects)...)
				isBad := strings.HasPrefix(file.Name, "bad")
				if isBad {
					bad++
				} else {
					good++
				}
				if isBad && len(findings) == 0 {
					t.Errorf("%s: no findings", file.Name)
				}
				for _, f := range findings {
					if !isBad || f.Rule != rule.ID {
						t.Errorf("%s: unexpected %s: %s", file.Name, f.Rule, f.Message)
					}
					if f.Position.Line == 0 {
						t.Errorf("%s: %s has no position", file.Name, f.Rule)
					}
					if f.Severity > rule.Severity {
						t.Errorf("%s: %s has severity %s, want at most %s", file.Name, f.Rule, f.Severity, rule.Severity)
					}
				}
				in.Off = []string{rule.ID}
				for _, f := range lint.Check(in) {
					t.Errorf("%s: although %s is switched off, there is %s: %s", file.Name, rule.ID, f.Rule, f.Message)
				}
			}
			if bad == 0 || good == 0 {
				t.Errorf("%d bad examples and %d good ones; want at least one of each", bad, good)
			}
		})
	}
	if ids := lint.IDs(); len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("the IDs are not unique: %q", ids)
	}
}
