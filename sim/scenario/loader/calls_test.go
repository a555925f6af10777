package loader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// withCalls is a scenario with a workload w that has the calls of the given text.
func withCalls(calls string) string {
	return `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 60s
  workload:
  - name: w
    clients: 3
    as: {user: a}
    request:
      verb: create
      resource: pods
      namespace: n
      calls: ` + calls + `
    execution: 1ms
    arrivals: {poisson: {rate: 1/s}}
`
}

const getsNamespace = `as: {serviceAccount: "policy/{i}"}, request: {verb: get, resource: namespaces, name: n}`

// Each of these is one mistake in the calls of a request.
func TestOneMistakeInCalls(t *testing.T) {
	const at = "spec.workload[0].request.calls[0]"
	for _, c := range []struct{ calls, want string }{
		{"[{kind: MutatingWebhook}]", at + ".name: is missing"},
		{`[{name: " ", kind: MutatingWebhook}]`, at + ".name: is missing"},
		{`[{name: "a{i}", kind: MutatingWebhook}]`, at + `.name: "a{i}": want no braces, commas, quotes or control characters`},
		{"[{name: a}]", at + ".kind: is missing"},
		{"[{name: a, kind: Webhook}]", at + `.kind: "Webhook": want Authorization, AggregatedServer, MutatingWebhook, ValidatingWebhook, Conversion`},
		{"[{name: a, kind: Conversion, failurePolicy: ignore}]", at + `.failurePolicy: "ignore": want Fail, Ignore (did you mean "Ignore"?)`},
		{"[{name: a, kind: Conversion, timeout: -1s}]", at + ".timeout: -1s is negative; want a duration of 0s or more"},
		{"[{name: a, kind: Conversion}, {name: a, kind: Conversion}]",
			`spec.workload[0].request.calls[1].name: duplicate name "a" (first used by ` + at + ")"},
		{"[{name: a, kind: AggregatedServer}, {name: b, kind: AggregatedServer}]",
			"spec.workload[0].request.calls[1].kind: AggregatedServer is already that of " + at + "; want one, because a request is passed on to one server"},
		{"[{name: a, kind: AggregatedServer, timeout: 5s}]",
			at + ".timeout: cannot be set with kind AggregatedServer; the server waits for it until the deadline of the request"},
		{"[{name: a, kind: AggregatedServer, failurePolicy: Ignore}]",
			at + ".failurePolicy: Ignore: cannot be set with kind AggregatedServer, whose answer is that of the request"},
		{"[{name: a, kind: Conversion, callback: {" + getsNamespace + "}}]", at + ".callback.execution: is missing"},
		{"[{name: a, kind: Conversion, callback: {request: {verb: get, resource: pods}, execution: 1ms}}]", at + ".callback.as: is missing"},
		{"[{name: a, kind: Conversion, callback: {as: {user: a}, execution: 1ms}}]", at + ".callback.request: is missing"},
		{"[{name: a, kind: Conversion, callback: {as: {user: a}, request: {verb: watch, resource: pods}, execution: 1ms}}]",
			at + ".callback.request.verb: watch: who is called would wait until the watch ends; want another verb"},
		{"[{name: a, kind: Conversion, callback: {" + getsNamespace + ", execution: 1ms, whenGivenUp: Stop}}]",
			at + `.callback.whenGivenUp: "Stop": want Cancel, Continue`},
		{"[{name: a, kind: Conversion, callback: {" + getsNamespace + ", execution: 1ms, retry: {maxRetries: -1}}}]",
			at + ".callback.retry.maxRetries: -1: want 0 to 1000000"},
		{"[{name: a, kind: Conversion, callback: {as: {user: a}, request: {verb: get, resource: pods, calls: [{name: b, kind: Conversion, timeout: 1}]}, execution: 1ms}}]",
			at + ".callback.request.calls[0].timeout: 1 has no unit; want a duration such as 60s or 1h30m"},
	} {
		_, mistakes := Load(files("s.yaml", withCalls(c.calls)), "s.yaml", Options{})
		var got []string
		for _, m := range mistakes {
			got = append(got, m.Path+": "+m.Message)
		}
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, want %q", c.calls, got, c.want)
		}
	}
}

// What a real cluster does not do is accepted with a warning.
func TestWarningsAboutCalls(t *testing.T) {
	text := withCalls("[{name: a, kind: MutatingWebhook, timeout: 31s}, {name: b, kind: ValidatingWebhook, timeout: 500ms}]")
	for _, c := range []struct {
		text string
		want []string
	}{
		{text, []string{"31s: Kubernetes accepts whole seconds from 1s to 30s", "500ms: Kubernetes accepts whole seconds from 1s to 30s"}},
		{strings.Replace(withCalls("[{name: a, kind: MutatingWebhook}]"), "verb: create", "verb: list", 1),
			[]string{"MutatingWebhook: a server calls no admission webhook for verb list"}},
		{strings.Replace(withCalls("[{name: a, kind: MutatingWebhook}]"), "verb: create\n      resource: pods", "verb: get\n      resource: pods\n      subresource: exec", 1), nil},
	} {
		loaded, mistakes := Load(files("s.yaml", c.text), "s.yaml", Options{})
		if len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		var got []string
		for _, w := range loaded[0].Warnings {
			got = append(got, w.Message)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("warnings are %q, want %q", got, c.want)
		}
	}
}

// The callbacks of each call are a workload, which thresholds can name.
func TestCallbacksAreWorkloads(t *testing.T) {
	text := `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 60s
  workload:
  - name: w
    clients: 3
    as: {user: a}
    requests:
    - {verb: create, resource: pods, calls: &calls [{name: policy, kind: ValidatingWebhook, callback: {` + getsNamespace + `, execution: 1ms}}]}
    - {verb: update, resource: pods, name: p, calls: *calls}
    - verb: delete
      resource: pods
      name: p
      calls:
      - {name: cleanup, kind: MutatingWebhook, callback: {` + getsNamespace + `, execution: 1ms}}
      - {name: silent, kind: MutatingWebhook, latency: 1ms}
    execution: 1ms
    arrivals: {poisson: {rate: 1/s}}
  - name: other
    as: {user: a}
    request: {verb: create, resource: pods, calls: [{name: policy, kind: ValidatingWebhook, callback: {as: {user: b}, execution: 1ms,
      request: {verb: create, resource: configmaps, calls: [{name: audit, kind: MutatingWebhook, callback: {` + getsNamespace + `, execution: 1ms}}]}}}]}
    execution: 1ms
    arrivals: {poisson: {rate: 1/s}}
  thresholds: {"executed{workload:w/policy}": ["count > 0"]}
`
	loaded, mistakes := Load(files("s.yaml", text), "s.yaml", Options{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	all := loaded[0].Spec.Workload
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	if want := []string{"w", "other", "w/policy", "w/cleanup", "other/policy", "other/policy/audit"}; !slices.Equal(names, want) {
		t.Fatalf("the workloads are %q, want %q", names, want)
	}
	if all[2].Clients != 3 || all[4].Clients != 1 || !all[2].Added || all[0].Added {
		t.Errorf("workloads are %+v, %+v and %+v", all[0], all[2], all[4])
	}
	for i, want := range []int{2, 2, 3} {
		if got := all[0].Requests[i].Calls[0].Callback.Workload; got != want {
			t.Errorf("request %d has its callbacks in workload %d, want %d", i, got, want)
		}
	}
}

// Two requests may call one webhook, whose callback calls another one that has a callback, too.
func TestCallbacksOfCallbacksAreTheSame(t *testing.T) {
	nested := "[{name: b, kind: Conversion, callback: {as: {user: b}, execution: 1ms, request: {verb: create, resource: configmaps, calls: [{name: c, kind: MutatingWebhook, callback: {" +
		getsNamespace + ", execution: %s}}]}}}]"
	text := func(first, second string) string {
		return strings.Replace(withCalls("[]"), "    request:\n      verb: create\n      resource: pods\n      namespace: n\n      calls: []\n",
			"    requests:\n    - {verb: create, resource: pods, calls: "+fmt.Sprintf(nested, first)+"}\n    - {verb: create, resource: secrets, calls: "+fmt.Sprintf(nested, second)+"}\n", 1)
	}
	loaded, mistakes := Load(files("s.yaml", text("1ms", "1ms")), "s.yaml", Options{})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	if all := loaded[0].Spec.Workload; len(all) != 3 || all[0].Requests[1].Calls[0].Callback.Workload != 1 || all[2].Name != "w/b/c" {
		t.Errorf("workloads are %+v", all)
	}
	if _, mistakes := Load(files("s.yaml", text("1ms", "2ms")), "s.yaml", Options{}); len(mistakes) != 1 {
		t.Errorf("callbacks of different callbacks: got %v, want one error", mistakes)
	}
}

func TestNamesOfCallbacks(t *testing.T) {
	callback := "[{name: b, kind: Conversion, callback: {" + getsNamespace + ", execution: 1ms}}]"
	taken := strings.Replace(withCalls(callback), "  - name: w\n", "  - {name: w/b, as: {user: a}, request: {verb: get, path: /version}, execution: 1ms, arrivals: {poisson: {rate: 1/s}}}\n  - name: w\n", 1)
	differ := strings.Replace(withCalls("[]"), "    request:\n      verb: create\n      resource: pods\n      namespace: n\n      calls: []\n",
		"    requests:\n    - {verb: create, resource: pods, calls: "+callback+"}\n    - {verb: create, resource: secrets, calls: "+strings.Replace(callback, "1ms", "2ms", 1)+"}\n", 1)
	for text, want := range map[string]string{
		taken:  `spec.workload[0].name: "w/b": is the name of the workload of the callbacks of a call; want another`,
		differ: `spec.workload[0].requests[1].calls[0].callback: is another than that of the call "b" of another request of this workload; want the same, or another name`,
	} {
		_, mistakes := Load(files("s.yaml", text), "s.yaml", Options{})
		if len(mistakes) != 1 || mistakes[0].Path+": "+mistakes[0].Message != want {
			t.Errorf("got %q, want %q", mistakes, want)
		}
	}
}
