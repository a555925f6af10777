package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/rules"
	"apfsim/document"
)

// group is the API group of both kinds.
const group = "flowcontrol.apiserver.k8s.io"

const (
	kindFlowSchema    = "FlowSchema"
	kindPriorityLevel = "PriorityLevelConfiguration"
	kindList          = "List"
	listSuffix        = "List" // of FlowSchemaList and PriorityLevelConfigurationList
)

// kinds are the kinds that Decode reads.
var kinds = []string{kindFlowSchema, kindPriorityLevel, kindList, kindFlowSchema + listSuffix, kindPriorityLevel + listSuffix}

// keepZeroShares is the annotation of a v1beta3 object whose 0 shares mean 0 and not the
// default. A server adds it when it converts the object from v1 (k8s.io/api/flowcontrol/v1beta3).
const keepZeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

// Decoded is the result of Decode.
type Decoded struct {
	Objects Objects         // the valid objects, with their defaults
	Skipped Kinds           // objects that are not of flow control
	Notes   document.Errors // on what was read; empty until the reader of a file adds to it
	Errors  document.Errors // why objects are invalid
	Damaged Damaged
}

// Damaged are what is left of invalid objects without their invalid values, for checks that look for further problems. A
// subject or a rule that is invalid matches nothing, with its index kept; an invalid field of a level has its default. Objects
// whose name, precedence or level is invalid are not among them.
type Damaged struct {
	Objects
	Errors int // how many of the errors are about these objects
}

// Decode reads the FlowSchemas and PriorityLevelConfigurations in docs, in the order of the
// text, fills in the defaults of their API version and validates them by the rules that all releases
// have in common; [Objects.In] does the rest. Each document is one
// object or a list as kubectl prints it. Objects of other kinds are skipped and counted. The
// fields that a server writes, status and most of metadata, are ignored. Errors has all errors
// of all objects, and Objects has only the objects without errors. A second object of one kind
// and name is an error.
func Decode(docs ...document.Document) Decoded {
	r := reader{seen: map[[2]string]document.Position{}, skipped: map[string]int{}}
	var d Decoded
	for _, doc := range docs {
		r.Decoder = &document.Decoder{File: doc.File}
		r.read(doc.Root, "", header{})
		d.Errors = append(d.Errors, r.Errors...)
	}
	d.Objects, d.Damaged = r.objects, r.damaged
	for kind, count := range r.skipped {
		d.Skipped = append(d.Skipped, KindCount{kind, count})
	}
	slices.SortFunc(d.Skipped, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return d
}

// Foreign reports whether [Decode] skips an object with this apiVersion and kind, because it
// is neither an object of flow control nor a list that may contain such objects. A misspelt
// kind in the API group of flow control is not foreign: it is an error.
func Foreign(apiVersion, kind string) bool {
	return apiVersion != group && !strings.HasPrefix(apiVersion, group+"/") &&
		!slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(k, kind) })
}

// UnmarshalDocument reads an object or a list of objects that is part of another document,
// by the rules of [Decode], except that objects of other kinds are errors.
func (o *Objects) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	r := reader{Decoder: d, seen: map[[2]string]document.Position{}}
	if n.Kind != document.List {
		r.read(n, path, header{})
	}
	for i, item := range n.Items {
		r.read(item, document.Index(path, i), header{})
	}
	*o = r.objects
}

// reader reads the objects of one source.
type reader struct {
	*document.Decoder
	objects Objects
	damaged Damaged
	seen    map[[2]string]document.Position // where each kind and name is defined
	skipped map[string]int                  // how many objects of each other kind; nil if they are errors
}

// header is the type of an object, which says how to read it.
type header struct{ apiVersion, kind string }

// raw accepts any value without decoding it.
type raw struct{ *document.Node }

// UnmarshalDocument implements document.Unmarshaler.
func (r *raw) UnmarshalDocument(_ *document.Decoder, n *document.Node, _ string) { r.Node = n }

// list is a List of v1, as kubectl prints it, or the list of one kind that a server returns.
type list struct {
	APIVersion raw `json:"apiVersion"`
	Kind       raw `json:"kind"`
	Metadata   raw `json:"metadata"`
	Items      raw `json:"items"`
}

// object is an object of either kind with a spec of type S.
type object[S any] struct {
	APIVersion raw      `json:"apiVersion"`
	Kind       raw      `json:"kind"`
	Metadata   metadata `json:"metadata" document:"required"`
	Spec       S        `json:"spec" document:"required"`
	Status     raw      `json:"status"`
}

// metadata has all fields of ObjectMeta (k8s.io/apimachinery), so that none of them is an
// unknown field. Flow control depends only on the name and on one annotation.
type metadata struct {
	Name                       string `json:"name" document:"required"`
	Namespace                  raw    `json:"namespace"`
	Annotations                raw    `json:"annotations"`
	Labels                     raw    `json:"labels"`
	GenerateName               raw    `json:"generateName"`
	CreationTimestamp          raw    `json:"creationTimestamp"`
	DeletionTimestamp          raw    `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds raw    `json:"deletionGracePeriodSeconds"`
	Generation                 raw    `json:"generation"`
	ResourceVersion            raw    `json:"resourceVersion"`
	UID                        raw    `json:"uid"`
	SelfLink                   raw    `json:"selfLink"`
	ManagedFields              raw    `json:"managedFields"`
	OwnerReferences            raw    `json:"ownerReferences"`
	Finalizers                 raw    `json:"finalizers"`
}

// read reads the object or list n. If n is an item of a list of one kind, implied is the type
// of the items, which they need not repeat.
func (r *reader) read(n *document.Node, path string, implied header) {
	if implied.kind == "" && r.skip(n, path) {
		return
	}
	if n == nil || n.Kind != document.Object {
		at, kind := document.Position{File: r.File}, document.Null
		if n != nil {
			at.Line, at.Column, kind = n.Line, n.Column, n.Kind
		}
		r.Errors.Add(at, path, "is %v; want an object with apiVersion and kind", kind)
		return
	}
	h, ok := r.header(n, path, implied)
	if !ok {
		return
	}
	switch h.kind {
	case kindFlowSchema:
		r.readFlowSchema(n, path, h.apiVersion)
	case kindPriorityLevel:
		r.readPriorityLevel(n, path, h.apiVersion)
	default:
		r.readList(n, path, h)
	}
}

// skip reports whether n is to be skipped because it is not an object of flow control, and
// counts it if so. A document that is not an object counts as an object without a kind.
func (r *reader) skip(n *document.Node, path string) bool {
	kind := text(n.Get("kind"))
	switch {
	case r.skipped == nil, !Foreign(text(n.Get("apiVersion")), kind):
		return false
	case path != "" && n.Kind != document.Object:
		return false
	}
	r.skipped[kind]++
	return true
}

// text returns the value of a string, or "" if n is not a string.
func text(n *document.Node) string {
	if n == nil || n.Kind != document.String {
		return ""
	}
	return n.Text
}

// header returns the type of n; ok is false if the type is not supported.
func (r *reader) header(n *document.Node, path string, implied header) (h header, ok bool) {
	kinds, choices := kinds, "FlowSchema, PriorityLevelConfiguration or a List of them"
	if implied.kind != "" {
		kinds, choices = []string{implied.kind}, implied.kind+", as the enclosing list says"
	}
	h.kind, ok = r.oneOf(n, path, "kind", implied.kind, kinds, choices)
	if !ok {
		return h, false
	}
	if h.kind == kindList {
		h.apiVersion, ok = r.oneOf(n, path, "apiVersion", "", []string{"v1"}, "v1 for a List")
		return h, ok
	}
	h.apiVersion, ok = r.oneOf(n, path, "apiVersion", implied.apiVersion, apiVersionNames, apiVersionNames[0]+" (or v1beta3, v1beta2, v1beta1, v1alpha1)")
	return h, ok
}

// oneOf returns the string in the named field of n, or the implied one if n does not have the
// field; ok is false if the string is not one of want. Choices describes them in the error.
func (r *reader) oneOf(n *document.Node, path, name, implied string, want []string, choices string) (value string, ok bool) {
	field := n.Get(name)
	path = document.Join(path, name)
	switch {
	case field == nil || field.Kind == document.Null:
		if implied == "" {
			r.Fail(n, path, "is missing; want %s", choices)
		}
		return implied, implied != ""
	case field.Kind != document.String:
		r.Fail(field, path, "is %v; want %s", field.Kind, choices)
		return "", false
	case !slices.Contains(want, field.Text):
		r.Fail(field, path, "%q is not supported; use %s%s", field.Text, choices, document.Suggest(field.Text, want))
		return "", false
	}
	return field.Text, true
}

func (r *reader) readList(n *document.Node, path string, h header) {
	var l list
	r.Decode(n, path, &l)
	itemsPath := document.Join(path, "items")
	if n.Get("items") == nil {
		r.Fail(n, itemsPath, "is missing")
		return
	}
	if l.Items.Node == nil { // a server prints an empty list as null
		return
	}
	if l.Items.Kind != document.List {
		r.Fail(l.Items.Node, itemsPath, "is %v; want a list", l.Items.Kind)
		return
	}
	var implied header
	if h.kind != kindList {
		implied = header{h.apiVersion, strings.TrimSuffix(h.kind, listSuffix)}
	}
	for i, item := range l.Items.Items {
		r.read(item, document.Index(itemsPath, i), implied)
	}
}

func (r *reader) readFlowSchema(n *document.Node, path, apiVersion string) {
	var o object[FlowSchemaSpec]
	v := r.decodeObject(n, path, &o)
	if r.template(v) {
		return
	}
	r.explainSubjects(v, &o.Spec)
	s := &FlowSchema{o.Metadata.Name, o.Spec, v.origin(apiVersion, &o.Metadata)}
	s.Spec.setDefaults()
	v.metadata(&o.Metadata)
	v.flowSchema(s)
	r.unique(v, kindFlowSchema, s.Name)
	if v.ok() {
		r.objects.FlowSchemas = append(r.objects.FlowSchemas, s)
	} else if v.disableInvalid(s) {
		r.damaged.FlowSchemas = append(r.damaged.FlowSchemas, s)
		r.damaged.Errors += len(r.Errors) - v.first
	}
}

func (r *reader) readPriorityLevel(n *document.Node, path, apiVersion string) {
	var (
		v        *validator
		level    PriorityLevel
		metadata metadata
		version  = apiVersionOf(apiVersion)
		shares   = sharesField(version)
	)
	if shares == assuredShares {
		var o object[priorityLevelSpecAssured]
		v = r.decodeObject(n, path, &o)
		metadata, level.Spec = o.Metadata, o.Spec.convert()
	} else {
		var o object[PriorityLevelSpec]
		v = r.decodeObject(n, path, &o)
		metadata, level.Spec = o.Metadata, o.Spec
	}
	if r.template(v) {
		return
	}
	r.explainShares(v, version)
	level.Name, level.Origin = metadata.Name, v.origin(apiVersion, &metadata)
	if version != rules.V1 && level.Spec.Limited != nil && level.Spec.Shares() == 0 {
		level.Spec.Limited.NominalConcurrencyShares = nil // setDefaults replaces it
		if version == rules.V1beta3 && metadata.Annotations.Get(keepZeroShares) != nil {
			level.Spec.Limited.NominalConcurrencyShares = new(int32)
		}
	}
	level.Spec.setDefaults()
	v.metadata(&metadata)
	v.priorityLevel(&level, shares)
	r.unique(v, kindPriorityLevel, level.Name)
	if v.ok() {
		r.objects.PriorityLevels = append(r.objects.PriorityLevels, &level)
	} else if v.replaceInvalid(&level, shares) {
		r.damaged.PriorityLevels = append(r.damaged.PriorityLevels, &level)
		r.damaged.Errors += len(r.Errors) - v.first
	}
}

// decodeObject decodes n into o and returns the validator of the result.
func (r *reader) decodeObject(n *document.Node, path string, o any) *validator {
	before := len(r.Errors)
	r.Decode(n, path, o)
	return &validator{Decoder: r.Decoder, object: document.Document{File: r.File, Root: n}, path: path,
		first: before, decoded: len(r.Errors)}
}

// origin returns where the object was read.
func (v *validator) origin(apiVersion string, m *metadata) *Origin {
	o := &Origin{Document: v.object, APIVersion: apiVersion, path: v.path}
	if g := m.Generation.Node; g != nil && g.Kind == document.Number {
		if generation, err := strconv.ParseInt(g.Text, 10, 64); err == nil {
			o.Generation = generation
		}
	}
	if a := m.Annotations.Node; a != nil && len(a.Fields) > 0 {
		o.Annotations = make(map[string]string, len(a.Fields))
		for _, f := range a.Fields {
			o.Annotations[f.Name] = f.Value.Text
		}
	}
	return o
}

// template reports whether the name or the spec of an object contains an unrendered template.
// If so, one error about the template replaces all other errors of the object, which are
// consequences of it.
func (r *reader) template(v *validator) bool {
	at, path := templated(v.object.Root.Get("metadata").Get("name"), "metadata.name")
	if at == nil {
		at, path = templated(v.object.Root.Get("spec"), "spec")
	}
	if at == nil {
		return false
	}
	if v.path != "" {
		path = v.path + "." + path
	}
	r.Errors = r.Errors[:v.first]
	r.Fail(at, path, "%q is a template; render it first, for example with helm template", document.Abridge(at.Text))
	return true
}

// templated returns the first string at or below n that contains an action of a Go template,
// and its path.
func templated(n *document.Node, path string) (*document.Node, string) {
	if n == nil {
		return nil, ""
	}
	if n.Kind == document.String && strings.Contains(n.Text, "{{") {
		return n, path
	}
	for i, item := range n.Items {
		if at, path := templated(item, document.Index(path, i)); at != nil {
			return at, path
		}
	}
	for _, f := range n.Fields {
		if at, path := templated(f.Value, document.Join(path, f.Name)); at != nil {
			return at, path
		}
	}
	return nil, ""
}

// explainShares replaces the error about an unknown field if the field is the one that other
// API versions have for the shares: the new error names those versions and the right field.
func (r *reader) explainShares(v *validator, apiVersion rules.APIVersion) {
	right, wrong := nominalShares, assuredShares
	if sharesField(apiVersion) == assuredShares {
		right, wrong = wrong, right
	}
	var versions []string // those that have the wrong field
	for other := rules.V1; ; other-- {
		if sharesField(other) == wrong {
			versions = append(versions, other.String())
		}
		if other == rules.V1alpha1 {
			break
		}
	}
	for i := range r.Errors[v.first:v.decoded] {
		e := &r.Errors[v.first+i]
		if strings.HasSuffix(e.Path, "spec.limited."+wrong) && strings.HasPrefix(e.Message, "unknown field") {
			e.Message = fmt.Sprintf("is a field of %s; use %s in %s", strings.Join(versions, ", "), right, apiVersion)
		}
	}
}

// explainSubjects makes the errors about names that stand beside the kind of a subject, as in RBAC, suggest the field of
// that kind.
func (r *reader) explainSubjects(v *validator, spec *FlowSchemaSpec) {
	if v.decoded == v.first {
		return
	}
	kinds := map[string]string{} // by the path of the subject
	for i := range spec.Rules {
		for j, s := range spec.Rules[i].Subjects {
			kinds[v.full(document.Index(document.Index("spec.rules", i)+".subjects", j))] = s.Kind
		}
	}
	fields := map[string]string{SubjectUser: "user", SubjectGroup: "group", SubjectServiceAccount: "serviceAccount"}
	for i := range r.Errors[v.first:v.decoded] {
		e := &r.Errors[v.first+i]
		for _, name := range []string{"name", "namespace"} {
			at, beside := strings.CutSuffix(e.Path, "."+name)
			field := fields[kinds[at]]
			if beside && field != "" && (name == "name" || field == "serviceAccount") && strings.HasPrefix(e.Message, "unknown field") {
				e.Message = fmt.Sprintf("unknown field (did you mean %q?)", field+"."+name)
			}
		}
	}
}

// unique adds an error if an earlier object has the same kind and name.
func (r *reader) unique(v *validator, kind, name string) {
	if name == "" {
		return
	}
	key := [2]string{kind, name}
	if at, ok := r.seen[key]; ok {
		v.fail("metadata.name", "duplicate %s %q (first defined at %v)", kind, name, at)
		return
	}
	r.seen[key] = v.object.Position("metadata.name")
}

// priorityLevelSpecAssured is PriorityLevelSpec in the versions up to v1beta2, which call the
// shares assuredConcurrencyShares.
type priorityLevelSpecAssured struct {
	Type    string              `json:"type" document:"required"`
	Limited *limitedSpecAssured `json:"limited"`
	Exempt  *ExemptSpec         `json:"exempt"`
}

type limitedSpecAssured struct {
	AssuredConcurrencyShares *int32        `json:"assuredConcurrencyShares"`
	LendablePercent          *int32        `json:"lendablePercent"`
	BorrowingLimitPercent    *int32        `json:"borrowingLimitPercent"`
	LimitResponse            LimitResponse `json:"limitResponse" document:"required"`
}

func (s *priorityLevelSpecAssured) convert() PriorityLevelSpec {
	spec := PriorityLevelSpec{Type: s.Type, Exempt: s.Exempt}
	if l := s.Limited; l != nil {
		spec.Limited = &LimitedSpec{l.AssuredConcurrencyShares, l.LendablePercent, l.BorrowingLimitPercent, l.LimitResponse}
	}
	return spec
}
