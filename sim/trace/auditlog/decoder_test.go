package auditlog

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/request"
	"apfsim/internal/intern"
	"apfsim/sim/trace/serverlog"
)

// event is the part of an audit event that the decoder reads, as encoding/json decodes it.
type event struct {
	AuditID, Stage, RequestURI, Verb, UserAgent, Hostname string
	User                                                  user
	ImpersonatedUser                                      *user
	SourceIPs                                             []string
	ObjectRef                                             struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus                                        struct {
		Code   int
		Reason string
	}
	RequestReceivedTimestamp, StageTimestamp time.Time
	Annotations                              map[string]string
}

type user struct {
	Username string
	Groups   []string
}

// naive returns the entry of an event in the plain way.
func naive(t *testing.T, text string) serverlog.Entry {
	var v event
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	var e serverlog.Entry
	e.Reset()
	e.AuditID, e.Server, e.Stage = v.AuditID, v.Hostname, stages[v.Stage]
	e.ArrivalNs, e.StageNs = v.RequestReceivedTimestamp.UnixNano(), v.StageTimestamp.UnixNano()
	u := v.User
	if v.ImpersonatedUser != nil {
		u = *v.ImpersonatedUser
	}
	e.User, e.Groups, e.GroupsUnknown = u.Username, u.Groups, u.Username != "" && len(u.Groups) == 0
	e.UserAgent, e.Verb = v.UserAgent, v.Verb
	if n := len(v.SourceIPs); n > 0 {
		e.SourceIP = v.SourceIPs[n-1]
	}
	r := v.ObjectRef
	e.APIGroup, e.Resource, e.Subresource, e.Namespace, e.Name = r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name
	e.Path, e.Query, _ = request.SplitURI(v.RequestURI)
	e.Status, e.StatusReason = v.ResponseStatus.Code, v.ResponseStatus.Reason
	if total, ok := v.Annotations["apiserver.latency.k8s.io/total"]; ok {
		d, _ := time.ParseDuration(total)
		e.TotalNs = int64(d)
	}
	if wait, ok := v.Annotations["apiserver.latency.k8s.io/apf-queue-wait"]; ok {
		d, _ := time.ParseDuration(wait)
		e.WaitNs = int64(d)
	}
	return e
}

// decode reads one event, with a decoder that has read another one before.
func decode(text string) (serverlog.Entry, bool, error) {
	d := NewDecoder(new(intern.Table))
	var e serverlog.Entry
	d.Decode([]byte(impersonation), &e)
	ok, err := d.Decode([]byte(text), &e)
	return e, ok, err
}

// impersonation is a kubectl --as request for a subresource that was rejected, with other fields between.
const impersonation = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"4f9c","stage":"ResponseComplete",` +
	`"requestURI":"/apis/apps/v1/namespaces/a/deployments/d/scale?fieldManager=k\u0026force=true","verb":"patch",` +
	`"user":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"],"extra":{"x":["y"]}},` +
	`"impersonatedUser":{"username":"system:serviceaccount:a:b","groups":["system:serviceaccounts","system:serviceaccounts:a","system:authenticated"]},` +
	`"sourceIPs":["203.0.113.7","10.0.0.1"],"userAgent":"kubectl/v1.36.3 (\"x\")",` +
	`"objectRef":{"resource":"deployments","namespace":"a","name":"d","uid":"u","apiGroup":"apps","apiVersion":"v1","resourceVersion":"7","subresource":"scale"},` +
	`"responseStatus":{"metadata":{},"status":"Failure","message":"m","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429},` +
	`"requestObject":{"items":[{"auditID":"no","stage":"Panic"}],"verb":"no"},"responseObject":{"kind":"Status","code":1},` +
	`"requestReceivedTimestamp":"2026-11-21T22:53:48.5Z","stageTimestamp":"2026-11-21T22:53:49.100001Z",` +
	`"annotations":{"apiserver.latency.k8s.io/apf-queue-wait":"590.5ms","apiserver.latency.k8s.io/total":"600.001ms","authorization.k8s.io/reason":"{\"auditID\"}"}}`

// All events that a server wrote, and some that contain everything, give what the plain way gives.
func TestDecode(t *testing.T) {
	data, err := os.ReadFile("../logfile/testdata/audit-lists.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	events := strings.Split(strings.TrimSpace(string(data)), "\n")
	events = append(events, impersonation,
		strings.Replace(impersonation, `"user"`, `"impersonatedUser":null,"user"`, 1),
		// The order of the members does not matter.
		strings.Replace(strings.Replace(impersonation, `"user":`, `"x":`, 1), `"requestObject"`, `"user":{"username":"admin","groups":["g"]},"requestObject"`, 1),
		// An OpenShift collector adds members.
		strings.Replace(impersonation, `{`, `{"hostname":"master-0","openshift":{"sequence":1},"@timestamp":"2026-11-21T22:53:49Z",`, 1),
		// A request without valid credentials has neither user nor groups.
		`{"auditID":"a","stage":"ResponseStarted","requestURI":"/apis","verb":"get","user":{},"responseStatus":{"code":401},`+
			`"requestReceivedTimestamp":"2026-11-21T22:53:48+09:00","stageTimestamp":"2026-11-21T22:53:48+09:00"}`,
		// A wrapper or a program has removed the groups.
		`{"auditID":"a","stage":"Panic","requestURI":"/api/v1/nodes/a%2Fb?x=%2F","verb":"get","user":{"username":"u"},"sourceIPs":null,`+
			`"requestReceivedTimestamp":"2026-11-21T22:53:48Z","stageTimestamp":"2026-11-21T22:53:48Z"}`,
	)
	for _, text := range events {
		e, ok, err := decode(text)
		if !ok || err != nil {
			t.Errorf("%s: event %t, error %v", text, ok, err)
			continue
		}
		if len(e.Groups) == 0 {
			e.Groups = nil
		}
		if d := cmp.Diff(naive(t, text), e); d != "" {
			t.Errorf("%s\nencoding/json (-), decoder (+):\n%s", text, d)
		}
	}
}

// From 1.31 on, servers write how long a slow request waited, if it waited. A server whose other annotations
// show that it is 1.33 or later thereby says that a request did not wait.
func TestWait(t *testing.T) {
	const text = `{"auditID":"a","stage":"ResponseComplete","requestURI":"/","verb":"get","requestReceivedTimestamp":"2026-11-21T22:53:48Z","annotations":{%s}}`
	const prefix = `"apiserver.latency.k8s.io/`
	for annotations, want := range map[string][2]int64{ // total, wait
		``: {-1, -1},
		prefix + `total":"2s",` + prefix + `apf-queue-wait":"1s"`: {2e9, 1e9},
		prefix + `total":"2s"`: {2e9, -1},
		prefix + `etcd":"1ms",` + prefix + `decode-response-object":"1ms",` + prefix + `total":"2s"`: {2e9, -1},
		prefix + `authentication":"1ms",` + prefix + `total":"2s"`:                                   {2e9, 0},
		prefix + `total":"2s",` + prefix + `authorization":"1ms"`:                                    {2e9, 0},
		prefix + `authentication":"1ms"`:                                                             {-1, -1},
		prefix + `total":"soon"`:                                                                     {-1, -1},
	} {
		e, ok, err := decode(strings.Replace(text, "%s", annotations, 1))
		if got := [2]int64{e.TotalNs, e.WaitNs}; !ok || err != nil || got != want {
			t.Errorf("%s: total and wait are %d, want %d (error %v)", annotations, got, want, err)
		}
	}
}

// A slow request may have called several webhooks of both kinds, which are counted together.
func TestWhereTheTimeWent(t *testing.T) {
	const prefix = `"apiserver.latency.k8s.io/`
	text := `{"auditID":"a","stage":"ResponseComplete","requestURI":"/","verb":"get","requestReceivedTimestamp":"2026-11-21T22:53:48Z","annotations":{` +
		prefix + `mutating-webhook":"1.5s",` + prefix + `validating-webhook":"200ms",` + prefix + `etcd":"30ms",` + prefix + `response-write":"4ms",` + prefix + `total":"2s"}}`
	e, ok, err := decode(text)
	if got := [4]int64{e.WebhookNs, e.EtcdNs, e.SendingNs, e.TotalNs}; !ok || err != nil || got != [4]int64{1700e6, 30e6, 4e6, 2e9} {
		t.Errorf("webhooks, etcd, sending and total are %d (error %v)", got, err)
	}
}

// The first servers with v1beta1 wrote one time, in seconds.
func TestFirstVersion(t *testing.T) {
	e, ok, err := decode(`{"kind":"Event","apiVersion":"audit.k8s.io/v1beta1","metadata":{"creationTimestamp":"2017-09-11T19:55:05Z"},` +
		`"level":"Metadata","timestamp":"2017-09-11T19:55:05Z","auditID":"033d","stage":"ResponseComplete","requestURI":"/api/v1/pods",` +
		`"verb":"list","user":{"username":"bob","groups":["system:authenticated"]},"objectRef":{"resource":"pods","apiVersion":"v1"}}`)
	at := time.Date(2017, 9, 11, 19, 55, 5, 0, time.UTC).UnixNano()
	if !ok || err != nil || e.ArrivalNs != at || e.StageNs != at || !e.StageUnknown {
		t.Errorf("event %t, error %v, %+v", ok, err, e)
	}
}

// Objects that are no events are not errors; events from which something is missing are.
func TestNoEvent(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`, `[]`, `7`,
		`{"kind":"Event","apiVersion":"v1","reason":"Scheduled"}`, // of package core
		`{"auditID":"a"}`, `{"stage":"b","items":"none"}`,
	} {
		if _, ok, err := decode(text); ok || err != nil {
			t.Errorf("%s: event %t, error %v", text, ok, err)
		}
	}
	if _, ok, err := decode(`{"kind":"EventList","items":[{"auditID":"a"}]}`); ok || err != ErrList {
		t.Errorf("list: event %t, error %v", ok, err)
	}
	for old, c := range map[string][2]string{
		`"requestReceivedTimestamp"`:  {`"r"`, "the event has no requestReceivedTimestamp"},
		`2026-11-21T22:53:48.5Z`:      {`22:53`, `requestReceivedTimestamp: "22:53" is not a time such as`},
		`2026-11-21T22:53:49.100001Z`: {`now`, `stageTimestamp: "now" is not a time such as`},
		`:48.5Z`:                      {`:50Z`, "stageTimestamp: 2026-11-21T22:53:49.100001Z is before requestReceivedTimestamp, which is 2026-11-21T22:53:50Z"},
		`2026-11-21T22:53:48`:         {`1969-11-21T22:53:48`, "requestReceivedTimestamp: the year 1969 is not that of a log"},
		`2026-11-21T22:53:49`:         {`2262-11-21T22:53:49`, "stageTimestamp: the year 2262 is not that of a log"},
		`ResponseComplete`:            {`Response`, `stage: "Response" is not a stage`},
		`"requestURI"`:                {`"u"`, "the event has no requestURI"},
		`"auditID":"4f9c"`:            {`"a":1`, "the event has no auditID"},
		`"stage":"ResponseComplete"`:  {`"stage":""`, "the event has no stage"},
		`"verb":"patch"`:              {`"v":1`, "the event has no verb"},
		`"code":429}`:                 {`"code":429`, "invalid JSON at byte"},
	} {
		if _, ok, err := decode(strings.Replace(impersonation, old, c[0], 1)); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s instead of %s: event %t, error %v, want %s", c[0], old, ok, err, c[1])
		}
	}
}

// cloud is an entry of Cloud Audit Logs of GKE.
const cloud = `{"protoPayload":{"@type":"type.googleapis.com/google.cloud.audit.AuditLog",` +
	`"authenticationInfo":{"principalEmail":"system:kube-scheduler"},` +
	`"authorizationInfo":[{"granted":true,"permission":"io.k8s.coordination.v1.leases.update","resource":"coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"}],` +
	`"methodName":"io.k8s.coordination.v1.leases.update","requestMetadata":{"callerIp":"10.186.0.146","callerSuppliedUserAgent":"kube-scheduler/v1.30.5"},` +
	`"resourceName":"coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler","serviceName":"k8s.io","status":{"code":10,"message":"conflict"}},` +
	`"insertId":"2f93","resource":{"type":"k8s_cluster","labels":{"cluster_name":"a"}},"timestamp":"2026-06-14T14:32:09.910723Z",` +
	`"operation":{"id":"b6a0","producer":"k8s.io","first":true,"last":true},"receiveTimestamp":"2026-06-14T14:32:10.8Z"}`

func TestCloud(t *testing.T) {
	d := NewDecoder(new(intern.Table))
	var e serverlog.Entry
	ok, err := d.DecodeCloud([]byte(cloud), &e)
	at := time.Date(2026, 6, 14, 14, 32, 9, 910723000, time.UTC).UnixNano()
	want := serverlog.Entry{
		Log: serverlog.Audit, Stage: serverlog.Complete, AuditID: "b6a0", ArrivalNs: at, StageNs: at,
		StageUnknown: true,
		User:         "system:kube-scheduler", GroupsUnknown: true, UserAgent: "kube-scheduler/v1.30.5", SourceIP: "10.186.0.146",
		Verb: "update", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "kube-scheduler",
		Path:   "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler",
		Status: 409, WaitNs: -1, TotalNs: -1, ExecutionNs: -1, InitNs: -1, WebhookNs: -1, EtcdNs: -1, SendingNs: -1, Seats: -1, FinalSeats: -1, AdditionalNs: -1,
	}
	if diff := cmp.Diff(want, e); !ok || err != nil || diff != "" {
		t.Errorf("entry %t, error %v (-want +got):\n%s", ok, err, diff)
	}
}

// Some entries say how long the request took.
func TestCloudLatency(t *testing.T) {
	for text, want := range map[string]int64{
		strings.Replace(cloud, `"insertId"`, `"latency":"0.25s","insertId"`, 1):                 250_000_000,
		strings.Replace(cloud, `"insertId"`, `"httpRequest":{"latency":"0.25s"},"insertId"`, 1): 250_000_000,
		strings.Replace(cloud, `"serviceName"`, `"latency":"0.25s","serviceName"`, 1):           250_000_000,
		strings.Replace(cloud, `"insertId"`, `"latency":"long","insertId"`, 1):                  serverlog.Unknown,
		strings.Replace(cloud, `"insertId"`, `"latency":"2500000h","insertId"`, 1):              serverlog.Unknown,
	} {
		var e serverlog.Entry
		ok, err := NewDecoder(new(intern.Table)).DecodeCloud([]byte(text), &e)
		if !ok || err != nil || e.TotalNs != want || e.StageUnknown != (want < 0) || e.StageNs != e.ArrivalNs+max(0, want) {
			t.Errorf("%s: entry %t, error %v: %+v", text, ok, err, e)
		}
	}
}

// The attributes of a request to GKE come from methodName and resourceName.
func TestCloudResources(t *testing.T) {
	for _, c := range [][3]string{ // methodName, resourceName; verb path group/resource/subresource namespace name
		{"io.k8s.core.v1.pods.list", "core/v1/pods", "list /api/v1/pods /pods/  "},
		{"io.k8s.core.v1.pods.exec.create", "core/v1/namespaces/a/pods/x/exec", "create /api/v1/namespaces/a/pods/x/exec /pods/exec a x"},
		{"io.k8s.core.v1.nodes.proxy.get", "core/v1/nodes/n/proxy/metrics/cadvisor", "get /api/v1/nodes/n/proxy/metrics/cadvisor /nodes/proxy  n"},
		{"io.k8s.authorization.rbac.v1.roles.deletecollection", "rbac.authorization.k8s.io/v1/namespaces/a/roles",
			"deletecollection /apis/rbac.authorization.k8s.io/v1/namespaces/a/roles rbac.authorization.k8s.io/roles/ a "},
		{"io.k8s.core.v1.namespaces.get", "core/v1/namespaces/a", "get /api/v1/namespaces/a /namespaces/ a a"},
		{"io.k8s.get", "readyz", "get /readyz //  "},
		{"io.k8s.get", "openapi/v3/apis/apps/v1", "get /openapi/v3/apis/apps/v1 //  "},
		{"io.k8s.get", "/apis/apps/v1", "get /apis/apps/v1 //  "},
	} {
		text := strings.Replace(cloud, "io.k8s.coordination.v1.leases.update\",\"requestMetadata", c[0]+"\",\"requestMetadata", 1)
		text = strings.Replace(text, `"resourceName":"coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"`, `"resourceName":"`+c[1]+`"`, 1)
		var e serverlog.Entry
		ok, err := NewDecoder(new(intern.Table)).DecodeCloud([]byte(text), &e)
		got := strings.Join([]string{e.Verb, e.Path, e.APIGroup + "/" + e.Resource + "/" + e.Subresource, e.Namespace, e.Name}, " ")
		if !ok || err != nil || got != c[2] {
			t.Errorf("%s %s: got %q, want %q (entry %t, error %v)", c[0], c[1], got, c[2], ok, err)
		}
	}
}

// Entries of other services of Google are not about requests to a server. What is missing is an error.
func TestCloudErrors(t *testing.T) {
	for old, c := range map[string][2]string{
		`"serviceName":"k8s.io"`: {`"serviceName":"container.googleapis.com"`, ""},
		`"protoPayload":{`:       {`"jsonPayload":{`, ""},
		`"timestamp"`:            {`"t"`, "the event has no timestamp"},
		`"methodName"`:           {`"m"`, "protoPayload has no methodName"},
		`"resourceName"`:         {`"r"`, "protoPayload has no resourceName"},
		`"insertId"`:             {`insertId`, "invalid JSON"},
	} {
		var e serverlog.Entry
		ok, err := NewDecoder(new(intern.Table)).DecodeCloud([]byte(strings.Replace(cloud, old, c[0], 1)), &e)
		if c[1] == "" && (ok || err != nil) || c[1] != "" && (err == nil || !strings.Contains(err.Error(), c[1])) {
			t.Errorf("%s instead of %s: entry %t, error %v, want %q", c[0], old, ok, err, c[1])
		}
	}
}

// No text makes the decoder panic, and what it accepts has a time, a verb and a path.
func FuzzDecode(f *testing.F) {
	f.Add(impersonation)
	f.Add(cloud)
	f.Add(`{"kind":"EventList","items":[]}`)
	f.Add(`{"auditID":"a","stage":"Panic","requestURI":"http://a?b","verb":"get","timestamp":"2017-09-11T19:55:05Z","user":[],"impersonatedUser":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		d := NewDecoder(new(intern.Table))
		for _, read := range []func([]byte, *serverlog.Entry) (bool, error){d.Decode, d.DecodeCloud} {
			var e serverlog.Entry
			if ok, err := read([]byte(text), &e); ok && err == nil &&
				(!json.Valid([]byte(text)) || e.ArrivalNs == 0 || e.AuditID == "" && e.Stage != serverlog.Complete || e.Verb == "") {
				t.Errorf("%q: %+v", text, e)
			}
		}
	})
}
