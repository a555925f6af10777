package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
)

// decode reads text as file f, for the newest release. It returns the errors of the parser, of the
// decoder and of the release together.
func decode(text string) (config.Objects, document.Errors) {
	docs, errs := yaml.Parse("f", []byte(text))
	d := config.Decode(docs...)
	held, _, refused := d.Objects.In(rules.Latest())
	return held, append(append(errs, d.Errors...), refused...)
}

// ignoreOrigin excludes from a comparison where the objects were read.
var ignoreOrigin = cmpopts.IgnoreTypes(&config.Origin{})

// flowSchema and level return the text of an object with this spec, which is indented.
func flowSchema(name, spec string) string {
	return fmt.Sprintf("apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: %s}\nspec:\n%s", name, spec)
}

func level(version, name, spec string) string {
	return fmt.Sprintf("apiVersion: flowcontrol.apiserver.k8s.io/%s\nkind: PriorityLevelConfiguration\nmetadata: {name: %s}\nspec:\n%s", version, name, spec)
}

func export(t *testing.T) []byte {
	text, err := os.ReadFile("../../scenarios/config/cluster-flowcontrol.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSuggestedIsWhatAServerCreates(t *testing.T) {
	objects, errs := decode(string(export(t)))
	if errs != nil {
		t.Fatal(errs)
	}
	if diff := cmp.Diff(objects, config.Suggested(rules.Latest()), ignoreOrigin); diff != "" {
		t.Errorf("the export (-) and the suggested objects (+) differ:\n%s", diff)
	}
}

// The same two objects, written in every API version, are decoded to equal objects.
func TestVersionsAgree(t *testing.T) {
	want := config.Objects{PriorityLevels: []*config.PriorityLevel{
		{Name: "batch", Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &config.LimitedSpec{
			NominalConcurrencyShares: new(int32(7)),
			LendablePercent:          new(int32(50)),
			BorrowingLimitPercent:    new(int32(0)),
			LimitResponse: config.LimitResponse{Type: config.ResponseQueue,
				Queuing: &config.Queuing{Queues: 16, HandSize: 4, QueueLengthLimit: 50}},
		}}},
		{Name: config.Exempt, Spec: config.PriorityLevelSpec{Type: config.TypeExempt, Exempt: &config.ExemptSpec{
			NominalConcurrencyShares: new(int32(3)), LendablePercent: new(int32(0))}}},
	}}
	for version, shares := range map[string]string{
		"v1": "nominalConcurrencyShares", "v1beta3": "nominalConcurrencyShares",
		"v1beta2": "assuredConcurrencyShares", "v1beta1": "assuredConcurrencyShares", "v1alpha1": "assuredConcurrencyShares",
	} {
		objects, errs := decode(level(version, "batch", `
  type: Limited
  limited:
    `+shares+`: 7
    lendablePercent: 50
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 16, handSize: 4}}
---
`) + level(version, "exempt", "  type: Exempt\n  exempt: {nominalConcurrencyShares: 3}\n"))
		if errs != nil {
			t.Errorf("%s: %v", version, errs)
		}
		if diff := cmp.Diff(want, objects, ignoreOrigin); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", version, diff)
		}
	}
}

func TestDefaults(t *testing.T) {
	objects, errs := decode(flowSchema("a", "  priorityLevelConfiguration: {name: b}\n  rules: []\n---\n") +
		level("v1", "b", "  type: Limited\n  limited: {limitResponse: {type: Queue, queuing: {}}}\n---\n") +
		level("v1", "c", "  type: Limited\n  limited: {limitResponse: {type: Reject}}\n---\n") +
		level("v1", "exempt", "  type: Exempt\n"))
	if errs != nil {
		t.Fatal(errs)
	}
	limited := func(name string, response config.LimitResponse) *config.PriorityLevel {
		return &config.PriorityLevel{Name: name, Spec: config.PriorityLevelSpec{Type: config.TypeLimited,
			Limited: &config.LimitedSpec{NominalConcurrencyShares: new(int32(30)), LendablePercent: new(int32(0)), LimitResponse: response}}}
	}
	want := config.Objects{
		FlowSchemas: []*config.FlowSchema{{Name: "a", Spec: config.FlowSchemaSpec{MatchingPrecedence: 1000,
			PriorityLevelConfiguration: config.PriorityLevelReference{Name: "b"}}}},
		PriorityLevels: []*config.PriorityLevel{
			limited("b", config.LimitResponse{Type: config.ResponseQueue,
				Queuing: &config.Queuing{Queues: 64, HandSize: 8, QueueLengthLimit: 50}}),
			limited("c", config.LimitResponse{Type: config.ResponseReject}),
			config.Mandatory(rules.Latest()).PriorityLevel(config.Exempt),
		}}
	if diff := cmp.Diff(want, objects, ignoreOrigin); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

// 0 shares mean 0 in v1. In earlier versions they mean the default, except in a v1beta3 object
// with the annotation that keeps them.
func TestZeroShares(t *testing.T) {
	const annotation = "{name: a, annotations: {flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: ''}}"
	for _, c := range []struct {
		version, metadata, shares string
		want                      int32
	}{
		{"v1", "{name: a}", "nominalConcurrencyShares: 0", 0},
		{"v1", "{name: a}", "nominalConcurrencyShares: null", 30},
		{"v1", "{name: a}", "", 30},
		{"v1beta3", "{name: a}", "nominalConcurrencyShares: 0", 30},
		{"v1beta3", "{name: a}", "", 30},
		{"v1beta3", annotation, "nominalConcurrencyShares: 0", 0},
		{"v1beta3", annotation, "", 0},
		{"v1beta3", annotation, "nominalConcurrencyShares: 5", 5},
		{"v1beta2", "{name: a}", "assuredConcurrencyShares: 0", 30},
		{"v1beta2", annotation, "assuredConcurrencyShares: 0", 30},
		{"v1beta2", "{name: a}", "", 30},
		{"v1beta1", "{name: a}", "assuredConcurrencyShares: 0", 30},
		{"v1alpha1", "{name: a}", "assuredConcurrencyShares: 5", 5},
	} {
		text := level(c.version, "a", "  type: Limited\n  limited:\n    limitResponse: {type: Reject}\n    "+c.shares+"\n")
		text = strings.Replace(text, "{name: a}", c.metadata, 1)
		objects, errs := decode(text)
		if errs != nil || len(objects.PriorityLevels) != 1 {
			t.Errorf("%s %s %s: %v", c.version, c.metadata, c.shares, errs)
			continue
		}
		if got := objects.PriorityLevels[0].Spec.Shares(); got != c.want {
			t.Errorf("%s %s %q: %d shares, want %d", c.version, c.metadata, c.shares, got, c.want)
		}
	}
}

// The fields that a server adds are not errors, whatever their values.
func TestServerWrittenFieldsAreTolerated(t *testing.T) {
	objects, errs := decode(`{
  "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
  "metadata": {
    "name": "batch", "uid": "5f0c", "generation": 3, "resourceVersion": "9", "selfLink": "\/apis\/x",
    "creationTimestamp": null, "deletionTimestamp": "2026-03-02T09:14:07Z", "deletionGracePeriodSeconds": 0,
    "labels": {"a": "b"}, "finalizers": ["x"], "ownerReferences": [{"kind": "Pod"}], "generateName": "b-",
    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"kind\":\"Pod\"}\n"},
    "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {".": {}}}}]
  },
  "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
  "status": {"conditions": [{"type": "Dangling", "anything": 1}]}
}`)
	if errs != nil || objects.PriorityLevel("batch") == nil {
		t.Errorf("%v", errs)
	}
}

// The items of the list that a server returns for kubectl get --raw have neither kind nor apiVersion.
func TestListsOfOneKind(t *testing.T) {
	objects, errs := decode(`{"kind":"FlowSchemaList","apiVersion":"flowcontrol.apiserver.k8s.io/v1","metadata":{"resourceVersion":"7"},
"items":[{"metadata":{"name":"b"},"spec":{"priorityLevelConfiguration":{"name":"p"}}},
{"metadata":{"name":"a"},"spec":{"priorityLevelConfiguration":{"name":"p"}}}]}
---
{"kind":"PriorityLevelConfigurationList","apiVersion":"flowcontrol.apiserver.k8s.io/v1beta2",
"items":[{"metadata":{"name":"p"},"spec":{"type":"Limited","limited":{"assuredConcurrencyShares":4,"limitResponse":{"type":"Reject"}}}}]}
---
{"kind":"FlowSchemaList","apiVersion":"flowcontrol.apiserver.k8s.io/v1","items":null}
---
{"kind":"List","apiVersion":"v1","items":[]}
`)
	if errs != nil {
		t.Fatal(errs)
	}
	if len(objects.FlowSchemas) != 2 || objects.FlowSchemas[0].Name != "b" || objects.FlowSchemas[1].Name != "a" {
		t.Errorf("the FlowSchemas are not b and a, as in the text: %v", objects.FlowSchemas)
	}
	if len(objects.PriorityLevels) != 1 || objects.PriorityLevels[0].Spec.Shares() != 4 {
		t.Errorf("the level is not p of 4 shares: %v", objects.PriorityLevels)
	}
}

func TestUnsupportedKindsAndVersions(t *testing.T) {
	const want = "FlowSchema, PriorityLevelConfiguration or a List of them"
	const versions = "flowcontrol.apiserver.k8s.io/v1 (or v1beta3, v1beta2, v1beta1, v1alpha1)"
	for text, message := range map[string]string{
		"apiVersion: v1\nkind: Flowschema":                              `f:2:7: kind: "Flowschema" is not supported; use ` + want + ` (did you mean "FlowSchema"?)`,
		"apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: Flowscheme": `f:2:7: kind: "Flowscheme" is not supported; use ` + want + ` (did you mean "FlowSchema"?)`,
		"apiVersion: flowcontrol.apiserver.k8s.io/v1":                   "f:1:1: kind: is missing; want " + want,
		"apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: 3":          "f:2:7: kind: is a number; want " + want,
		"kind: FlowSchema":                 "f:1:1: apiVersion: is missing; want " + versions,
		"apiVersion: v1\nkind: FlowSchema": `f:1:13: apiVersion: "v1" is not supported; use ` + versions,
		"apiVersion: flowcontrol.apiserver.k8s.io/v2\nkind: FlowSchema": `f:1:13: apiVersion: "flowcontrol.apiserver.k8s.io/v2" is not supported; use ` + versions +
			` (did you mean "flowcontrol.apiserver.k8s.io/v1"?)`,
		"apiVersion: v2\nkind: List\nitems: []": `f:1:13: apiVersion: "v2" is not supported; use v1 for a List (did you mean "v1"?)`,
		"apiVersion: v1\nkind: List":            "f:1:1: items: is missing",
		"apiVersion: v1\nkind: List\nitems: 1":  "f:3:8: items: is a number; want a list",
		"apiVersion: v1\nkind: List\nitms: []\nitems:\n-\n- kind: Pod": `f:3:1: itms: unknown field (did you mean "items"?)` +
			"\nf:5:2: items[0]: is null; want an object with apiVersion and kind",
		"apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchemaList\nitems:\n- kind: Pod": `f:4:9: items[0].kind: "Pod" is not supported; use FlowSchema, as the enclosing list says`,
	} {
		objects, errs := decode(text)
		if got := errs.Error(); got != message || len(objects.FlowSchemas) != 0 {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, message)
		}
	}
}

// Objects of other kinds are skipped and counted, within lists too.
func TestObjectsOfOtherKindsAreSkipped(t *testing.T) {
	docs, errs := yaml.Parse("f", []byte(`kind: Deployment
apiVersion: apps/v1
---
a: 1
---
[]
---
kind: 3
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service}
- {apiVersion: v1, kind: Pod}
- apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: FlowSchema
  metadata: {name: a}
  spec: {priorityLevelConfiguration: {name: b}}
- {apiVersion: v1, kind: Service}
`))
	d := config.Decode(docs...)
	if errs != nil || d.Errors != nil || len(d.Objects.FlowSchemas) != 1 {
		t.Errorf("%v %v: got %d FlowSchemas, want a", errs, d.Errors, len(d.Objects.FlowSchemas))
	}
	if got, want := d.Skipped.String(), "no kind 3, Service 2, Deployment 1, Pod 1"; got != want || d.Skipped.Total() != 7 {
		t.Errorf("skipped %d: %s, want 7: %s", d.Skipped.Total(), got, want)
	}
}

// The origin of an object has its file, its position there and what its metadata says.
func TestOrigin(t *testing.T) {
	docs, _ := yaml.Parse("f", []byte(`apiVersion: v1
kind: List
items:
- apiVersion: flowcontrol.apiserver.k8s.io/v1beta3
  kind: FlowSchema
  metadata: {name: a, generation: 7, annotations: {apf.kubernetes.io/autoupdate-spec: "true"}}
  spec:
    priorityLevelConfiguration: {name: b}
- apiVersion: flowcontrol.apiserver.k8s.io/v1
  kind: PriorityLevelConfiguration
  metadata: {name: b}
  spec: {type: Limited, limited: {limitResponse: {type: Reject}}}
`))
	d := config.Decode(docs...)
	if d.Errors != nil {
		t.Fatal(d.Errors)
	}
	schema, level := d.Objects.FlowSchemas[0].Origin, d.Objects.PriorityLevels[0].Origin
	for _, c := range []struct {
		origin     *config.Origin
		path, want string
	}{
		{schema, "", "f:4:3"},
		{schema, "metadata.name", "f:6:20"},
		{schema, "spec.priorityLevelConfiguration.name", "f:8:40"},
		{schema, "spec.rules[0].subjects", "f:8:5"}, // absent: the spec
		{level, "spec.type", "f:12:16"},
		{nil, "spec.type", ""},
	} {
		if got := c.origin.Position(c.path).String(); got != c.want {
			t.Errorf("%q is at %q, want %q", c.path, got, c.want)
		}
	}
	if schema.APIVersion != "flowcontrol.apiserver.k8s.io/v1beta3" || schema.Generation != 7 ||
		schema.Annotations["apf.kubernetes.io/autoupdate-spec"] != "true" || level.Generation != 0 || level.Annotations != nil {
		t.Errorf("got %+v and %+v", schema, level)
	}
	if config.Suggested(rules.Latest()).FlowSchemas[0].Origin != nil || config.Suggested(rules.Latest()).PriorityLevels[0].Origin != nil {
		t.Error("a built-in object has an origin")
	}
}

// API versions that Kubernetes 1.37 does not serve are read, with one note for each file and version.
func TestVersionsNoLongerServed(t *testing.T) {
	response := "  type: Limited\n  limited: {limitResponse: {type: Reject}}\n---\n"
	docs, _ := yaml.Parse("f", []byte(level("v1beta3", "a", response)+level("v1beta3", "b", response)+
		level("v1beta2", "c", response)+level("v1beta1", "d", response)+level("v1alpha1", "e", response)+level("v1", "f", response)))
	d := config.Decode(docs...)
	_, notes, refused := d.Objects.In(rules.Latest())
	const prefix, group = ": apiVersion: flowcontrol.apiserver.k8s.io/", "flowcontrol.apiserver.k8s.io/v1 (served from 1.29)"
	const shares = ", and nominalConcurrencyShares in place of assuredConcurrencyShares"
	want := "f:1:13" + prefix + "v1beta3 (2 objects): Kubernetes 1.32 and later do not serve this version; use " + group + "\n" +
		"f:15:13" + prefix + "v1beta2 (1 object): Kubernetes 1.29 and later do not serve this version; use " + group + shares + "\n" +
		"f:22:13" + prefix + "v1beta1 (1 object): Kubernetes 1.26 and later do not serve this version; use " + group + shares + "\n" +
		"f:29:13" + prefix + "v1alpha1 (1 object): Kubernetes 1.21 and later do not serve this version; use " + group + shares
	if got := notes.Error(); got != want || d.Errors != nil || refused != nil || len(d.Objects.PriorityLevels) != 6 {
		t.Errorf("%v\ngot\n%s\nwant\n%s", d.Errors, got, want)
	}
}

// An unrendered template of a chart is one error; its consequences are not reported.
func TestTemplates(t *testing.T) {
	text := flowSchema("\"{{ .Values.name }}\"", "  priorityLevelConfiguration: {name: A}\n") + "---\n" +
		flowSchema("a", "  priorityLevelConfiguration: {name: b}\n  matchingPrecedence: \"{{ .Values.p }}\"\n")
	_, errs := decode(text)
	want := "f:3:18: metadata.name: \"{{ .Values.name }}\" is a template; render it first, for example with helm template\n" +
		"f:12:23: spec.matchingPrecedence: \"{{ .Values.p }}\" is a template; render it first, for example with helm template"
	if got := errs.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDuplicateNames(t *testing.T) {
	docs, _ := yaml.Parse("f", []byte(flowSchema("a", "  priorityLevelConfiguration: {name: a}\n---\n")+
		level("v1", "a", "  type: Limited\n  limited: {limitResponse: {type: Reject}}\n---\n")))
	more, _ := yaml.Parse("g", []byte(flowSchema("a", "  priorityLevelConfiguration: {name: other}\n")))
	decoded := config.Decode(append(docs, more...)...)
	objects := decoded.Objects
	if got, want := decoded.Errors.Error(), `g:3:18: metadata.name: duplicate FlowSchema "a" (first defined at f:3:18)`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(objects.FlowSchemas) != 1 || len(objects.PriorityLevels) != 1 {
		t.Errorf("got %v, want the first a of each kind", objects)
	}
}

// Objects within a larger document are decoded like a document of their own.
func TestObjectsWithinADocument(t *testing.T) {
	docs, _ := yaml.Parse("f", []byte(`spec:
  objects:
  - apiVersion: flowcontrol.apiserver.k8s.io/v1
    kind: FlowSchema
    metadata: {name: a}
    spec: {priorityLevelConfiguration: {name: b}, matchingPrecedence: 10001}
  - apiVersion: flowcontrol.apiserver.k8s.io/v1
    kind: FlowSchema
    metadata: {name: c}
    spec: {priorityLevelConfiguration: {name: b}}
`))
	var scenario struct {
		Spec struct {
			Objects config.Objects `json:"objects"`
		} `json:"spec"`
	}
	d := document.Decoder{File: "f"}
	d.Decode(docs[0].Root, "", &scenario)
	if got, want := d.Errors.Error(), "f:6:71: spec.objects[0].spec.matchingPrecedence: 10001 is out of range; want 1 to 10000"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if o := scenario.Spec.Objects; len(o.FlowSchemas) != 1 || o.FlowSchemas[0].Name != "c" {
		t.Errorf("got %v, want c", o)
	}
}

func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("../../scenarios/config/cluster-flowcontrol.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, seed := range []string{
		"", "kind: List", "apiVersion: v1\nkind: List\nitems: [{}, null, []]",
		flowSchema("a", "  priorityLevelConfiguration: {name: b}\n  rules: [{subjects: [{kind: User}], resourceRules: [{}], nonResourceRules: [{}]}]\n"),
		flowSchema("exempt", "  priorityLevelConfiguration: {name: b}\n"),
		flowSchema("a", "  null\n"),
		level("v1", "exempt", "  type: Limited\n"), level("v1", "a", "  type: Exempt\n"),
		level("v1beta2", "a", "  type: Limited\n  limited: {assuredConcurrencyShares: -1, limitResponse: {type: Queue, queuing: {queues: -1}}}\n"),
		level("v1beta3", "catch-all", "  type: Limited\n  limited: {limitResponse: {type: Reject}}\n"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, errs := decode(string(text))
		if len(errs) > 0 {
			return
		}
		again, err := yaml.Marshal(objects.Manifest(rules.Latest()))
		if err != nil {
			t.Fatal(err)
		}
		back, errs := decode(string(again))
		if diff := cmp.Diff(objects, back, ignoreOrigin); diff != "" || errs != nil {
			t.Errorf("%v\nbefore (-) and after (+) writing it:\n%s", errs, diff)
		}
	})
}
