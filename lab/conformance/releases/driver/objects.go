package driver

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// objects are flow-control objects in the API version of the release.
type objects struct {
	schemas []*flowSchema
	levels  []*priorityLevel
}

// UnmarshalJSON reads a List of v1. Fields that the release does not have are ignored.
func (o *objects) UnmarshalJSON(text []byte) error {
	var list struct {
		Items []struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, item := range list.Items {
		meta := metav1.ObjectMeta{Name: item.Metadata.Name, UID: types.UID(item.Metadata.Name)}
		var err error
		switch item.Kind {
		case "FlowSchema":
			s := &flowSchema{ObjectMeta: meta}
			err = json.Unmarshal(item.Spec, &s.Spec)
			o.schemas = append(o.schemas, s)
		case "PriorityLevelConfiguration":
			l := &priorityLevel{ObjectMeta: meta}
			var spec json.RawMessage
			if spec, err = renameShares(item.Spec); err == nil {
				err = json.Unmarshal(spec, &l.Spec)
			}
			o.levels = append(o.levels, l)
		default:
			err = fmt.Errorf("unknown kind %q", item.Kind)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", item.Metadata.Name, err)
		}
	}
	return nil
}

// renameShares gives the shares of a level the name that they have in the API version of the release.
func renameShares(spec json.RawMessage) (json.RawMessage, error) {
	var fields, limited map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		return nil, err
	}
	if fields["limited"] == nil {
		return spec, nil
	}
	if err := json.Unmarshal(fields["limited"], &limited); err != nil {
		return nil, err
	}
	limited[sharesField] = limited["nominalConcurrencyShares"]
	text, err := json.Marshal(limited)
	if err != nil {
		return nil, err
	}
	fields["limited"] = text
	return json.Marshal(fields)
}

// newClient returns a client of a cluster that stores the objects.
func newClient(o objects) *fake.Clientset {
	var stored []runtime.Object
	for _, s := range o.schemas {
		stored = append(stored, s.DeepCopy())
	}
	for _, l := range o.levels {
		stored = append(stored, l.DeepCopy())
	}
	client := fake.NewSimpleClientset(stored...)
	// Since 1.26 the controller applies the status of FlowSchemas. Fake clients before 1.31 cannot do this.
	client.PrependReactor("patch", "flowschemas", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		return patch.GetPatchType() == types.ApplyPatchType, &flowSchema{}, nil
	})
	return client
}
