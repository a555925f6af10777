package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/flowcontrol"
	"apfsim/core/maintain"
	"apfsim/sim/server"
)

// maintained runs a scenario whose servers maintain the objects. One client sends a request each 10 s,
// which are the lines of classified: their time, FlowSchema and level. Written are the writes but for
// those of conditions.
func maintained(t *testing.T, spec, as, request string) (run *Run, classified, written []string) {
	t.Helper()
	run = New(load(t, spec+`
  workload:
  - name: w
    as: `+as+`
    request: `+request+`
    execution: 1ms
    arrivals: {closed: {concurrency: 1, think: 10s}}
`))
	run.Observe(server.Observer{Arrived: func(nowNs int64, r *server.Request) {
		classified = append(classified, fmt.Sprintf("%d %s %s", nowNs/1e9, r.Flow.Schema.Name, r.Flow.Level))
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for _, w := range run.Writes() {
		if w.Action != maintain.SetStatus {
			what, _, _ := strings.Cut(w.String(), ":")
			written = append(written, fmt.Sprintf("%d server %d %s", w.AtNs/1e9, w.Server, what))
		}
	}
	return run, classified, written
}

// timesOf returns the times at which a FlowSchema got the requests.
func timesOf(classified []string, schema string) (times []string) {
	for _, line := range classified {
		if fields := strings.Fields(line); fields[1] == schema {
			times = append(times, fields[0])
		}
	}
	return times
}

func expectLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	endpointController = `{serviceAccount: kube-system/endpoint-controller}`
	updateEndpoints    = `{verb: update, resource: endpoints, namespace: default, name: x}`
)

// M10 and M11: a server of 1.33 with phase 0 and one of 1.34 with phase 20 s. The requests of the endpoint
// controller belong to the FlowSchema of 1.33 for the first 20 s of each minute, and then to the next one
// that matches. An operator who annotates it false at 130 s, while it exists, keeps it.
func TestM10TwoReleasesFight(t *testing.T) {
	_, classified, written := maintained(t, `
  duration: 250s
  servers: {replicas: 2, kubernetesVersion: ["1.33", "1.34"], maintenance: true, maintenancePhases: [0s, 20s]}
  events:
  - at: 130s
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: FlowSchema
        metadata: {name: endpoint-controller, annotations: {apf.kubernetes.io/autoupdate-spec: "false"}}
        spec:
          matchingPrecedence: 150
          priorityLevelConfiguration: {name: workload-high}
          distinguisherMethod: {type: ByUser}
          rules:
          - subjects:
            - {kind: User, user: {name: "system:kube-controller-manager"}}
            - {kind: ServiceAccount, serviceAccount: {namespace: kube-system, name: endpoint-controller}}
            - {kind: ServiceAccount, serviceAccount: {namespace: kube-system, name: endpointslicemirroring-controller}}
            resourceRules:
            - {verbs: [get, create, update], apiGroups: [""], resources: [endpoints], namespaces: ["*"]}`, endpointController, updateEndpoints)
	expectLines(t, "the FlowSchema of 1.33", timesOf(classified, "endpoint-controller"),
		"10", "60", "70", "120", "130", "140", "150", "160", "170", "180", "190", "200", "210", "220", "230", "240")
	var endpoint []string
	for _, w := range written {
		if strings.HasSuffix(w, " endpoint-controller") {
			endpoint = append(endpoint, w)
		}
	}
	expectLines(t, "writes", endpoint,
		"20 server 1 delete FlowSchema endpoint-controller", "60 server 0 create FlowSchema endpoint-controller",
		"80 server 1 delete FlowSchema endpoint-controller", "120 server 0 create FlowSchema endpoint-controller",
		"130 server -1 edit FlowSchema endpoint-controller")
}

// M12: the server of 1.33 is told to stop at 130 s. Without a delay its listener closes at once, and it makes
// no further pass. With a delay of 60 s it makes one more, at 180 s. The one of 1.34 deletes the object for
// good in its next pass. A server of 1.33 that starts again at 225 s makes a pass at once and then each
// minute.
func TestM12TheOldServerStops(t *testing.T) {
	const common = "20 server 1 delete, 60 server 0 create, 80 server 1 delete, 120 server 0 create, 140 server 1 delete"
	for _, c := range []struct{ shutdown, events, want string }{
		{"0s", "", common},
		{"60s", "", common + ", 180 server 0 create, 200 server 1 delete"},
		{"0s", "\n  - {at: 225s, start: {server: 0}}", common + ", 225 server 0 create, 260 server 1 delete, 285 server 0 create, 320 server 1 delete"},
		{"0s", "\n  - {at: 225s, start: {server: 0, kubernetesVersion: \"1.34\"}}", common},
	} {
		_, _, written := maintained(t, `
  duration: 330s
  servers: {replicas: 2, kubernetesVersion: ["1.33", "1.34"], maintenance: true, maintenancePhases: [0s, 20s], shutdown: {delay: `+c.shutdown+`}}
  events:
  - {at: 130s, stop: {server: 0}}`+c.events, endpointController, updateEndpoints)
		var got []string
		for _, w := range written {
			if what, found := strings.CutSuffix(w, " FlowSchema endpoint-controller"); found {
				got = append(got, what)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("delay %s, %q: got %s, want %s", c.shutdown, c.events, strings.Join(got, ", "), c.want)
		}
	}
}

// M3 and M4: an operator edits workload-low at 70 s. One of three servers with the phases 0, 20 and 40 s
// puts it back at 80 s. The same edit with the annotation false stays.
func TestM3EditIsUndone(t *testing.T) {
	const edit = `
  duration: 200s
  servers: {replicas: 3, maintenance: true}
  events:
  - at: 70s
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: workload-low, annotations: {%s}}
        spec:
          type: Limited
          limited:
            nominalConcurrencyShares: 300
            lendablePercent: 90
            limitResponse: {type: Queue, queuing: {queues: 128, handSize: 6, queueLengthLimit: 50}}`
	for _, c := range []struct {
		annotation string
		written    []string
		shares     int32
	}{
		{"", []string{"70 server -1 edit PriorityLevelConfiguration workload-low", "80 server 1 restore PriorityLevelConfiguration workload-low"}, 100},
		{`apf.kubernetes.io/autoupdate-spec: "false"`, []string{"70 server -1 edit PriorityLevelConfiguration workload-low"}, 300},
	} {
		run, _, written := maintained(t, fmt.Sprintf(edit, c.annotation), endpointController, updateEndpoints)
		expectLines(t, c.annotation, written, c.written...)
		for _, s := range run.servers {
			i := slices.IndexFunc(run.Server.Levels(), func(l *flowcontrol.Level) bool { return l.Name() == "workload-low" })
			if got := s.Levels()[i].Spec().Shares(); got != c.shares {
				t.Errorf("%q: server %d has %d shares of workload-low, want %d", c.annotation, s.Index(), got, c.shares)
			}
		}
	}
}

// M9 and M15: while the level workload-low is deleted, from 70 to 80 s, its requests belong to the next
// FlowSchema that matches, global-default. The conditions are written when the level goes and when it is
// there again.
func TestM9LevelIsDeleted(t *testing.T) {
	run, classified, written := maintained(t, `
  duration: 110s
  servers: {replicas: 3, maintenance: true}
  events:
  - {at: 65s, apply: {remove: [{kind: PriorityLevelConfiguration, name: workload-low}]}}`,
		`{serviceAccount: team/app}`, `{verb: get, resource: pods, namespace: team, name: x}`)
	expectLines(t, "writes", written, "65 server -1 delete PriorityLevelConfiguration workload-low",
		"80 server 1 create PriorityLevelConfiguration workload-low")
	expectLines(t, "next match", timesOf(classified, "global-default"), "70")
	var status []string
	for _, w := range run.Writes() {
		if w.Action == maintain.SetStatus {
			status = append(status, fmt.Sprintf("%d %s %v", w.AtNs/1e9, w.After.Name(), w.Reason))
		}
	}
	expectLines(t, "conditions", status, "65 service-accounts its priority level is missing", "80 service-accounts its priority level exists")
}

// M15: a level with 12 seats is deleted at 5 s, when 12 of its requests execute and 30 wait. All of them are
// executed in it, 12 in each 20 s, and the level is there until the last ones end at 80 s. A request that
// comes later belongs to the next FlowSchema that matches.
func TestM15QueuedRequestsDrain(t *testing.T) {
	run := New(load(t, `
  duration: 210s
  servers: {maintenance: true, maintenancePhases: [59s], requestTimeout: 600s}
  config:
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: own}
      spec:
        type: Limited
        limited:
          nominalConcurrencyShares: 5
          borrowingLimitPercent: 0
          limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 50}}
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: own}
      spec:
        matchingPrecedence: 300
        priorityLevelConfiguration: {name: own}
        rules:
        - subjects: [{kind: User, user: {name: u}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]
  events:
  - {at: 5s, apply: {remove: [{kind: PriorityLevelConfiguration, name: own}]}}
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 20s
    arrivals: {burst: {at: 0s, requests: 42, over: 0s}}
  - name: later
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {burst: {at: 10s, requests: 1, over: 0s}}
`))
	executed := map[string]int{}
	var lastNs int64
	run.Observe(server.Observer{
		Executed: func(nowNs int64, r *server.Request) {
			executed[r.Flow.Level]++
			lastNs = nowNs
		},
		Tick: func(nowNs int64, servers []*server.Server) int64 {
			exists := slices.ContainsFunc(servers[0].Levels(), func(l *flowcontrol.Level) bool { return l.Name() == "own" })
			if waits := nowNs < 80e9; exists != waits && nowNs < 200e9 {
				t.Errorf("at %d s the level exists: %v", nowNs/1e9, exists)
			}
			return nowNs + 10e9 + 1
		},
	})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if executed["own"] != 42 || executed["global-default"] != 1 {
		t.Errorf("executed %v, want 42 in the level and the later request in global-default", executed)
	}
	if lastNs != 80e9 {
		t.Errorf("the last request ends at %d s", lastNs/1e9)
	}
}

// Each change of the objects makes every server adjust its limits, out of its rhythm of 10 s; a change of
// an annotation does not.
func TestChangesMakeServersAdjust(t *testing.T) {
	run := New(load(t, `
  duration: 50s
  servers: {replicas: 2, maintenance: true, maintenancePhases: [33s, 44s]}
  config:
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: own, annotations: {apf.kubernetes.io/autoupdate-spec: "true"}}
      spec:
        matchingPrecedence: 300
        priorityLevelConfiguration: {name: workload-low}
        rules:
        - subjects: [{kind: User, user: {name: u}}]
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"]}]
  events:
  - {at: 15s, apply: {remove: [{kind: FlowSchema, name: probes}]}}
  workload: [{name: w, as: {user: u}, arrivals: {constant: {rate: 1/s}}, request: {verb: get, resource: pods}, execution: 1ms}]
`))
	adjusted := map[int][]int64{}
	run.Observe(server.Observer{Adjusted: func(nowNs int64, s *server.Server) {
		adjusted[s.Index()] = append(adjusted[s.Index()], nowNs/1e9)
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	// At 33 s server 0 creates probes and deletes own, which is one change for the servers.
	want := []int64{0, 10, 15, 20, 30, 33, 40}
	if !slices.Equal(adjusted[0], want) || !slices.Equal(adjusted[1], want) {
		t.Errorf("the servers adjust their limits at %v s, want %v", adjusted, want)
	}
	if n := len(run.Writes()); n != 4 { // one deletion, one creation and its condition, one deletion
		t.Errorf("%d writes: %v", n, run.Writes())
	}
}
