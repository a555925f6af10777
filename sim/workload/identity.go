package workload

import (
	"strconv"
	"strings"

	"apfsim/core/classify"
	"apfsim/document"
)

// Identity is the user that sends requests: exactly one of user, service account, node and
// anonymous. In each of them {i} is replaced by the client's index.
type Identity struct {
	User           string   `json:"user,omitempty" also:"username" jsonschema:"minLength=1"`
	Groups         []string `json:"groups,omitempty" also:"group" jsonschema_description:"The user's groups in addition to those that the name implies, such as system:authenticated."`
	ServiceAccount string   `json:"serviceAccount,omitempty" also:"sa" jsonschema:"pattern=^[^/]+/[^/]+$" jsonschema_description:"namespace/name"`
	Node           string   `json:"node,omitempty" also:"nodeName,kubelet" jsonschema:"minLength=1" jsonschema_description:"The kubelet of the node of this name."`
	Anonymous      bool     `json:"anonymous,omitempty" jsonschema:"enum=true"`
}

var identityKinds = []string{"user", "serviceAccount", "node", "anonymous"}

// UnmarshalDocument implements document.Unmarshaler.
func (id *Identity) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Identity
	d.DecodeOneOf(n, path, identityKinds, (*plain)(id))
}

func (id *Identity) given() bool {
	return id.User != "" || id.ServiceAccount != "" || id.Node != "" || id.Anonymous || id.Groups != nil
}

// senders checks a workload's identity.
func (c *checker) senders(path string, w *Workload) {
	as, at := &w.As, path+".as"
	if !as.given() {
		c.Fail(at, "is missing or empty; want one of %s", strings.Join(identityKinds, ", "))
		return
	}
	if as.Groups != nil && as.User == "" {
		c.Fail(at+".groups", "can be set with user only; the others imply their groups")
	}
	c.template(at+".user", as.User)
	c.template(at+".node", as.Node)
	c.template(at+".serviceAccount", as.ServiceAccount)
	for i, g := range as.Groups {
		if g == "" {
			c.Fail(document.Index(at+".groups", i), "is empty; want a group's name")
		}
		c.template(document.Index(at+".groups", i), g)
	}
	if as.ServiceAccount != "" {
		namespace, name, found := strings.Cut(as.ServiceAccount, "/")
		if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			c.Fail(at+".serviceAccount", "%q: want namespace/name", document.Abridge(as.ServiceAccount))
		}
	}
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

// placeholder stands for the index of a client in a name.
const placeholder = "{i}"

// Invented says whether the names of the clients are made of their indices, and are not those of real users. Nodes do not
// count, because requests and objects name them, too.
func (id *Identity) Invented() bool { return strings.Contains(id.User+id.ServiceAccount, placeholder) }

// Marked returns the identity with a mark behind each index, so that the clients have other names.
func (id Identity) Marked(mark string) Identity {
	with := func(s string) string { return strings.ReplaceAll(s, placeholder, placeholder+"-"+mark) }
	id.User, id.ServiceAccount = with(id.User), with(id.ServiceAccount)
	groups := make([]string, 0, len(id.Groups))
	for _, g := range id.Groups {
		groups = append(groups, with(g))
	}
	id.Groups = groups
	return id
}

// NodeOf returns the name of the node as which a client acts; "" if it is none.
func (id *Identity) NodeOf(client int) string { return expand(id.Node, client) }

// expand puts a client's index in place of {i}.
func expand(s string, client int) string {
	if !strings.Contains(s, placeholder) {
		return s
	}
	return strings.ReplaceAll(s, placeholder, strconv.Itoa(client))
}
