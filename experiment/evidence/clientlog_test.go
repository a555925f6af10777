package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/incident"
	"apfsim/reports/result"
)

func jsonText(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// The same wait as each client-go logs it.
const (
	line120 = `I0716 09:58:10.123456       1 request.go:655] Throttling request took 1.5s, request: GET:https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500`
	line121 = `I0716 09:58:10.123456       1 request.go:665] Waited for 1.5s due to client-side throttling, not priority and fairness, request: GET:https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500`
	line133 = `I0716 09:58:10.123456       1 request.go:752] "Waited before sending request" delay="1.5s" reason="client-side throttling, not priority and fairness" verb="GET" URL="https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500"`
)

// One wait is read in all forms, and in all wrappers of collectors.
func TestFormsOfAWait(t *testing.T) {
	message := func(line string) string { return line[strings.Index(line, "] ")+2:] }
	var lines []string
	for _, line := range []string{line120, line121, line133} {
		lines = append(lines, line, message(line),
			"2023-12-25T19:46:19.742244330Z stderr F "+line,
			`{"log":`+jsonText(line+"\n")+`,"stream":"stderr","time":"2023-12-25T19:46:19.7Z"}`,
			`{"level":"info","ts":"2023-12-25T19:46:19Z","msg":`+jsonText(message(line))+`}`,
			`2023-12-25T19:46:19.742Z level=info msg=`+jsonText(message(line))+` subsys=klog`,
			`time="2023-12-25T19:46:19Z" level=info msg=`+jsonText(message(line)),
			"[pod/a-b/c] "+line, "│ "+line+"                  │", "> "+line)
	}
	lines = append(lines,
		`{"ts":1795301628541.1,"caller":"rest/request.go:752","msg":"Waited before sending request","v":0,"delay":"1.5s","reason":"client-side throttling, not priority and fairness","verb":"GET","URL":"https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500"}`,
		`{"level":"info","ts":"2026-11-21T22:53:48Z","msg":"Waited before sending request","delay":1.5,"reason":"client-side throttling, not priority and fairness","verb":"GET","URL":"https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500"}`,
		`{"time":"2026-11-21T22:53:48Z","level":"INFO","msg":"Waited before sending request","delay":1500000000,"reason":"client-side throttling, not priority and fairness","verb":"GET","URL":"https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500"}`,
		`time=2026-11-21T22:53:48Z level=info msg="Waited before sending request" delay=1.5s reason="client-side throttling, not priority and fairness" verb=GET URL="https://10.0.0.1:443/api/v1/namespaces/a/pods?limit=500" subsys=klog`)
	for _, line := range lines {
		l := readClientLog("c", "other\n"+line+"\r\n")
		if len(l.waits) != 1 || len(l.bad) > 0 || Recognize([]byte(line)) != incident.ClientLog {
			t.Errorf("%s: %+v as %s", line, l, Recognize([]byte(line)))
			continue
		}
		if w := l.waits[0]; w.wait != 1500*time.Millisecond || w.verb != "list" || w.what != "pods" || w.line != 2 {
			t.Errorf("%s: %+v", line, w)
		}
	}
}

// A request that is sent again has the reason: 429 with the UID of its FlowSchema, 5xx, or an error of the connection.
func TestFormsOfARetry(t *testing.T) {
	const uid = "4f1b8c35-3f6e-4b0e-9d2a-3c9d5f4d9a51"
	structured := func(reason string) string {
		return `I0716 09:58:10.123456       1 request.go:752] "Waited before sending request" delay="1.5s" reason=` + jsonText(reason) + ` verb="POST" URL="https://10.0.0.1/api/v1/namespaces/a/pods/b/eviction"`
	}
	reason := `retries: 2, retry-after: 1s - retry-reason: due to server-side throttling, FlowSchema UID: "` + uid + `"`
	for line, want := range map[string]clientRetry{
		`Waited for 1.2s, ` + reason + ` - request: GET:https://10.0.0.1/api/v1/nodes`: {verb: "list", what: "nodes", uid: uid, status: 429, after: time.Second},
		structured(reason): {verb: "create", what: "pods/eviction", uid: uid, status: 429, after: time.Second, eviction: true},
		`{"log":` + jsonText(structured(reason)+"\n") + `,"stream":"stderr"}`:                                                                           {verb: "create", what: "pods/eviction", uid: uid, status: 429, after: time.Second, eviction: true},
		structured(`retries: 1, retry-after: 2s - retry-reason: 503`):                                                                                   {verb: "create", what: "pods/eviction", status: 503, after: 2 * time.Second, eviction: true},
		structured(`retries: 1, retry-after: 1s - retry-reason: due to retryable error, error: Get "https://10.0.0.1": EOF`):                            {verb: "create", what: "pods/eviction", broken: true, after: time.Second, eviction: true},
		`I0716 09:58:10.1 1 with_retry.go:241] Got a Retry-After 1s response for attempt 1 to https://10.0.0.1/apis/apps/v1/namespaces/a/deployments/b`: {what: "deployments.apps", after: time.Second},
		`I0716 09:58:10.1 1 with_retry.go:234] "Got a Retry-After response" delay="3s" attempt=1 url="https://10.0.0.1/api/v1/nodes"`:                   {what: "nodes", after: 3 * time.Second},
	} {
		l := readClientLog("c", line)
		want.line = 1
		if len(l.retries) != 1 || len(l.waits) > 0 || l.retries[0] != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", line, l, want)
		}
	}
	// The objects say which FlowSchema it is.
	const schema = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: flowcontrol.apiserver.k8s.io/v1\n  kind: FlowSchema\n  metadata: {name: service-accounts, uid: " + uid + "}\n  spec: {priorityLevelConfiguration: {name: workload-low}, matchingPrecedence: 9000}\n"
	log := `Waited for 1.2s, ` + reason + ` - request: GET:https://10.0.0.1/api/v1/nodes`
	expect(t, "without objects", mustDiagnose(t, "c.log", log).said(), "1 answer 429 (the FlowSchema with the UID "+uid+")", "kubectl get flowschemas -o yaml", "PodDisruptionBudget")
	expect(t, "with objects", mustDiagnose(t, "c.log", log, "o.yaml", schema).said(), "warning", "Requests of the client of c.log had to be sent again, after 1 answer 429 (FlowSchema service-accounts)")
	expect(t, "without a schema", mustDiagnose(t, "c.log", strings.Replace(log, uid, "", 1)).said(), "none, so that they are not of flow control")
}

// The examples of public issues are explained as their threads concluded: the client waited for itself.
func TestPublicClientLogs(t *testing.T) {
	var adapter strings.Builder // kubernetes-sigs/prometheus-adapter#573: discovery of 120 groups at 5 requests/s
	at := time.Date(2023, 3, 16, 7, 39, 26, 0, time.UTC)
	for i := range 116 {
		at = at.Add(200 * time.Millisecond)
		fmt.Fprintf(&adapter, "I%s       1 request.go:533] Waited for %s due to client-side throttling, not priority and fairness, request: GET:https://10.100.0.1:443/apis/g%d.example.com/v1?timeout=32s\n",
			at.Format("0102 15:04:05.000000"), time.Duration(i+1)*200*time.Millisecond, i)
	}
	for _, c := range []struct {
		issue, text string
		status      result.Status
		want        []string
	}{
		{"prometheus-adapter#573", adapter.String(), result.Harm, []string{"waited up to 23.2 s for its own rate limit", "flow control of the server was not the reason", "the client sent 5 requests/s, so that 116 requests were before it",
			"all 116 lines are of discovery", "its limit is about 5/s; with a burst of 116 more", "aggregated discovery", "has all waits of more than 50 ms"}},
		{"cilium#30054", `2023-12-25T19:46:19.742244330Z level=info msg="Waited for 1.09778054s due to client-side throttling, not priority and fairness, request: PUT:https://localhost:7445/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l2announce-a" subsys=klog
2023-12-25T19:46:22.255747314Z level=info msg="Waited for 1.929993913s due to client-side throttling, not priority and fairness, request: GET:https://localhost:7445/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l2announce-b" subsys=klog
`, result.Warning, []string{"waited up to 1.93 s for its own rate limit", "get leases.coordination.k8s.io", "Raise qps and burst", "are samples: by default, client-go logs one wait of more than 1 s in 10 s"}},
		{"kubernetes#101631", "$ kubectl get pod\n\n97555 request.go:655] Throttling request took 1.184984731s, request: GET:https://10.0.1.1:6443/apis/coordination.k8s.io/v1?timeout=32s\nNAME   READY   STATUS\n",
			result.Warning, []string{"waited up to 1.18 s", "It is discovery that waited"}},
		{"argocd-diff-preview#314", `"Waited before sending request" delay="2.774756765s" reason="client-side throttling, not priority and fairness"` + "\n",
			result.Warning, []string{"waited up to 2.77 s", "a request that the line does not name", "flow control of the server was not the reason"}},
		{"arkmq-org-broker-operator#143", "I0209 05:03:58.887360       1 request.go:665] Waited for 1.443738214s due to client-side throttling, not priority and fairness, request: GET:https://10.96.0.1:443/apis/storage.k8s.io/v1beta1?timeout=32s\n" +
			"I0209 05:04:08.936364       1 request.go:665] Waited for 1.498454731s due to client-side throttling, not priority and fairness, request: GET:https://10.96.0.1:443/apis/broker.amq.io/v2alpha1?timeout=32s\n",
			result.Warning, []string{"waited up to 1.5 s", "all 2 lines are of discovery", "are samples"}},
	} {
		d := mustDiagnose(t, "client.log", c.text)
		expect(t, c.issue, d.said(), c.want...)
		if d.Verdict.Status != c.status || len(d.Verdict.Causes) != 1 || d.Verdict.Causes[0].Kind != result.ByClientLimit || d.Verdict.Causes[0].Level != "" {
			t.Errorf("%s: %s, %+v", c.issue, d.Verdict.Status, d.Verdict.Causes)
		}
	}
	if d := mustDiagnose(t, "client.log", adapter.String()); d.From != "" {
		t.Errorf("a log without a year has the time %s", d.From)
	}
}

// At -v=3 a wait of more than a second is logged twice. It is one.
func TestAWaitIsCountedOnce(t *testing.T) {
	l := readClientLog("c", line121+"\n"+strings.Replace(line121, "request.go:665", "request.go:697", 1)+"\n"+strings.Replace(line121, "1.5s", "1.7s", 1)+"\n")
	if len(l.waits) != 2 || len(l.bad) > 0 {
		t.Errorf("%+v", l)
	}
}

// A line that is cut off is a warning with its place, and an error if nothing else can be read. Requests that were never sent count.
func TestCutLinesOfClients(t *testing.T) {
	cut := line121[:100]
	expect(t, "beside others", strings.Join(mustDiagnose(t, "c.log", cut+"\n"+line121+"\n").warnings, "\n"), "c.log:1: the line is about a wait of a client, and is cut off or changed")
	if _, err := diagnoseTexts("c.log", cut+"\n"); err == nil || !strings.HasPrefix(err.Error(), "c.log:1: the line is about a wait of a client") {
		t.Errorf("alone: %v", err)
	}
	d := mustDiagnose(t, "c.log", "E0716 09:58:10.1 1 leaderelection.go:330] error retrieving resource lock: client rate limiter Wait returned an error: context deadline exceeded\n")
	expect(t, "never sent", d.said(), "warning", "In c.log, 1 request of the client was never sent", "client-limit")
}

// The lines of a client may come late in its log. Those in the log of a server do not make it one of a client.
func TestClientLinesAfterOthers(t *testing.T) {
	others := strings.Repeat("I0316 07:39:26.543144       1 adapter.go:108] reconciled an object\n", 5000)
	for text, want := range map[string]bool{others + line121: true, others: false, others + "I0716 09:58:10.1 1 httplog.go:134] \"HTTP\" verb=\"GET\"\n" + line121: false} {
		if got := hasClientLines(strings.NewReader(text)); got != want || Recognize([]byte(text)[:HeadBytes]) != incident.Other {
			t.Errorf("%.200q: %t as %s", text[len(others):], got, Recognize([]byte(text)[:HeadBytes]))
		}
	}
}

func FuzzReadClientLog(f *testing.F) {
	for _, line := range []string{line120, line121, line133, `{"log":` + jsonText(line133) + `}`, "Got a Retry-After 1s response for attempt 1 to https://a/b",
		`Waited for 1.2s, retries: 1, retry-after: 1s - retry-reason: due to server-side throttling, FlowSchema UID: "u" - request: GET:https://a/api/v1/nodes`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := readClientLog("c", text)
		for _, w := range l.waits {
			if w.wait < 0 || w.line < 1 || w.line > strings.Count(text, "\n")+1 {
				t.Errorf("%+v", w)
			}
		}
		l.source = &incident.Source{File: "c"}
		if len(l.waits)+len(l.retries) > 0 || l.givenUp > 0 {
			e := &evidence{observed: observed{clientLogs: []*clientLog{l}}}
			e.conclude()
			e.diagnosis().Document()
		}
	})
}
