package config_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
)

func release(t *testing.T, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// created returns the objects that a release creates, in alphabetical order, as its own module says:
// the files of testdata are the variables of k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap, encoded
// as JSON. A file named after a minor release is also valid for the later ones, up to the next file.
func created(t *testing.T, version string) config.Objects {
	t.Helper()
	name := version
	if strings.Count(version, ".") == 1 {
		for _, v := range rules.Versions() {
			if _, err := os.Stat(filepath.Join("testdata", v+".json")); err == nil {
				name = v
			}
			if v == version {
				break
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	docs, errs := yaml.Parse(name, text)
	d := config.Decode(docs...)
	held, notes, refused := d.Objects.In(release(t, version))
	if errs != nil || d.Errors != nil || refused != nil || (name == version && notes != nil) {
		t.Fatal(errs, d.Errors, refused, notes)
	}
	return sorted(held)
}

// sorted returns the objects in alphabetical order, without their origins.
func sorted(o config.Objects) config.Objects {
	for _, s := range o.FlowSchemas {
		s.Origin = nil
	}
	for _, l := range o.PriorityLevels {
		l.Origin = nil
	}
	slices.SortFunc(o.FlowSchemas, func(a, b *config.FlowSchema) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(o.PriorityLevels, func(a, b *config.PriorityLevel) int { return cmp.Compare(a.Name, b.Name) })
	return o
}

// The suggested objects are those of each release's own module, and the patch releases without the
// FlowSchema probes differ only in that.
func TestSuggestedInEveryRelease(t *testing.T) {
	for _, version := range append(rules.Versions(), "1.20.6") { // 1.20.6 has no probes
		if diff := gocmp.Diff(created(t, version), sorted(config.Suggested(release(t, version)))); diff != "" {
			t.Errorf("%s: its module (-) and ours (+):\n%s", version, diff)
		}
	}
	for version, probes := range map[string]bool{
		"1.18.18": false, "1.18.19": true, "1.19.10": false, "1.19.11": true, "1.20.7": true, "1.21.0": false, "1.21.1": true, "1.22.0": true,
	} {
		if got := config.Suggested(release(t, version)).FlowSchema("probes") != nil; got != probes {
			t.Errorf("%s has the FlowSchema probes: %t", version, got)
		}
	}
}

// The manifest of a release can be read back, and has only what the release knows.
func TestManifestOfEveryRelease(t *testing.T) {
	for _, version := range rules.Versions() {
		r := release(t, version)
		text, err := yaml.Marshal(config.Suggested(r).Manifest(r))
		if err != nil {
			t.Fatal(err)
		}
		docs, errs := yaml.Parse(version, text)
		d := config.Decode(docs...)
		held, notes, refused := d.Objects.In(r)
		if errs != nil || d.Errors != nil || refused != nil || notes != nil {
			t.Fatal(errs, d.Errors, refused, notes)
		}
		if diff := gocmp.Diff(config.Suggested(r), held, ignoreOrigin); diff != "" {
			t.Errorf("%s: before (-) and after (+) writing it:\n%s", version, diff)
		}
		for _, field := range []string{"assuredConcurrencyShares", "nominalConcurrencyShares", "lendablePercent", "  exempt:"} {
			if got, want := strings.Contains(string(text), field), strings.Contains(fieldsOf[version], field); got != want {
				t.Errorf("%s: has %q: %t, want %t", version, field, got, want)
			}
		}
		if api := strings.Fields(fieldsOf[version])[0]; !strings.Contains(string(text), "flowcontrol.apiserver.k8s.io/"+api+"\n") {
			t.Errorf("%s: the objects are not of the version %s", version, api)
		}
	}
}

// fieldsOf says for each release the newest version of its API, and which fields of levels that has.
var fieldsOf = map[string]string{
	"1.18": "v1alpha1 assuredConcurrencyShares", "1.19": "v1alpha1 assuredConcurrencyShares",
	"1.20": "v1beta1 assuredConcurrencyShares", "1.21": "v1beta1 assuredConcurrencyShares", "1.22": "v1beta1 assuredConcurrencyShares",
	"1.23": "v1beta2 assuredConcurrencyShares", "1.24": "v1beta2 assuredConcurrencyShares", "1.25": "v1beta2 assuredConcurrencyShares",
	"1.26": "v1beta3 nominalConcurrencyShares lendablePercent", "1.27": "v1beta3 nominalConcurrencyShares lendablePercent",
	"1.28": "v1beta3 nominalConcurrencyShares lendablePercent   exempt:", "1.29": "v1 nominalConcurrencyShares lendablePercent   exempt:",
	"1.30": "v1 nominalConcurrencyShares lendablePercent   exempt:", "1.31": "v1 nominalConcurrencyShares lendablePercent   exempt:",
	"1.32": "v1 nominalConcurrencyShares lendablePercent   exempt:", "1.33": "v1 nominalConcurrencyShares lendablePercent   exempt:",
	"1.34": "v1 nominalConcurrencyShares lendablePercent   exempt:", "1.35": "v1 nominalConcurrencyShares lendablePercent   exempt:",
	"1.36": "v1 nominalConcurrencyShares lendablePercent   exempt:", "1.37": "v1 nominalConcurrencyShares lendablePercent   exempt:",
	"1.38": "v1 nominalConcurrencyShares lendablePercent   exempt:",
}

const lendingLevel = `  type: Limited
  limited: {nominalConcurrencyShares: 7, lendablePercent: 50, borrowingLimitPercent: 10, limitResponse: {type: Reject}}
---
`

// What a server holds of objects that are written for another release.
func TestObjectsInARelease(t *testing.T) {
	const catchAll = "  type: Limited\n  limited: {assuredConcurrencyShares: 1, limitResponse: {type: Reject}}\n---\n"
	zero := level("v1", "a", "  type: Limited\n  limited: {nominalConcurrencyShares: 0, limitResponse: {type: Reject}}\n---\n")
	const v1, notServed = "f:1:13: apiVersion: flowcontrol.apiserver.k8s.io/v1 ", " does not serve this version (served from 1.29); use flowcontrol.apiserver.k8s.io/"
	for _, c := range []struct {
		about, version, text string
		notes, errors        []string
		shares, lendable     int32
	}{
		{"fields that came with lending are dropped", "1.24", level("v1", "a", lendingLevel) + level("v1", "b", lendingLevel), []string{
			v1 + "(2 objects): Kubernetes 1.24" + notServed + "v1beta2, and assuredConcurrencyShares in place of nominalConcurrencyShares",
			"f:6:59: spec.limited.lendablePercent: Kubernetes 1.24 does not know this field, which its servers drop (2 priority levels)",
			"f:6:86: spec.limited.borrowingLimitPercent: Kubernetes 1.24 does not know this field, which its servers drop (2 priority levels)",
		}, nil, 7, 0},
		{"v1beta2 has them where the release does", "1.26", strings.Replace(level("v1beta2", "a", lendingLevel), "nominal", "assured", 1), nil, nil, 7, 50},
		{"v1 is not served, but its fields are known", "1.26", level("v1", "a", lendingLevel), []string{
			v1 + "(1 object): Kubernetes 1.26" + notServed + "v1beta3"}, nil, 7, 50},
		{"the exempt level is fixed", "1.27", level("v1beta3", "exempt", "  type: Exempt\n  exempt: {nominalConcurrencyShares: 5}\n"), []string{
			"f:6:11: spec.exempt: Kubernetes 1.27 does not know this field, which its servers drop (1 priority level)"}, nil, 0, 0},
		{"the exempt level is adjustable", "1.28", level("v1beta3", "exempt", "  type: Exempt\n  exempt: {nominalConcurrencyShares: 5}\n"), nil, nil, 5, 0},
		{"0 shares become the default", "1.28", zero, []string{v1 + "(1 object): Kubernetes 1.28" + notServed + "v1beta3",
			"f:6:39: spec.limited.nominalConcurrencyShares: servers of Kubernetes 1.28 have 30, the default, in place of 0"}, nil, 30, 0},
		{"0 shares are refused", "1.29", zero, nil, []string{
			"f:6:39: spec.limited.nominalConcurrencyShares: 0 is refused by servers of Kubernetes 1.29; want 1 or more"}, 0, 0},
		{"0 shares are kept", "1.30", zero, nil, nil, 0, 0},
		{"catch-all of a release before 1.20", "1.19", level("v1alpha1", "catch-all", catchAll), nil, nil, 1, 0},
		{"catch-all of a release before 1.20", "1.20", level("v1beta1", "catch-all", catchAll), []string{
			"f:6:39: spec.limited.assuredConcurrencyShares: is 1; servers of Kubernetes 1.20 put right the spec of the mandatory PriorityLevelConfiguration catch-all; use 5"}, nil, 5, 0},
		{"catch-all of no release", "1.20", level("v1beta1", "catch-all", strings.Replace(catchAll, "1", "2", 1)), nil, []string{
			"f:6:39: spec.limited.assuredConcurrencyShares: is 2; the spec of the mandatory PriorityLevelConfiguration catch-all is fixed; want 5"}, 0, 0},
	} {
		docs, errs := yaml.Parse("f", []byte(c.text))
		d := config.Decode(docs...)
		if errs != nil || d.Errors != nil {
			t.Fatal(errs, d.Errors)
		}
		before := config.Differences(d.Objects.PriorityLevels[0].Spec, config.PriorityLevelSpec{})
		held, notes, refused := d.Objects.In(release(t, c.version))
		for _, list := range []struct {
			what string
			got  error
			want []string
		}{{"notes", notes.Sorted().Err(), c.notes}, {"errors", refused.Err(), c.errors}} {
			got := ""
			if list.got != nil {
				got = list.got.Error()
			}
			if want := strings.Join(list.want, "\n"); got != want {
				t.Errorf("%s in %s: the %s are\n%s\nwant\n%s", c.about, c.version, list.what, got, want)
			}
		}
		if after := config.Differences(d.Objects.PriorityLevels[0].Spec, config.PriorityLevelSpec{}); !slices.Equal(before, after) {
			t.Errorf("%s in %s: the decoded object has changed: %v and %v", c.about, c.version, before, after)
		}
		if len(c.errors) > 0 {
			if held.PriorityLevels != nil {
				t.Errorf("%s in %s: the level is held", c.about, c.version)
			}
			continue
		}
		spec := &held.PriorityLevels[0].Spec
		if spec.Shares() != c.shares || spec.LendablePercent() != c.lendable {
			t.Errorf("%s in %s: %d shares, %d %%, want %d and %d", c.about, c.version, spec.Shares(), spec.LendablePercent(), c.shares, c.lendable)
		}
	}
}

// Objects in a document have the path of their field there.
func TestRefusedObjectsWithinADocument(t *testing.T) {
	docs, errs := yaml.Parse("f", []byte(`{apiVersion: v1, kind: List, items: [{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema,
metadata: {name: exempt}, spec: {matchingPrecedence: 1, priorityLevelConfiguration: {name: other}, rules: []}}]}`))
	d := config.Decode(docs...)
	if errs != nil || d.Errors != nil {
		t.Fatal(errs, d.Errors)
	}
	_, _, refused := d.Objects.In(rules.Latest())
	want := `f:2:92: items[0].spec.priorityLevelConfiguration.name: is "other"; the spec of the mandatory FlowSchema exempt is fixed; want "exempt"`
	if got := refused.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
