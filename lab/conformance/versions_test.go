package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/api/flowcontrol/v1beta1"
	"k8s.io/api/flowcontrol/v1beta2"
	"k8s.io/api/flowcontrol/v1beta3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/lab/conformance/upstream"
)

// Objects that upstream's own types of each version write are decoded to what the type of v1
// holds, and the releases that serve a version are those that upstream names. The types of
// v1alpha1 are no longer there.
func TestVersions(t *testing.T) {
	type lifecycle interface{ APILifecycleRemoved() (int, int) }
	type introduced interface{ APILifecycleIntroduced() (int, int) }
	meta := metav1.ObjectMeta{Name: "x", Generation: 3, Annotations: map[string]string{"a": "b"}}
	shares, lendable, borrowing := int32(7), int32(33), int32(150)
	wantLevel := flowcontrolv1.PriorityLevelConfigurationSpec{Type: "Limited", Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
		NominalConcurrencyShares: &shares, LendablePercent: &lendable, BorrowingLimitPercent: &borrowing,
		LimitResponse: flowcontrolv1.LimitResponse{Type: "Queue", Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 16, HandSize: 4, QueueLengthLimit: 9}}}}
	objects := map[string][2]any{
		"v1": {&flowcontrolv1.FlowSchema{ObjectMeta: meta, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 7, PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "y"}}},
			&flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: meta, Spec: wantLevel}},
		"v1beta3": {&v1beta3.FlowSchema{ObjectMeta: meta, Spec: v1beta3.FlowSchemaSpec{MatchingPrecedence: 7, PriorityLevelConfiguration: v1beta3.PriorityLevelConfigurationReference{Name: "y"}}},
			&v1beta3.PriorityLevelConfiguration{ObjectMeta: meta, Spec: v1beta3.PriorityLevelConfigurationSpec{Type: "Limited", Limited: &v1beta3.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: shares, LendablePercent: &lendable, BorrowingLimitPercent: &borrowing,
				LimitResponse: v1beta3.LimitResponse{Type: "Queue", Queuing: &v1beta3.QueuingConfiguration{Queues: 16, HandSize: 4, QueueLengthLimit: 9}}}}}},
		"v1beta2": {&v1beta2.FlowSchema{ObjectMeta: meta, Spec: v1beta2.FlowSchemaSpec{MatchingPrecedence: 7, PriorityLevelConfiguration: v1beta2.PriorityLevelConfigurationReference{Name: "y"}}},
			&v1beta2.PriorityLevelConfiguration{ObjectMeta: meta, Spec: v1beta2.PriorityLevelConfigurationSpec{Type: "Limited", Limited: &v1beta2.LimitedPriorityLevelConfiguration{
				AssuredConcurrencyShares: shares, LendablePercent: &lendable, BorrowingLimitPercent: &borrowing,
				LimitResponse: v1beta2.LimitResponse{Type: "Queue", Queuing: &v1beta2.QueuingConfiguration{Queues: 16, HandSize: 4, QueueLengthLimit: 9}}}}}},
		"v1beta1": {&v1beta1.FlowSchema{ObjectMeta: meta, Spec: v1beta1.FlowSchemaSpec{MatchingPrecedence: 7, PriorityLevelConfiguration: v1beta1.PriorityLevelConfigurationReference{Name: "y"}}},
			&v1beta1.PriorityLevelConfiguration{ObjectMeta: meta, Spec: v1beta1.PriorityLevelConfigurationSpec{Type: "Limited", Limited: &v1beta1.LimitedPriorityLevelConfiguration{
				AssuredConcurrencyShares: shares, LendablePercent: &lendable, BorrowingLimitPercent: &borrowing,
				LimitResponse: v1beta1.LimitResponse{Type: "Queue", Queuing: &v1beta1.QueuingConfiguration{Queues: 16, HandSize: 4, QueueLengthLimit: 9}}}}}},
	}
	for short, pair := range objects {
		name := "flowcontrol.apiserver.k8s.io/" + short
		servedFrom, removedIn := served(t, name)
		var text strings.Builder
		for i, kind := range []string{"FlowSchema", "PriorityLevelConfiguration"} {
			written, err := json.Marshal(pair[i])
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "---\n{\"apiVersion\": %q, \"kind\": %q, %s\n", name, kind, written[1:])
			if l, ok := pair[i].(lifecycle); ok {
				if _, minor := l.APILifecycleRemoved(); minor != removedIn {
					t.Errorf("%s: removed in 1.%d, upstream says 1.%d", name, removedIn, minor)
				}
			} else if removedIn != 0 {
				t.Errorf("%s: removed in 1.%d, upstream serves it", name, removedIn)
			}
			if _, minor := pair[i].(introduced).APILifecycleIntroduced(); minor != servedFrom {
				t.Errorf("%s: served from 1.%d, upstream says 1.%d", name, servedFrom, minor)
			}
		}
		docs, mistakes := yaml.Parse("f", []byte(text.String()))
		d := config.Decode(docs...)
		if mistakes != nil || d.Errors != nil || len(d.Objects.FlowSchemas) != 1 || len(d.Objects.PriorityLevels) != 1 {
			t.Errorf("%s: %v %v in\n%s", name, mistakes, d.Errors, text.String())
			continue
		}
		schema := d.Objects.FlowSchemas[0]
		if schema.Spec.MatchingPrecedence != 7 || schema.Spec.PriorityLevelConfiguration.Name != "y" || schema.Origin.Generation != 3 ||
			schema.Origin.Annotations["a"] != "b" || schema.Origin.APIVersion != name {
			t.Errorf("%s: %+v of %+v", name, schema.Spec, schema.Origin)
		}
		got, _ := json.Marshal(upstream.PriorityLevel(d.Objects.PriorityLevels[0]).Spec)
		if want, _ := json.Marshal(wantLevel); string(got) != string(want) {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
}

// served returns the first minor release that serves an API version, and the first one after it that
// does not, 0 if there is none.
func served(t *testing.T, name string) (from, removedIn int) {
	for i, release := range rules.Versions() {
		minor := 18 + i
		is := slices.Contains(config.ServedVersions(rulesOf(t, release)), name)
		switch {
		case is && from == 0:
			from = minor
		case !is && from > 0 && removedIn == 0:
			removedIn = minor
		}
	}
	return from, removedIn
}
