package playground

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/experiment/fit"
	"apfsim/experiment/incident"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

const logsOfTests = "../../cmd/apfsim/testdata/audit/"

func logOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(logsOfTests + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compressed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// A log on the page becomes what apfsim import makes of it, whether it is compressed or not, and can be run.
func TestLogBecomesThatOfImport(t *testing.T) {
	settings, err := incident.ReadSettings(nil, "", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "audit")
	names := []string{logsOfTests + "audit.log", logsOfTests + "kube-apiserver.log"}
	modified := time.Date(2026, time.October, 3, 0, 0, 0, 0, time.UTC)
	sources, err := requests.Sources(names, nil, logfile.Options{Reference: modified})
	if err != nil {
		t.Fatal(err)
	}
	report, err := incident.Import(t.Context(), incident.Options{Sources: sources, Settings: settings, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	audit, http := logOf(t, "audit.log"), logOf(t, "kube-apiserver.log")
	for _, logs := range [][]LogFile{
		{{"audit.log", []byte(audit), 0}, {"kube-apiserver.log", []byte(http), modified.UnixMilli()}},
		{{"audit.log.gz", compressed(audit), 0}, {"kube-apiserver.log", compressed(http), modified.UnixMilli()}},
	} {
		var got Imported
		callInto(t, "import", asJSON(t, Logged{Logs: logs}), &got)
		if got.Text != want(incident.ScenarioFile) || got.Files[incident.TraceFile] != want(incident.TraceFile) || len(got.Files) != 1 {
			t.Errorf("%s: got\n%s\nwant\n%s", logs[0].Name, got.Text, want(incident.ScenarioFile))
		}
		if got.Requests != report.Requests.InTrace || got.Of != report.Requests.Total || !strings.Contains(got.Printed, "Requests") {
			t.Errorf("%d of %d requests, want %d of %d; printed\n%s", got.Requests, got.Of, report.Requests.InTrace, report.Requests.Total, got.Printed)
		}
		var ran Ran
		callInto(t, "run", asJSON(t, Running{Setting{Text: got.Text, Files: got.Files}, Window{Requests: 100}}), &ran)
		if ran.Recording.Requests == 0 {
			t.Error("the replay has no requests")
		}
	}
}

// A log is read with the objects and the metrics of its server and with a time zone, and fitted, as apfsim import does.
func TestLogWithWhatIsKnownOfItsServer(t *testing.T) {
	dir := t.TempDir()
	known := files{configFile: clusterObjects, metricsFile: logOf(t, "metrics.txt")}
	for name, text := range known {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := incident.ReadSettings(nil, "", []string{filepath.Join(dir, configFile)}, filepath.Join(dir, metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	modified := time.Date(2026, time.October, 3, 0, 0, 0, 0, time.UTC)
	http := []byte(logOf(t, "kube-apiserver.log"))
	sources := []requests.Source{requests.Text("kube-apiserver.log", http, modified, logfile.Options{Zone: time.FixedZone("", -2*60*60)})}
	out := filepath.Join(dir, "kube-apiserver")
	if _, err := incident.Import(t.Context(), incident.Options{Sources: sources, Settings: settings, Dir: out}); err != nil {
		t.Fatal(err)
	}
	want := files{}
	for _, name := range []string{incident.ScenarioFile, incident.TraceFile, configFile} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		want[name] = string(text)
	}
	arguments := Logged{Logs: []LogFile{{"kube-apiserver.log", http, modified.UnixMilli()}}, Config: clusterObjects, Metrics: known[metricsFile], Zone: "-02:00"}
	var got Imported
	callInto(t, "import", asJSON(t, arguments), &got)
	got.Files[incident.ScenarioFile] = got.Text
	if !maps.Equal(files(got.Files), want) {
		t.Errorf("got %v, want %v", got.Files, want)
	}
	open := func() (io.ReadCloser, error) { return os.Open(filepath.Join(out, incident.TraceFile)) }
	base := filepath.Join(out, incident.ScenarioFile)
	fitted, err := fit.Fit(open, fit.Options{File: incident.TraceFile, Name: "kube-apiserver", Base: []byte(want[incident.ScenarioFile]), BaseFile: base, Dir: out, Capacity: true})
	if err != nil {
		t.Fatal(err)
	}
	arguments.Fit = true
	var ofFit Imported
	callInto(t, "import", asJSON(t, arguments), &ofFit)
	if ofFit.Text != string(fitted.Scenario) || len(ofFit.Files) != 1 {
		t.Errorf("fitted: got\n%s\nwant\n%s", ofFit.Text, fitted.Scenario)
	}
	var ran Ran
	callInto(t, "run", asJSON(t, Running{Setting{Text: ofFit.Text, Files: ofFit.Files}, Window{Requests: 100}}), &ran)
	if ran.Fingerprint == "" || !strings.Contains(ofFit.Printed, "The fitted scenario has") {
		t.Errorf("printed\n%s", ofFit.Printed)
	}
	for want, wrong := range map[string]Logged{
		"the time zone: \"noon\"": {Logs: arguments.Logs, Zone: "noon"},
		"your-cluster.yaml":       {Logs: arguments.Logs, Config: "kind: Pod\napiVersion: v1"},
		"metrics.txt":             {Logs: arguments.Logs, Metrics: "other 1\n"},
	} {
		all := errorsOf(t, Call(t.Context(), "import", []byte(asJSON(t, wrong)), func(float64) {}))
		if len(all) == 0 || !strings.Contains(all[0].Message+all[0].File, want) {
			t.Errorf("got %v, want %s", all, want)
		}
	}
}

// What is no log, or too much of one, is an error that says so.
func TestLogsThatCannotBeImported(t *testing.T) {
	cut := compressed(strings.Repeat(logOf(t, "audit.log"), 3))
	for _, c := range []struct {
		log  LogFile
		want string
	}{
		{LogFile{"empty.log", nil, 0}, "the logs contain no requests"},
		{LogFile{"shop.log", []byte("a\nb\n"), 0}, "the logs contain no requests: none of 2 lines"},
		{LogFile{"deep.log", []byte(`{"auditID":` + strings.Repeat(`{"a":`, 1_000_000)), 0}, "the logs contain no requests"},
		{LogFile{"pack.zip", []byte("PK\x03\x04"), 0}, "compressed with zip"},
		{LogFile{"bad.gz", []byte("\x1f\x8bxxxxxxxxxxxxxxxxxx"), 0}, "bad.gz: gzip: invalid header"},
		{LogFile{"bomb.gz", compressed(strings.Repeat("x", maxLog+1)), 0}, "without compression, the logs have more than 128 MiB"},
	} {
		all := errorsOf(t, Call(t.Context(), "import", []byte(asJSON(t, Logged{Logs: []LogFile{c.log}})), func(float64) {}))
		if len(all) != 1 || !strings.Contains(all[0].Message, c.want) {
			t.Errorf("%s: got %v, want %q", c.log.Name, all, c.want)
		}
	}
	if all := errorsOf(t, Call(t.Context(), "import", []byte(`{}`), func(float64) {})); len(all) != 1 || all[0].Message != "want a file with the log of a server" {
		t.Errorf("no log: %v", all)
	}
	var got Imported // what a server was writing when the file was copied
	callInto(t, "import", asJSON(t, Logged{Logs: []LogFile{{"cut.gz", cut[:len(cut)-20], 0}}}), &got)
	if got.Requests == 0 {
		t.Error("nothing of a log that is cut off")
	}
	for _, name := range []string{".log", "", "../../a b/\u202ec.log", "<script>"} { // it becomes that of the scenario
		callInto(t, "import", asJSON(t, Logged{Logs: []LogFile{{name, []byte(logOf(t, "audit.log")), 0}}}), &got)
		var checked Checked
		callInto(t, "check", asJSON(t, Setting{Text: got.Text, Files: got.Files}), &checked)
	}
}

// A trace that is longer than a run can be given is an error, not a part of it.
func TestImportInMemoryHasALimit(t *testing.T) {
	settings, err := incident.ReadSettings(nil, "", nil, "")
	if err != nil {
		t.Fatal(err)
	}
	source := requests.Text("audit.log", []byte(logOf(t, "audit.log")), time.Time{}, logfile.Options{})
	_, made, err := incident.ImportInMemory(t.Context(), incident.Options{Sources: []requests.Source{source}, Settings: settings, Dir: "audit"}, 100)
	if err == nil || !strings.Contains(err.Error(), "has more than") || made != nil {
		t.Errorf("made %d files: %v", len(made), err)
	}
}
