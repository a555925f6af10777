package maintain

import (
	"slices"
	"strconv"

	"apfsim/core/config"
	"apfsim/core/rules"
)

// Release has the objects of a release and maintains them as its servers do.
type Release struct {
	rules                *rules.Rules
	suggested, mandatory Store
}

// For returns what servers with these rules do.
func For(r *rules.Rules) *Release {
	release := &Release{rules: r}
	mandatory := config.Mandatory(r)
	for _, o := range all(config.Suggested(r)) {
		o.Annotation, o.Generation = release.created(), 1
		kept := &release.suggested
		if o.Schema != nil && mandatory.FlowSchema(o.Name()) != nil || o.Level != nil && mandatory.PriorityLevel(o.Name()) != nil {
			kept = &release.mandatory
		}
		kept.put(o)
	}
	return release
}

// Version returns the name of the release.
func (r *Release) Version() string { return r.rules.Version }

// created returns the annotation of the objects that servers of the release create.
func (r *Release) created() string {
	if r.rules.Objects.Maintained {
		return "true"
	}
	return ""
}

// find returns an object of the release, or nil.
func (r *Release) find(k Kind, name string) *Object {
	if o := r.mandatory.Find(k, name); o != nil {
		return o
	}
	return r.suggested.Find(k, name)
}

// Maintains reports whether servers of the release put the spec of an object right that has the kind and
// name of one of theirs: of a mandatory one always, and from 1.22 on of a suggested one if its annotation
// is true, or if it has no valid annotation and nobody has changed its spec.
func (r *Release) Maintains(o *Object) bool {
	if r.mandatory.Find(o.Kind(), o.Name()) != nil {
		return true
	}
	if !r.rules.Objects.Maintained || r.suggested.Find(o.Kind(), o.Name()) == nil {
		return false
	}
	if maintain, err := strconv.ParseBool(o.Annotation); err == nil {
		return maintain
	}
	return o.Generation == 1
}

// Pass returns the writes of one pass of a server over the objects of the store, in their order. A
// server that fails to make one of them makes none of the following. Of a pass while the server
// starts, see [Schedule.Starting].
//
// Upstream deletes unwanted objects in an order that is not defined; here it is that of their names.
func (r *Release) Pass(s *Store, starting bool) []Write {
	p := pass{release: r, store: s}
	maintained := r.rules.Objects.Maintained
	if maintained || starting && s.Find(PriorityLevel, config.Exempt) == nil {
		p.ensure(&r.suggested, r.rules.Objects.PassOrder != rules.SchemasFirst, p.suggested)
	}
	if maintained || !starting {
		p.ensure(&r.mandatory, r.rules.Objects.PassOrder == rules.LevelsFirst, p.putRight)
	}
	if maintained {
		p.removeUnwanted(FlowSchema)
		p.removeUnwanted(PriorityLevel)
	}
	return p.writes
}

// pass collects the writes of one pass.
type pass struct {
	release *Release
	store   *Store
	writes  []Write
}

// ensure creates those objects of the release that are missing, and revises the others.
func (p *pass) ensure(own *Store, levelsFirst bool, revise func(current, own *Object)) {
	first, second := own.schemas, own.levels
	if levelsFirst {
		first, second = second, first
	}
	for _, o := range slices.Concat(first, second) {
		if current := p.store.Find(o.Kind(), o.Name()); current != nil {
			revise(current, o)
		} else {
			p.writes = append(p.writes, Write{Create, Missing, nil, o})
		}
	}
}

// suggested revises a suggested object.
func (p *pass) suggested(current, own *Object) {
	if !p.release.rules.Objects.Maintained {
		return
	}
	_, err := strconv.ParseBool(current.Annotation)
	maintains := p.release.Maintains(current)
	switch {
	case err == nil && maintains:
		p.revise(current, own, "", Annotated)
	case err == nil:
	case maintains:
		p.revise(current, own, "true", NeverEdited)
	default:
		p.revise(current, nil, "false", Edited)
	}
}

// putRight revises a mandatory object.
func (p *pass) putRight(current, own *Object) {
	annotation := ""
	if !p.release.rules.Objects.Maintained {
		// The server replaces the whole object by its own, which has no annotation.
		if after := p.revised(current, own); after.Generation != current.Generation {
			after.Annotation = ""
			p.writes = append(p.writes, Write{Restore, Mandatory, current, after})
		}
		return
	}
	if maintain, err := strconv.ParseBool(current.Annotation); err != nil || !maintain {
		annotation = "true"
	}
	p.revise(current, own, annotation, Mandatory)
}

// revise writes the spec of own, unless own is nil, and the annotation, unless it is "", if the object
// differs from them.
func (p *pass) revise(current, own *Object, annotation string, why Reason) {
	after, action := p.revised(current, current), Annotate
	if own != nil {
		if put := p.revised(current, own); put.Generation != current.Generation {
			after, action = put, Restore
		}
	}
	if annotation != "" {
		after.Annotation = annotation
	}
	if action == Restore || annotation != "" {
		p.writes = append(p.writes, Write{action, why, current, after})
	}
}

// revised returns the object with the spec of another one, as a server of the release writes it: it
// sees, compares and keeps only the fields that it knows. The generation is another one if the specs
// differ in these. Of the level exempt, the part that an operator may change is kept.
func (p *pass) revised(current, source *Object) *Object {
	if current.Level == nil {
		return current.withSpec(source)
	}
	seen := *current
	seen.Level = p.known(current.Level, current.Level.Spec)
	spec := source.Level.Spec
	if spec.Exempt != nil && seen.Level.Spec.Exempt != nil {
		spec.Exempt = seen.Level.Spec.Exempt
	}
	return seen.withSpec(&Object{Level: p.known(source.Level, spec)})
}

// known returns the level with the part of a spec that the release knows: the level itself if that is
// its spec.
func (p *pass) known(l *config.PriorityLevel, spec config.PriorityLevelSpec) *config.PriorityLevel {
	o := &Object{Level: &config.PriorityLevel{Name: l.Name, Spec: spec.Known(p.release.rules), Origin: l.Origin}}
	if sameSpec(o, &Object{Level: l}) {
		return l
	}
	return o.Level
}

// removeUnwanted deletes the objects that servers have created and that the release does not have.
func (p *pass) removeUnwanted(k Kind) {
	for _, o := range slices.SortedFunc(slices.Values(*p.store.list(k)), byName) {
		if created, err := strconv.ParseBool(o.Annotation); err == nil && created && p.release.find(k, o.Name()) == nil {
			p.writes = append(p.writes, Write{Delete, Unwanted, o, nil})
		}
	}
}
