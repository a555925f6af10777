package config

import "slices"

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

// Complete returns o with the mandatory objects that it lacks, which a server would create:
// exempt comes first, catch-all last. The result shares the objects with o.
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

// Manifest returns the objects as a List of v1 for encoding/json. It consists of maps, so
// that the fields are written in alphabetical order as kubectl prints them, and it has no
// field that a server adds. Decoding the text yields equal objects.
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
