// Package load sends the requests of a scenario to a cluster in real time. The clients are those of a
// simulation, package workload: with the same seed they draw the same requests, at the same times in an open
// loop. Only the clock and the server are real.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"apfsim/core/classify"
	"apfsim/document"
	"apfsim/live/cluster"
	"apfsim/reports/format"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Plan is what will be sent, as far as that is known before: the requests of a simulation of the scenario.
type Plan struct {
	Scenario *scenario.Scenario
	Most     int64 // requests that may be sent
	Writes   bool

	Workloads []Workload
	Needed    []cluster.GroupResource // the resources that the server must have, in the order of the workloads
	BoundNs   int64                   // when Most is reached; 0 if it is not

	// Extensions are the API groups of resources that are written and are not part of Kubernetes: those of custom
	// resources, for which kube-apiserver carries out a dry run, and of aggregated API servers.
	Extensions []string
	written    bool // whether there are writes of resources
}

// Workload is what will be sent of a workload.
type Workload struct {
	Name     string
	Clients  int
	Closed   bool
	Requests int64 // of the simulation, up to Most of all workloads
	Users    []string
	Lines    []string // method and path of each kind of request of the first client
}

// usersKept is how many users of a workload a plan names.
const usersKept = 2

// NewPlan simulates a scenario to see what it sends. The error has all requests that cannot be sent.
func NewPlan(ctx context.Context, sc *scenario.Scenario, maxRequests int64, writes bool) (*Plan, error) {
	p := &Plan{Scenario: sc, Most: maxRequests, Writes: writes}
	calls := &Calls{Writes: writes}
	var wrong document.Errors
	for i := range sc.Spec.Workload {
		described := &sc.Spec.Workload[i]
		w := Workload{Name: described.Name, Clients: described.Clients, Closed: described.Arrivals.Closed != nil}
		if described.Arrivals.Trace == nil {
			for k := range described.Requests {
				a, query := described.Requests[k].Request.Attributes(&described.As, 0)
				if call, err := calls.Of(&a, query); err != nil {
					at := requestPath(sc, i, k)
					wrong.Add(position(sc, at), at, "%v", err)
				} else {
					p.add(&w, &a, call)
				}
			}
			for i := range min(described.Clients, usersKept) {
				user, _ := described.As.For(i)
				if !slices.Contains(w.Users, user) {
					w.Users = append(w.Users, user)
				}
			}
		} else if err := p.readTrace(ctx, described.Arrivals.Trace, calls, &wrong); err != nil {
			return nil, err
		}
		p.Workloads = append(p.Workloads, w)
	}
	if len(wrong) > 0 {
		return nil, shortened(wrong)
	}
	sent := int64(0)
	running, enough := context.WithCancel(ctx)
	defer enough()
	checked := map[*server.Template]bool{}
	run := sim.New(sc)
	run.Observe(server.Observer{Arrived: func(nowNs int64, r *server.Request) {
		if sent == maxRequests {
			if p.BoundNs == 0 {
				p.BoundNs = max(1, nowNs)
				enough()
			}
			return
		}
		sent++
		w := &p.Workloads[r.Workload]
		w.Requests++
		if checked[r.Template] {
			return
		}
		if len(checked) == callsKept {
			clear(checked)
		}
		checked[r.Template] = true
		call, err := calls.Of(&r.Attributes, r.Query)
		if err != nil { // of a behaviour, or of a client other than the first one
			at := document.Index("spec.workload", r.Workload)
			wrong.Add(position(sc, at), at, "%v", err)
			return
		}
		p.add(w, &r.Attributes, call)
		if len(w.Users) < usersKept && !slices.Contains(w.Users, r.Attributes.User) {
			w.Users = append(w.Users, r.Attributes.User)
		}
	}})
	if err := run.Execute(running, nil); err != nil && (ctx.Err() != nil || running.Err() == nil) {
		return nil, err
	}
	if len(wrong) > 0 {
		return nil, shortened(wrong)
	}
	return p, nil
}

// add adds a kind of request to what is sent of a workload.
func (p *Plan) add(w *Workload, a *classify.Attributes, call *Call) {
	if r := resourceOf(a); a.IsResource() && !slices.Contains(p.Needed, r) {
		p.Needed = append(p.Needed, r)
	}
	if a.IsResource() && call.Method != http.MethodGet {
		p.written = true
		if g := a.APIGroup; strings.Contains(g, ".") && !strings.HasSuffix(g, ".k8s.io") && !slices.Contains(p.Extensions, g) {
			p.Extensions = append(p.Extensions, g)
		}
	}
	if line := call.Method + " " + call.URL(); len(w.Lines) < 100 && !slices.Contains(w.Lines, line) {
		w.Lines = append(w.Lines, line)
	}
}

// readTrace adds an error for each line of a trace whose request is not sent, up to as many lines as may be sent.
func (p *Plan) readTrace(ctx context.Context, t *workload.TraceArrivals, calls *Calls, wrong *document.Errors) error {
	reader, err := t.Open()
	if err != nil {
		return err
	}
	defer reader.Close()
	reader.Stored = p.Scenario.Spec.Store != nil
	type kind struct{ user, groups, verb, group, resource, subresource, namespace, name, path, query string }
	checked := map[kind]bool{}
	for n := int64(0); n < p.Most && ctx.Err() == nil; n++ {
		r, ok, err := reader.Next()
		var line document.Error
		switch {
		case errors.As(err, &line):
			*wrong = append(*wrong, line)
			continue
		case err != nil:
			return err
		case !ok || r.ArrivalNs >= int64(p.Scenario.Spec.Duration):
			return nil
		}
		k := kind{r.User, strings.Join(r.Groups, "\n"), r.Verb, r.APIGroup, r.Resource, r.Subresource, r.Namespace, r.Name, r.Path, r.Query}
		if checked[k] {
			continue
		}
		if len(checked) == callsKept {
			clear(checked)
		}
		checked[k] = true
		a := r.Attributes()
		if _, err := calls.Of(&a, r.Query); err != nil {
			wrong.Add(document.Position{File: t.Path, Line: reader.Line()}, "", "%v", err)
		}
	}
	return ctx.Err()
}

// requestPath returns the path of a workload's request in the scenario file.
func requestPath(sc *scenario.Scenario, workload, request int) string {
	at := document.Index("spec.workload", workload)
	if one := at + ".request"; sc.Document != nil && position(sc, one) != position(sc, at) {
		return one
	}
	return document.Index(at+".requests", request)
}

func position(sc *scenario.Scenario, path string) document.Position {
	if sc.Document == nil {
		return document.Position{File: sc.File}
	}
	return sc.Document.Position(path)
}

// mostErrors is how many errors of a plan are listed.
const mostErrors = 20

func shortened(wrong document.Errors) error {
	wrong = wrong.Sorted()
	if more := len(wrong) - mostErrors; more > 0 {
		return fmt.Errorf("%w\nand %d more", wrong[:mostErrors], more)
	}
	return wrong
}

// Requests returns how many requests are expected.
func (p *Plan) Requests() (n int64) {
	for i := range p.Workloads {
		n += p.Workloads[i].Requests
	}
	return n
}

// linesShown is how many kinds of requests of a workload are printed.
const linesShown = 4

// Print prints what will be sent, and where.
func (p *Plan) Print(w io.Writer, c *cluster.Cluster) error {
	sc := p.Scenario
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "server\t%s\n", c.Server)
	if c.Proxy != "" {
		fmt.Fprintf(out, "proxy\t%s\n", c.Proxy)
	}
	fmt.Fprintf(out, "context\t%s, user %s, in %s\n", c.Context, c.User, c.File)
	fmt.Fprintf(out, "scenario\t%s, seed %d, for %s\n", sc.Metadata.Name, sc.Spec.Seed, time.Duration(sc.Spec.Duration))
	fmt.Fprintf(out, "requests\t%d expected, at most %d are sent\n", p.Requests(), p.Most)
	writes := "none lasts: each has dryRun=All"
	switch {
	case p.Writes:
		writes = "CARRIED OUT: the objects of the cluster are changed and deleted"
	case !p.written:
		writes = "there are none"
	case len(p.Extensions) > 0:
		writes = fmt.Sprintf("each has dryRun=All; none lasts, unless an aggregated API server serves %s and ignores dryRun", strings.Join(p.Extensions, ", "))
	}
	fmt.Fprintf(out, "writes\t%s\n", writes)
	fmt.Fprintf(out, "\nworkload\trequests\tclients\timpersonated users\tsent\n")
	for i := range p.Workloads {
		w := &p.Workloads[i]
		expected := fmt.Sprint(w.Requests)
		if w.Closed {
			expected = "about " + expected
		}
		more := ""
		if n := w.Clients - len(w.Users); n > 0 && len(w.Users) == usersKept {
			more = fmt.Sprintf(" and %d more", n)
		}
		for k, line := range w.Lines {
			if k == linesShown {
				fmt.Fprintf(out, "\t\t\t\tand %d more\n", len(w.Lines)-k)
				break
			}
			if k == 0 {
				fmt.Fprintf(out, "%s\t%s\t%d\t%s%s\t%s\n", format.Printable(w.Name), expected, w.Clients, format.Printable(strings.Join(w.Users, ", ")), more, format.Printable(line))
			} else {
				fmt.Fprintf(out, "\t\t\t\t%s\n", format.Printable(line))
			}
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if p.BoundNs > 0 {
		fmt.Fprintf(w, "The bound of %d requests is reached after about %s. Nothing is sent after that.\n", p.Most, format.Duration(float64(p.BoundNs)))
	}
	_, err := fmt.Fprint(w, `The numbers of requests are those of a simulation. Retries and closed loops depend on the answers of the server.
The execution times and the flow-control configuration of the scenario are not used: requests execute as long as
the server needs, under its own FlowSchemas and priority levels. The user of the context also reads /version, the
lists of resources, the objects of flow control, and /metrics a few times.
`)
	return err
}
