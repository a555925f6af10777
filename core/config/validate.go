package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"apfsim/document"
)

// validator collects the errors for which a server would refuse a decoded object
// (k8s.io/kubernetes/pkg/apis/flowcontrol/validation).
type validator struct {
	*document.Decoder
	object  document.Document // Root is the object
	path    string            // of the object in its file
	first   int               // Errors[first:decoded] are the errors that decoding the object found
	decoded int
	failed  bool // validation found an error
}

// maxErrors is the number of errors in a source from which validation adds no more. It bounds
// the time that a text with an error in every line takes: adding an error looks up its position
// and compares its path with those of the decoding errors.
const maxErrors = 1000

// ok reports whether the object has no error.
func (v *validator) ok() bool { return v.decoded == v.first && !v.failed }

// fail adds an error at a path within the object, unless decoding has already found an error
// in the value there, of which this one may be a consequence.
func (v *validator) fail(path, format string, args ...any) {
	v.failed = true
	if len(v.Errors) >= maxErrors {
		return
	}
	full := v.full(path)
	for _, e := range v.Errors[v.first:v.decoded] {
		if document.Within(full, e.Path) {
			return
		}
	}
	v.Errors.Add(v.object.Position(path), full, format, args...)
}

// full returns the path in the file of a value of the object.
func (v *validator) full(path string) string {
	if v.path == "" {
		return path
	}
	return v.path + "." + path
}

// oneOf adds an error if value is not one of want.
func (v *validator) oneOf(path, value string, want ...string) {
	if !slices.Contains(want, value) {
		v.fail(path, "%q is not supported; use %s or %s%s", value,
			strings.Join(want[:len(want)-1], ", "), want[len(want)-1], document.Suggest(value, want))
	}
}

// metadata validates the name. A namespace is not an error: some charts set it although both
// kinds are cluster-scoped, and a server clears it
// (k8s.io/apiserver/pkg/registry/rest, EnsureObjectNamespaceMatchesRequestNamespace).
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

// dnsSubdomain validates the name of an object by the rules of RFC 1123 for a DNS subdomain.
func (v *validator) dnsSubdomain(path, name string) {
	if len(name) > 253 || !subdomain.MatchString(name) {
		v.fail(path, "%q is not a valid name; want at most 253 lower-case letters, digits, hyphens and dots, "+
			"where each part begins and ends with a letter or a digit", name)
	}
}

// dnsLabel validates the name of a namespace by the rules of RFC 1123 for a DNS label.
func (v *validator) dnsLabel(path, name string) {
	if len(name) > 63 || !label.MatchString(name) {
		v.fail(path, "%q is not a valid namespace; want at most 63 lower-case letters, digits and hyphens, "+
			"where the first and the last character are a letter or a digit", name)
	}
}

// tree converts v to the maps, lists and values that its JSON decodes to.
func tree(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("config: cannot encode %T as JSON: %v", v, err))
	}
	var t any
	if err := json.Unmarshal(text, &t); err != nil {
		panic(fmt.Sprintf("config: cannot decode the JSON of %T: %v", v, err))
	}
	return t
}

// Difference is a field in which two specs differ.
type Difference struct {
	Path   string `json:"path"`   // such as spec.limited.lendablePercent
	Before string `json:"before"` // as JSON; "" if the field is absent
	After  string `json:"after"`
}

// Differences returns the fields in which two specs of one type differ, in alphabetical order.
func Differences(before, after any) []Difference {
	return appendDifferences(nil, tree(before), tree(after), "spec")
}

// appendDifferences appends the differences of two trees at a path.
func appendDifferences(all []Difference, a, b any, path string) []Difference {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		both := maps.Clone(a)
		maps.Copy(both, b)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			all = appendDifferences(all, a[name], b[name], document.Join(path, name))
		}
		return all
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			all = appendDifferences(all, a[i], b[i], document.Index(path, i))
		}
		return all
	}
	if textA, textB := compact(a), compact(b); textA != textB {
		all = append(all, Difference{path, textA, textB})
	}
	return all
}

// compact returns a tree as JSON, or "" if it is absent.
func compact(t any) string {
	if t == nil {
		return ""
	}
	text, _ := json.Marshal(t)
	return string(text)
}

// absent reports whether the text has no value at a path within the object, so that the value
// of the decoded object is the default.
func (v *validator) absent(path string) bool {
	n := v.object.Root
	for name := range strings.SplitSeq(path, ".") {
		n = n.Get(name)
	}
	return n == nil || n.Kind == document.Null
}
