package advice

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/classify"
	"apfsim/sim/workload"
)

// given returns the function that reports these flags as given.
func givenFlags(flags ...string) func(string) bool {
	return func(flag string) bool { return slices.Contains(flags, flag) }
}

func TestParse(t *testing.T) {
	jane := workload.Identity{User: "jane"}
	for _, c := range []struct {
		name  string
		input QuestionInput
		want  classify.Attributes
		notes []string
	}{
		{
			"resource as in kubectl",
			QuestionInput{Arguments: []string{"get", "deploy/web"}, Given: givenFlags("user"), Sender: jane, Request: workload.Request{Namespace: "shop"}},
			classify.Attributes{Verb: "get", APIGroup: "apps", Resource: "deployments", Namespace: "shop", Name: "web",
				Path: "/apis/apps/v1/namespaces/shop/deployments/web"},
			[]string{`the resource "deploy" is interpreted as deployments.apps`},
		},
		{
			"path of a resource",
			QuestionInput{Arguments: []string{"get", "/api/v1/namespaces/shop/pods?watch=true"}, Given: givenFlags("user"), Sender: jane},
			classify.Attributes{Verb: "watch", Resource: "pods", Namespace: "shop", Path: "/api/v1/namespaces/shop/pods"},
			[]string{"the path is that of a resource; GET /api/v1/namespaces/shop/pods has the verb watch"},
		},
		{
			"path of no resource",
			QuestionInput{Arguments: []string{"get", "/healthz"}, Given: givenFlags("user"), Sender: jane},
			classify.Attributes{Verb: "get", Path: "/healthz"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := ParseQuestion(&c.input)
			if err != nil {
				t.Fatal(err)
			}
			c.want.User, c.want.Groups = "jane", []string{classify.Authenticated}
			if diff := cmp.Diff(c.want, q.Attributes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.notes, q.Notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// All mistakes are reported together.
func TestParseReportsAllMistakes(t *testing.T) {
	_, err := ParseQuestion(&QuestionInput{Arguments: []string{"list", "pods"}, Given: givenFlags("user", "node", "verb"),
		Sender: workload.Identity{User: "jane"}, AsGroups: []string{"ops"}, Watchers: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--verb: is also given as the argument "list"; use one of the two`,
		"--user, --node: use only one of them",
		"--as-group: needs --as; with --user, use --group",
		"--watchers: -1: want from 0 to 10000000",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
