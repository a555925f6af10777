package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
)

// Where kube-apiserver serves the dumps of its flow control. That of requests has their users, verbs and paths with details.
const (
	dumpsPath   = "/debug/api_priority_and_fairness/"
	withDetails = "?includeRequestDetails=1"
)

// metricsPath is where kube-apiserver serves its metrics.
const metricsPath = "/metrics"

// Asker asks an API server for a path. For the path "", it returns the flow-control objects as YAML.
type Asker func(path string) ([]byte, error)

// mostTries is how often a server is asked for its metrics until the wanted process answers.
const mostTries = 10

// metricsOf asks for the metrics of the process that started then, which may be one of several behind one address: their counters
// cannot be subtracted. If another one always answers, it returns the metrics of that. 0 stands for any process.
func (ask Asker) metricsOf(startedS float64) ([]byte, error) {
	for try := 1; ; try++ {
		text, err := ask(metricsPath)
		if err != nil || startedS == 0 || try == mostTries || startOf(text) == startedS {
			return text, err
		}
	}
}

// startOf returns when the process of a scrape started, in seconds since 1970; 0 if the scrape does not say it.
func startOf(text []byte) float64 {
	samples, err := metrics.Read(bytes.NewReader(text), metrics.ProcessStart)
	if err != nil || len(samples.ByName[metrics.ProcessStart]) == 0 {
		return 0
	}
	return samples.ByName[metrics.ProcessStart][0].Value
}

// dumpPath returns where a dump is served.
func dumpPath(k dumpKind) string {
	if k == requestsDump {
		return dumpsPath + dumps[k].name + withDetails
	}
	return dumpsPath + dumps[k].name
}

// dumpFiles are the kinds of files with one dump.
var dumpFiles = [dumpKinds]incident.Kind{levelsDump: incident.DumpLevels, queuesDump: incident.DumpQueues, requestsDump: incident.DumpRequests}

// Dumps asks a server for its dumps, as files for Diagnose. leftOut is told of those that it does not give. The error is that it gives
// none.
func Dumps(ask Asker, leftOut func(name string, err error)) (all []File, err error) {
	for k := range dumpKinds {
		text, err := ask(dumpPath(k))
		if err == nil {
			err = isA(dumpFiles[k], text)
		}
		if err != nil {
			leftOut(dumps[k].name, err)
			continue
		}
		all = append(all, File{Name: dumps[k].name, Kind: dumpFiles[k], Bundled: true, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	}
	if len(all) == 0 {
		return nil, errNothing
	}
	return all, nil
}

var errNothing = errors.New("the server gives nothing of what is asked for; want a user of the kubeconfig who may read /metrics, /debug/api_priority_and_fairness/ and flow-control objects")

// Collect returns a tar.gz archive with what a server reports of its flow control, for Unpack: its version, its objects, its metrics
// twice, an interval apart and of the same process if there are several, and its dumps between. Nothing secret is in it: of the objects only names and specs, and of the metrics only
// those of API requests, of etcd and of the process. leftOut is told of what the server does not give. n is how many files there are;
// the error is that there are none, or that of the context.
func Collect(ctx context.Context, ask Asker, interval time.Duration, leftOut func(name string, err error)) (archive []byte, n int, err error) {
	var all bytes.Buffer
	packed := gzip.NewWriter(&all)
	files := tar.NewWriter(packed)
	startedS := 0.0
	add := func(name, path string, keep func([]byte) ([]byte, error)) {
		var text []byte
		var err error
		if path == metricsPath {
			text, err = ask.metricsOf(startedS)
			startedS = startOf(text)
		} else {
			text, err = ask(path)
		}
		if err == nil {
			text, err = keep(text)
		}
		if err == nil {
			err = files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		}
		if err == nil {
			_, err = files.Write(text)
		}
		if err == nil {
			n++
		} else if ctx.Err() == nil {
			leftOut(name, err)
		}
	}
	as := func(kind incident.Kind) func([]byte) ([]byte, error) {
		return func(text []byte) ([]byte, error) { return text, isA(kind, text) }
	}
	add("version.json", "/version", as(incident.Version))
	public := n // which a server says to everybody
	add("objects.yaml", "", onlySpecs)
	add("metrics-1.txt", metricsPath, onlyServers)
	second := time.After(interval)
	for k := range dumpKinds {
		add(dumps[k].name+".csv", dumpPath(k), as(dumpFiles[k]))
	}
	if n == public && ctx.Err() == nil {
		return nil, 0, errNothing
	}
	select {
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	case <-second:
	}
	add("metrics-2.txt", metricsPath, onlyServers)
	if err := errors.Join(files.Close(), packed.Close()); err != nil {
		return nil, 0, err
	}
	return all.Bytes(), n, ctx.Err()
}

// isA returns an error if a text is of another kind.
func isA(kind incident.Kind, text []byte) error {
	if is := Recognize(text); is != kind {
		return fmt.Errorf("the answer is %s, and not %s", Words(is), Words(kind))
	}
	return nil
}

// onlySpecs returns objects without their annotations, labels, status and managed fields.
func onlySpecs(text []byte) ([]byte, error) {
	docs, errs := yaml.Parse("the answer", text)
	if len(errs) > 0 {
		return nil, errs.Err()
	}
	decoded := config.Decode(docs...)
	switch o := decoded.Objects; {
	case len(decoded.Errors) > 0:
		return nil, decoded.Errors.Err()
	case len(o.FlowSchemas)+len(o.PriorityLevels) == 0:
		return nil, errors.New("the answer has no FlowSchema and no priority level")
	}
	return yaml.Marshal(decoded.Objects.Manifest(rules.Latest()))
}

// kept are what the names of the metrics begin with that are collected.
var kept = []string{"apiserver_", "etcd_", "process_", restClient, buildInfo}

// onlyServers returns the metrics of API requests, of etcd and of the process.
func onlyServers(text []byte) ([]byte, error) {
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		name := bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("# HELP ")), []byte("# TYPE "))
		for _, prefix := range kept {
			if bytes.HasPrefix(name, []byte(prefix)) {
				lines.Write(line)
			}
		}
	}
	if lines.Len() == 0 {
		return nil, errors.New("the answer has no metrics of a kube-apiserver")
	}
	samples, err := metrics.Read(bytes.NewReader(lines.Bytes()), wantedMetrics...)
	if err == nil {
		err = plausible(samples)
	}
	return lines.Bytes(), err
}
