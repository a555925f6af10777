package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"apfsim/document"
)

// validator notes what a decoded object says that a server would refuse
// (k8s.io/kubernetes/pkg/apis/flowcontrol/validation).
type validator struct {
	*document.Decoder
	object  document.Document // the object as the root
	path    string            // of the object in its file
	first   int               // mistakes before this one are other objects'
	decoded int               // mistakes before this one and from first on were found in decoding
	failed  bool              // something else was wrong
}

// enoughErrors is when a source has so many mistakes that no more are looked up and noted;
// it bounds the time that a text made of nothing else takes.
const enoughErrors = 1000

// ok reports whether nothing is wrong with the object.
func (v *validator) ok() bool { return v.decoded == v.first && !v.failed }

// fail notes a mistake at a path within the object, unless the value there could not be
// decoded in the first place.
func (v *validator) fail(path, format string, args ...any) {
	v.failed = true
	if len(v.Errors) >= enoughErrors {
		return
	}
	full := path
	if v.path != "" {
		full = v.path + "." + path
	}
	for _, m := range v.Errors[v.first:v.decoded] {
		if rest, ok := strings.CutPrefix(full, m.Path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	v.Errors.Add(v.object.Position(path), full, format, args...)
}

// oneOf notes a mistake when value is none of want.
func (v *validator) oneOf(path, value string, want ...string) {
	if !slices.Contains(want, value) {
		v.fail(path, "%q is not supported; want %s or %s%s", value,
			strings.Join(want[:len(want)-1], ", "), want[len(want)-1], document.Suggest(value, want))
	}
}

// metadata validates the name. A server clears the namespace of a cluster-scoped object, which
// some charts set (k8s.io/apiserver/pkg/registry/rest, EnsureObjectNamespaceMatchesRequestNamespace).
func (v *validator) metadata(m *metadata) {
	v.dnsSubdomain("metadata.name", m.Name)
}

const (
	labelPattern     = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	subdomainPattern = labelPattern + `(\.` + labelPattern + `)*`
)

var (
	label     = regexp.MustCompile(`^` + labelPattern + `$`)
	subdomain = regexp.MustCompile(`^` + subdomainPattern + `$`)
)

// dnsSubdomain holds a name to RFC 1123, as Kubernetes does for most names.
func (v *validator) dnsSubdomain(path, name string) {
	if len(name) > 253 || !subdomain.MatchString(name) {
		v.fail(path, "%q is no valid name; want at most 253 lower-case letters, digits, hyphens and dots, "+
			"each part beginning and ending with a letter or digit", name)
	}
}

// dnsLabel holds the name of a namespace to RFC 1123.
func (v *validator) dnsLabel(path, name string) {
	if len(name) > 63 || !label.MatchString(name) {
		v.fail(path, "%q is no namespace; want at most 63 lower-case letters, digits and hyphens, "+
			"beginning and ending with a letter or digit", name)
	}
}

// fixed notes the first field in which the spec of a mandatory object is not what it must be.
func (v *validator) fixed(kind, name string, spec, want any) {
	if !v.ok() {
		return // what differs has been said, or may be a consequence
	}
	if path, got, want := difference(tree(spec), tree(want), "spec"); path != "" {
		v.fail(path, "is %s; the spec of the mandatory %s %s is fixed: want %s", got, kind, name, want)
	}
}

// tree returns v as JSON has it.
func tree(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("config: %T does not become JSON: %v", v, err))
	}
	var t any
	if err := json.Unmarshal(text, &t); err != nil {
		panic(fmt.Sprintf("config: %T does not come back from JSON: %v", v, err))
	}
	return t
}

// difference returns the first place, in alphabetical order, in which two trees differ and what
// stands there, path "" when they are equal.
func difference(a, b any, path string) (at, inA, inB string) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(a)
		maps.Copy(all, b)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if at, inA, inB = difference(a[name], b[name], document.Join(path, name)); at != "" {
				return at, inA, inB
			}
		}
		return "", "", ""
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			if at, inA, inB = difference(a[i], b[i], document.Index(path, i)); at != "" {
				return at, inA, inB
			}
		}
		return "", "", ""
	}
	textA, textB := compact(a), compact(b)
	if textA == textB {
		return "", "", ""
	}
	return path, cmp.Or(textA, "absent"), cmp.Or(textB, "it absent")
}

// compact returns a tree as JSON, "" for an absent one.
func compact(t any) string {
	if t == nil {
		return ""
	}
	text, _ := json.Marshal(t)
	return string(text)
}

// absent reports whether the text has nothing at a path within the object, so that the value
// there is a default.
func (v *validator) absent(path string) bool {
	n := v.object.Root
	for name := range strings.SplitSeq(path, ".") {
		n = n.Get(name)
	}
	return n == nil || n.Kind == document.Null
}
