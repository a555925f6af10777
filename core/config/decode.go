package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
)

// group is the API group of both kinds.
const group = "flowcontrol.apiserver.k8s.io"

// Versions of the group. They differ in how a level says its shares ([Version]), and before
// v1 zero shares meant the default.
const (
	v1       = group + "/v1"
	v1beta3  = group + "/v1beta3"
	v1beta2  = group + "/v1beta2"
	v1beta1  = group + "/v1beta1"
	v1alpha1 = group + "/v1alpha1"
)

const (
	kindFlowSchema    = "FlowSchema"
	kindPriorityLevel = "PriorityLevelConfiguration"
	kindList          = "List"
	listSuffix        = "List" // of FlowSchemaList and PriorityLevelConfigurationList
)

// kinds are those that are read.
var kinds = []string{kindFlowSchema, kindPriorityLevel, kindList, kindFlowSchema + listSuffix, kindPriorityLevel + listSuffix}

// keepZeroShares is the annotation by which a server marks, in v1beta3, shares that are
// zero rather than absent (k8s.io/api/flowcontrol/v1beta3).
const keepZeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

// Decoded is what documents hold.
type Decoded struct {
	Objects Objects
	Skipped Kinds           // objects of other kinds, which mean nothing to flow control
	Notes   document.Errors // what is valid, but no longer served
	Errors  document.Errors
}

// Decode reads the FlowSchemas and PriorityLevelConfigurations of docs, each of them one
// object or a list as kubectl prints it, in the order of the text, fills in the defaults of
// their API version and validates them. Objects of other kinds are skipped and counted. What
// a server writes of its own, status and most metadata, is ignored. An object in which
// something is wrong is left out and its mistakes are returned; so are, as mistakes, two
// objects of one kind and name.
func Decode(docs ...document.Document) Decoded {
	r := reader{seen: map[[2]string]document.Position{}, skipped: map[string]int{}}
	var d Decoded
	for _, doc := range docs {
		r.Decoder = &document.Decoder{File: doc.File}
		r.read(doc.Root, "", header{})
		d.Errors = append(d.Errors, r.Errors...)
	}
	d.Objects, d.Notes = r.objects, RemovedVersions(r.objects)
	for kind, count := range r.skipped {
		d.Skipped = append(d.Skipped, KindCount{kind, count})
	}
	slices.SortFunc(d.Skipped, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	return d
}

// Foreign reports whether an object with this header is neither of flow control nor a list
// that may hold such objects, so that [Decode] skips it.
func Foreign(apiVersion, kind string) bool {
	return apiVersion != group && !strings.HasPrefix(apiVersion, group+"/") &&
		!slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(k, kind) })
}

// UnmarshalDocument reads a list of objects, or a single one, within another document,
// by the rules of [Decode], but for objects of other kinds, which are mistakes here.
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
	seen    map[[2]string]document.Position // where each kind and name is defined
	skipped map[string]int                  // objects of other kinds; nil where they are mistakes
}

// header is what says how to read an object.
type header struct{ apiVersion, kind string }

// raw takes any value as it is.
type raw struct{ *document.Node }

// UnmarshalDocument keeps n.
func (r *raw) UnmarshalDocument(_ *document.Decoder, n *document.Node, _ string) { r.Node = n }

// list is List of v1, as kubectl makes it, or the list of one kind, as a server does.
type list struct {
	APIVersion raw `json:"apiVersion"`
	Kind       raw `json:"kind"`
	Metadata   raw `json:"metadata"`
	Items      raw `json:"items"`
}

// object is an object of either kind, whose spec is an S.
type object[S any] struct {
	APIVersion raw      `json:"apiVersion"`
	Kind       raw      `json:"kind"`
	Metadata   metadata `json:"metadata" document:"required"`
	Spec       S        `json:"spec" document:"required"`
	Status     raw      `json:"status"`
}

// metadata has the fields of ObjectMeta (k8s.io/apimachinery), of which only the name
// means something here, and one annotation.
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

// read reads the object or list n. The list around it, if it is one of a single kind,
// says what n need not repeat.
func (r *reader) read(n *document.Node, path string, around header) {
	if around.kind == "" && r.skip(n, path) {
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
	h, ok := r.header(n, path, around)
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

// skip counts n if it is of no kind that is read here, and reports whether it is. A document
// that is no object counts as one without a kind.
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

// text returns a string, "" for anything else.
func text(n *document.Node) string {
	if n == nil || n.Kind != document.String {
		return ""
	}
	return n.Text
}

// header returns the kind and version of n if they are known.
func (r *reader) header(n *document.Node, path string, around header) (h header, ok bool) {
	kinds, named := kinds, "FlowSchema, PriorityLevelConfiguration or a List of them"
	if around.kind != "" {
		kinds, named = []string{around.kind}, around.kind+", as in the list around it"
	}
	h.kind, ok = r.oneOf(n, path, "kind", around.kind, kinds, named)
	if !ok {
		return h, false
	}
	if h.kind == kindList {
		h.apiVersion, ok = r.oneOf(n, path, "apiVersion", "", []string{"v1"}, "v1 for a List")
		return h, ok
	}
	var versions []string
	for _, v := range Versions() {
		versions = append(versions, v.Name)
	}
	h.apiVersion, ok = r.oneOf(n, path, "apiVersion", around.apiVersion, versions, v1+" (or v1beta3, v1beta2, v1beta1, v1alpha1)")
	return h, ok
}

// oneOf returns the named field of n, or what is implied when there is none, if it is one of want.
func (r *reader) oneOf(n *document.Node, path, name, implied string, want []string, named string) (string, bool) {
	value := n.Get(name)
	path = document.Join(path, name)
	switch {
	case value == nil || value.Kind == document.Null:
		if implied == "" {
			r.Fail(n, path, "is missing; want %s", named)
		}
		return implied, implied != ""
	case value.Kind != document.String:
		r.Fail(value, path, "is %v; want %s", value.Kind, named)
		return "", false
	}
	for _, w := range want {
		if value.Text == w {
			return w, true
		}
	}
	r.Fail(value, path, "%q is not supported; want %s%s", value.Text, named, document.Suggest(value.Text, want))
	return "", false
}

func (r *reader) readList(n *document.Node, path string, h header) {
	var l list
	r.Decode(n, path, &l)
	itemsPath := document.Join(path, "items")
	if n.Get("items") == nil {
		r.Fail(n, itemsPath, "is missing")
		return
	}
	if l.Items.Node == nil { // null is how a server prints an empty list
		return
	}
	if l.Items.Kind != document.List {
		r.Fail(l.Items.Node, itemsPath, "is %v; want a list", l.Items.Kind)
		return
	}
	var around header
	if h.kind != kindList {
		around = header{h.apiVersion, strings.TrimSuffix(h.kind, listSuffix)}
	}
	for i, item := range l.Items.Items {
		r.read(item, document.Index(itemsPath, i), around)
	}
}

func (r *reader) readFlowSchema(n *document.Node, path, apiVersion string) {
	var o object[FlowSchemaSpec]
	v := r.decodeObject(n, path, &o)
	if r.template(v) {
		return
	}
	s := &FlowSchema{o.Metadata.Name, o.Spec, v.origin(apiVersion, &o.Metadata)}
	s.Spec.setDefaults()
	v.metadata(&o.Metadata)
	v.flowSchema(s)
	r.claim(v, kindFlowSchema, s.Name)
	if v.ok() {
		r.objects.FlowSchemas = append(r.objects.FlowSchemas, s)
	}
}

func (r *reader) readPriorityLevel(n *document.Node, path, apiVersion string) {
	var (
		v        *validator
		level    PriorityLevel
		metadata metadata
		shares   = versionOf(apiVersion).Shares
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
	r.explainShares(v, apiVersion)
	level.Name, level.Origin = metadata.Name, v.origin(apiVersion, &metadata)
	if apiVersion != v1 && level.Spec.Limited != nil && level.Spec.Shares() == 0 {
		level.Spec.Limited.NominalConcurrencyShares = nil // the default
		if apiVersion == v1beta3 && metadata.Annotations.Get(keepZeroShares) != nil {
			level.Spec.Limited.NominalConcurrencyShares = new(int32)
		}
	}
	level.Spec.setDefaults()
	v.metadata(&metadata)
	v.priorityLevel(&level, shares)
	r.claim(v, kindPriorityLevel, level.Name)
	if v.ok() {
		r.objects.PriorityLevels = append(r.objects.PriorityLevels, &level)
	}
}

// decodeObject reads n into o and returns the validator for what it says.
func (r *reader) decodeObject(n *document.Node, path string, o any) *validator {
	before := len(r.Errors)
	r.Decode(n, path, o)
	return &validator{Decoder: r.Decoder, object: document.Document{File: r.File, Root: n}, path: path,
		first: before, decoded: len(r.Errors)}
}

// origin returns where the object was read.
func (v *validator) origin(apiVersion string, m *metadata) *Origin {
	o := &Origin{Document: v.object, APIVersion: apiVersion}
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

// template notes, in place of all other mistakes of an object, that its name or spec is a
// template that nobody has rendered, and reports whether it is.
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
	r.Fail(at, path, "%q is a template; want it rendered, as by helm template", document.Abridge(at.Text))
	return true
}

// templated returns the first string at or below n with an action of a Go template in it.
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

// explainShares says in the mistake about shares under the name of another version which
// versions have that name.
func (r *reader) explainShares(v *validator, apiVersion string) {
	here, elsewhere := nominalShares, assuredShares
	if versionOf(apiVersion).Shares == assuredShares {
		here, elsewhere = elsewhere, here
	}
	var versions []string
	for _, version := range Versions() {
		if version.Shares == elsewhere {
			versions = append(versions, strings.TrimPrefix(version.Name, group+"/"))
		}
	}
	for i := range r.Errors[v.first:v.decoded] {
		m := &r.Errors[v.first+i]
		if strings.HasSuffix(m.Path, "spec.limited."+elsewhere) && strings.HasPrefix(m.Message, "unknown field") {
			m.Message = fmt.Sprintf("is a field of %s; use %s in %s", strings.Join(versions, ", "), here,
				strings.TrimPrefix(apiVersion, group+"/"))
		}
	}
}

// claim notes a mistake when another object has the kind and name.
func (r *reader) claim(v *validator, kind, name string) {
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

// priorityLevelSpecAssured is PriorityLevelSpec as the versions up to v1beta2 write it.
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
