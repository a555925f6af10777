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
	catchAll *config.FlowSchema   // nil if there is none
}

// New returns a classifier that tries the schemas in ascending order of matching precedence,
// then by name. The caller leaves out dangling schemas, which a server ignores.
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

// Match returns the first schema that matches the request. If none matches, it returns the
// schema catch-all, or nil if there is no catch-all.
func (c *Classifier) Match(a *Attributes) *config.FlowSchema {
	for _, s := range c.schemas {
		if matches(s, a) {
			return s
		}
	}
	return c.catchAll
}

// Named returns the schema with a name, or nil.
func (c *Classifier) Named(name string) *config.FlowSchema {
	if name == "" {
		return nil
	}
	for _, s := range c.schemas {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Distinguisher returns the flow distinguisher of a request that belongs to s: its user, its
// namespace, or "" if s makes one flow of all its requests.
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

// FlowHash returns the hash from which a flow is dealt its hand of queues. It is the first
// eight bytes, in little-endian order, of SHA-256 over the schema's name, a zero byte and the
// distinguisher (k8s.io/apiserver/pkg/util/flowcontrol, hashFlowID).
func FlowHash(schema, distinguisher string) uint64 {
	text := make([]byte, 0, 128)
	text = append(text, schema...)
	text = append(text, 0)
	text = append(text, distinguisher...)
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:8])
}
