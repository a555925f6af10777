package config

import (
	"slices"

	"apfsim/core/rules"
)

// FlowSchema returns the FlowSchema with this name, or nil if there is none.
func (o Objects) FlowSchema(name string) *FlowSchema {
	for _, s := range o.FlowSchemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// PriorityLevel returns the level with this name, or nil if there is none.
func (o Objects) PriorityLevel(name string) *PriorityLevel {
	for _, l := range o.PriorityLevels {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// Merge returns the objects of base followed by those of over. An object of over replaces
// the object of base with the same kind and name, in its position. The result shares the
// objects with its arguments.
func Merge(base, over Objects) Objects {
	return Objects{
		FlowSchemas:    merge(base.FlowSchemas, over.FlowSchemas, func(s *FlowSchema) string { return s.Name }),
		PriorityLevels: merge(base.PriorityLevels, over.PriorityLevels, func(l *PriorityLevel) string { return l.Name }),
	}
}

func merge[T any](base, over []T, name func(T) string) []T {
	merged := slices.Clone(base)
	indices := make(map[string]int, len(base)+len(over))
	for i, o := range merged {
		indices[name(o)] = i
	}
	for _, o := range over {
		if i, ok := indices[name(o)]; ok {
			merged[i] = o
			continue
		}
		indices[name(o)] = len(merged)
		merged = append(merged, o)
	}
	return merged
}

// Complete returns o with the mandatory objects that it lacks, which a server of the release would
// create: exempt comes first, catch-all last. The result shares the objects with o.
func Complete(r *rules.Rules, o Objects) Objects {
	mandatory := Mandatory(r)
	schemas, levels := slices.Clone(o.FlowSchemas), slices.Clone(o.PriorityLevels)
	if o.FlowSchema(Exempt) == nil {
		schemas = slices.Insert(schemas, 0, mandatory.FlowSchema(Exempt))
	}
	if o.FlowSchema(CatchAll) == nil {
		schemas = append(schemas, mandatory.FlowSchema(CatchAll))
	}
	if o.PriorityLevel(Exempt) == nil {
		levels = slices.Insert(levels, 0, mandatory.PriorityLevel(Exempt))
	}
	if o.PriorityLevel(CatchAll) == nil {
		levels = append(levels, mandatory.PriorityLevel(CatchAll))
	}
	return Objects{schemas, levels}
}

// Dangling returns the FlowSchemas that refer to a level that does not exist. A server
// ignores them.
func Dangling(o Objects) []*FlowSchema {
	levels := make(map[string]bool, len(o.PriorityLevels))
	for _, l := range o.PriorityLevels {
		levels[l.Name] = true
	}
	var dangling []*FlowSchema
	for _, s := range o.FlowSchemas {
		if !levels[s.Spec.PriorityLevelConfiguration.Name] {
			dangling = append(dangling, s)
		}
	}
	return dangling
}

// Manifest returns the objects as a List of v1 for encoding/json, in the newest API version that a
// server of the release serves and without fields that it does not know. It consists of maps, so
// that the fields are written in alphabetical order as kubectl prints them, and it has no field that
// a server adds. Decoding the text yields equal objects if the release can express them.
func (o Objects) Manifest(r *rules.Rules) any {
	items := []any{}
	for _, s := range o.FlowSchemas {
		items = append(items, manifest(r, kindFlowSchema, s.Name, tree(s.Spec)))
	}
	for _, l := range o.PriorityLevels {
		spec := tree(l.Spec).(map[string]any)
		limited, _ := spec["limited"].(map[string]any)
		if !r.Lending {
			delete(limited, "lendablePercent")
			delete(limited, "borrowingLimitPercent")
		}
		if !knowsExempt(r) {
			delete(spec, "exempt")
		}
		if shares, ok := limited[nominalShares]; ok && sharesField(r.Objects.NewestAPI) != nominalShares {
			delete(limited, nominalShares)
			limited[assuredShares] = shares
		}
		items = append(items, manifest(r, kindPriorityLevel, l.Name, spec))
	}
	return map[string]any{"apiVersion": "v1", "kind": kindList, "items": items}
}

func manifest(r *rules.Rules, kind, name string, spec any) map[string]any {
	return map[string]any{"apiVersion": fullName(r.Objects.NewestAPI), "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}
