package incident

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/tune"
	"apfsim/lab/incidentlogs"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/result"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
	"apfsim/sim/trace/serverlog"
)

// incidentConfig has a level whose few queues an agent of all nodes can fill, so that others who share them are rejected.
const incidentConfig = `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: agents}
spec: {type: Limited, limited: {nominalConcurrencyShares: 100, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Queue, queuing: {queues: 4, handSize: 4, queueLengthLimit: 20}}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: agents}
spec:
  priorityLevelConfiguration: {name: agents}
  matchingPrecedence: 500
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: ServiceAccount, serviceAccount: {name: "*", namespace: monitoring}}, {kind: ServiceAccount, serviceAccount: {name: "*", namespace: ci-54}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`

// incidentScenario is an agent of many nodes that asks for three times the seats of its level between 10 s and 30 s, a
// deployer that shares its queues, and kubelets, which have a level of their own.
func incidentScenario(nodes, seed int) string {
	const seats, executionMs = 20, 200
	rate := 3 * seats / (executionMs / 1000.0) / float64(nodes)
	return fmt.Sprintf(`apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: incident}
spec:
  duration: 40s
  seed: %d
  servers: {kubernetesVersion: "1.33", maxRequestsInflight: 69, maxMutatingRequestsInflight: 0, adjustmentPhase: 3s}
  config: {files: [cluster.yaml]}
  workload:
  - name: agents
    clients: %d
    as: {serviceAccount: "monitoring/node-agent"}
    request: {verb: list, resource: pods, namespace: "default", query: "limit=10"}
    execution: {exponential: {mean: %dms}}
    arrivals: {poisson: {rate: %.6f/s}}
    start: 10s
    stop: 30s
  - name: deployers
    as: {serviceAccount: "ci-54/deployer"}
    request: {verb: get, resource: configmaps, namespace: ci-54, name: release}
    execution: {exponential: {mean: 50ms}}
    arrivals: {poisson: {rate: 10/s}}
  - name: kubelets
    clients: %d
    as: {node: "node-{i}"}
    request: {verb: get, resource: secrets, namespace: default, name: "token-{i}"}
    execution: {exponential: {mean: 10ms}}
    arrivals: {poisson: {rate: %.6f/s}}
`, seed, nodes, executionMs, rate, nodes, 40/float64(nodes))
}

// incidentStart is the time of day at which the incident begins.
var incidentStart = time.Date(2026, time.November, 22, 14, 3, 0, 0, time.UTC)

// written are the files of an incident.
type written struct {
	dir           string
	audit, server []string // files, by server
}

// logFiles says how an incident is written.
type logFiles struct {
	nodes          int
	fromNs         int64 // requests that ended before are not in the logs
	half           bool  // every other request is missing
	withoutLatency bool  // the audit log has arrivals only, as cloud audit logs
}

// loggedLines are what the servers log of the incident, by the number of nodes and the server, whatever of it is written.
var loggedLines = map[[2]int][]incidentlogs.Line{}

// writeIncident runs the incident at two servers, and writes what they would log: audit logs, of which one is compressed, and
// logs of kube-apiserver as a container runtime prefixes them.
func writeIncident(t *testing.T, o logFiles) written {
	t.Helper()
	return writeIncidentTo(t, t.TempDir(), o)
}

func writeIncidentTo(t *testing.T, dir string, o logFiles) (w written) {
	t.Helper()
	w.dir = dir
	write := func(name string, text []byte) string {
		name = filepath.Join(w.dir, name)
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("cluster.yaml", []byte(incidentConfig))
	for server, name := range []string{"a", "b"} {
		sc, errs := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(incidentScenario(o.nodes, 1+server))}, "cluster.yaml": {Data: []byte(incidentConfig)}}, "s.yaml", loader.Options{})
		if err := errs.Err(); err != nil {
			t.Fatal(err)
		}
		lines := loggedLines[[2]int{o.nodes, server}]
		if lines == nil {
			lines = runLogged(t, sc[0])
			slices.SortStableFunc(lines, func(a, b incidentlogs.Line) int { return cmp.Compare(a.EndNs(), b.EndNs()) }) // as lines are written
			loggedLines[[2]int{o.nodes, server}] = lines
		}
		logs := incidentlogs.Logs{Start: incidentStart, Cloud: o.withoutLatency}
		for i := range lines {
			l := &lines[i]
			if !l.Logged() || l.EndNs() < o.fromNs || o.half && i%2 == 0 {
				continue
			}
			logs.Write(l, fmt.Sprintf("%s-%d", name, i))
		}
		audit, auditName := logs.Audit.Bytes(), "audit-"+name+".log"
		if server == 1 {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			z.Write(audit)
			z.Close()
			audit, auditName = packed.Bytes(), auditName+".gz"
		}
		w.audit = append(w.audit, name+"="+write(auditName, audit))
		w.server = append(w.server, name+"="+write("kube-apiserver-"+name+".log", logs.Server.Bytes()))
	}
	write("metrics.txt", []byte(`# TYPE apiserver_flowcontrol_nominal_limit_seats gauge
apiserver_flowcontrol_nominal_limit_seats{priority_level="agents"} 20
apiserver_flowcontrol_nominal_limit_seats{priority_level="catch-all"} 1
apiserver_flowcontrol_nominal_limit_seats{priority_level="exempt"} 0
apiserver_flowcontrol_nominal_limit_seats{priority_level="global-default"} 4
apiserver_flowcontrol_nominal_limit_seats{priority_level="leader-election"} 2
apiserver_flowcontrol_nominal_limit_seats{priority_level="node-high"} 8
apiserver_flowcontrol_nominal_limit_seats{priority_level="system"} 6
apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-high"} 8
apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 20
apiserver_resource_objects{resource="pods"} 4000
apiserver_resource_size_estimate_bytes{resource="pods"} 8e+06
kubernetes_build_info{git_version="v1.33.2"} 1
`))
	return w
}

// tried are the logs of the incident with their diagnosis, whose remedies were tried, and the folder of its files.
var tried struct {
	logs written
	*Diagnosis
	dir string
}

func TestMain(m *testing.M) {
	status := m.Run()
	if tried.logs.dir != "" {
		os.RemoveAll(tried.logs.dir)
	}
	os.Exit(status)
}

// triedDiagnosis diagnoses the incident once, for the tests that read what was found.
func triedDiagnosis(t *testing.T) (w written, d *Diagnosis, dir string) {
	t.Helper()
	if tried.Diagnosis == nil {
		dir, err := os.MkdirTemp("", "incident")
		if err != nil {
			t.Fatal(err)
		}
		tried.logs, tried.dir = writeIncidentTo(t, dir, logFiles{nodes: some(100, 2000)}), filepath.Join(dir, "incident")
		o := tried.logs.options(t)
		o.Dir = tried.dir
		if tried.Diagnosis, err = Diagnose(t.Context(), o, ""); err != nil {
			t.Fatal(err)
		}
	}
	return tried.logs, tried.Diagnosis, tried.dir
}

// options are those of a diagnosis of all files.
func (w *written) options(t *testing.T) Options {
	t.Helper()
	sources, err := requests.Sources(slices.Concat(w.audit, w.server), nil, logfile.Options{Reference: incidentStart})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ReadSettings(nil, "", []string{filepath.Join(w.dir, "cluster.yaml")}, filepath.Join(w.dir, "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return Options{Sources: sources, Settings: settings, Server: "a"}
}

// brief returns the lines that a terminal shows of a diagnosis.
func brief(t *testing.T, d *Diagnosis) []string {
	t.Helper()
	var out strings.Builder
	if err := render.Text(&out, d.Brief(), format.TextOptions{Width: 400}); err != nil {
		t.Fatal(err)
	}
	return strings.Split(out.String(), "\n")
}

// diagnose diagnoses files, and returns what a terminal shows.
func diagnose(t *testing.T, files []string, config []string, metrics, client string) (*Diagnosis, []string) {
	t.Helper()
	sources, err := requests.Sources(files, nil, logfile.Options{Reference: incidentStart})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ReadSettings(nil, "", config, metrics)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Diagnose(context.Background(), Options{Sources: sources, Settings: settings, Server: "a"}, client)
	if err != nil {
		t.Fatal(err)
	}
	return d, brief(t, d)
}

var whole = flag.Bool("long", false, "read larger logs, and more of them")

// some returns a number of cases, and all of them with -long.
func some(n, all int) int {
	if *whole {
		return all
	}
	return n
}

// From the files alone, the first ten lines name the client that was hurt, the one that caused it, when and by which
// mechanism. What the log shows is as it was.
func TestDiagnoseNamesWhoWasHurtAndByWhom(t *testing.T) {
	w, d, _ := triedDiagnosis(t)
	lines := brief(t, d)
	text := strings.Join(lines[:10], "\n")
	t.Logf("%s", strings.Join(lines, "\n"))
	for _, want := range []string{"HARM ", " requests were rejected from ", "14:03:1", "14:03:29Z", "Who was hurt", "deployer: ", "Who caused it", "node-agent", "How", "agents"} {
		if !strings.Contains(text, want) {
			t.Errorf("the first ten lines lack %q:\n%s", want, text)
		}
	}
	if !d.ReplayTrusted || !strings.HasPrefix(lines[1], "The replay agrees with its log: ") || len(d.Remedies) == 0 || !d.Remedies[0].Tried {
		t.Errorf("trusted %v, remedies %+v, second line %s", d.ReplayTrusted, d.Remedies, lines[1])
	}
	if d.KubernetesVersion != "1.33.2" && d.KubernetesVersion != "1.33" || d.VersionFrom != VersionMetrics {
		t.Errorf("the release is %s from %s", d.KubernetesVersion, d.VersionFrom)
	}
	checkClients(t, w, d)
	if cause := d.Verdict.Causes[0]; cause.Level != "agents" || cause.Untrusted || len(cause.Flows) == 0 || cause.Flows[0].Flow != "agents/system:serviceaccount:monitoring:node-agent" {
		t.Errorf("the first cause is %+v", cause)
	}

	o := w.options(t)
	o.Dir = t.TempDir()
	imported, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	narrowed, err := imported.diagnosis("deployer") // its remedies would be the same
	if err != nil {
		t.Fatal(err)
	}
	lines = brief(t, narrowed)
	if len(narrowed.Clients) != 2 || len(narrowed.Verdict.Harmed) != 1 || !strings.Contains(lines[0], " requests of ") {
		t.Errorf("%d clients and %d harmed, want the deployer and its neighbour: %s", len(narrowed.Clients), len(narrowed.Verdict.Harmed), lines[0])
	}
}

// The remedies are tried. The first one is the cheapest: with its file beside the configuration, the replay rejects no
// request of the deployer any more. The agent is moved to a level with room, so that fewer of all requests are rejected.
func TestDiagnoseTriesRemedies(t *testing.T) {
	_, d, dir := triedDiagnosis(t)
	first := d.Remedies[0]
	if first.Holds == nil || !*first.Holds || first.File != tune.ChangeFile || first.NotServed.After != 0 || first.NotServed.Before < 0.2 {
		t.Errorf("the first remedy is %+v; want one that holds, with a file", first)
	}
	if f := first.Fitted; f == nil || f.Before.Passes > 2 || f.After.Passes < f.After.Runs-2 {
		t.Errorf("in the fitted scenario: %+v; want that it helps there, too", f)
	}
	if !slices.ContainsFunc(d.Remedies, func(r Remedy) bool { return r.ID == result.LimitClient && !r.Tried && r.Holds == nil }) {
		t.Errorf("the remedies are %+v; want that of the clients among them, which is not tried", d.Remedies)
	}
	rejected := func(options loader.Options) (deployer, all int64) {
		sc, err := experiment.LoadOne(filepath.Join(dir, ScenarioFile), options)
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := replay(t.Context(), sc, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range replayed.Summary.Flows {
			if f := &replayed.Summary.Flows[i]; f.ShortName() == "deployer" {
				deployer += f.Rejected
			}
		}
		return deployer, replayed.Summary.Total.Rejected
	}
	deployer, all := rejected(loader.Options{})
	then, allThen := rejected(loader.Options{AddConfigFiles: []string{filepath.Join(dir, tune.ChangeFile)}})
	if deployer < 50 || then != 0 || allThen >= all {
		t.Errorf("%d requests of the deployer are rejected, and with the change %d; %d and %d of all; want none of the deployer, and fewer of all", deployer, then, all, allThen)
	}
}

// checkClients recounts the requests of the first server in its audit log, line by line.
func checkClients(t *testing.T, w written, d *Diagnosis) {
	t.Helper()
	_, name, _ := strings.Cut(w.audit[0], "=")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sent, rejected := map[string]int64{}, map[string]int64{}
	for line := range bytes.Lines(text) {
		var e struct {
			User           struct{ Username string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		sent[e.User.Username]++
		if e.ResponseStatus.Code == http.StatusTooManyRequests {
			rejected[e.User.Username]++
		}
	}
	if len(d.Clients) != len(sent) {
		t.Errorf("%d clients, want %d", len(d.Clients), len(sent))
	}
	for _, c := range d.Clients {
		reasons := int64(0)
		for _, n := range c.ByReason {
			reasons += n
		}
		if c.Sent != sent[c.User] || c.Rejected != rejected[c.User] || reasons != c.Rejected || c.Sent != c.Served+c.Open+c.Rejected {
			t.Errorf("%+v, want %d sent, %d rejected", c, sent[c.User], rejected[c.User])
		}
	}
}

// Whatever is missing, the status is what the log shows. If the replay does not agree with it, the second line says why,
// causes are marked, and no remedy is offered.
func TestDiagnoseSaysWhatItCannotKnow(t *testing.T) {
	const nodes = 100
	wrong := strings.NewReplacer("queueLengthLimit: 20", "queueLengthLimit: 1000", "nominalConcurrencyShares: 100", "nominalConcurrencyShares: 1000", "namespace: monitoring", "namespace: other").Replace(incidentConfig)
	for _, c := range []struct {
		what     string
		logs     logFiles
		audit    bool // the audit log alone
		metrics  bool
		config   string
		distrust bool   // for certain
		reason   string // in the second line, if it is distrusted
	}{
		{what: "without metrics", config: incidentConfig},
		{what: "an audit log alone", audit: true, metrics: true, config: incidentConfig, reason: "executed as if they were execution"},
		{what: "without executions", logs: logFiles{withoutLatency: true}, audit: true, metrics: true, config: incidentConfig, distrust: true, reason: "execution times of"},
		{what: "half of the log", logs: logFiles{half: true}, metrics: true, config: incidentConfig, distrust: true, reason: "a part of the log may be missing"},
		{what: "a wrong configuration", metrics: true, config: wrong, distrust: true, reason: "the configuration is not that of the log"},
		{what: "no configuration", metrics: true, distrust: true, reason: "the configuration is not that of the log"},
		{what: "from the middle on", logs: logFiles{fromNs: 20 * second}, metrics: true, config: incidentConfig, distrust: true, reason: "the log begins while queues were already full"},
	} {
		c.logs.nodes = nodes
		w := writeIncident(t, c.logs)
		files, config, metrics := w.audit, []string(nil), ""
		if !c.audit {
			files = slices.Concat(w.audit, w.server)
		}
		if c.config != "" {
			config = []string{filepath.Join(w.dir, "cluster.yaml")}
			if err := os.WriteFile(config[0], []byte(c.config), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if c.metrics {
			metrics = filepath.Join(w.dir, "metrics.txt")
		}
		d, lines := diagnose(t, files, config, metrics, "")
		t.Logf("%s:\n%s", c.what, strings.Join(lines[:10], "\n"))
		if d.Verdict.Status != result.Harm || !strings.HasPrefix(lines[0], "HARM ") {
			t.Errorf("%s: the status is %s, and the log has rejections", c.what, d.Verdict.Status)
		}
		if d.ReplayTrusted && c.distrust {
			t.Errorf("%s: the replay is trusted: %s", c.what, lines[1])
		}
		if d.ReplayTrusted {
			continue
		}
		if !strings.HasPrefix(lines[1], "The replay is not trusted: ") || !strings.Contains(lines[1], c.reason) {
			t.Errorf("%s: the second line is %s; want %q", c.what, lines[1], c.reason)
		}
		if len(d.Remedies)+len(d.Verdict.Try) > 0 || len(d.Verdict.Causes) == 0 {
			t.Errorf("%s: remedies %+v, causes %+v", c.what, d.Remedies, d.Verdict.Causes)
		}
		for _, cause := range d.Verdict.Causes {
			if !cause.Untrusted {
				t.Errorf("%s: the cause %+v is not marked", c.what, cause)
			}
		}
		if strings.Contains(strings.Join(lines[:10], "\n"), "0 rejected") {
			t.Errorf("%s: a replay is quoted:\n%s", c.what, strings.Join(lines[:10], "\n"))
		}
	}
}

// A log without harm whose replay is not trusted is unknown.
func TestDiagnoseDoesNotSayOKWhereItCannotTell(t *testing.T) {
	w := writeIncident(t, logFiles{nodes: 100, withoutLatency: true})
	sources, err := requests.Sources(w.audit, nil, logfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := ReadSettings(nil, "", []string{filepath.Join(w.dir, "cluster.yaml")}, "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Diagnose(context.Background(), Options{Sources: sources, Settings: settings, Server: "a", To: &Moment{Ns: 9 * second}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if d.Verdict.Status != result.Unknown || d.ReplayTrusted || len(d.Verdict.Causes)+len(d.Remedies) > 0 {
		t.Errorf("%+v", d.Verdict)
	}
}

// A request that is served is no harm, however long it lasts and wherever the log ends. Lines that cannot be read are
// named, and with too many of them the rest says nothing.
func TestDiagnoseOfALogThatIsCut(t *testing.T) {
	exec := func(e *serverlog.Entry) {
		e.Verb, e.Resource, e.Subresource, e.Path = "create", "pods", "exec", "/api/v1/namespaces/default/pods/c/exec"
	}
	session := entry(serverlog.Audit, serverlog.Started, "session", 0, ms, exec)
	var served []serverlog.Entry
	for i := range int64(200) {
		served = append(served, completed(fmt.Sprint(i), 10*i*ms, 10*i*ms+5*ms, nil))
	}
	bad := serverlog.Entry{AuditID: "bad"}
	for _, c := range []struct {
		what, sentence, warning string
		entries                 []serverlog.Entry
		status                  result.Status
	}{
		{"a session that goes on", "All 201 requests in the log were served.", "", append(slices.Clone(served), session), result.OK},
		{"a line that is cut", "All 200 requests in the log were served.", "a.log:201: is not an audit event; the line is left out", append(slices.Clone(served), bad), result.OK},
		{"lines that are cut", "All 200 requests in the log were served, but 3 of 203 lines cannot be read.",
			"a.log:201: is not an audit event; the line is left out, as 2 other lines of the file that cannot be read", append(slices.Clone(served), bad, bad, bad), result.Unknown},
		{"few requests", "The log has 99 requests; it takes 100 to say that all is well.", "", served[:99], result.Unknown},
	} {
		settings, err := ReadSettings(nil, "", nil, "")
		if err != nil {
			t.Fatal(err)
		}
		d, err := Diagnose(context.Background(), Options{Sources: []requests.Source{file("a.log", c.entries...)}, Settings: settings}, "")
		if err != nil {
			t.Fatal(err)
		}
		if v := d.Verdict; v.Status != c.status || v.Sentence != c.sentence || d.Warnings().Error() != c.warning {
			t.Errorf("%s: %s %s %s; want %s %s %s", c.what, v.Status, v.Sentence, d.Warnings().Error(), c.status, c.sentence, c.warning)
		}
	}
}

// Times of day have their dates if a log goes on after midnight.
func TestDiagnoseAcrossMidnight(t *testing.T) {
	settings, err := ReadSettings(nil, "", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var entries []serverlog.Entry
	for i := range int64(100) {
		entries = append(entries, completed(fmt.Sprint(i), i*600*second, i*600*second+ms, nil))
	}
	entries = append(entries, completed("error", 99*600*second, 99*600*second+ms, func(e *serverlog.Entry) { e.Status = 500 }))
	d, err := Diagnose(context.Background(), Options{Sources: []requests.Source{file("a.log", entries...)}, Settings: settings}, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := "answered with an error from 2026-11-22 04:30:00Z to 2026-11-22 04:30:00Z"; !strings.Contains(d.Verdict.Sentence, want) {
		t.Errorf("%s; want %s", d.Verdict.Sentence, want)
	}
	if got, want := d.logText(), "2026-11-21 12:00:00Z to 2026-11-22 04:30:01Z;"; !strings.Contains(got, want) {
		t.Errorf("%s; want %s", got, want)
	}
}

// The release is that of the server's own clients, if nothing else says it.
func TestReleaseOfUserAgents(t *testing.T) {
	w := writeIncident(t, logFiles{nodes: 20})
	d, _ := diagnose(t, w.audit, []string{filepath.Join(w.dir, "cluster.yaml")}, "", "")
	if d.VersionFrom != VersionAgents || !strings.HasPrefix(d.KubernetesVersion, "1.33") {
		t.Errorf("the release is %s from %s", d.KubernetesVersion, d.VersionFrom)
	}
}
