package observed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"apfsim/lab/live/outcome"

	"github.com/google/go-cmp/cmp"
)

// httpLog has two requests of a run, one of another client, and two adjustments, as kube-apiserver v1.37.1 writes them.
const httpLog = `I1122 10:42:31.100200   16523 httplog.go:134] "HTTP" verb="POST" URI="/api/v1/namespaces/live/configmaps?dryRun=All" latency="31.5ms" userAgent="Go-http-client/2.0" audit-ID="x.1-7" srcIP="127.0.0.1:53636" apf_pl="live" apf_fs="live" apf_iseats=1 apf_fseats=5 apf_additionalLatency="5ms" apf_execution_time="30ms" resp=201
I1122 10:42:31.100400   16523 httplog.go:134] "HTTP" verb="GET" URI="/readyz" latency="1.5ms" userAgent="Go-http-client/2.0" audit-ID="2de7" srcIP="127.0.0.1:53637" apf_pl="exempt" apf_fs="probes" apf_iseats=1 apf_fseats=0 apf_additionalLatency="0s" apf_execution_time="1ms" resp=200
I1122 10:42:31.500100   16523 apf_controller.go:493] "Update CurrentCL" plName="catch-all" seatDemandHighWatermark=0 seatDemandAvg=0 seatDemandStdev=0 seatDemandSmoothed=0 fairFrac=2.6 currentCL=3 concurrencyDenominator=3 backstop=false
I1122 10:42:31.500200   16523 apf_controller.go:493] "Update CurrentCL" plName="live" seatDemandHighWatermark=0 seatDemandAvg=0 seatDemandStdev=0 seatDemandSmoothed=0 fairFrac=2.6 currentCL=8 concurrencyDenominator=3 backstop=false
I1122 10:42:32.100200   16523 httplog.go:134] "HTTP" verb="POST" URI="/api/v1/namespaces/live/configmaps?dryRun=All" latency="200µs" userAgent="Go-http-client/2.0" audit-ID="x.1-8" srcIP="127.0.0.1:53636" apf_pl="live" apf_fs="live" apf_iseats=1 apf_fseats=5 apf_additionalLatency="5ms" resp=429
I1122 10:42:41.501200   16523 apf_controller.go:493] "Update CurrentCL" plName="live" seatDemandHighWatermark=0 seatDemandAvg=0 seatDemandStdev=0 seatDemandSmoothed=0 fairFrac=2.6 currentCL=12 concurrencyDenominator=3 backstop=false
I1122 10:42:41.501250   16523 flow_schema.go:1] the difference is
{
  "type": "Dangling",
 }
I1122 10:42:41.501300   16523 httplog.go:134] "HTTP" verb="POST" URI="/api/v1/namesp`

const auditLog = `{"kind":"Event","auditID":"x.1-7","stage":"RequestReceived","requestURI":"/api/v1/namespaces/live/configmaps","verb":"create","user":{"username":"mouse-1"},"requestReceivedTimestamp":"2026-11-22T10:42:31.068710Z","stageTimestamp":"2026-11-22T10:42:31.068710Z"}
{"kind":"Event","auditID":"x.1-7","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/live/configmaps","verb":"create","user":{"username":"mouse-1"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-11-22T10:42:31.068710Z","stageTimestamp":"2026-11-22T10:42:31.100210Z"}
`

// Only the requests of the run are returned. The limits of all levels that the server changes at once are one
// adjustment. The last line is being written, and the one before it is a part of a message: neither is an error.
func TestReadLogs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	logs, err := ReadLogs(write("http", httpLog), write("audit", auditLog), "x.1-")
	if err != nil {
		t.Fatal(err)
	}
	if e := logs.HTTP["x.1-7"]; len(logs.HTTP) != 2 || e.ExecutionNs != int64(30*time.Millisecond) || e.FinalSeats != 5 || e.Status != 201 {
		t.Errorf("%d requests in the log of the server, x.1-7 is %+v; want 2, and 30 ms with 5 final seats", len(logs.HTTP), e)
	}
	if e := logs.Audit["x.1-7"]; len(logs.Audit) != 1 || e.User != "mouse-1" || e.Status != 201 {
		t.Errorf("%d requests in the audit log, x.1-7 is %+v; want 1, of mouse-1", len(logs.Audit), e)
	}
	var limits []map[string]int
	for _, a := range logs.Adjustments {
		limits = append(limits, a.Limits)
	}
	if d := cmp.Diff([]map[string]int{{"catch-all": 3, "live": 8}, {"live": 12}}, limits); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
	if len(logs.Adjustments) == 2 {
		if d := logs.Adjustments[1].At.Sub(logs.Adjustments[0].At); d.Round(time.Millisecond) != 10001*time.Millisecond {
			t.Errorf("%v between the adjustments, want 10.001s", d)
		}
	}
}

// A count that is not in the earlier scrape was 0 then.
func TestDifference(t *testing.T) {
	before := `# TYPE apiserver_flowcontrol_dispatched_requests_total counter
apiserver_flowcontrol_dispatched_requests_total{flow_schema="live",priority_level="live"} 5
apiserver_flowcontrol_dispatched_requests_total{flow_schema="other",priority_level="live"} 1
`
	after := `# TYPE apiserver_flowcontrol_dispatched_requests_total counter
apiserver_flowcontrol_dispatched_requests_total{flow_schema="live",priority_level="live"} 25
apiserver_flowcontrol_dispatched_requests_total{flow_schema="other",priority_level="live"} 2
# TYPE apiserver_flowcontrol_rejected_requests_total counter
apiserver_flowcontrol_rejected_requests_total{flow_schema="live",priority_level="live",reason="queue-full"} 3
`
	got, err := Difference(Scrape(before), Scrape(after))
	if err != nil {
		t.Fatal(err)
	}
	want := map[Count]int{{"live", Dispatched}: 21, {"live", outcome.QueueFull}: 3}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}
