package apicalls

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"apfsim/core/request"
)

// Resource is a resource whose objects the sequences are about. All are namespaced.
type Resource struct {
	Group, Version, Name, Kind string

	// content puts the fields of a call that are not labels into an object.
	content func(object map[string]any, fields map[string]string)
	// constant puts what every object of the resource must have into it, nil if nothing.
	constant func(object map[string]any, namespace string)

	// Whether calls apply it: not where an object has content that is in no trace, such as the type of a secret or
	// the spec of a pod, which then has owners that a simulation does not know.
	applied bool
	updated bool // whether calls put it
}

const customGroup = "calls.example.com"

// Resources are the resources that the sequences are about. Their properties differ: whether a PUT may create,
// whether it needs a resourceVersion, whether there is a watch cache, whether a deletion is graceful.
var Resources = []Resource{
	{Version: "v1", Name: "configmaps", Kind: "ConfigMap", content: data, applied: true, updated: true},
	{Version: "v1", Name: "secrets", Kind: "Secret", content: encodedData, updated: true},
	{Group: "coordination.k8s.io", Version: "v1", Name: "leases", Kind: "Lease", content: annotations, applied: true, updated: true},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "roles", Kind: "Role", content: annotations, applied: true, updated: true},
	{Group: customGroup, Version: "v1", Name: "widgets", Kind: "Widget", content: data, applied: true, updated: true},
	{Version: "v1", Name: "events", Kind: "Event", content: annotations, constant: involvedObject, updated: true},
	// A PUT of a pod must repeat the defaults that the server has given it, which a trace does not have.
	{Version: "v1", Name: "pods", Kind: "Pod", content: annotations, constant: podSpec},
}

// resourceOf returns the resource of a call, nil if the sequences have no such one.
func resourceOf(group, name string) *Resource {
	for i := range Resources {
		if r := &Resources[i]; r.Group == group && r.Name == name {
			return r
		}
	}
	return nil
}

// Path returns the path of an object, or of the collection if name is empty. Without a namespace it is that of all
// namespaces.
func (r *Resource) Path(namespace, name string) string {
	info := request.Info{APIGroup: r.Group, Resource: r.Name, Namespace: namespace, Name: name}
	return "/" + strings.Join(info.PathSegments(r.Version), "/")
}

func (r *Resource) apiVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

const labelField = "metadata.labels."

// body returns what a call sends, nil for nothing, with the references replaced.
func (r *Resource) body(c *Call, k known) ([]byte, error) {
	switch c.Verb {
	case "create", "update", "patch":
	case "delete", "deletecollection":
		return deleteOptions(c, k)
	default:
		return nil, nil
	}
	metadata := identity(k.version(c.BodyResourceVersion), k.uid(c.BodyUID))
	if c.Finalizers != nil {
		metadata["finalizers"] = c.Finalizers
	}
	labels, content := map[string]string{}, map[string]string{}
	for name, value := range c.Fields {
		if label, ok := strings.CutPrefix(name, labelField); ok {
			labels[label] = value
		} else {
			content[name] = value
		}
	}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	object := map[string]any{"metadata": metadata}
	if len(content) > 0 {
		r.content(object, content)
	}
	if c.Verb != "patch" || c.PatchType == "apply" {
		object["apiVersion"], object["kind"] = r.apiVersion(), r.Kind
		metadata["name"], metadata["namespace"] = c.Name, c.Namespace
		if r.constant != nil {
			r.constant(object, c.Namespace)
		}
	}
	return json.Marshal(object)
}

// deleteOptions returns the body of a deletion. Without one, a server takes the options from the query, and
// then also resourceVersion and uid as preconditions; with one it takes all of them from there.
func deleteOptions(c *Call, k known) ([]byte, error) {
	if c.Preconditions == nil {
		return nil, nil
	}
	preconditions := identity(k.version(c.Preconditions.ResourceVersion), k.uid(c.Preconditions.UID))
	options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
	if c.DryRun {
		options["dryRun"] = []string{"All"}
	}
	return json.Marshal(options)
}

// identity returns the fields resourceVersion and uid, without empty ones.
func identity(version, uid string) map[string]any {
	fields := map[string]any{}
	if version != "" {
		fields["resourceVersion"] = version
	}
	if uid != "" {
		fields["uid"] = uid
	}
	return fields
}

func data(object map[string]any, fields map[string]string) { object["data"] = fields }

func encodedData(object map[string]any, fields map[string]string) {
	encoded := map[string]string{}
	for name, value := range fields {
		encoded[name] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	object["data"] = encoded
}

func annotations(object map[string]any, fields map[string]string) {
	object["metadata"].(map[string]any)["annotations"] = fields
}

func involvedObject(object map[string]any, namespace string) {
	object["involvedObject"] = map[string]string{"kind": "ConfigMap", "namespace": namespace, "name": "x"}
}

func podSpec(object map[string]any, _ string) {
	object["spec"] = map[string]any{"containers": []any{map[string]string{"name": "c", "image": "i"}}}
}

// widgets is the definition of the custom resource.
const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.` + customGroup + `"},
"spec":{"group":"` + customGroup + `","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
"properties":{"data":{"type":"object","additionalProperties":{"type":"string"}}}}}}]}}`
