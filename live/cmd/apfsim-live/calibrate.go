package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/live/calibrate"
	"apfsim/live/cluster"
	"apfsim/live/load"
	"apfsim/live/measured"
	"apfsim/reports/format"
)

// calibration are the flags of the command calibrate.
type calibration struct {
	kubeconfig, context, out string
	requests                 []string
	step, maxLatency         time.Duration
	maxClients               int
	maxRequests              int64
	yes                      bool
}

func newCalibrateCommand() *cobra.Command {
	var f calibration
	cmd := &cobra.Command{
		Use:   "calibrate --kubeconfig FILE --request REQUEST -o DIR",
		Short: "Measure the capacity of a server, which a scenario takes",
		Long: `Measure how the throughput of a server grows with the number of requests at a time, and write what a
scenario takes as spec.servers.capacity.

1, 2, 4, ... clients send a request each, and the next one when it is answered, until the throughput has
stopped growing, or a bound is reached. Then the same numbers of clients send in the opposite order. It
loads the server as far as --max-latency allows, and sends only requests that read: get and list. It sends
nothing without --yes. It ends when more than 1 % of the requests of a step are slower than --max-latency,
or are answered 429 or 5xx. Send to a cluster only what you may: it is load.

The requests are sent as the user of the kubeconfig file, who should be one whose priority level makes no
request wait, such as a member of system:masters: otherwise the seats of the level are measured, and not the
capacity of the server.

Exit status: 0 the curve is complete, also if it does not show the capacity; 1 it failed or was interrupted;
2 wrong usage, or no --yes.`,
		Example: `  apfsim-live calibrate --kubeconfig kind.kubeconfig --request 'list configmaps -n big' -o capacity
  apfsim-live calibrate --kubeconfig kind.kubeconfig --request 'list pods?resourceVersion=0' \
    --request 'get configmaps settings -n default' --yes -o capacity`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return invalid{fmt.Errorf("%q: calibrate has no arguments; use --request 'list configmaps -n big', with quotation marks", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig `FILE` of the cluster; there is no default")
	cmd.Flags().StringVar(&f.context, "context", "", "the `CONTEXT` of the file, instead of its current one")
	cmd.Flags().StringArrayVar(&f.requests, "request", nil, "`REQUEST` to send: 'list RESOURCE[.GROUP][?QUERY] [-n NAMESPACE]', or get with a NAME after the resource; of several, each client sends one after the other")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "write capacity.yaml and calibration.json to the folder `DIR`")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "send the requests; without it, they are only printed")
	cmd.Flags().DurationVar(&f.step, "step", 5*time.Second, "measure each number of clients for this `TIME`")
	cmd.Flags().DurationVar(&f.maxLatency, "max-latency", time.Second, "go no further when the latency is longer than this `TIME` at p99")
	cmd.Flags().IntVar(&f.maxClients, "max-clients", 64, "go no further than `N` clients")
	cmd.Flags().Int64Var(&f.maxRequests, "max-requests", 50_000, "stop after `N` requests")
	return cmd
}

func (f *calibration) check() error {
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if f.kubeconfig == "" {
		fail("--kubeconfig: is not given; use the kubeconfig file of the cluster")
	}
	if f.out == "" {
		fail("--out: is not given; use -o DIR, the folder for the results")
	}
	if len(f.requests) == 0 {
		fail("--request: is not given; use --request 'list configmaps -n big', for example")
	}
	if f.step < 100*time.Millisecond || f.step > 10*time.Minute {
		fail("--step: %v: want 100ms to 10m", f.step)
	}
	if f.maxLatency < time.Millisecond || f.maxLatency > time.Minute {
		fail("--max-latency: %v: want 1ms to 1m", f.maxLatency)
	}
	if f.maxClients < 1 || f.maxClients > 10_000 {
		fail("--max-clients: %d: want 1 to 10000", f.maxClients)
	}
	if f.maxRequests < 1 {
		fail("--max-requests: %d: want 1 or more", f.maxRequests)
	}
	return errors.Join(wrong...)
}

// readRequest reads the text of a request: VERB RESOURCE[.GROUP][/SUBRESOURCE][?QUERY] [NAME] [-n NAMESPACE].
func readRequest(text string) (a classify.Attributes, query string, err error) {
	words := strings.Fields(text)
	var named []string
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case (w == "-n" || w == "--namespace") && i+1 < len(words):
			i++
			a.Namespace = words[i]
		case strings.HasPrefix(w, "-"):
			return a, "", fmt.Errorf("%q: %s is not supported; use VERB RESOURCE[?QUERY] [NAME] [-n NAMESPACE]", text, w)
		default:
			named = append(named, w)
		}
	}
	if len(named) < 2 || len(named) > 3 {
		return a, "", fmt.Errorf("%q: want VERB RESOURCE[?QUERY] [NAME] [-n NAMESPACE], such as 'list configmaps -n big'", text)
	}
	a.Verb = named[0]
	resource, query, _ := strings.Cut(named[1], "?")
	r := request.ParseResource(resource)
	a.Resource, a.APIGroup, a.Subresource = r.Name, r.Group, r.Subresource
	if known := request.FindResource(r.Name, r.Group); known != nil {
		a.Resource, a.APIGroup = known.Name, known.Group
	}
	if len(named) == 3 {
		a.Name = named[2]
	}
	switch {
	case a.Verb != "list" && a.Verb != "get":
		return a, "", fmt.Errorf("%q: %s is not sent; use list or get, which read and end", text, a.Verb)
	case a.Verb == "get" && a.Name == "":
		return a, "", fmt.Errorf("%q: get needs the name of an object; use 'get %s NAME', or list", text, named[1])
	case a.Verb == "list" && a.Name != "":
		return a, "", fmt.Errorf("%q: list has no name of an object; use 'get %s %s', or list without the name", text, named[1], a.Name)
	}
	return a, query, nil
}

// target is what is measured.
type target struct {
	attributes []classify.Attributes
	queries    []string
	calls      []*load.Call
}

// readTarget reads the requests. All that is wrong with them is reported together.
func (f *calibration) readTarget() (*target, error) {
	t := &target{}
	var wrong []error
	calls := load.Calls{Self: true}
	for _, text := range f.requests {
		a, query, err := readRequest(text)
		if err == nil {
			var call *load.Call
			call, err = calls.Of(&a, query)
			t.calls = append(t.calls, call)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--request: %w", err))
		}
		t.attributes, t.queries = append(t.attributes, a), append(t.queries, query)
	}
	return t, errors.Join(wrong...)
}

func (f *calibration) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return invalid{err}
	}
	t, err := f.readTarget()
	if err != nil {
		return invalid{err}
	}
	c, err := cluster.Open(f.kubeconfig, f.context, false)
	if err != nil {
		return invalid{err}
	}
	if err := measured.CheckEmpty(f.out); err != nil {
		return invalid{err}
	}
	ctx, stdout := cmd.Context(), cmd.OutOrStdout()
	if err := f.print(stdout, c, t); err != nil {
		return err
	}
	if !f.yes {
		return invalid{errors.New("nothing was sent; use --yes to send the requests above")}
	}
	return f.measure(ctx, stdout, cmd.ErrOrStderr(), c, t)
}

// print prints what will be sent, and where.
func (f *calibration) print(w io.Writer, c *cluster.Cluster, t *target) error {
	steps := 0
	for n := 1; n <= f.maxClients; n *= 2 {
		steps++
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "server\t%s\n", c.Server)
	if c.Proxy != "" {
		fmt.Fprintf(out, "proxy\t%s\n", c.Proxy)
	}
	fmt.Fprintf(out, "context\t%s, user %s, in %s\n", c.Context, c.User, c.File)
	for i, call := range t.calls {
		name := ""
		if i == 0 {
			name = "requests"
		}
		fmt.Fprintf(out, "%s\t%s %s\n", name, call.Method, format.Printable(call.URL()))
	}
	fmt.Fprintf(out, "clients\t1, 2, 4, ..., at most %d, each with one request at a time\n", f.maxClients)
	fmt.Fprintf(out, "bounds\tat most %s, %d requests, and a latency of %s at p99\n",
		format.Duration(float64(2*time.Duration(steps)*f.step)), f.maxRequests, format.Duration(float64(f.maxLatency)))
	fmt.Fprintf(out, "writes\tthere are none\n")
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\nThe server is loaded until its throughput stops growing: other clients of it have to wait meanwhile. The user of the\n"+
		"context also reads /version, the lists of resources, the objects of flow control, and /metrics before and after each step.\n")
	return err
}

// measure sends the requests and writes what was measured.
func (f *calibration) measure(ctx context.Context, stdout, stderr io.Writer, c *cluster.Cluster, t *target) error {
	version, err := c.Version(ctx)
	if err != nil {
		return err
	}
	calls := load.Calls{Self: true}
	var needed []cluster.GroupResource
	for i := range t.attributes {
		a := &t.attributes[i]
		needed = append(needed, cluster.GroupResource{Group: a.APIGroup, Resource: request.JoinSubresource(a.Resource, a.Subresource)})
	}
	if calls.Resources, err = c.Resources(ctx, needed); err != nil {
		return err
	}
	for i := range t.attributes {
		if t.calls[i], err = calls.Of(&t.attributes[i], t.queries[i]); err != nil {
			return invalid{fmt.Errorf("--request: %w", err)}
		}
	}
	s := &schemas{cluster: c, seen: map[string]bool{}}
	names, namesErr := c.FlowControl(ctx)
	s.names = names
	clients := make([]*http.Client, f.maxClients) // each with a connection, as those of a cluster have
	defer func() {
		for _, client := range clients {
			if client != nil {
				client.CloseIdleConnections()
			}
		}
	}()
	o := calibrate.Options{Step: f.step, MaxLatency: f.maxLatency, MaxClients: f.maxClients, MaxRequests: f.maxRequests}
	o.Send = func(ctx context.Context, client, number int) load.Answer {
		if clients[client] == nil {
			own, err := c.NewClient()
			if err != nil {
				return load.Answer{Err: err}
			}
			clients[client] = own
		}
		a := load.Send(ctx, clients[client], c.Server, t.calls[(client+number)%len(t.calls)], 0, nil)
		s.note(a.SchemaUID)
		return a
	}
	o.Began = func(clients int) {
		fmt.Fprintf(stderr, "apfsim-live: %d %s for %s; Ctrl-C stops it\n", clients, map[bool]string{true: "client", false: "clients"}[clients == 1], f.step)
	}
	// One request of each kind shows that it is answered, and its FlowSchema.
	for i := range t.calls {
		limited, cancel := context.WithTimeout(ctx, 2*f.maxLatency)
		a := o.Send(limited, 0, i)
		cancel()
		switch {
		case ctx.Err() != nil:
			return calibrate.ErrInterrupted
		case a.Err != nil:
			return fmt.Errorf("%s %s: %w", t.calls[i].Method, t.calls[i].URL(), a.Err)
		case a.Status != 200:
			return fmt.Errorf("%s %s: status %d; want a request that is answered with 200", t.calls[i].Method, t.calls[i].URL(), a.Status)
		}
	}
	m := &calibrate.Measurement{Server: c.Server.String(), Version: version, StartedAt: time.Now().UTC()}
	for _, call := range t.calls {
		m.Requests = append(m.Requests, call.Method+" "+call.URL())
	}
	if len(t.attributes) == 1 {
		m.Request = &t.attributes[0]
	}
	unknown := namesErr
	if unknown == nil {
		_, unknown = s.counters(ctx)
	}
	if unknown == nil {
		o.Observe = s.counters
	}
	var runErr error
	m.Curve, runErr = calibrate.Run(ctx, o)
	if unknown != nil {
		m.Notes = append(m.Notes, fmt.Sprintf("the server does not say how long requests executed and waited, and latencies are taken instead: %v", unknown))
	}
	if fitErr := m.Fit(); fitErr != nil {
		if len(m.Steps) > 0 {
			fitErr = errors.Join(m.Print(stdout), fitErr)
		}
		return cmp.Or(runErr, fitErr)
	}
	if err := m.Write(f.out); err != nil {
		return err
	}
	if err := m.Print(stdout); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "apfsim-live: wrote %s\n", filepath.Join(f.out, calibrate.CapacityFile))
	return runErr
}

// schemas are the FlowSchemas that classified the requests.
type schemas struct {
	cluster *cluster.Cluster
	names   *cluster.FlowControl

	mu   sync.Mutex
	seen map[string]bool // names
}

// note takes note of the FlowSchema of an answer.
func (s *schemas) note(uid string) {
	if s.names == nil || uid == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[s.names.Schemas[uid].Name] = true
}

// counters returns what the server has counted of these FlowSchemas.
func (s *schemas) counters(ctx context.Context) (c calibrate.Counters, err error) {
	text, err := s.cluster.Metrics(ctx)
	if err != nil {
		return c, err
	}
	return calibrate.ReadCounters(text, func(schema string) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.seen[schema]
	})
}
