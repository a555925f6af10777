package lint_test

import (
	"os"
	"testing"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/lint"
)

// exported returns the suggested objects of a release as they are read from an export of a server: with
// the server's annotation and generation 1.
func exported(t *testing.T, r *rules.Rules) config.Objects {
	t.Helper()
	list := config.Suggested(r).Manifest(r).(map[string]any)
	for _, item := range list["items"].([]any) {
		metadata := item.(map[string]any)["metadata"].(map[string]any)
		metadata["annotations"] = map[string]any{"apf.kubernetes.io/autoupdate-spec": "true"}
		metadata["generation"] = 1
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	docs, mistakes := yaml.Parse("cluster.yaml", text)
	held, notes, refused := config.Decode(docs...).Objects.In(r)
	if len(mistakes)+len(notes)+len(refused) > 0 {
		t.Fatal(mistakes, notes, refused)
	}
	return held
}

// The objects that servers create have no warnings, for any release and with any base.
func TestSuggestedObjectsHaveNoWarnings(t *testing.T) {
	for _, version := range rules.Versions() {
		r, err := rules.For(version)
		if err != nil {
			t.Fatal(err)
		}
		objects := exported(t, r)
		for name, base := range map[string]config.Objects{
			"its own": config.Suggested(r), "those of 1.37": config.Suggested(rules.Latest()), "mandatory": config.Mandatory(r),
		} {
			for _, f := range lint.Check(lint.Input{Objects: objects, Base: base, ServerLimit: 600, Rules: r}) {
				if f.Severity >= lint.Warning {
					t.Errorf("%s on %s: %s: %s", version, name, f.Rule, f.Message)
				}
			}
		}
	}
}

// A new cluster of 1.37 has no warnings. In a cluster of 1.36 with additional objects, only these have
// warnings: a level without a FlowSchema, and hands of 2 out of 8 queues.
func TestExportedClusters(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"../scenarios/config/cluster-flowcontrol.yaml", ""},
		{"testdata/extended-cluster.yaml", "unreferenced-level live-filler; colliding-hands live-small; "},
	} {
		text, err := os.ReadFile(test.file)
		if err != nil {
			t.Fatal(err)
		}
		objects, findings := decode(t, test.file, string(text))
		got := ""
		for _, f := range append(findings, lint.Check(input(objects))...) {
			if f.Severity >= lint.Warning {
				got += f.Rule + " " + f.Name + "; "
			}
		}
		if got != test.want {
			t.Errorf("%s: found %q, want %q", test.file, got, test.want)
		}
	}
}
