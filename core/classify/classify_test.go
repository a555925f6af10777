package classify

import (
	"strings"
	"testing"

	"apfsim/core/config"
)

// Constructors of schemas, subjects and requests for the tests.

func schema(name string, precedence int32, rules ...config.PolicyRulesWithSubjects) *config.FlowSchema {
	return &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: "workload-low"},
		MatchingPrecedence:         precedence,
		Rules:                      rules,
	}}
}

func user(name string) config.Subject {
	return config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: name}}
}

func group(name string) config.Subject {
	return config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: name}}
}

func serviceAccount(namespace, name string) config.Subject {
	return config.Subject{Kind: config.SubjectServiceAccount,
		ServiceAccount: &config.ServiceAccountSubject{Namespace: namespace, Name: name}}
}

var all = []string{config.Wildcard}

// everything returns a rule that matches all requests of the subjects.
func everything(subjects ...config.Subject) config.PolicyRulesWithSubjects {
	return config.PolicyRulesWithSubjects{
		Subjects: subjects,
		ResourceRules: []config.ResourceRule{
			{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
		NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
	}
}

// cluster returns a classifier with some of the suggested FlowSchemas.
func cluster() *Classifier {
	authenticated := []config.Subject{group("system:unauthenticated"), group("system:authenticated")}
	return New([]*config.FlowSchema{
		schema("catch-all", 10000, everything(authenticated...)),
		schema("global-default", 9900, everything(authenticated...)),
		schema("service-accounts", 9000, everything(group("system:serviceaccounts"))),
		schema("kube-system-service-accounts", 900, everything(serviceAccount("kube-system", "*"))),
		schema("kube-scheduler", 800, everything(user("system:kube-scheduler"), serviceAccount("kube-system", "kube-scheduler"))),
		schema("system-nodes", 500, everything(group("system:nodes"))),
		schema("system-node-high", 400, config.PolicyRulesWithSubjects{
			Subjects: []config.Subject{group("system:nodes")},
			ResourceRules: []config.ResourceRule{
				{Verbs: all, APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, ClusterScope: true, Namespaces: all},
				{Verbs: []string{"get", "create", "update"}, APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Namespaces: []string{"kube-node-lease"}},
			},
		}),
		schema("probes", 2, config.PolicyRulesWithSubjects{
			Subjects:         authenticated,
			NonResourceRules: []config.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/readyz", "/livez"}}},
		}),
		schema("exempt", 1, everything(group("system:masters"))),
	})
}

func node(a Attributes) *Attributes {
	a.User, a.Groups = "system:node:n1", []string{"system:nodes", "system:authenticated"}
	return &a
}

func account(namespace, name string, a Attributes) *Attributes {
	a.User = "system:serviceaccount:" + namespace + ":" + name
	a.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	return &a
}

func TestMatch(t *testing.T) {
	c := cluster()
	podList := Attributes{Verb: "list", Resource: "pods"}
	for _, test := range []struct {
		story   string
		request *Attributes
		want    string
	}{
		{"an administrator", &Attributes{User: "root", Groups: []string{"system:masters"}, Verb: "get", Path: "/metrics"}, "exempt"},
		{"a probe by an anonymous user", &Attributes{User: "system:anonymous", Groups: []string{"system:unauthenticated"}, Verb: "get", Path: "/readyz"}, "probes"},
		{"a probe of one check", &Attributes{User: "system:anonymous", Groups: []string{"system:unauthenticated"}, Verb: "get", Path: "/healthz/etcd"}, "probes"},
		{"not a probe, only its prefix", &Attributes{User: "system:anonymous", Groups: []string{"system:unauthenticated"}, Verb: "get", Path: "/healthzz"}, "global-default"},
		{"a kubelet's status", node(Attributes{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "n1"}), "system-node-high"},
		{"a kubelet's lease", node(Attributes{Verb: "update", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease", Name: "n1"}), "system-node-high"},
		{"a lease in another namespace", node(Attributes{Verb: "update", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "n1"}), "system-nodes"},
		{"leases of all namespaces, which takes clusterScope", node(Attributes{Verb: "get", APIGroup: "coordination.k8s.io", Resource: "leases"}), "system-nodes"},
		{"a subresource that is not listed", node(Attributes{Verb: "get", Resource: "nodes", Subresource: "proxy", Name: "n1"}), "system-nodes"},
		{"the scheduler as a user", &Attributes{User: "system:kube-scheduler", Groups: []string{"system:authenticated"}, Verb: "list", Resource: "pods"}, "kube-scheduler"},
		{"the scheduler as a service account", account("kube-system", "kube-scheduler", podList), "kube-scheduler"},
		{"another account of kube-system", account("kube-system", "coredns", podList), "kube-system-service-accounts"},
		{"an account of a namespace with the same prefix", account("kube-system-2", "coredns", podList), "service-accounts"},
		{"a person", &Attributes{User: "alice", Groups: []string{"system:authenticated"}, Verb: "list", Resource: "pods"}, "global-default"},
		{"a user without groups", &Attributes{User: "ghost", Verb: "list", Resource: "pods"}, "catch-all"},
	} {
		if got := c.Match(test.request); got == nil || got.Name != test.want {
			t.Errorf("%s: got %v, want %s", test.story, got, test.want)
		}
	}
}

func TestRuleMatching(t *testing.T) {
	namespaced := Attributes{User: "alice", Verb: "get", APIGroup: "apps", Resource: "deployments", Namespace: "shop"}
	resources := func(r config.ResourceRule) config.PolicyRulesWithSubjects {
		return config.PolicyRulesWithSubjects{Subjects: []config.Subject{user("*")}, ResourceRules: []config.ResourceRule{r}}
	}
	paths := func(urls ...string) config.PolicyRulesWithSubjects {
		return config.PolicyRulesWithSubjects{Subjects: []config.Subject{user("*")},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: urls}}}
	}
	for _, test := range []struct {
		story   string
		rule    config.PolicyRulesWithSubjects
		request Attributes
		want    bool
	}{
		{"all named", resources(config.ResourceRule{Verbs: []string{"list", "get"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Namespaces: []string{"shop"}}), namespaced, true},
		{"the verb differs", resources(config.ResourceRule{Verbs: []string{"list"}, APIGroups: all, Resources: all, Namespaces: all}), namespaced, false},
		{"the group differs", resources(config.ResourceRule{Verbs: all, APIGroups: []string{""}, Resources: all, Namespaces: all}), namespaced, false},
		{"the resource differs", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: []string{"deployments/scale"}, Namespaces: all}), namespaced, false},
		{"the namespace differs", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: []string{"web"}}), namespaced, false},
		{"cluster scope alone covers no namespace", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true}), namespaced, false},
		{"all namespaces do not include requests without a namespace", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: all, Namespaces: all}),
			Attributes{Verb: "list", Resource: "nodes"}, false},
		{"a wildcard beside other items matches only itself", resources(config.ResourceRule{Verbs: []string{"*", "list"}, APIGroups: all, Resources: all, Namespaces: all}), namespaced, false},
		{"a subresource that is named", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: []string{"pods/log"}, Namespaces: all}),
			Attributes{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "shop"}, true},
		{"a resource does not cover its subresources", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: []string{"pods"}, Namespaces: all}),
			Attributes{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "shop"}, false},
		{"a wildcard for subresources matches only itself", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: []string{"pods/*"}, Namespaces: all}),
			Attributes{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "shop"}, false},
		{"resource rules do not apply to paths", resources(config.ResourceRule{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}),
			Attributes{Verb: "get", Path: "/version"}, false},
		{"path rules do not apply to resources", paths("*"), namespaced, false},
		{"any path", paths("*"), Attributes{Path: "/version"}, true},
		{"the path itself", paths("/version"), Attributes{Path: "/version"}, true},
		{"below the path", paths("/apis"), Attributes{Path: "/apis/apps/v1"}, true},
		{"not below the path", paths("/apis"), Attributes{Path: "/apiserver"}, false},
		{"a path with a trailing slash does not match without it", paths("/apis/"), Attributes{Path: "/apis"}, false},
		{"below a wildcard", paths("/apis/*"), Attributes{Path: "/apis/apps"}, true},
		{"the wildcard's own path is not below it", paths("/apis/*"), Attributes{Path: "/apis"}, false},
		{"a wildcard after a part of a step matches only after a slash", paths("/healthz*"), Attributes{Path: "/healthzz"}, false},
		{"nor without anything after it", paths("/healthz*"), Attributes{Path: "/healthz"}, false},
		{"the second of two paths", paths("/livez", "/readyz"), Attributes{Path: "/readyz"}, true},
	} {
		c := New([]*config.FlowSchema{schema("one", 100, test.rule)})
		if got := c.Match(&test.request) != nil; got != test.want {
			t.Errorf("%s: matched is %v, want %v", test.story, got, test.want)
		}
	}
}

func TestSubjects(t *testing.T) {
	for _, test := range []struct {
		story   string
		subject config.Subject
		user    string
		groups  string
		want    bool
	}{
		{"by name", user("alice"), "alice", "", true},
		{"by another name", user("alice"), "bob", "", false},
		{"any user", user("*"), "bob", "", true},
		{"a member", group("staff"), "bob", "guests staff", true},
		{"no member", group("staff"), "bob", "guests", false},
		{"any group takes in who is in none", group("*"), "bob", "", true},
		{"an account", serviceAccount("shop", "till"), "system:serviceaccount:shop:till", "", true},
		{"another account", serviceAccount("shop", "till"), "system:serviceaccount:shop:tills", "", false},
		{"another namespace", serviceAccount("shop", "till"), "system:serviceaccount:shops:till", "", false},
		{"any account", serviceAccount("shop", "*"), "system:serviceaccount:shop:till", "", true},
		{"any account of another namespace", serviceAccount("shop", "*"), "system:serviceaccount:shops:till", "", false},
		{"a user who is called like an account", serviceAccount("shop", "till"), "shop:till", "", false},
		{"an unknown kind", config.Subject{Kind: "Robot"}, "bob", "", false},
		{"an account in a subject of another kind", config.Subject{Kind: "Robot", ServiceAccount: &config.ServiceAccountSubject{Namespace: "shop", Name: "*"}},
			"system:serviceaccount:shop:till", "", false},
		{"an account without its field", config.Subject{Kind: config.SubjectServiceAccount}, "system:serviceaccount:shop:till", "", false},
		{"a kind without its field", config.Subject{Kind: config.SubjectUser, Group: &config.GroupSubject{Name: "*"}}, "bob", "", false},
	} {
		a := Attributes{User: test.user, Groups: strings.Fields(test.groups), Verb: "get", Path: "/version"}
		c := New([]*config.FlowSchema{schema("one", 100, everything(test.subject))})
		if got := c.Match(&a) != nil; got != test.want {
			t.Errorf("%s: matched is %v, want %v", test.story, got, test.want)
		}
	}
}

func TestOrder(t *testing.T) {
	anyone := everything(group("*"))
	names := func(c *Classifier) string {
		var names []string
		for _, v := range c.Explain(&Attributes{}) {
			names = append(names, v.FlowSchema)
		}
		return strings.Join(names, " ")
	}
	given := []*config.FlowSchema{schema("zebra", 10000, anyone), schema("b", 7, anyone),
		schema("a", 7, anyone), schema("aardvark", 1, anyone)}
	exempt, catchAll := schema("exempt", 1, anyone), schema("catch-all", 10000, anyone)

	if got, want := names(New(append(given, exempt, catchAll))), "aardvark exempt a b catch-all zebra"; got != want {
		t.Errorf("the schemas are tried in the order %s, want %s", got, want)
	}
	if given[0].Name != "zebra" {
		t.Error("New reordered its argument")
	}
	if got := New(given[1:2]).Match(&Attributes{}); got == nil || got.Name != "b" {
		t.Errorf("got %v, want b", got)
	}
	if got := New(nil).Match(&Attributes{}); got != nil {
		t.Errorf("without schemas: got %v, want nil", got)
	}
}

func TestLongRunning(t *testing.T) {
	for _, test := range []struct {
		request Attributes
		want    bool
	}{
		{Attributes{Verb: "watch", Resource: "pods"}, true},
		{Attributes{Verb: "proxy", Resource: "nodes"}, true},
		{Attributes{Verb: "create", Resource: "pods", Subresource: "exec"}, true},
		{Attributes{Verb: "get", Resource: "pods", Subresource: "log"}, true},
		{Attributes{Verb: "create", Resource: "pods", Subresource: "portforward"}, true},
		{Attributes{Verb: "create", Resource: "pods", Subresource: "attach"}, true},
		{Attributes{Verb: "get", Resource: "services", Subresource: "proxy"}, true},
		{Attributes{Verb: "get", Path: "/debug/pprof/heap"}, true},
		{Attributes{Verb: "get", Path: "/debug/pprof"}, false},
		{Attributes{Verb: "get", Resource: "pods", Path: "/debug/pprof/"}, false},
		{Attributes{Verb: "get", Subresource: "log", Path: "/logs"}, false},
		{Attributes{Verb: "get", Resource: "pods", Subresource: "status"}, false},
		{Attributes{Verb: "list", Resource: "pods"}, false},
	} {
		if got := test.request.LongRunning(); got != test.want {
			t.Errorf("%+v: long-running is %v, want %v", test.request, got, test.want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	for verb, want := range map[string]bool{"get": true, "list": true, "watch": true,
		"create": false, "update": false, "patch": false, "delete": false, "deletecollection": false, "post": false} {
		if got := (&Attributes{Verb: verb}).ReadOnly(); got != want {
			t.Errorf("%s: read-only is %v, want %v", verb, got, want)
		}
	}
}

func TestFlows(t *testing.T) {
	a := &Attributes{User: "alice", Namespace: "shop"}
	for method, want := range map[string]string{config.ByUser: "alice", config.ByNamespace: "shop"} {
		s := schema("s", 1)
		s.Spec.DistinguisherMethod = &config.DistinguisherMethod{Type: method}
		if got := Distinguisher(s, a); got != want {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
	if got := Distinguisher(schema("s", 1), a); got != "" {
		t.Errorf("without a method: %q, want nothing", got)
	}
}

// printf 'service-accounts\0system:serviceaccount:default:robot' | sha256sum
func TestFlowHash(t *testing.T) {
	for _, test := range []struct {
		schema, distinguisher string
		want                  uint64
	}{
		{"service-accounts", "system:serviceaccount:default:robot", 0xfcddf5baaa47a8fc},
		{"", "", 0x987ab3ff9c0b346e},
	} {
		if got := FlowHash(test.schema, test.distinguisher); got != test.want {
			t.Errorf("%q %q: %#x, want %#x", test.schema, test.distinguisher, got, test.want)
		}
	}
}

func TestClassifyingDoesNotAllocate(t *testing.T) {
	c := cluster()
	a := node(Attributes{Verb: "get", Resource: "nodes", Subresource: "proxy", Name: "n1"})
	probe := &Attributes{User: "ghost", Verb: "get", Path: "/healthz/etcd"}
	if n := testing.AllocsPerRun(100, func() {
		Distinguisher(c.Match(a), a)
		c.Match(probe)
		FlowHash("service-accounts", a.User)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	c := cluster()
	a := account("shop", "till", Attributes{Verb: "list", Resource: "pods", Namespace: "shop"})
	b.ReportAllocs()
	for b.Loop() {
		c.Match(a)
	}
}
