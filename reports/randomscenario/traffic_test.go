package randomscenario

import (
	"fmt"
	"strings"
)

// kinds are the resources of the scenarios, with their groups.
var kinds = [][2]string{{"", "pods"}, {"", "configmaps"}, {"", "events"}, {"", "nodes"}, {"coordination.k8s.io", "leases"}, {"apps", "deployments"}, {"example.com", "widgets"}}

func (d *draw) resources() string {
	var all list
	for _, kind := range kinds {
		if d.chance(0.5) {
			r := list{"resource: " + kind[1], fmt.Sprintf("objects: %d", d.between(0, 1+d.IntN(3000)))}
			if kind[0] != "" {
				r.add("group: %s", kind[0])
			}
			if d.chance(0.8) {
				r.add("averageBytes: %d", d.between(0, 20000))
			}
			all.add("%s", r.object())
		}
	}
	return all.items()
}

func (d *draw) storage() string {
	var s list
	if d.chance(0.5) {
		s.add("read: %s, write: %s", d.distribution(0.1, 20), d.distribution(0.1, 100))
	}
	if d.chance(0.2) {
		s.add("writeCapacity: {cores: %d}", d.between(1, 4))
	}
	if d.chance(0.4) {
		s.add("compactionInterval: %s", d.pick("2s", "10s", "0s"))
	}
	if d.chance(0.4) {
		s.add("watchCache: %s", d.pick("false", "[pods]", "[configmaps, leases.coordination.k8s.io]"))
	}
	if d.chance(0.3) {
		s.add("eventTTL: %s", d.pick("1s", "20s"))
	}
	if d.chance(0.3) {
		s.add("countInterval: %s", d.pick("0s", "1s"))
	}
	if d.chance(0.3) {
		s.add("costs: {request: %s, walkedObject: %s, eventLatency: %s}", d.milliseconds(0.01, 20), d.pick("300ns", "10us"), d.pick("0s", "2ms", "300ms"))
	}
	return s.object()
}

// identity draws who sends.
func (d *draw) identity() string {
	return d.pick(`{user: "u-{i}"}`, `{user: u-0, groups: [dev]}`, `{serviceAccount: "ns-{i}/app"}`, `{serviceAccount: "ns-0/app-{i}"}`, `{node: "node-{i}"}`,
		`{anonymous: true}`, `{user: admin, groups: ["system:masters"]}`, `{user: "u-{i}"}`)
}

func (d *draw) workload(index int) string {
	w := list{fmt.Sprintf("name: w%d", index)}
	switch {
	case d.store && d.chance(0.5):
		d.behaving(&w)
	case d.trace == "" && d.chance(0.12):
		d.trace = d.traceLines()
		w.add("arrivals: {trace: {file: %s}}", traceName)
	default:
		d.sending(&w)
	}
	if d.chance(0.15) {
		w.add("start: %ds", d.IntN(d.seconds))
	}
	if d.chance(0.2) {
		w.add("through: Service")
	}
	return w.object()
}

// sending draws clients that send requests by themselves.
func (d *draw) sending(w *list) {
	clients := d.between(1, 6)
	w.add("clients: %d, as: %s", clients, d.identity())
	n := d.between(1, 3)
	var requests list
	for range n {
		requests.add("%s", d.request(n > 1))
	}
	if n > 1 {
		w.add("requests: %s", requests.items())
	} else {
		w.add("request: %s", requests[0])
	}
	if !d.store || d.chance(0.3) {
		w.add("execution: %s", d.distribution(0.1, 3000))
	} else if d.chance(0.5) {
		w.add("execution: %s", d.pick("40s", "70s", "1ms"))
	}
	w.add("arrivals: %s", d.arrivals(clients))
	if d.chance(0.5) {
		w.add("retry: %s", d.retry())
	}
	if d.chance(0.2) {
		w.add("rateLimit: {qps: %d, burst: %d}", d.between(1, 20), d.between(1, 5))
	}
	if d.chance(0.3) {
		w.add("connection: PerRequest")
	}
	if d.chance(0.2) && !d.given {
		w.add("delay: %s", d.distribution(0.1, 1000))
	}
	if d.chance(0.3) && !d.given {
		w.add("clientTimeout: %s", d.distribution(1, 20000))
	}
}

func (d *draw) retry() string {
	return d.pick("ClientGo", "None", fmt.Sprintf("{maxRetries: %d, backoff: {initial: %s, factor: 2, max: 5s, jitter: 0.5}}", d.between(0, 4), d.milliseconds(1, 3000)))
}

// arrivals draws when each of some clients sends, at most some dozen times a second together.
func (d *draw) arrivals(clients int) string {
	rate := fmt.Sprintf("%d/s", max(1, d.between(1, 40)/clients))
	switch d.IntN(8) {
	case 0:
		return "{constant: {rate: " + rate + "}}"
	case 1:
		return fmt.Sprintf("{ramping: {startRate: %s, stages: [{duration: %ds, rate: %s}, {duration: 0s, rate: 1/s}]}}", rate, d.between(0, 20), rate)
	case 2:
		return fmt.Sprintf("{onOff: {rate: %s, on: %s, off: %s}}", rate, d.distribution(100, 5000), d.distribution(100, 5000))
	case 3:
		return fmt.Sprintf("{burst: {at: %s, requests: %d, over: %s, every: 5s}}", d.milliseconds(1, 900), d.between(1, 30), d.pick("0s", "10ms", "4s"))
	case 4, 5:
		return fmt.Sprintf("{closed: {concurrency: %d, think: %s}}", d.between(1, 10), d.distribution(50, 5000))
	}
	return "{poisson: {rate: " + rate + "}}"
}

// request draws a request, as an item of several with a weight.
func (d *draw) request(weighted bool) string {
	if d.chance(0.05) && weighted {
		return fmt.Sprintf("{verb: get, path: %s, execution: %s}", d.pick("/healthz", "/readyz", "/version"), d.distribution(0.1, 100))
	}
	kind := kinds[d.IntN(len(kinds))]
	r := list{"resource: " + kind[1]}
	if kind[0] != "" {
		r.add("group: %s", kind[0])
	}
	if kind[1] != "nodes" && d.chance(0.8) {
		r.add("namespace: %s", d.pick("shared", `"ns-{i}"`))
	}
	verb := d.pick("get", "get", "list", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
	r.add("verb: %s", verb)
	timeout := ""
	if d.chance(0.15) {
		timeout = d.pick("timeout=1s", "timeout=500ms", "timeout=30s")
	}
	var query []string
	switch verb {
	case "get", "update", "patch", "delete":
		r.add("name: %s", d.pick("a", "b", `"c-{i}"`))
		if verb == "get" && weighted && d.chance(0.1) {
			return fmt.Sprintf("{verb: get, resource: pods, namespace: shared, name: a, subresource: log, execution: %s}", d.distribution(0.1, 1000))
		} else if d.chance(0.1) {
			r.add("subresource: status")
		}
	case "list":
		query = append(query, d.pick("", "", "resourceVersion=0", "limit=5", "limit=500", "limit=2&resourceVersion=0", "labelSelector=app%3Dweb", "fieldSelector=spec.nodeName%3Dnode-1",
			"fieldSelector=metadata.name%3Da", "resourceVersion=3", "resourceVersion=1000000"))
	case "watch":
		query = append(query, d.pick("", "", "resourceVersion=0", "timeoutSeconds=2", "resourceVersion=2&timeoutSeconds=1", "allowWatchBookmarks=true&timeoutSeconds=70",
			"fieldSelector=spec.nodeName%3Dnode-1", "labelSelector=app%3Dweb&resourceVersion=0"))
		if d.chance(0.7) {
			r.add("watch: {duration: %s}", d.distribution(10, 20000))
		}
	case "deletecollection":
		query = append(query, d.pick("", "limit=3"))
	}
	if timeout != "" && verb != "watch" {
		query = append(query, timeout)
	}
	var given []string
	for _, part := range query {
		if part != "" {
			given = append(given, part)
		}
	}
	if len(given) > 0 {
		r.add("query: %q", strings.Join(given, "&"))
	}
	if d.chance(0.2) && !d.given {
		r.add("calls: %s", d.calls(2))
	}
	if weighted && d.chance(0.5) {
		r.add("weight: %d", d.between(1, 5))
		if d.chance(0.3) {
			r.add("execution: %s", d.distribution(0.1, 3000))
		}
	}
	return r.object()
}

// calls draws the calls of a request, whose callbacks may have calls down to a depth.
func (d *draw) calls(depth int) string {
	var all list
	for i := range d.between(1, 3) {
		call := list{fmt.Sprintf("name: call-%d-%d", d.IntN(1_000_000_000), i), "kind: " + d.pick("Authorization", "MutatingWebhook", "ValidatingWebhook", "ValidatingWebhook", "Conversion")}
		call.add("latency: %s, timeout: %s, failurePolicy: %s", d.distribution(0.1, 3000), d.pick("1s", "5ms", "10s", "30s"), d.pick("Fail", "Ignore"))
		d.callback(&call, depth)
		all.add("%s", call.object())
	}
	if d.chance(0.25) {
		call := list{fmt.Sprintf("name: aggregated-%d", d.IntN(1_000_000_000)), "kind: AggregatedServer", "latency: " + d.distribution(0.1, 2000)}
		d.callback(&call, depth)
		all.add("%s", call.object())
	}
	return all.items()
}

func (d *draw) callback(call *list, depth int) {
	if d.chance(0.5) {
		return
	}
	request := list{"resource: pods", "namespace: shared"}
	switch verb := d.pick("get", "update", "list", "create", "delete"); verb {
	case "list", "create":
		request.add("verb: %s", verb)
	default:
		request.add("verb: %s, name: a", verb)
	}
	if depth > 1 && d.chance(0.25) {
		request.add("calls: %s", d.calls(depth-1))
	}
	back := list{"as: " + d.identity(), "request: " + request.object(), "execution: " + d.distribution(0.1, 2000)}
	if d.chance(0.5) {
		back.add("retry: %s", d.retry())
	}
	if d.chance(0.4) {
		back.add("whenGivenUp: Continue")
	}
	call.add("callback: %s", back.object())
}

// behaving draws clients that behave.
func (d *draw) behaving(w *list) {
	clients, as := d.between(1, 4), d.identity()
	var behaviour string
	start := d.pick("List", "WatchList")
	kind := kinds[d.IntN(len(kinds))]
	resource := "resource: " + kind[1]
	if kind[0] != "" {
		resource += ", group: " + kind[0]
	}
	namespace := ""
	if kind[1] != "nodes" && d.chance(0.7) {
		namespace = ", namespace: shared"
	}
	selected := namespace
	if d.chance(0.3) {
		selected += ", " + d.pick(`fieldSelector: "spec.nodeName=node-{i}"`, `fieldSelector: "metadata.name=a"`, `labelSelector: "app=web"`) + fmt.Sprintf(", matches: %d", d.IntN(500))
	}
	every := d.distribution(50, 5000)
	switch d.IntN(8) {
	case 0:
		perEvent := ""
		if d.chance(0.4) {
			perEvent = ", perEvent: " + d.distribution(0.1, 500)
		}
		behaviour = fmt.Sprintf("informer: {%s%s, start: %s, bookmarks: %v, limit: %d%s}", resource, selected, start, d.chance(0.7), d.number(0, 3, 500), perEvent)
	case 1:
		name := kind[1]
		if kind[0] != "" {
			name += "." + kind[0]
		}
		behaviour = fmt.Sprintf("controller: {watches: %s, start: %s, workers: %d, reconcile: [%s], maxRetries: %d, work: %s}", name, start, d.between(1, 3),
			d.pick("{verb: get, "+resource+"}, {verb: update, "+resource+", subresource: status}", "{verb: patch, "+resource+"}", "{verb: update, "+resource+"}", "{verb: create, resource: configmaps, namespace: shared}",
				"{verb: delete, "+resource+"}"), d.between(0, 3), d.distribution(0.1, 100))
	case 2:
		behaviour = fmt.Sprintf("leaderElection: {lease: kube-system/%s, candidates: %d, leaseDuration: 5s, renewDeadline: 3s, retryPeriod: 1s}", d.pick("a", "b"), d.between(1, 3))
	case 3:
		as = `{node: "node-{i}"}`
		churn := ""
		pods := d.between(0, 5)
		if pods > 0 && d.chance(0.5) {
			churn = ", churn: 0.3/s"
		}
		behaviour = fmt.Sprintf("kubelet: {pods: %d%s, secrets: %d, start: %s}", pods, churn, d.between(0, 2), start)
	case 4:
		with := d.pick("Put", "Patch", "Apply", "Put, version: false", "Apply, force: true")
		behaviour = fmt.Sprintf("writer: {%s%s, objects: %d, with: %s, retryOnConflict: %s, every: %s}", resource, namespace, d.between(1, 4), with, d.pick("None", "Default", "Backoff"), every)
	case 5:
		behaviour = fmt.Sprintf("eventRecorder: {rate: %d/s, objects: %d, reasons: %d}", d.between(1, 5), d.between(1, 5), d.between(1, 12))
	case 6:
		behaviour = fmt.Sprintf(`lister: {%s%s, limit: %d, resourceVersion: "%s", every: %s}`, resource, selected, d.number(0, 3, 500), d.pick("", "0", "2"), every)
	case 7:
		command := d.pick("get", "apply", "apply --server-side", "delete")
		name := ""
		if command != "get" || d.chance(0.5) {
			name = ", name: a"
		}
		behaviour = fmt.Sprintf("kubectl: {command: %s, %s%s%s, every: %s}", command, resource, namespace, name, every)
	}
	w.add("clients: %d, as: %s, behaviour: {%s}", clients, as, behaviour)
	if d.chance(0.15) {
		w.add("execution: %s", d.distribution(0.1, 500))
	}
	if d.chance(0.15) {
		w.add("clientTimeout: %s", d.distribution(1, 20000))
	}
	if d.chance(0.2) {
		w.add("rateLimit: {qps: %d, burst: %d}", d.between(1, 20), d.between(1, 5))
	}
	if d.chance(0.2) {
		w.add("stop: %ds", d.seconds)
	}
}

func (d *draw) number(options ...int) int { return options[d.IntN(len(options))] }

// traceLines draws a trace.
func (d *draw) traceLines() string {
	var s strings.Builder
	atNs := int64(0)
	for i := range d.between(1, 200) {
		atNs += d.Int64N(int64(d.seconds) * 1e9 / 100)
		fmt.Fprintf(&s, `{"id":%d,"arrivalNs":%d,"user":"u-%d","groups":["system:authenticated"]`, i+1, atNs, d.IntN(3))
		kind := kinds[d.IntN(len(kinds))]
		namespace := ""
		if kind[1] != "nodes" {
			namespace = `,"namespace":"shared"`
		}
		fmt.Fprintf(&s, `,"apiGroup":"%s","resource":"%s"%s`, kind[0], kind[1], namespace)
		name := fmt.Sprintf(`,"name":"%s"`, d.pick("a", "b"))
		switch verb := d.pick("get", "list", "watch", "create", "update", "patch", "delete"); verb {
		case "list":
			fmt.Fprintf(&s, `,"verb":"list","query":"%s"`, d.pick("", "limit=5", "resourceVersion=0"))
		case "watch":
			fmt.Fprintf(&s, `,"verb":"watch","watchNs":%d`, d.Int64N(20e9))
		case "create":
			s.WriteString(`,"verb":"create"`)
			if d.store {
				s.WriteString(name + `,"fields":{"color":"red"}`)
			}
		case "update", "patch":
			fmt.Fprintf(&s, `,"verb":"%s"%s`, verb, name)
			if d.store && d.chance(0.5) {
				fmt.Fprintf(&s, `,"fields":{"color":"%d"}`, i)
				if i > 0 && d.chance(0.5) {
					fmt.Fprintf(&s, `,"bodyResourceVersion":"@%d"`, d.between(1, i))
				}
			}
		default:
			fmt.Fprintf(&s, `,"verb":"%s"%s`, verb, name)
		}
		if !d.store || d.chance(0.3) {
			fmt.Fprintf(&s, `,"executionNs":%d`, d.Int64N(1e6)<<d.IntN(11))
		}
		if d.chance(0.1) {
			fmt.Fprintf(&s, `,"server":%d`, d.IntN(d.replicas))
		}
		s.WriteString("}\n")
	}
	return s.String()
}
