package maintain

import (
	"cmp"
	"slices"

	"apfsim/core/config"
)

// Store holds the flow-control objects of a cluster, which all its servers share. The zero value is
// empty.
type Store struct {
	schemas, levels []*Object // in the order in which they were created
	former          []*Object // one for each spec that an object has had
}

// list returns the objects of a kind.
func (s *Store) list(k Kind) *[]*Object {
	if k == FlowSchema {
		return &s.schemas
	}
	return &s.levels
}

// Of returns a store with the objects of a configuration in a cluster whose servers have the release.
// Objects that were read from an export are stored as they are there. Those that have no origin were
// created by the servers. Others are an operator's, see [Store.Apply].
func Of(r *Release, objects config.Objects) *Store {
	s := &Store{}
	for _, o := range all(objects) {
		origin := o.Origin()
		switch {
		case origin == nil:
			o.Annotation, o.Generation = r.created(), 1
			s.put(o)
		case origin.Generation > 0:
			o.Annotation, o.Generation = origin.Annotations[config.AutoupdateAnnotation], origin.Generation
			s.put(o)
		default:
			stored := *applied(r.find(o.Kind(), o.Name()), o).After
			stored.Schema, stored.Level = o.Schema, o.Level
			s.put(&stored)
		}
	}
	return s
}

// all returns the objects of a configuration, FlowSchemas first.
func all(objects config.Objects) (all []*Object) {
	for _, o := range objects.FlowSchemas {
		all = append(all, &Object{Schema: o})
	}
	for _, o := range objects.PriorityLevels {
		all = append(all, &Object{Level: o})
	}
	return all
}

// All returns all objects, FlowSchemas first. The caller must not change the objects.
func (s *Store) All() []*Object { return slices.Concat(s.schemas, s.levels) }

// Find returns an object, or nil if there is none with this kind and name.
func (s *Store) Find(k Kind, name string) *Object { return find(*s.list(k), name) }

func find(list []*Object, name string) *Object {
	for _, o := range list {
		if o.Name() == name {
			return o
		}
	}
	return nil
}

// Objects returns the configuration that servers read from the store. Mandatory objects may be
// missing from it: see config.Complete.
func (s *Store) Objects() config.Objects {
	var objects config.Objects
	for _, o := range s.schemas {
		objects.FlowSchemas = append(objects.FlowSchemas, o.Schema)
	}
	for _, o := range s.levels {
		objects.PriorityLevels = append(objects.PriorityLevels, o.Level)
	}
	return objects
}

// Clone returns a copy, which shares the objects with s.
func (s *Store) Clone() *Store {
	return &Store{slices.Clone(s.schemas), slices.Clone(s.levels), slices.Clone(s.former)}
}

// Do makes the writes. An object that gets a spec that it had before has the same pointer to it again,
// so that what is known of its flows stays valid.
func (s *Store) Do(writes ...Write) {
	for _, w := range writes {
		if w.After != nil {
			s.put(w.After)
			continue
		}
		list := s.list(w.Before.Kind())
		*list = slices.DeleteFunc(*list, func(o *Object) bool { return o.Name() == w.Before.Name() })
	}
}

// put stores an object in the place of the one with its kind and name.
func (s *Store) put(o *Object) {
	o = s.interned(o)
	list := s.list(o.Kind())
	if i := slices.IndexFunc(*list, func(old *Object) bool { return old.Name() == o.Name() }); i >= 0 {
		(*list)[i] = o
		return
	}
	*list = append(*list, o)
}

// interned returns the object with the pointer of its spec that it had before, if it had.
func (s *Store) interned(o *Object) *Object {
	for _, f := range s.former {
		if f.Kind() == o.Kind() && f.Name() == o.Name() && sameSpec(f, o) {
			same := *o
			same.Schema, same.Level = f.Schema, f.Level
			return &same
		}
	}
	s.former = append(s.former, o)
	return o
}

// Apply returns the writes of an operator who applies objects, as kubectl apply does: a spec is
// replaced, and the annotation is that of the new object or, if it has none, that of the old one.
// There is no write for an object that is already stored like this.
func (s *Store) Apply(objects config.Objects) (writes []Write) {
	for _, o := range all(objects) {
		w := applied(s.Find(o.Kind(), o.Name()), o)
		if w.Before == nil || w.ChangesSpec() || w.Before.Annotation != w.After.Annotation {
			writes = append(writes, w)
		}
	}
	return writes
}

// applied returns the write of one object that an operator applies. Before is nil if it is not stored.
func applied(before, o *Object) Write {
	value, written := "", false
	if origin := o.Origin(); origin != nil {
		value, written = origin.Annotations[config.AutoupdateAnnotation]
	}
	if before == nil {
		created := *o
		created.Annotation, created.Generation = value, 1
		return Write{Create, Operator, nil, &created}
	}
	after := before.withSpec(o)
	if written {
		after.Annotation = value
	}
	return Write{Edit, Operator, before, after}
}

// Remove returns the write of an operator who deletes an object; ok is false if it does not exist.
func (s *Store) Remove(k Kind, name string) (w Write, ok bool) {
	before := s.Find(k, name)
	return Write{Delete, Operator, before, nil}, before != nil
}

// Conditions returns the writes of a server that has read all objects and finds that the condition
// Dangling of FlowSchemas is not the right one (k8s.io/apiserver, apf_controller.go). Only the first
// server that finds it writes it: all servers read the same objects here. Servers whose copies of the
// objects are not equally old can disagree for a moment and write it several times.
func (s *Store) Conditions() (writes []Write) {
	for _, o := range s.schemas {
		right, reason := DanglingFalse, LevelFound
		if find(s.levels, o.Schema.Spec.PriorityLevelConfiguration.Name) == nil {
			right, reason = DanglingTrue, LevelMissing
		}
		if o.Dangling != right {
			after := *o
			after.Dangling = right
			writes = append(writes, Write{SetStatus, reason, o, &after})
		}
	}
	return writes
}

// byName orders objects by name.
func byName(a, b *Object) int { return cmp.Compare(a.Name(), b.Name()) }
