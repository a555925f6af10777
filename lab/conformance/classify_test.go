package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	upstreamcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	workestimate "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/lab/conformance/upstream"
)

func newRandom(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(*seed, stream)) }

// Random schemas and requests: the same schema, level and flow.
func TestClassification(t *testing.T) {
	c := classification{newRandom(5)}
	compared := 0
	for range 60 {
		objects := c.objects()
		ours := flowcontrol.New(0, rules.Default(), 1_000_000, objects, nil, nil)
		upstream.Control(t, objects, 1_000_000, func(theirs upstreamcontrol.Interface) {
			for range 300 {
				a := c.attributes()
				compared++
				route := ours.Route(&a)
				got := fmt.Sprintf("%s, %s, %q", route.Schema.Name, route.Level.Name(), route.Distinguisher)
				if want := classified(theirs, &a); got != want {
					t.Errorf("%+v\nours: %s, upstream's: %s\n%s", a, got, want, shown(objects))
					return
				}
			}
		})
	}
	t.Logf("%d requests", compared)
}

func shown(o config.Objects) string {
	text, err := json.Marshal(o.Manifest(rules.Default()))
	return fmt.Sprint(string(text), err)
}

// classified lets upstream classify, queue and execute a request in no time.
func classified(control upstreamcontrol.Interface, a *classify.Attributes) (result string) {
	control.Handle(context.Background(),
		upstreamcontrol.RequestDigest{
			RequestInfo: &request.RequestInfo{
				IsResourceRequest: a.IsResource(), Path: a.Path, Verb: a.Verb, APIGroup: a.APIGroup,
				Namespace: a.Namespace, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
			},
			User: &user.DefaultInfo{Name: a.User, Groups: a.Groups},
		},
		func(s *flowcontrolv1.FlowSchema, l *flowcontrolv1.PriorityLevelConfiguration, distinguisher string) {
			result = fmt.Sprintf("%s, %s, %q", s.Name, l.Name, distinguisher)
		},
		func() workestimate.WorkEstimate { return workestimate.WorkEstimate{InitialSeats: 1} },
		nil, func() {})
	return result
}

// classification draws from few names, so that much matches.
type classification struct{ *rand.Rand }

func (c classification) one(from ...string) string { return from[c.IntN(len(from))] }

func (c classification) some(from ...string) (chosen []string) {
	if c.IntN(4) == 0 {
		return []string{config.Wildcard}
	}
	for range 1 + c.IntN(3) {
		chosen = append(chosen, c.one(from...))
	}
	return chosen
}

var (
	someUsers      = []string{"a", "b", "system:serviceaccount:ns:sa", "system:serviceaccount:ns:other", "system:serviceaccount:n:sa", "system:serviceaccount:ns2:sa", "system:serviceaccount:ns", "system:anonymous", ""}
	someGroups     = []string{"g", "h", "system:masters", "system:authenticated", "system:unauthenticated"}
	someVerbs      = []string{"get", "list", "create", "watch"}
	someAPIGroups  = []string{"", "apps", "example.com"}
	someResources  = []string{"pods", "pods/status", "status", "leases", "pods/"}
	someNamespaces = []string{"ns", "n", "ns2"}
	somePaths      = []string{"/healthz", "/healthz/", "/healthz/etcd", "/healthzy", "/", "", "/api", "/apis/x", "/a*"}
	someURLs       = []string{"/healthz", "/healthz/*", "/api*", "/*", "/apis/x", "/a*", "/"}
)

func (c classification) objects() config.Objects {
	o := config.Mandatory(rules.Default())
	levels := []string{config.CatchAll, config.Exempt, "missing"}
	for i := range c.IntN(3) {
		l := config.Suggested(rules.Default()).PriorityLevel(c.one("system", "workload-low"))
		l.Name = fmt.Sprintf("level-%d", i)
		if c.IntN(3) == 0 {
			l.Spec.Limited.LimitResponse.Queuing.Queues, l.Spec.Limited.LimitResponse.Queuing.HandSize = 1, 1
		}
		o.PriorityLevels = append(o.PriorityLevels, l)
		levels = append(levels, l.Name)
	}
	for i := range c.IntN(12) {
		s := &config.FlowSchema{Name: fmt.Sprintf("%s-%d", c.one("a", "d", "f", "z"), i)}
		s.Spec.PriorityLevelConfiguration.Name = c.one(levels...)
		s.Spec.MatchingPrecedence = []int32{1, 1, 2, 100, 9999, 10000, 10000}[c.IntN(7)]
		if c.IntN(3) > 0 {
			s.Spec.DistinguisherMethod = &config.DistinguisherMethod{Type: c.one(config.ByUser, config.ByNamespace)}
		}
		for range c.IntN(3) {
			s.Spec.Rules = append(s.Spec.Rules, c.rule())
		}
		o.FlowSchemas = append(o.FlowSchemas, s)
	}
	c.Shuffle(len(o.FlowSchemas), func(i, j int) { o.FlowSchemas[i], o.FlowSchemas[j] = o.FlowSchemas[j], o.FlowSchemas[i] })
	return o
}

func (c classification) rule() config.PolicyRulesWithSubjects {
	r := config.PolicyRulesWithSubjects{}
	for range 1 + c.IntN(2) {
		switch c.IntN(3) {
		case 0:
			r.Subjects = append(r.Subjects, config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: c.one(append(someUsers, "*")...)}})
		case 1:
			r.Subjects = append(r.Subjects, config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: c.one(append(someGroups, "*")...)}})
		default:
			r.Subjects = append(r.Subjects, config.Subject{Kind: config.SubjectServiceAccount,
				ServiceAccount: &config.ServiceAccountSubject{Namespace: c.one(someNamespaces...), Name: c.one("sa", "other", "*", "")}})
		}
	}
	for range c.IntN(3) {
		rule := config.ResourceRule{Verbs: c.some(someVerbs...), APIGroups: c.some(someAPIGroups...), Resources: c.some(append(someResources, "*/status", "pods/*")...), ClusterScope: c.IntN(2) == 0}
		if c.IntN(4) > 0 {
			rule.Namespaces = c.some(someNamespaces...)
		}
		r.ResourceRules = append(r.ResourceRules, rule)
	}
	for range c.IntN(2) {
		r.NonResourceRules = append(r.NonResourceRules, config.NonResourceRule{Verbs: c.some(someVerbs...), NonResourceURLs: c.some(someURLs...)})
	}
	return r
}

func (c classification) attributes() classify.Attributes {
	a := classify.Attributes{User: c.one(someUsers...), Verb: c.one(someVerbs...)}
	for range c.IntN(3) {
		a.Groups = append(a.Groups, c.one(someGroups...))
	}
	if c.IntN(4) == 0 {
		a.Path = c.one(somePaths...)
		return a
	}
	a.Path, a.APIGroup, a.Resource = "/api/v1/x", c.one(someAPIGroups...), c.one("pods", "leases", "status")
	a.Subresource, a.Namespace = c.one("", "", "status"), c.one(append(someNamespaces, "", "default")...)
	return a
}
