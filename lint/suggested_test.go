package lint_test

import (
	"fmt"
	"os"
	"testing"

	"apfsim/core/config"
	"apfsim/document/yaml"
	"apfsim/lint"
)

// exported returns objects as they are read from an export of a server: with the server's annotation
// and generation 1.
func exported(t *testing.T, o config.Objects) config.Objects {
	t.Helper()
	list := o.Manifest().(map[string]any)
	for _, item := range list["items"].([]any) {
		metadata := item.(map[string]any)["metadata"].(map[string]any)
		metadata["annotations"] = map[string]any{"apf.kubernetes.io/autoupdate-spec": "true"}
		metadata["generation"] = 1
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	objects, invalid := decode(t, "cluster.yaml", string(text))
	if len(invalid) > 0 {
		t.Fatal(invalid)
	}
	return objects
}

// The objects that servers create have no warnings, for any release and with any base.
func TestSuggestedObjectsHaveNoWarnings(t *testing.T) {
	for minor := 18; minor <= 37; minor++ {
		objects := exported(t, lint.Suggested(minor))
		for name, base := range map[string]config.Objects{
			"its own": lint.Suggested(minor), "those of 1.37": lint.Suggested(37), "mandatory": config.Mandatory(),
		} {
			for _, f := range lint.Check(lint.Input{Objects: objects, Base: base, ServerLimit: 600, Minor: minor, Off: []string{"version-not-served"}}) {
				if f.Severity >= lint.Warning {
					t.Errorf("1.%d on %s: %s: %s", minor, name, f.Rule, f.Message)
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

// The suggested objects of 1.37 are those of core/config.
func TestSuggestedOfTheNewestRelease(t *testing.T) {
	if got, want := fmt.Sprint(lint.Suggested(37).Manifest()), fmt.Sprint(config.Suggested().Manifest()); got != want {
		t.Errorf("Suggested(37) is\n%s\nwant\n%s", got, want)
	}
}
