package trace

import (
	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/document"
)

// Kind is the user and the target of a request: a record without its id and times. Requests of a
// trace that are alike usually share their Kind, so that what follows from it, such as its route,
// can be found once for all of them. It does not change.
type Kind struct {
	Attributes classify.Attributes // with a path, also where the trace has none
	Query      string

	// Slot is less than mostKinds, so that a slice by Slot is bounded. A later Kind may have the same
	// Slot; requests that follow it no longer have this Kind.
	Slot int

	path string // in the trace
}

// mostKinds is how many kinds a reader remembers, of about two kilobytes each with what a run knows of them.
const mostKinds = 1 << 16

// knownKind is a kind as the text of a line has it.
type knownKind struct {
	Kind
	seen uint32 // the fields in the text
	last field  // the last of them

	decision []byte // the members from workload to flow of an earlier line of a request log
}

// kinds are the kinds of the lines that have been read, by the text of the members that make them
// up. When there are mostKinds, all are forgotten, and those that are still in use are soon known
// again: that costs at most as much as it has cost to get to know the others, and unlike a
// cache of the most frequent ones, or no longer adding any, it suits a trace that changes over time.
type kinds map[string]*knownKind

// find returns the kind of a line that has been parsed, nil if the line has a problem.
func (ks kinds) find(l *line) *Kind {
	if l.known != nil {
		return &l.known.Kind
	}
	if k := ks[string(l.kindText)]; k != nil {
		return &k.Kind
	}
	k := &knownKind{seen: l.seen & kindFields, last: l.lastOfKind}
	k.Kind = Kind{
		Attributes: classify.Attributes{
			User:        l.string(fieldUser),
			Groups:      l.groups(),
			Verb:        l.string(fieldVerb),
			APIGroup:    l.string(fieldAPIGroup),
			Resource:    l.string(fieldResource),
			Subresource: l.string(fieldSubresource),
			Namespace:   l.string(fieldNamespace),
			Name:        l.string(fieldName),
			Path:        l.string(fieldPath),
		},
		Query: l.string(fieldQuery),
	}
	if _, err := request.ParseQuery(k.Query); err != nil {
		l.at, l.field = int(l.values[fieldQuery].from), names[fieldQuery]
		l.fail("%q is not in URL encoding: %v", document.Abridge(k.Query), err)
		return nil
	}
	if k.path = k.Attributes.Path; k.path == "" {
		k.Attributes.Path = ResourcePath(&k.Attributes)
	}
	if len(ks) == mostKinds {
		clear(ks)
	}
	k.Slot = len(ks)
	ks[string(l.kindText)] = k
	return &k.Kind
}
