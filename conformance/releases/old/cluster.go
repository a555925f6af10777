package old

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func newFlowSchema(name string) *flowSchema {
	return &flowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func newPriorityLevel(name string) *priorityLevel {
	return &priorityLevel{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// cluster stores the flow-control objects.
type cluster struct {
	t       *testing.T
	client  *fake.Clientset
	objects objects // as they are now
	pokes   int
}

func newCluster(t *testing.T, o objects) *cluster {
	var all []runtime.Object
	for _, l := range o.levels {
		all = append(all, l.DeepCopy())
	}
	for _, s := range o.schemas {
		all = append(all, s.DeepCopy())
	}
	return &cluster{t: t, client: fake.NewSimpleClientset(all...), objects: o}
}

// change writes the objects one by one, in the order of trial.Steps: levels, FlowSchemas, then
// deletions. After each the controller digests the configuration twice at least, as in the other
// releases.
func (c *cluster) change(to objects) {
	ctx := context.Background()
	schemas, levels := api(c.client).FlowSchemas(), api(c.client).PriorityLevelConfigurations()
	from := c.objects
	for _, l := range to.levels {
		if old := from.level(l.Name); old == nil {
			_, err := levels.Create(ctx, l.DeepCopy(), metav1.CreateOptions{})
			c.written(err)
		} else if !reflect.DeepEqual(old.Spec, l.Spec) {
			_, err := levels.Update(ctx, l.DeepCopy(), metav1.UpdateOptions{})
			c.written(err)
		}
	}
	for _, s := range to.schemas {
		if old := from.schema(s.Name); old == nil {
			_, err := schemas.Create(ctx, s.DeepCopy(), metav1.CreateOptions{})
			c.written(err)
		} else if !reflect.DeepEqual(old.Spec, s.Spec) {
			stored, err := schemas.Get(ctx, s.Name, metav1.GetOptions{})
			if err == nil {
				stored = stored.DeepCopy()
				stored.Spec = s.Spec
				_, err = schemas.Update(ctx, stored, metav1.UpdateOptions{})
			}
			c.written(err)
		}
	}
	for _, s := range from.schemas {
		if to.schema(s.Name) == nil {
			c.written(schemas.Delete(ctx, s.Name, metav1.DeleteOptions{}))
		}
	}
	for _, l := range from.levels {
		if to.level(l.Name) == nil {
			c.written(levels.Delete(ctx, l.Name, metav1.DeleteOptions{}))
		}
	}
	c.objects = to
}

// written waits until the controller has digested a write, and makes it digest the configuration
// once more, by a FlowSchema of a level that does not exist.
func (c *cluster) written(err error) {
	synctest.Wait()
	c.pokes++
	if err == nil {
		poke := newFlowSchema(fmt.Sprintf("poke-%d", c.pokes))
		poke.Spec.PriorityLevelConfiguration.Name = "missing"
		poke.Spec.MatchingPrecedence = 9999
		_, err = api(c.client).FlowSchemas().Create(context.Background(), poke, metav1.CreateOptions{})
	}
	if err != nil {
		c.t.Errorf("changing the configuration: %v", err)
	}
	synctest.Wait()
}
