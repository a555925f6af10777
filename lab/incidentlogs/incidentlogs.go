// Package incidentlogs writes what servers would log of the requests of a run, so that tests know what is true of a log.
package incidentlogs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"apfsim/reports/record"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// Line is a line of the request log of a simulated server.
type Line struct {
	trace.Record
	Workload                               string
	Client                                 int
	Server                                 int
	FlowSchema, PriorityLevel              string
	Outcome                                trace.Outcome
	Status                                 int
	DispatchNs, FinishNs, WaitNs           int64
	AnsweredNs                             int64 // 0 unless it was before the end of the execution
	Seats, FinalSeats                      int
	AdditionalLatencyNs, RetryAfterSeconds int64

	callsNs, storedNs int64 // of the execution, that webhooks and etcd took
}

// Run runs a scenario and returns its request log.
func Run(sc *scenario.Scenario) (lines []Line, err error) {
	var log bytes.Buffer
	run := sim.New(sc)
	writer := record.NewRequestLog(&log, sc)
	run.Observe(writer.Observer())
	spent := map[int64][2]int64{}
	run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
		s := r.Spent(nowNs)
		storedNs := int64(0)
		if d := r.Details; d != nil && d.Answer.Status != 0 && !d.Execution {
			storedNs = nowNs - r.DispatchNs - s.CallsNs - s.ServedNs - s.SentNs
		}
		if s.CallsNs+storedNs > 0 {
			spent[r.ID] = [2]int64{s.CallsNs, storedNs}
		}
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	for text := range bytes.Lines(log.Bytes()) {
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, err
		}
		l.callsNs, l.storedNs = spent[l.ID][0], spent[l.ID][1]
		lines = append(lines, l)
	}
	return lines, nil
}

// Logged says whether a server logs the end of a request: it was answered by the server, and is no watch.
func (l *Line) Logged() bool {
	return (l.Outcome == trace.Rejected || l.Outcome == trace.Executed || l.AnsweredNs > 0) && l.Verb != "watch"
}

// EndNs is when a request was answered.
func (l *Line) EndNs() int64 {
	switch {
	case l.Outcome == trace.Rejected:
		return l.ArrivalNs + l.WaitNs
	case l.AnsweredNs > 0:
		return l.AnsweredNs
	}
	return l.FinishNs
}

// Logs are the logs of a server. In a cloud audit log, requests have arrivals only.
type Logs struct {
	Audit, Server bytes.Buffer
	Start         time.Time // time 0
	Seconds       bool      // the times of the audit log are whole seconds
	Cloud         bool      // the audit log is that of a cloud
}

// Write writes the lines of a request to both logs. Each client of a workload has an address.
func (g *Logs) Write(l *Line, id string) {
	a := l.Attributes()
	uri := a.Path
	if l.Query != "" {
		uri += "?" + l.Query
	}
	status, endNs := l.Status, l.EndNs()
	agent, address := l.Workload+"/v1", fmt.Sprintf("10.%d.%d.%d", l.Client>>16, l.Client>>8&255, l.Client&255)
	if strings.HasPrefix(l.User, "system:node:") {
		agent = "kubelet/v1.32.0 (linux/amd64)"
	}
	if strings.HasSuffix(id, "-7") { // what the server sends to itself
		agent = "kube-apiserver/v1.33.2 (linux/amd64) kubernetes/abc"
	}
	annotations := map[string]string{}
	if l.Outcome != trace.Rejected && endNs-l.ArrivalNs > 500*time.Millisecond.Nanoseconds() {
		for name, ns := range map[string]int64{"total": endNs - l.ArrivalNs, "apf-queue-wait": l.WaitNs, "validating-webhook": l.callsNs, "etcd": l.storedNs} {
			if ns > 0 || name == "apf-queue-wait" {
				annotations["apiserver.latency.k8s.io/"+name] = time.Duration(ns).String()
			}
		}
	}
	at := func(ns int64) string {
		t := g.Start.Add(time.Duration(ns))
		if g.Seconds {
			return t.Format(time.RFC3339)
		}
		return t.Format("2006-01-02T15:04:05.000000Z")
	}
	event := map[string]any{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id, "stage": "ResponseComplete", "requestURI": uri,
		"verb": l.Verb, "user": map[string]any{"username": l.User, "groups": l.Groups}, "sourceIPs": []string{address}, "userAgent": agent,
		"responseStatus": map[string]int{"code": status}, "annotations": annotations, "requestReceivedTimestamp": at(l.ArrivalNs), "stageTimestamp": at(endNs)}
	if l.Resource != "" {
		event["objectRef"] = map[string]string{"apiGroup": l.APIGroup, "resource": l.Resource, "subresource": l.Subresource, "namespace": l.Namespace, "name": l.Name, "apiVersion": "v1"}
	}
	if g.Cloud {
		code := 0
		if status == http.StatusTooManyRequests {
			code = 8 // RESOURCE_EXHAUSTED
		}
		name := "core/v1/namespaces/" + l.Namespace + "/" + l.Resource
		if l.Name != "" {
			name += "/" + l.Name
		}
		event = map[string]any{"insertId": id, "timestamp": at(l.ArrivalNs), "protoPayload": map[string]any{
			"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "authenticationInfo": map[string]string{"principalEmail": l.User},
			"methodName": "io.k8s.core.v1." + l.Resource + "." + l.Verb, "resourceName": name, "serviceName": "k8s.io", "status": map[string]int{"code": code},
			"requestMetadata": map[string]string{"callerIp": address, "callerSuppliedUserAgent": agent}}}
	}
	text, err := json.Marshal(event)
	if err != nil {
		panic(err) // it consists of strings and numbers
	}
	g.Audit.Write(append(text, '\n'))
	verb := strings.ToUpper(l.Verb)
	switch verb {
	case "CREATE":
		verb = http.MethodPost
	case "UPDATE":
		verb = http.MethodPut
	}
	end := g.Start.Add(time.Duration(endNs))
	fmt.Fprintf(&g.Server, "%s stderr F I%s       1 httplog.go:134] \"HTTP\" verb=%q URI=%q latency=%q userAgent=%q audit-ID=%q srcIP=\"%s:51234\"",
		end.Format(time.RFC3339Nano), end.Format("0102 15:04:05.000000"), verb, uri, time.Duration(endNs-l.ArrivalNs), agent, id, address)
	if l.PriorityLevel != "" {
		fmt.Fprintf(&g.Server, " apf_pl=%q apf_fs=%q apf_iseats=%d apf_fseats=%d apf_additionalLatency=%q", l.PriorityLevel, l.FlowSchema, l.Seats, l.FinalSeats, time.Duration(l.AdditionalLatencyNs))
	}
	if l.Outcome == trace.Executed {
		fmt.Fprintf(&g.Server, " apf_execution_time=%q", time.Duration(endNs-l.DispatchNs))
	}
	fmt.Fprintf(&g.Server, " resp=%d\n", status)
}
