package trace

import (
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/sim/api"

	"github.com/google/go-cmp/cmp"
)

// arrivals reads the lines of a trace for servers with a store.
func arrivals(t *testing.T, text string) (all []Arrival, mistakes []string) {
	t.Helper()
	r := NewReader(strings.NewReader(text), "t.jsonl")
	r.Stored = true
	for {
		var a Arrival
		switch ok, err := r.next(&a); {
		case err != nil:
			mistakes = append(mistakes, err.Error())
		case !ok:
			return all, mistakes
		default:
			all = append(all, a)
		}
	}
}

// An update of what request 17 has read, and a list at a version that there is not yet.
func TestReferences(t *testing.T) {
	all, mistakes := arrivals(t, `{"id":18,"arrivalNs":1,"user":"a","verb":"update","resource":"configmaps","namespace":"n","name":"x","query":"","bodyResourceVersion":"@17","bodyUID":"@17","fields":{"a":"1"},"preconditions":{"uid":"u","resourceVersion":"@17+3"}}
{"id":19,"arrivalNs":2,"user":"a","verb":"list","resource":"configmaps","namespace":"n","query":"resourceVersion=@17+1000&limit=5&continue=@18","executionNs":5}
`)
	if len(mistakes) > 0 || len(all) != 2 {
		t.Fatalf("%d lines, %v", len(all), mistakes)
	}
	answered := func(id int64) Answered {
		if id == 17 {
			return Answered{Version: 40, UID: 9}
		}
		return Answered{Continue: "token"}
	}
	if all[0].Execution || !all[1].Execution || all[1].Asked != nil {
		t.Errorf("got %+v", all)
	}
	body, preconditions := all[0].Asked.Body("update", "x", answered)
	want := &api.Body{Name: "x", Version: request.At(40), UID: 9, Fields: map[string]string{"a": "1"}, FinalizersGiven: true}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if want := (request.Preconditions{Version: request.At(43), Mismatch: true}); preconditions != want {
		t.Errorf("preconditions %+v, want %+v", preconditions, want)
	}
	if got := Query(all[1].Kind.Query, answered); got != "resourceVersion=1040&limit=5&continue=token" {
		t.Errorf("query %q", got)
	}
	if got := Query("uid=@17", answered); got != "uid=9" {
		t.Errorf("a UID in the query: %q", got)
	}
	if got := Query("resourceVersion=@18&resourceVersionMatch=Exact", answered); got != "resourceVersion=&resourceVersionMatch=Exact" {
		t.Errorf("a reference to an answer without a version: %q", got)
	}
}

// Each mistake is reported with its place and what is wanted.
func TestMistakesInWhatIsAsked(t *testing.T) {
	for member, want := range map[string]string{
		`"finalizers":"a"`:            `t.jsonl:1:62: finalizers: want a list of strings`,
		`"bodyResourceVersion":17`:    `want a resourceVersion in quotes, such as "17" or "@3"`,
		`"fields":{"a":1}`:            `fields: want an object of strings, such as {"a":"1"}`,
		`"dryRun":"All"`:              `dryRun: want true or false`,
		`"patchType":"aply"`:          `patchType: "aply": want merge, json or apply`,
		`"preconditions":{"uuid":""}`: `preconditions: want an object with uid and resourceVersion, both in quotes`,
	} {
		line := `{"arrivalNs":1,"user":"a","verb":"update","path":"/x",` + member + `}`
		if _, mistakes := arrivals(t, line); len(mistakes) != 1 || !strings.Contains(mistakes[0], strings.TrimPrefix(want, "t.jsonl:1:62: ")) {
			t.Errorf("%s: %v, want %s", member, mistakes, want)
		}
	}
}

// What a request log has of a body is read again as it was.
func TestBodiesOfARequestLog(t *testing.T) {
	call := &api.Call{Body: &api.Body{Name: "d", Version: request.At(5), UID: 6, Finalizers: []string{"f", "g"}, FinalizersGiven: true,
		Fields: map[string]string{"a": "1", "b": `"`}, Stamp: 77, Patch: api.ApplyPatch},
		Options: request.Options{FieldManager: "m", DryRun: true, Preconditions: request.Preconditions{UID: 8, Version: request.Version{Given: true, Word: "abc"}}}}
	request := NewRequest(&classify.Attributes{User: "alice", Verb: "patch", Resource: "configmaps", Namespace: "n", Name: "d"}, "", "w", 0)
	line := string(Append(nil, &Entry{Request: request, ExecutionNs: -1, Outcome: Executed, Servers: true, Asked: call}))
	all, mistakes := arrivals(t, line)
	if len(mistakes) > 0 || len(all) != 1 || all[0].Execution {
		t.Fatalf("%s: %v", line, mistakes)
	}
	body, preconditions := all[0].Asked.Body("patch", "d", nil)
	if diff := cmp.Diff(call.Body, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if a := all[0].Asked; preconditions != call.Options.Preconditions || !a.DryRun || a.FieldManager != "m" {
		t.Errorf("got %+v %+v", preconditions, a)
	}
}
