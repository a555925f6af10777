package scenario

import (
	"slices"
	"strconv"
	"strings"

	"apfsim/core/document"
)

// Identity is who sends requests: exactly one of user, service account, node, and nobody
// in particular. In each of them {i} stands for the client's index.
type Identity struct {
	User           string   `json:"user,omitempty" jsonschema:"minLength=1"`
	Groups         []string `json:"groups,omitempty" jsonschema_description:"The user's groups beside system:authenticated."`
	ServiceAccount string   `json:"serviceAccount,omitempty" jsonschema:"pattern=^[^/]+/[^/]+$" jsonschema_description:"namespace/name"`
	Node           string   `json:"node,omitempty" jsonschema:"minLength=1" jsonschema_description:"The kubelet of the node of this name."`
	Anonymous      bool     `json:"anonymous,omitempty" jsonschema:"enum=true"`
}

// Groups that Kubernetes puts every user into, one of the two.
const (
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
)

// For returns the user name and the groups that the server sees of a client
// (k8s.io/apiserver/pkg/authentication).
func (id Identity) For(client int) (user string, groups []string) {
	switch {
	case id.Anonymous:
		return "system:anonymous", []string{unauthenticated}
	case id.Node != "":
		return "system:node:" + expand(id.Node, client), []string{"system:nodes", authenticated}
	case id.ServiceAccount != "":
		namespace, name, _ := strings.Cut(expand(id.ServiceAccount, client), "/")
		return "system:serviceaccount:" + namespace + ":" + name,
			[]string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, authenticated}
	}
	groups = make([]string, len(id.Groups), len(id.Groups)+1)
	for i, g := range id.Groups {
		groups[i] = expand(g, client)
	}
	if !slices.Contains(groups, authenticated) {
		groups = append(groups, authenticated)
	}
	return expand(id.User, client), groups
}

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
	decodeOneOf(d, n, path, identityKinds, (*plain)(id))
}
