package config

import (
	"strings"

	"apfsim/core/document"
)

// group is the API group of both kinds.
const group = "flowcontrol.apiserver.k8s.io"

// Versions of the group that Decode reads. They differ in how a level says its shares:
// v1beta2 calls them assuredConcurrencyShares, and before v1 zero meant the default.
const (
	v1      = group + "/v1"
	v1beta3 = group + "/v1beta3"
	v1beta2 = group + "/v1beta2"
)

var versions = []string{v1, v1beta3, v1beta2}

const (
	kindFlowSchema    = "FlowSchema"
	kindPriorityLevel = "PriorityLevelConfiguration"
	kindList          = "List"
	listSuffix        = "List" // of FlowSchemaList and PriorityLevelConfigurationList
)

// keepZeroShares is the annotation by which a server marks, in v1beta3, shares that are
// zero rather than absent (k8s.io/api/flowcontrol/v1beta3).
const keepZeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

// Decode reads the FlowSchemas and PriorityLevelConfigurations of docs, each of them one
// object or a list as kubectl prints it, in the order of the text, fills in the defaults
// and validates them. What a server writes of its own, status and metadata other than the
// name, is ignored. An object in which something is wrong is left out and its mistakes
// are returned; so are, as mistakes, two objects of one kind and name.
func Decode(docs ...document.Document) (Objects, document.Mistakes) {
	r := reader{seen: map[[2]string]document.Place{}}
	var mistakes document.Mistakes
	for _, doc := range docs {
		r.Decoder = &document.Decoder{File: doc.File}
		r.read(doc.Root, "", header{})
		mistakes = append(mistakes, r.Mistakes...)
	}
	return r.objects, mistakes
}

// UnmarshalDocument reads a list of objects, or a single one, within another document,
// by the rules of [Decode].
func (o *Objects) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	r := reader{Decoder: d, seen: map[[2]string]document.Place{}}
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
	seen    map[[2]string]document.Place // where each kind and name stands
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
	if n == nil || n.Kind != document.Object {
		at, kind := document.Place{File: r.File}, document.Null
		if n != nil {
			at.Line, at.Column, kind = n.Line, n.Column, n.Kind
		}
		r.Mistakes.Add(at, path, "is %v; want an object with apiVersion and kind", kind)
		return
	}
	h, ok := r.header(n, path, around)
	if !ok {
		return
	}
	switch h.kind {
	case kindFlowSchema:
		r.readFlowSchema(n, path)
	case kindPriorityLevel:
		r.readPriorityLevel(n, path, h.apiVersion)
	default:
		r.readList(n, path, h)
	}
}

// header returns the kind and version of n if they are known.
func (r *reader) header(n *document.Node, path string, around header) (h header, ok bool) {
	kinds := []string{kindFlowSchema, kindPriorityLevel, kindList, kindFlowSchema + listSuffix, kindPriorityLevel + listSuffix}
	named := "FlowSchema, PriorityLevelConfiguration or a List of them"
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
	h.apiVersion, ok = r.oneOf(n, path, "apiVersion", around.apiVersion, versions,
		strings.Join(versions[:len(versions)-1], ", ")+" or "+versions[len(versions)-1])
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
	r.Fail(value, path, "%q is not known here; want %s%s", value.Text, named, document.Suggest(value.Text, want))
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

func (r *reader) readFlowSchema(n *document.Node, path string) {
	var o object[FlowSchemaSpec]
	v := r.decodeObject(n, path, &o)
	s := &FlowSchema{o.Metadata.Name, o.Spec}
	s.Spec.setDefaults()
	v.metadata(kindFlowSchema, &o.Metadata)
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
		shares   = "nominalConcurrencyShares"
	)
	if apiVersion == v1beta2 {
		shares = "assuredConcurrencyShares"
		var o object[priorityLevelSpecV1beta2]
		v = r.decodeObject(n, path, &o)
		metadata, level.Spec = o.Metadata, o.Spec.convert()
	} else {
		var o object[PriorityLevelSpec]
		v = r.decodeObject(n, path, &o)
		metadata, level.Spec = o.Metadata, o.Spec
	}
	level.Name = metadata.Name
	if apiVersion != v1 && level.Spec.Limited != nil && level.Spec.Shares() == 0 {
		level.Spec.Limited.NominalConcurrencyShares = nil // the default
		if apiVersion == v1beta3 && metadata.Annotations.Get(keepZeroShares) != nil {
			level.Spec.Limited.NominalConcurrencyShares = new(int32)
		}
	}
	level.Spec.setDefaults()
	v.metadata(kindPriorityLevel, &metadata)
	v.priorityLevel(&level, shares)
	r.claim(v, kindPriorityLevel, level.Name)
	if v.ok() {
		r.objects.PriorityLevels = append(r.objects.PriorityLevels, &level)
	}
}

// decodeObject reads n into o and returns the validator for what it says.
func (r *reader) decodeObject(n *document.Node, path string, o any) *validator {
	before := len(r.Mistakes)
	r.Decode(n, path, o)
	return &validator{Decoder: r.Decoder, object: document.Document{File: r.File, Root: n}, path: path,
		first: before, decoded: len(r.Mistakes)}
}

// claim notes a mistake when another object has the kind and name.
func (r *reader) claim(v *validator, kind, name string) {
	if name == "" {
		return
	}
	key := [2]string{kind, name}
	if at, ok := r.seen[key]; ok {
		v.fail("metadata.name", "%q stands twice: the %s is already at %v", name, kind, at)
		return
	}
	r.seen[key] = v.object.Place("metadata.name")
}

// priorityLevelSpecV1beta2 is PriorityLevelSpec as v1beta2 writes it.
type priorityLevelSpecV1beta2 struct {
	Type    string              `json:"type" document:"required"`
	Limited *limitedSpecV1beta2 `json:"limited"`
	Exempt  *ExemptSpec         `json:"exempt"`
}

type limitedSpecV1beta2 struct {
	AssuredConcurrencyShares *int32        `json:"assuredConcurrencyShares"`
	LendablePercent          *int32        `json:"lendablePercent"`
	BorrowingLimitPercent    *int32        `json:"borrowingLimitPercent"`
	LimitResponse            LimitResponse `json:"limitResponse" document:"required"`
}

func (s *priorityLevelSpecV1beta2) convert() PriorityLevelSpec {
	spec := PriorityLevelSpec{Type: s.Type, Exempt: s.Exempt}
	if l := s.Limited; l != nil {
		spec.Limited = &LimitedSpec{l.AssuredConcurrencyShares, l.LendablePercent, l.BorrowingLimitPercent, l.LimitResponse}
	}
	return spec
}
