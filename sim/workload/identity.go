package workload

import (
	"strconv"
	"strings"

	"apfsim/core/classify"
	"apfsim/document"
)

// Identity is who sends requests: exactly one of user, service account, node, and nobody
// in particular. In each of them {i} is replaced by the client's index.
type Identity struct {
	User           string   `json:"user,omitempty" also:"username" jsonschema:"minLength=1"`
	Groups         []string `json:"groups,omitempty" also:"group" jsonschema_description:"The user's groups in addition to those that the name implies, such as system:authenticated."`
	ServiceAccount string   `json:"serviceAccount,omitempty" also:"sa" jsonschema:"pattern=^[^/]+/[^/]+$" jsonschema_description:"namespace/name"`
	Node           string   `json:"node,omitempty" also:"nodeName,kubelet" jsonschema:"minLength=1" jsonschema_description:"The kubelet of the node of this name."`
	Anonymous      bool     `json:"anonymous,omitempty" jsonschema:"enum=true"`
}

// For returns the user name and the groups that the server sees of a client.
func (id Identity) For(client int) (user string, groups []string) {
	switch {
	case id.Anonymous:
		user = classify.Anonymous
	case id.Node != "":
		user = "system:node:" + expand(id.Node, client)
	case id.ServiceAccount != "":
		namespace, name, _ := strings.Cut(expand(id.ServiceAccount, client), "/")
		user = "system:serviceaccount:" + namespace + ":" + name
	default:
		user = expand(id.User, client)
		for _, g := range id.Groups {
			groups = append(groups, expand(g, client))
		}
	}
	return user, classify.GroupsOf(user, groups)
}

// NodeOf returns the name of the node as which a client acts; "" if it is none.
func (id *Identity) NodeOf(client int) string { return expand(id.Node, client) }

// expand puts a client's index in place of {i}.
func expand(s string, client int) string {
	if !strings.Contains(s, "{i}") {
		return s
	}
	return strings.ReplaceAll(s, "{i}", strconv.Itoa(client))
}

var identityKinds = []string{"user", "serviceAccount", "node", "anonymous"}

// UnmarshalDocument implements document.Unmarshaler.
func (id *Identity) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Identity
	d.DecodeOneOf(n, path, identityKinds, (*plain)(id))
}
