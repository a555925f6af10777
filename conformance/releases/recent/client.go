package recent

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newClient returns a client of a cluster that stores the objects.
func newClient(t *testing.T, objects []object) *fake.Clientset {
	var stored []runtime.Object
	for _, o := range objects {
		meta := metav1.ObjectMeta{Name: o.Metadata.Name, UID: types.UID(o.Metadata.Name)}
		if o.Kind == "FlowSchema" {
			s := &flowSchema{ObjectMeta: meta}
			decode(t, o.Spec, &s.Spec)
			stored = append(stored, s)
			continue
		}
		l := &priorityLevel{ObjectMeta: meta}
		decode(t, renameShares(t, o.Spec), &l.Spec)
		stored = append(stored, l)
	}
	client := fake.NewSimpleClientset(stored...)
	// The controller writes the status of FlowSchemas by patches. Fake clients before 1.31 cannot apply one.
	client.PrependReactor("patch", "flowschemas", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &flowSchema{}, nil
	})
	return client
}

// renameShares gives the shares of a level the name that they have in the API version of the release.
func renameShares(t *testing.T, spec json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	decode(t, spec, &fields)
	if fields["limited"] == nil || sharesField == "nominalConcurrencyShares" {
		return spec
	}
	var limited map[string]json.RawMessage
	decode(t, fields["limited"], &limited)
	limited[sharesField] = limited["nominalConcurrencyShares"]
	fields["limited"] = encode(t, limited)
	return encode(t, fields)
}

func decode(t *testing.T, text json.RawMessage, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		t.Error(err)
	}
}

func encode(t *testing.T, value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return text
}
