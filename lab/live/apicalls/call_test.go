package apicalls

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// References are replaced wherever a version, a UID or a token stands, and are empty without an answer.
func TestReferences(t *testing.T) {
	k := known{17: {version: 40, uid: "u", next: "token"}, 18: {}}
	for query, want := range map[string]string{
		"":                                  "",
		"resourceVersion=@17":               "resourceVersion=40",
		"limit=1&resourceVersion=@17+1000":  "limit=1&resourceVersion=1040",
		"continue=@17&resourceVersion=0":    "continue=token&resourceVersion=0",
		"uid=@17":                           "uid=u",
		"resourceVersion=@18&continue=@18":  "resourceVersion=&continue=",
		"resourceVersion=@99+1":             "resourceVersion=",
		"resourceVersion=abc&labelSelector": "resourceVersion=abc&labelSelector",
		"fieldSelector=metadata.name%3D@17": "fieldSelector=metadata.name%3D@17",
	} {
		if got := k.query(query); got != want {
			t.Errorf("%q becomes %q, want %q", query, got, want)
		}
	}
	c := Call{Query: "resourceVersion=@5+1&continue=@3", BodyUID: "@9", BodyResourceVersion: "@5", Preconditions: &Preconditions{UID: "@1"}}
	if got := c.References(); !slices.Equal(got, []int64{1, 3, 5, 9}) {
		t.Errorf("refers to %v", got)
	}
}

// What is sent of a call depends on its verb and resource.
func TestBodies(t *testing.T) {
	k := known{1: {version: 40, uid: "u"}}
	for _, c := range []struct {
		resource string
		call     Call
		want     string
	}{
		{"configmaps", Call{Verb: "get", Name: "x"}, ``},
		{"configmaps", Call{Verb: "create", Name: "x", Namespace: "a", Fields: map[string]string{"f": "1", "metadata.labels.app": "v"}},
			`{"apiVersion":"v1","data":{"f":"1"},"kind":"ConfigMap","metadata":{"labels":{"app":"v"},"name":"x","namespace":"a"}}`},
		{"secrets", Call{Verb: "update", Name: "x", Namespace: "a", BodyResourceVersion: "@1+2", BodyUID: "@1", Fields: map[string]string{"f": "1"}},
			`{"apiVersion":"v1","data":{"f":"MQ=="},"kind":"Secret","metadata":{"name":"x","namespace":"a","resourceVersion":"42","uid":"u"}}`},
		{"leases", Call{Verb: "patch", Name: "x", Fields: map[string]string{"f": "1"}, Finalizers: []string{}},
			`{"metadata":{"annotations":{"f":"1"},"finalizers":[]}}`},
		{"roles", Call{Verb: "patch", PatchType: "apply", Name: "x", Namespace: "a"},
			`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"x","namespace":"a"}}`},
		{"pods", Call{Verb: "create", Name: "x", Namespace: "a"},
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"a"},"spec":{"containers":[{"image":"i","name":"c"}]}}`},
		{"configmaps", Call{Verb: "delete", Name: "x"}, ``},
		{"configmaps", Call{Verb: "delete", Name: "x", DryRun: true, Preconditions: &Preconditions{ResourceVersion: "@1"}},
			`{"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions","preconditions":{"resourceVersion":"40"}}`},
	} {
		i := slices.IndexFunc(Resources, func(r Resource) bool { return r.Name == c.resource })
		if got, err := Resources[i].body(&c.call, k); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.call.String(), got, err, c.want)
		}
	}
}

// Answers of a server, as it writes them.
func TestReadAnswers(t *testing.T) {
	for text, want := range map[string]Answer{
		`{"kind":"ConfigMap","metadata":{"name":"x","uid":"u","resourceVersion":"40"}}`: {ResourceVersion: pointer(number(40)), UID: "u"},
		`{"kind":"ConfigMapList","metadata":{"resourceVersion":"41","continue":"c"},"items":[{},{}]}`: {ResourceVersion: pointer(number(41)),
			Items: pointer(int64(2)), Continue: "c"},
		`{"kind":"Status","status":"Success","metadata":{}}`:                                        {},
		`{"kind":"Status","metadata":{"continue":"c"},"reason":"Expired","message":"m","code":410}`: {StatusReason: "Expired", Continue: "c", Message: "m"},
	} {
		var got Answer
		raw, err := got.read(&Call{}, &http.Response{}, []byte(text))
		if err != nil || !reflect.DeepEqual(got, want) || raw.next != string(want.Continue) || raw.uid != string(want.UID) {
			t.Errorf("%s is read as %v, %v, %v", text, &got, raw, err)
		}
	}
	var late Answer
	header := http.Header{"Retry-After": []string{"1"}}
	if _, err := late.read(&Call{}, &http.Response{Header: header}, []byte(`{"kind":"Status","reason":"Timeout"}`)); err != nil || late.RetryAfterSeconds != 1 {
		t.Errorf("got %v, %v", &late, err)
	}
	if _, err := new(Answer).read(&Call{}, &http.Response{}, []byte(`no JSON`)); err == nil {
		t.Error("what is not JSON is read")
	}
	events := readEvents(bytes.NewReader([]byte(`{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"7"}}}
{"type":"ERROR","object":{"kind":"Status","code":410}}
{"type":"MOD`)))
	if want := []Event{{Type: "ADDED", Name: "x", Version: 7}, {Type: "ERROR", Status: 410}}; !slices.Equal(events, want) {
		t.Errorf("got events %v", events)
	}
}

// A request log may have numbers where a server has strings, and more fields than are compared.
func TestReadRequestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "requests.jsonl")
	text := `{"id":3,"user":"alice","status":200,"resourceVersion":40,"items":2,"continue":true,"wrote":true,"servedFrom":"cache"}
{"id":4,"status":410,"statusReason":"Expired","resourceVersion":"41","continue":"c","uid":7}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAnswers(file)
	want := []Answer{
		{ID: 3, Status: 200, ResourceVersion: pointer(number(40)), Items: pointer(int64(2)), Continue: "true", Wrote: true},
		{ID: 4, Status: 410, StatusReason: "Expired", ResourceVersion: pointer(number(41)), Continue: "c", UID: "7"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The finalizers of a patch are absent or empty, which is not the same; all else is read as it was written.
func TestCallsAreReadAsWritten(t *testing.T) {
	calls := []Call{
		{ID: 1, User: "u", Groups: []string{"g"}, Verb: "patch", Finalizers: []string{}, Query: "a=1&b=<2>", PatchType: "apply"},
		{ID: 2, ArrivalNs: 5, Verb: "delete", Preconditions: &Preconditions{UID: "@1"}, DryRun: true, Fields: map[string]string{"a": "b"}},
		{ID: 3, ArrivalNs: 5, Verb: "watch", WatchNs: 7},
	}
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := writeFile(file, calls); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCalls(file)
	if err != nil || !reflect.DeepEqual(got, calls) {
		t.Errorf("got %v, %v", got, err)
	}
	if groups := Groups(got); len(groups) != 2 || len(groups[1]) != 2 {
		t.Errorf("got groups %v", groups)
	}
}
