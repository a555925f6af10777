package space

import (
	"cmp"
	"strings"

	"apfsim/core/config"
)

// Paths is the set of URL paths that an item of nonResourceURLs covers: the path Exact, unless it is
// "", and all paths that begin with Prefix.
type Paths struct{ Exact, Prefix string }

// PathsOf returns the paths that an item of nonResourceURLs covers.
func PathsOf(url string) Paths {
	if url == config.Wildcard {
		return Paths{Prefix: "/"}
	}
	prefix := strings.TrimSuffix(url, "*")
	if strings.HasSuffix(prefix, "/") {
		return Paths{Prefix: prefix}
	}
	return Paths{Exact: url, Prefix: prefix + "/"}
}

// Contain reports whether p contains q.
func (p Paths) Contain(q Paths) bool {
	exact := q.Exact == "" || q.Exact == p.Exact || strings.HasPrefix(q.Exact, p.Prefix)
	return exact && strings.HasPrefix(q.Prefix, p.Prefix)
}

// Example returns a path in the intersection of p and q, or "" if neither contains the other.
func (p Paths) Example(q Paths) string {
	switch {
	case p.Contain(q):
		return cmp.Or(q.Exact, q.Prefix+"x")
	case q.Contain(p):
		return q.Example(p)
	}
	return ""
}
