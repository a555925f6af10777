package change

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"apfsim/sim/api"
)

// Who owns which fields (metadata.managedFields). Fields are flat here: a name is either set or not. Besides
// the fields, every finalizer is one (k8s.io/apimachinery, pkg/util/managedfields, and
// sigs.k8s.io/structured-merge-diff, merge/update.go).

const (
	// defaultManager is who writes without a field manager: the name of the program, for a real client.
	defaultManager = "client"
	// firstManager owns what an object had before its owners were tracked.
	firstManager = "before-first-apply"
	// ancientManager owns what the oldest updaters have set when there are too many.
	ancientManager = "ancient-changes"
	maxUpdaters    = 10

	finalizerField    = "metadata.finalizers."
	generateNameField = "metadata.generateName"
)

// difference is which fields are not the same in two states of an object, in order.
type difference struct {
	set     []string // those that are new or have another value
	removed []string
}

// differ compares a state, nil for none, with the one that follows.
func differ(old, next *api.Object) (d difference) {
	var oldFields map[string]string
	var oldFinalizers []string
	if old != nil {
		oldFields, oldFinalizers = old.Fields, old.Finalizers
	}
	if !isSameMap(oldFields, next.Fields) {
		kept := 0
		for name, value := range next.Fields {
			was, ok := oldFields[name]
			if !ok || was != value {
				d.set = append(d.set, name)
			}
			if ok {
				kept++
			}
		}
		if kept < len(oldFields) {
			for name := range oldFields {
				if _, ok := next.Fields[name]; !ok {
					d.removed = append(d.removed, name)
				}
			}
		}
	}
	for _, f := range next.Finalizers {
		if !slices.Contains(oldFinalizers, f) {
			d.set = append(d.set, finalizerField+f)
		}
	}
	for _, f := range oldFinalizers {
		if !slices.Contains(next.Finalizers, f) {
			d.removed = append(d.removed, finalizerField+f)
		}
	}
	slices.Sort(d.set)
	slices.Sort(d.removed)
	return d
}

// isSameMap says whether two maps are one, as the fields of an object are that a write has not changed. To find
// that out is cheaper than to compare what is in them.
func isSameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// ownersAfterUpdate returns the owners after a manager has changed an object by anything but an apply. It
// owns what it has set, and nobody what it has removed. Owners of fields that it has not changed keep them.
func ownersAfterUpdate(owners []api.Owner, d difference, manager string, nowNs int64) []api.Owner {
	if len(d.set) == 0 && len(d.removed) == 0 {
		return owners
	}
	if i := owner(owners, manager, false); i >= 0 && len(d.removed) == 0 && ownsAlone(owners, i, d.set) {
		after := slices.Clone(owners)
		after[i].AtNs = nowNs
		return after
	}
	after := take(owners, -1, d.set, d.removed)
	if len(d.set) == 0 {
		return after
	}
	if i := owner(after, manager, false); i >= 0 {
		after[i].Fields = union(after[i].Fields, d.set)
		after[i].AtNs = nowNs
		return after
	}
	// take may have dropped the manager's entry because it has set all of its fields again.
	return capUpdaters(append(after, api.Owner{Manager: manager, Fields: d.set, AtNs: nowNs}))
}

// ownsAlone says whether the owner of an index has all of some fields, and no other one has any of them.
func ownsAlone(owners []api.Owner, index int, fields []string) bool {
	for i, o := range owners {
		for _, field := range fields {
			if _, owns := slices.BinarySearch(o.Fields, field); owns != (i == index) {
				return false
			}
		}
	}
	return true
}

// owner returns the index of an owner, −1 for none.
func owner(owners []api.Owner, manager string, applies bool) int {
	return slices.IndexFunc(owners, func(o api.Owner) bool { return o.Manager == manager && o.Applies == applies })
}

// take returns the owners without the fields, except that the one of an index keeps those that are set.
// Owners of nothing are left out.
func take(owners []api.Owner, keeper int, set, removed []string) []api.Owner {
	after := make([]api.Owner, 0, len(owners)+1)
	for i, o := range owners {
		kept := make([]string, 0, len(o.Fields))
		for _, field := range o.Fields {
			_, isSet := slices.BinarySearch(set, field)
			_, isRemoved := slices.BinarySearch(removed, field)
			if !isRemoved && (!isSet || i == keeper) {
				kept = append(kept, field)
			}
		}
		if len(kept) > 0 {
			o.Fields = kept
			after = append(after, o)
		}
	}
	return after
}

// union returns the sorted union of two sorted sets.
func union(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// capUpdaters merges the oldest owners by update into one as long as there are too many
// (pkg/util/managedfields/internal/capmanagers.go). Their ages count in whole seconds.
func capUpdaters(owners []api.Owner) []api.Owner {
	if len(owners) <= maxUpdaters {
		return owners
	}
	var updaters []string
	for _, o := range owners {
		if !o.Applies {
			updaters = append(updaters, o.Manager)
		}
	}
	at := func(manager string) *api.Owner { return &owners[owner(owners, manager, false)] }
	slices.SortFunc(updaters, func(a, b string) int {
		return cmp.Or(cmp.Compare(at(a).AtNs/1e9, at(b).AtNs/1e9), cmp.Compare(a, b))
	})
	for n := len(updaters); n > maxUpdaters; n-- {
		// The oldest entry becomes the common one, unless there is one already.
		next := updaters[len(updaters)-n+1]
		if owner(owners, ancientManager, false) < 0 {
			at(updaters[0]).Manager = ancientManager
		}
		merged := *at(next)
		common := at(ancientManager)
		common.Fields, common.AtNs = union(common.Fields, merged.Fields), merged.AtNs
		owners = slices.Delete(owners, owner(owners, next, false), owner(owners, next, false)+1)
	}
	return owners
}

// applied is what an apply makes of an object.
type applied struct {
	fields    map[string]string
	owners    []api.Owner
	conflicts []api.Cause // if there are any, nothing else is
}

// apply merges the fields that a manager applies into an object, nil for one that does not exist. A field that
// another manager owns with another value is a conflict, unless the manager takes it by force. A field that
// the manager has applied before and now leaves out is removed, unless another one owns it.
func apply(live *api.Object, config map[string]string, manager string, force bool, nowNs int64) applied {
	next := api.Object{Fields: map[string]string{}}
	var owners []api.Owner
	if live != nil {
		next = *live
		owners = live.Owners
		if len(owners) == 0 {
			owners = ownersAfterUpdate(nil, differ(nil, live), firstManager, nowNs)
		}
		next.Fields = maps.Clone(live.Fields)
		if next.Fields == nil {
			next.Fields = map[string]string{}
		}
	}
	names := slices.Sorted(maps.Keys(config))
	maps.Copy(next.Fields, config)

	owners = slices.Clone(owners)
	own := owner(owners, manager, true)
	if own < 0 {
		own = len(owners)
		owners = append(owners, api.Owner{Manager: manager, Applies: true})
	}
	before := owners[own].Fields
	owners[own].Fields = names
	for _, field := range before {
		if !owned(owners, field) {
			delete(next.Fields, field)
		}
	}

	d := differ(live, &next)
	a := applied{fields: next.Fields}
	if !force {
		for i, o := range owners {
			for _, field := range o.Fields {
				if _, conflicts := slices.BinarySearch(d.set, field); conflicts && i != own {
					a.conflicts = append(a.conflicts, api.Cause{Reason: "FieldManagerConflict", Field: field,
						Message: `conflict with "` + o.Manager + `"`})
				}
			}
		}
		if len(a.conflicts) > 0 {
			return a
		}
	}
	owners[own].AtNs = nowNs
	a.owners = take(owners, own, d.set, d.removed)
	return a
}

func owned(owners []api.Owner, field string) bool {
	return slices.ContainsFunc(owners, func(o api.Owner) bool {
		_, found := slices.BinarySearch(o.Fields, field)
		return found
	})
}

// sameOwners says whether the same fields have the same owners. When they have set them does not count, since
// 1.25 at least.
func sameOwners(a, b []api.Owner) bool {
	if len(a) != len(b) {
		return false
	}
	for _, o := range a {
		i := owner(b, o.Manager, o.Applies)
		if i < 0 || !slices.Equal(o.Fields, b[i].Fields) {
			return false
		}
	}
	return true
}
