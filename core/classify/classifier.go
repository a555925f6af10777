package classify

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"apfsim/core/config"
)

// Classifier finds the FlowSchema of a request.
type Classifier struct {
	schemas  []*config.FlowSchema // in the order in which they are tried
	catchAll *config.FlowSchema   // nil when there is none
}

// New returns a classifier that tries schemas by increasing matching precedence, then by
// name.
func New(schemas []*config.FlowSchema) *Classifier {
	sorted := slices.Clone(schemas)
	slices.SortStableFunc(sorted, func(s, t *config.FlowSchema) int {
		return cmp.Or(cmp.Compare(s.Spec.MatchingPrecedence, t.Spec.MatchingPrecedence),
			cmp.Compare(s.Name, t.Name))
	})
	c := &Classifier{schemas: sorted}
	for _, s := range sorted {
		if s.Name == config.CatchAll {
			c.catchAll = s
		}
	}
	return c
}

// Match returns the first schema that matches the request. When none does, it falls back
// to catch-all; without one, it returns nil.
func (c *Classifier) Match(a *Attributes) *config.FlowSchema {
	for _, s := range c.schemas {
		if matches(s, a) {
			return s
		}
	}
	return c.catchAll
}

// Distinguisher returns what tells the request's flow from the others of its schema: the
// user, the namespace or nothing.
func Distinguisher(s *config.FlowSchema, a *Attributes) string {
	if s.Spec.DistinguisherMethod == nil {
		return ""
	}
	switch s.Spec.DistinguisherMethod.Type {
	case config.ByUser:
		return a.User
	case config.ByNamespace:
		return a.Namespace
	}
	return ""
}

// FlowHash returns the hash that deals a flow its hand: the first eight bytes, little
// endian, of SHA-256 over the schema's name, a zero byte and the distinguisher.
func FlowHash(schema, distinguisher string) uint64 {
	text := make([]byte, 0, 128)
	text = append(text, schema...)
	text = append(text, 0)
	text = append(text, distinguisher...)
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:8])
}
