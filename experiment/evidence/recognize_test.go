package evidence

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"apfsim/experiment/incident"
)

// Operators give files any name, so each is known by what it contains.
func TestFilesAreRecognizedByContent(t *testing.T) {
	fromFile := func(name string) string {
		text, err := os.ReadFile("../../cmd/apfsim/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	objects, err := os.ReadFile("../../scenarios/config/cluster-flowcontrol.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		text string
		want incident.Kind
	}{
		{"an audit log", fromFile("audit/audit.log"), incident.AuditLog},
		{"an httplog", fromFile("audit/kube-apiserver.log"), incident.HTTPLog},
		{"a scrape", fromFile("metrics/before.txt"), incident.Metrics},
		{"a scrape without comments", "apiserver_request_total{code=\"200\"} 17\nx 1\n", incident.Metrics},
		{"a scrape that begins with another comment", "# by hand\n\nup 1\n", incident.Metrics},
		{"OpenMetrics with times", "up{job=\"a\"} 1 1700000000.5\n# EOF\n", incident.Metrics},
		{"OpenMetrics without a sample", "# EOF\n", incident.Metrics},
		{"query_range", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, incident.QueryRange},
		{"query_range, pretty", "{\n \"status\": \"success\",\n \"data\": {\n \"resultType\": \"matrix\"", incident.QueryRange},
		{"an instant query", `{"status":"success","data":{"resultType":"vector","result":[]}}`, incident.QueryInstant},
		{"promtool query range -o json", `[{"metric":{"__name__":"up"},"values":[[1,"1"]]}]`, incident.QueryRange},
		{"promtool query instant -o json", `[{"metric":{"__name__":"up"},"value":[1,"1"]}]`, incident.QueryInstant},
		{"promtool tsdb dump", "{__name__=\"up\", job=\"a\"} 1 1700000000000\n", incident.TSDBDump},
		{"dump_priority_levels", "PriorityLevelName, ActiveQueues, IsIdle,    IsQuiescing, WaitingRequests, ExecutingRequests\n", incident.DumpLevels},
		{"dump_queues", "PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse\n", incident.DumpQueues},
		{"dump_requests", "PriorityLevelName, FlowSchemaName,   QueueIndex, RequestIndexInQueue, FlowDistingsher\n", incident.DumpRequests},
		{"objects", string(objects), incident.Objects},
		{"objects as JSON", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"FlowSchema"}]}`, incident.Objects},
		{"APIRequestCount", "apiVersion: v1\nitems:\n- apiVersion: apiserver.openshift.io/v1\n  kind: APIRequestCount\n", incident.APIRequestCount},
		{"an old client", "I0101 12:00:00.000000       1 request.go:621] Throttling request took 1.18s, request: GET:https://x/api\n", incident.ClientLog},
		{"a client", "I0101 12:00:00.000000       1 request.go:665] Waited for 1.44s due to client-side throttling, not priority and fairness, request: GET:https://x/api\n", incident.ClientLog},
		{"a client's metrics", "# HELP rest_client_requests_total x\nrest_client_requests_total{code=\"429\",host=\"10.0.0.1\",method=\"GET\"} 3\n", incident.Metrics},
		{"a server's version", `{"major":"1","minor":"37","gitVersion":"v1.37.1"}`, incident.Version},
		{"kubectl version", "clientVersion:\n  buildDate: \"2026-01-01T00:00:00Z\"\n  gitVersion: v1.37.1\n", incident.Version},
		{"kubectl version as text", "Client Version: v1.38.0\nServer Version: v1.37.1\n", incident.Version},
		{"nothing", "", incident.Empty},
		{"only white space", " \n\n", incident.Empty},
		{"a page", "<!DOCTYPE html><html><body>up 1</body></html>", incident.Other},
		{"an error of kubectl", "Error from server (Forbidden): forbidden: User \"jane\" cannot get path \"/metrics\"\n", incident.Other},
		{"prose", "the quick brown fox\n", incident.Other},
	} {
		if got := Recognize([]byte(c.text)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		io.WriteString(z, c.text)
		z.Close()
		if got := Recognize(packed.Bytes()); got != c.want {
			t.Errorf("%s, compressed: got %s, want %s", c.what, got, c.want)
		}
	}
}

// What cannot be read is said of all files at once.
func TestUnknownFilesAreErrors(t *testing.T) {
	text := func(name, content string) File {
		return File{Name: name, Kind: Recognize([]byte(content)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
	}
	_, err := Diagnose(context.Background(), []File{text("a", ""), text("b", "<html>log in</html>"), text("c", `{"kind":"Status","message":"forbidden"}`)})
	for _, want := range []string{"a: is empty", "b: is a page", `c: is an error in the place of the answer: {"kind":"Status","message":"forbidden"}`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzRecognize(f *testing.F) {
	f.Add([]byte("up 1\n"))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, head []byte) {
		if Words(Recognize(head)) == "" {
			t.Error("a kind without words")
		}
	})
}
