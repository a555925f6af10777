package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"apfsim/core/config"
	"apfsim/lab/conformance/trial"
)

// cluster stores the flow-control objects.
type cluster struct {
	t       *testing.T
	client  *fake.Clientset
	objects config.Objects // as they are now
	digests int
}

func newCluster(t *testing.T, objects config.Objects) *cluster {
	var all []runtime.Object
	for _, l := range objects.PriorityLevels {
		all = append(all, PriorityLevel(l))
	}
	for _, s := range objects.FlowSchemas {
		all = append(all, FlowSchema(s))
	}
	return &cluster{t: t, client: fake.NewClientset(all...), objects: objects}
}

// change writes the objects one by one. The controller digests the configuration once or
// more often for each; after the second time, at one instant, nothing changes any more. So
// that it is twice at least, every write is followed by one without a meaning.
func (c *cluster) change(to config.Objects) {
	ctx := context.Background()
	schemas, levels := c.client.FlowcontrolV1().FlowSchemas(), c.client.FlowcontrolV1().PriorityLevelConfigurations()
	for _, s := range trial.Steps(c.objects, to) {
		var err error
		switch {
		case s.FlowSchema != nil && c.objects.FlowSchema(s.FlowSchema.Name) == nil:
			_, err = schemas.Create(ctx, FlowSchema(s.FlowSchema), metav1.CreateOptions{})
		case s.FlowSchema != nil:
			var stored *flowcontrolv1.FlowSchema
			if stored, err = schemas.Get(ctx, s.FlowSchema.Name, metav1.GetOptions{}); err == nil {
				stored = stored.DeepCopy()
				stored.Spec = FlowSchema(s.FlowSchema).Spec
				_, err = schemas.Update(ctx, stored, metav1.UpdateOptions{})
			}
		case s.PriorityLevel != nil && c.objects.PriorityLevel(s.PriorityLevel.Name) == nil:
			_, err = levels.Create(ctx, PriorityLevel(s.PriorityLevel), metav1.CreateOptions{})
		case s.PriorityLevel != nil:
			_, err = levels.Update(ctx, PriorityLevel(s.PriorityLevel), metav1.UpdateOptions{})
		case s.Schema:
			err = schemas.Delete(ctx, s.Delete, metav1.DeleteOptions{})
		default:
			err = levels.Delete(ctx, s.Delete, metav1.DeleteOptions{})
		}
		if err != nil {
			c.t.Errorf("changing the configuration: %v", err)
		}
		c.objects = s.After
		synctest.Wait()
		c.poke()
		synctest.Wait()
	}
}

// poke makes the controller digest the configuration once more, by a condition of a
// FlowSchema that it does not know.
func (c *cluster) poke() {
	ctx := context.Background()
	schemas := c.client.FlowcontrolV1().FlowSchemas()
	schema, err := schemas.Get(ctx, config.CatchAll, metav1.GetOptions{})
	if err != nil {
		c.t.Errorf("changing the configuration: %v", err)
		return
	}
	schema = schema.DeepCopy()
	c.digests++
	poked := flowcontrolv1.FlowSchemaCondition{Type: "Poked", Reason: fmt.Sprint(c.digests)}
	i := slices.IndexFunc(schema.Status.Conditions, func(o flowcontrolv1.FlowSchemaCondition) bool { return o.Type == poked.Type })
	if i < 0 {
		schema.Status.Conditions = append(schema.Status.Conditions, poked)
	} else {
		schema.Status.Conditions[i] = poked
	}
	if _, err := schemas.UpdateStatus(ctx, schema, metav1.UpdateOptions{}); err != nil {
		c.t.Errorf("changing the configuration: %v", err)
	}
}

// FlowSchema returns the API object. Its UID is its name, so that responses say it.
func FlowSchema(s *config.FlowSchema) *flowcontrolv1.FlowSchema {
	o := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: s.Name, UID: types.UID(s.Name)}}
	convert(s.Spec, &o.Spec)
	return o
}

// PriorityLevel returns the API object. Its UID is its name, so that responses say it.
func PriorityLevel(l *config.PriorityLevel) *flowcontrolv1.PriorityLevelConfiguration {
	o := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: l.Name, UID: types.UID(l.Name)}}
	convert(l.Spec, &o.Spec)
	return o
}

// convert goes by way of JSON, in which both sides have the names of the API.
func convert(from, to any) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic("upstream: a spec that is no JSON: " + err.Error())
	}
}
