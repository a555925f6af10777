package config

import "slices"

// FlowSchema returns the FlowSchema of that name, nil when there is none.
func (o Objects) FlowSchema(name string) *FlowSchema {
	for _, s := range o.FlowSchemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// PriorityLevel returns the level of that name, nil when there is none.
func (o Objects) PriorityLevel(name string) *PriorityLevel {
	for _, l := range o.PriorityLevels {
		if l.Name == name {
			return l
		}
	}
	return nil
}

// Merge returns the objects of base, each replaced by the one of over that has its kind
// and name, and then the other ones of over. The objects themselves are shared.
func Merge(base, over Objects) Objects {
	return Objects{
		FlowSchemas:    merge(base.FlowSchemas, over.FlowSchemas, func(s *FlowSchema) string { return s.Name }),
		PriorityLevels: merge(base.PriorityLevels, over.PriorityLevels, func(l *PriorityLevel) string { return l.Name }),
	}
}

func merge[T any](base, over []T, name func(T) string) []T {
	merged := slices.Clone(base)
	places := make(map[string]int, len(base)+len(over))
	for i, o := range merged {
		places[name(o)] = i
	}
	for _, o := range over {
		if i, ok := places[name(o)]; ok {
			merged[i] = o
			continue
		}
		places[name(o)] = len(merged)
		merged = append(merged, o)
	}
	return merged
}

// Complete returns o with the mandatory objects that it lacks, as a server supplies them:
// exempt first, catch-all last. The objects themselves are shared.
func Complete(o Objects) Objects {
	mandatory := Mandatory()
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

// Dangling returns the FlowSchemas whose level does not exist, which a server ignores.
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

// Manifest returns the objects as a List of v1, made of what encoding/json writes with
// its fields in alphabetical order, as kubectl prints it, and without anything that a
// server adds. Decoding it yields the same objects.
func (o Objects) Manifest() any {
	items := []any{}
	for _, s := range o.FlowSchemas {
		items = append(items, manifest(kindFlowSchema, s.Name, s.Spec))
	}
	for _, l := range o.PriorityLevels {
		items = append(items, manifest(kindPriorityLevel, l.Name, l.Spec))
	}
	return map[string]any{"apiVersion": "v1", "kind": kindList, "items": items}
}

func manifest(kind, name string, spec any) map[string]any {
	return map[string]any{"apiVersion": v1, "kind": kind, "metadata": map[string]any{"name": name}, "spec": tree(spec)}
}
