package workload

import (
	"slices"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/sim/quantity"
)

// calls checks the calls that servers make while they execute a request.
func (c *checker) calls(path string, r *Request) {
	if len(r.Calls) > mostCalls {
		c.Fail(path, "%d calls: want at most %d", len(r.Calls), mostCalls)
		return
	}
	first := map[string]int{}
	aggregated := -1
	for i := range r.Calls {
		call, at := &r.Calls[i], document.Index(path, i)
		c.call(at, r, call)
		if j, found := first[call.Name]; found && call.Name != "" {
			c.Fail(at+".name", "duplicate name %q (first used by %s)", document.Abridge(call.Name), document.Index(path, j))
		} else {
			first[call.Name] = i
		}
		if call.Kind == AggregatedServer {
			if aggregated >= 0 {
				c.Fail(at+".kind", "%s is already that of %s; want one, because a request is passed on to one server",
					AggregatedServer, document.Index(path, aggregated))
			}
			aggregated = i
		}
	}
}

// call checks a call that is made during the execution of r.
func (c *checker) call(path string, r *Request, call *Call) {
	c.workloadName(path+".name", call.Name)
	switch call.Kind {
	case AggregatedServer:
		if call.Timeout != 0 {
			c.Fail(path+".timeout", "cannot be set with kind %s; the server waits for it until the deadline of the request", call.Kind)
		}
		if call.FailurePolicy == Ignore {
			c.Fail(path+".failurePolicy", "%s: cannot be set with kind %s, whose answer is that of the request", Ignore, call.Kind)
		}
	case MutatingWebhook, ValidatingWebhook:
		if !r.isAdmitted() {
			c.Warn(path+".kind", "%s: a server calls no admission webhook for verb %s", call.Kind, document.Abridge(r.Verb))
		}
		// k8s.io/kubernetes/pkg/apis/admissionregistration/validation
		if t := call.Timeout; t < quantity.Duration(time.Second) || t > quantity.Duration(30*time.Second) || t%quantity.Duration(time.Second) != 0 {
			c.Warn(path+".timeout", "%v: Kubernetes accepts whole seconds from 1s to 30s", t)
		}
	}
	back := call.Callback
	if back == nil {
		return
	}
	path += ".callback"
	c.senders(path, &Workload{As: back.As})
	c.request(path+".request", &back.Request)
	c.retry(path+".retry", &back.Retry)
	if back.Request.isWatch() {
		c.Fail(path+".request.verb", "watch: who is called would wait until the watch ends; want another verb")
	}
}

// isAdmitted says whether admission sees the request: it changes objects, or connects to one.
func (r *Request) isAdmitted() bool {
	return r.Resource != "" &&
		(!slices.Contains([]string{"get", "list", "watch"}, r.Verb) ||
			slices.Contains([]string{"attach", "exec", "portforward", "proxy"}, r.Subresource))
}

// callbacks checks the names of the workloads that AddCallbacks has added: two calls of the same name
// are calls of the same webhook, and their callbacks are counted together.
func (c *checker) callbacks(path string, all []Workload) {
	for i := range all {
		if all[i].Callback {
			continue // its calls are within those of the workload that causes it
		}
		first := map[string]*Callback{}
		for j := range all[i].Requests {
			at := document.Index(path, i) + ".request"
			if !all[i].single {
				at = document.Index(document.Index(path, i)+".requests", j)
			}
			for k, call := range all[i].Requests[j].Calls {
				same := first[call.Name]
				switch {
				case call.Callback == nil:
				case same == nil:
					first[call.Name] = call.Callback
				case !same.equals(call.Callback):
					c.Fail(document.Index(at+".calls", k)+".callback", "is another than that of the call %q of another request of this workload; want the same, or another name",
						document.Abridge(call.Name))
				}
			}
		}
	}
}

// workloadName checks the name of a workload, or of a part of one.
func (c *checker) workloadName(path, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		c.Fail(path, "is missing")
	case strings.ContainsAny(name, "{},\"") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		c.Fail(path, "%q: want no braces, commas, quotes or control characters", document.Abridge(name))
	}
}
