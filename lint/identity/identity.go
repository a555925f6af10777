// Package identity knows the clients that a cluster has besides the workloads of its users, and computes whose requests a
// flow-control configuration assigns to which priority level.
//
// Each client is an [Identity]: a user with its groups, and its typical requests. A FlowSchema may match a user, a node or a
// namespace by its name, so that [Requests] returns a request once for each such name in the configurations and once
// for a name that none of them has: together they stand for all requests of that kind. [Routes] classifies
// them, and [Changes] compares two configurations.
package identity

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/lint/space"
)

// Identity is a client, or a kind of clients, that send requests as one user each.
type Identity struct {
	Name         string // what the client is called, such as kubelet
	User         string // with the placeholder of a node, such as system:node:{node}
	Groups       []string
	ControlPlane bool // the cluster depends on it: see [Change.TakesControlPlane]
	requests     []template
}

// Request is a request of an identity. Its attributes have no placeholders.
type Request struct {
	Identity *Identity
	classify.Attributes
}

// Target is where a configuration assigns a request.
type Target struct {
	FlowSchema string `json:"flowSchema"`
	Level      string `json:"priorityLevel"`
}

// Change is a request that two configurations assign to different levels.
type Change struct {
	Request
	Before, After Target
}

// protected are the suggested levels that are meant for the control plane of a cluster.
var protected = []string{config.Exempt, "system", "node-high", "leader-election", "workload-high"}

// Protected reports whether a level is one of those that the suggested configuration keeps for the control plane.
func Protected(level string) bool { return slices.Contains(protected, level) }

// TakesControlPlane reports whether the change moves a request of the control plane away from a level that is kept for it.
// A kube-proxy that authenticates as a user shares global-default with all users, and loses nothing if it
// shares another level with them.
func (c *Change) TakesControlPlane() bool {
	return c.Identity.ControlPlane && Protected(c.Before.Level)
}

// Requests returns the typical requests of all identities that flow control of the release handles, in the order of the table.
// The configurations are those that will be compared: their FlowSchemas name the nodes and the namespaces
// that have to be distinguished.
func Requests(release *rules.Rules, configurations ...config.Objects) (all []Request) {
	n := namesIn(configurations)
	for i := range builtin {
		if b := &builtin[i]; release.Within(b.since, b.until) {
			all = b.expand(all, release, n)
		}
	}
	return append(all, n.examples(release)...)
}

// Routes returns where a configuration assigns each request. The configuration is that of a whole cluster, with the
// mandatory objects. FlowSchemas whose level does not exist are ignored, as by a server.
func Routes(requests []Request, o config.Objects) []Target {
	dangling := config.Dangling(o)
	classifier := classify.New(slices.DeleteFunc(slices.Clone(o.FlowSchemas), func(s *config.FlowSchema) bool { return slices.Contains(dangling, s) }))
	targets := make([]Target, len(requests))
	for i := range requests {
		if s := classifier.Match(&requests[i].Attributes); s != nil {
			targets[i] = Target{s.Name, s.Spec.PriorityLevelConfiguration.Name}
		}
	}
	return targets
}

// Changes returns the requests that two configurations of one release assign to different levels.
func Changes(release *rules.Rules, before, after config.Objects) (changes []Change) {
	requests := Requests(release, before, after)
	from, to := Routes(requests, before), Routes(requests, after)
	for i, r := range requests {
		if from[i].Level != to[i].Level {
			changes = append(changes, Change{r, from[i], to[i]})
		}
	}
	return changes
}

// TakesControlPlane returns the changes that move requests of the control plane away from the levels that are kept for it.
func TakesControlPlane(release *rules.Rules, before, after config.Objects) []Change {
	return slices.DeleteFunc(Changes(release, before, after), func(c Change) bool { return !c.TakesControlPlane() })
}

// template is a typical request, in which a namespace or a name may be a placeholder.
type template classify.Attributes

// Placeholders in users, namespaces and names.
const (
	anyNode      = "{node}"
	anyNamespace = "{namespace}"
)

// parse reads a table of requests. A line has verbs separated by commas, the resource as in kubectl or a path, and the
// namespace and the name if there are any; a name without a namespace follows a hyphen.
func parse(table string) (all []template) {
	for line := range strings.Lines(table) {
		words := append(strings.Fields(line), "-", "-")
		if len(words) == 2 {
			continue // an empty line
		}
		for verb := range strings.SplitSeq(words[0], ",") {
			t := template{Verb: verb}
			if strings.HasPrefix(words[1], "/") {
				t.Path = words[1]
			} else {
				r := request.ParseResource(words[1])
				t.APIGroup, t.Resource, t.Subresource = r.Group, r.Name, r.Subresource
				t.Namespace, t.Name = strings.TrimPrefix(words[2], "-"), strings.TrimPrefix(words[3], "-")
			}
			all = append(all, t)
		}
	}
	return all
}

// expand appends the requests of an identity.
func (b *entry) expand(all []Request, release *rules.Rules, n names) []Request {
	nodes := []string{""}
	if strings.Contains(b.User, anyNode) {
		nodes = n.nodes
	}
	for _, node := range nodes {
		identity := &b.Identity
		if node != "" {
			copied := b.Identity
			copied.User = strings.ReplaceAll(b.User, anyNode, node)
			identity = &copied
		}
		groups := classify.GroupsOf(identity.User, identity.Groups)
		for _, t := range b.requests {
			namespaces := []string{t.Namespace}
			if t.Namespace == anyNamespace {
				namespaces = n.namespaces
			}
			for _, namespace := range namespaces {
				a := classify.Attributes(t)
				a.User, a.Groups, a.Namespace = identity.User, groups, namespace
				a.Name = strings.ReplaceAll(strings.ReplaceAll(a.Name, anyNode, node), anyNamespace, namespace)
				if !a.Bypasses(release) {
					all = append(all, Request{identity, a})
				}
			}
		}
	}
	return all
}

// names are the names in configurations by which FlowSchemas distinguish requests, each list with one more that none of
// them has, which comes first.
type names struct {
	nodes, namespaces []string
	parts             []space.Part // of all FlowSchemas
}

func namesIn(configurations []config.Objects) (n names) {
	var nodes, namespaces []string
	seen := map[*config.FlowSchema]bool{}
	for _, o := range configurations {
		for _, s := range o.FlowSchemas {
			if seen[s] {
				continue
			}
			seen[s] = true
			n.parts = append(n.parts, space.PartsOf(s)...)
			for i := range s.Spec.Rules {
				rule := &s.Spec.Rules[i]
				for _, subject := range rule.Subjects {
					if subject.User == nil {
						continue
					}
					if node, ok := strings.CutPrefix(subject.User.Name, classify.NodePrefix); ok && node != "" {
						nodes = append(nodes, node)
					}
				}
				for j := range rule.ResourceRules {
					namespaces = append(namespaces, rule.ResourceRules[j].Namespaces...)
				}
			}
		}
	}
	n.nodes, n.namespaces = withOther(nodes, "node-1"), withOther(namespaces, "default")
	return n
}

// withOther returns the distinct names in alphabetical order, after one that is none of them.
func withOther(named []string, other string) []string {
	slices.Sort(named)
	named = slices.DeleteFunc(slices.Compact(named), func(s string) bool { return s == config.Wildcard })
	for slices.Contains(named, other) {
		other += "x"
	}
	return slices.Insert(named, 0, other)
}

// examples returns a request for each part of a FlowSchema: of the users, the resources and the namespaces that it names. These
// are the clients that a configuration knows, and the table does not.
func (n names) examples(release *rules.Rules) (all []Request) {
	seen := map[string]bool{}
	for i := range n.parts {
		a := n.parts[i].Request()
		key := strings.Join(append([]string{a.User, a.Verb, a.APIGroup, a.Resource, a.Subresource, a.Namespace, a.Path}, a.Groups...), "\x00")
		if seen[key] || a.Bypasses(release) {
			continue
		}
		seen[key] = true
		all = append(all, Request{&Identity{Name: a.User, User: a.User, Groups: a.Groups}, *a})
	}
	return all
}
