//go:build !k8s23

package driver

import (
	"context"
	"fmt"
	"reflect"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change writes the objects one by one, in the order of trial.Steps: levels, FlowSchemas, then
// deletions. In these releases, the limit of a level depends on the objects only, and not on the demand
// before the change.
func (s *server) change(to objects) {
	ctx := context.Background()
	schemas, levels := apiClient(s.client).FlowSchemas(), apiClient(s.client).PriorityLevelConfigurations()
	from := s.objects
	for _, l := range to.levels {
		if old := from.level(l.Name); old == nil {
			_, err := levels.Create(ctx, l.DeepCopy(), metav1.CreateOptions{})
			s.written(err)
		} else if !reflect.DeepEqual(old.Spec, l.Spec) {
			_, err := levels.Update(ctx, l.DeepCopy(), metav1.UpdateOptions{})
			s.written(err)
		}
	}
	for _, fs := range to.schemas {
		if old := from.schema(fs.Name); old == nil {
			_, err := schemas.Create(ctx, fs.DeepCopy(), metav1.CreateOptions{})
			s.written(err)
		} else if !reflect.DeepEqual(old.Spec, fs.Spec) {
			stored, err := schemas.Get(ctx, fs.Name, metav1.GetOptions{})
			if err == nil {
				stored = stored.DeepCopy()
				stored.Spec = fs.Spec
				_, err = schemas.Update(ctx, stored, metav1.UpdateOptions{})
			}
			s.written(err)
		}
	}
	for _, fs := range from.schemas {
		if to.schema(fs.Name) == nil {
			s.written(schemas.Delete(ctx, fs.Name, metav1.DeleteOptions{}))
		}
	}
	for _, l := range from.levels {
		if to.level(l.Name) == nil {
			s.written(levels.Delete(ctx, l.Name, metav1.DeleteOptions{}))
		}
	}
	s.objects = to
}

// written waits until the controller has digested a write, and makes it digest the configuration once
// more, by a FlowSchema of a level that does not exist. In the other releases, too, the controller
// digests each change at least twice.
func (s *server) written(err error) {
	synctest.Wait()
	s.pokes++
	if err == nil {
		poke := &flowSchema{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("poke-%d", s.pokes)}}
		poke.Spec.PriorityLevelConfiguration.Name = "missing"
		poke.Spec.MatchingPrecedence = 9999
		_, err = apiClient(s.client).FlowSchemas().Create(context.Background(), poke, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Errorf("changing the configuration: %v", err)
	}
	synctest.Wait()
}

func (o *objects) schema(name string) *flowSchema {
	for _, s := range o.schemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (o *objects) level(name string) *priorityLevel {
	for _, l := range o.levels {
		if l.Name == name {
			return l
		}
	}
	return nil
}
