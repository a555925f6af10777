package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"apfsim/reports/format"
)

// hostile is a name that changes the title and the colours of a terminal, and the direction of what follows.
const hostile = "u\x1b[31mred\x1b]0;owned\x07\x1b[2J\u009b31m\u202eexe"

// controls returns what text has that a terminal would carry out.
func controls(text string) (found []rune) {
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			found = append(found, r)
		}
	}
	return found
}

// Names of any characters may come from a scenario, the configuration of a cluster or a log. None of what is printed
// or written has their control characters, whatever the command and the format are.
func TestNothingPrintedControlsTerminals(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	name := format.Printable(string(quoted)) // which is the same string
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "HOSTILE", name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("story.yaml", `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: story, description: HOSTILE}
spec:
  duration: 2s
  servers: {kubernetesVersion: "1.37", maxRequestsInflight: 2, maxMutatingRequestsInflight: 1}
  workload:
  - name: "mice\u202eexe"
    clients: 2
    as: {user: HOSTILE, groups: [HOSTILE]}
    request: {verb: get, resource: pods, namespace: HOSTILE, name: HOSTILE}
    execution: 100ms
    arrivals: {poisson: {rate: 50/s}}
`)
	write("wrong.yaml", `apiVersion: apfsim/v1alpha1
kind: HOSTILE
metadata: {name: HOSTILE}
HOSTILE: 1
spec: {duration: HOSTILE, workload: [{name: w, arrivals: {trace: {file: HOSTILE}}}]}
`)
	write("objects.yaml", `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: schema, annotations: {a: HOSTILE}}
spec:
  priorityLevelConfiguration: {name: workload-low}
  distinguisherMethod: {type: ByUser}
  rules: [{subjects: [{kind: User, user: {name: HOSTILE}}], resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"]}]}]
---
apiVersion: v1
kind: HOSTILE
`)
	write("trace.jsonl", `{"user": HOSTILE, "verb": "get", HOSTILE: 1}`)
	write("replay.yaml", `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: replay}
spec: {duration: 2s, workload: [{name: w, arrivals: {trace: {file: trace.jsonl}}}]}
`)
	event := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"@","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/pods/b","verb":"get",` +
		`"user":{"username":HOSTILE,"groups":["system:authenticated"]},"userAgent":HOSTILE,"objectRef":{"resource":"pods","namespace":"a","name":"b","apiVersion":"v1"},` +
		`"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-22T10:42:3N.068710Z","stageTimestamp":"2026-11-22T10:42:3N.100210Z"}` + "\n"
	var log strings.Builder
	for _, n := range "0123456789" {
		log.WriteString(strings.NewReplacer(`"@"`, `"id-`+string(n)+`"`, "3N", "3"+string(n)).Replace(event))
	}
	write("audit.log", log.String())
	for _, command := range []string{
		"run story.yaml -o results --junit junit.xml --openmetrics metrics.txt --events events.json --events-window 0s:2s --flows --requests",
		"run story.yaml --replications 2 -o replications",
		"run story.yaml --format json",
		"run story.yaml --format yaml",
		"run wrong.yaml",
		"run replay.yaml",
		"run story.yaml --config objects.yaml",
		"run story.yaml --set spec.workload[0]." + strings.ReplaceAll(hostile, " ", "") + "=1",
		hostile,
		"config validate objects.yaml",
		"config defaults " + hostile,
		"config seats objects.yaml",
		"config lint objects.yaml",
		"config lint story.yaml",
		"config diff objects.yaml --from 1.30 --to 1.37",
		"upgrade objects.yaml --only-objects",
		"sweep story.yaml --over spec.servers.maxRequestsInflight=2,3 -o sweep",
		"compare story.yaml --set-head spec.servers.maxRequestsInflight=3 -o comparison",
		"compare story.yaml --set-head spec.servers.maxRequestsInflight=3 --format markdown",
		"explain --user " + hostile + " --verb get --resource pods",
		"import audit.log -o imported",
		"import audit.log -o fitted --fit",
	} {
		var stdout, stderr bytes.Buffer
		execute(strings.Fields(command), &stdout, &stderr)
		for stream, text := range map[string]string{"standard output": stdout.String(), "standard error": stderr.String()} {
			if found := controls(text); len(found) > 0 {
				t.Errorf("%.60q: %s has %q:\n%.3000q", command, stream, found, text)
			}
		}
		t.Logf("%.60q: %d bytes, %.200q", command, stdout.Len(), stderr.String())
	}
	written := 0
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".png") {
			return err
		}
		switch path {
		case "story.yaml", "wrong.yaml", "objects.yaml", "trace.jsonl", "replay.yaml", "audit.log":
			return nil
		}
		text, err := os.ReadFile(path)
		written++
		if found := controls(string(text)); len(found) > 0 {
			t.Errorf("%s has %q", path, found)
		}
		return err
	})
	if err != nil || written < 20 {
		t.Errorf("%d files were written, want 20 or more: %v", written, err)
	}
}
