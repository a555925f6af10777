package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/live/cluster"
	"apfsim/live/load"
	"apfsim/live/measured"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

func (f *flags) check() error {
	var wrong []error
	if f.kubeconfig == "" {
		wrong = append(wrong, errors.New("--kubeconfig: is not given; use the kubeconfig file of the cluster"))
	}
	if f.out == "" {
		wrong = append(wrong, errors.New("--out: is not given; use -o DIR, the folder for the results"))
	}
	if f.maxRequests < 1 {
		wrong = append(wrong, fmt.Errorf("--max-requests: %d: want 1 or more", f.maxRequests))
	}
	return errors.Join(wrong...)
}

func (f *flags) run(cmd *cobra.Command, arg string) error {
	if err := f.check(); err != nil {
		return invalid{err}
	}
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	sc, err := experiment.LoadOne(arg, loader.Options{Set: assign.New("--set", f.set)})
	if err != nil {
		return invalid{err}
	}
	if sc.Spec.Warmup.Auto {
		return invalid{errors.New("spec.warmup: auto: the warm-up on a cluster must be known before the first request; use --set spec.warmup=10s, for example that of 'apfsim run'")}
	}
	if cmd.Flags().Changed("seed") {
		sc.Spec.Seed = f.seed
	}
	c, err := cluster.Open(f.kubeconfig, f.context, f.writes)
	if err != nil {
		return invalid{err}
	}
	if err := measured.CheckFolder(f.out, sc.Metadata.Name); err != nil {
		return invalid{err}
	}
	plan, err := load.NewPlan(ctx, sc, f.maxRequests, f.writes)
	if err != nil {
		return invalid{err}
	}
	if err := plan.Print(stdout, c); err != nil {
		return err
	}
	if !f.yes {
		return invalid{errors.New("nothing was sent; use --yes to send the requests above")}
	}
	return f.send(ctx, stdout, stderr, sc, c, plan)
}

// send sends the load and writes the results.
func (f *flags) send(ctx context.Context, stdout, stderr io.Writer, sc *scenario.Scenario, c *cluster.Cluster, plan *load.Plan) error {
	r := &measured.Run{Scenario: sc}
	m := &r.Measurement
	m.Server, m.Context, m.MostRequests, m.DryRun = c.Server.String(), c.Context, f.maxRequests, !f.writes
	var err error
	if m.Version, err = c.Version(ctx); err != nil {
		return err
	}
	options := load.Options{Client: c.Client(), Server: c.Server, Most: f.maxRequests, Drain: time.Duration(sc.Spec.Servers.RequestTimeout),
		Calls: load.Calls{Writes: f.writes}}
	if options.Calls.Resources, err = c.Resources(ctx, plan.Needed); err != nil {
		return err
	}
	if r.Names, err = c.FlowControl(ctx); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the FlowSchemas and priority levels of the requests are not known: %v", err))
	}
	observing := observe(c, time.Duration(sc.Spec.Warmup.Duration))
	options.Begun, options.Ended = observing.begin, observing.end
	fmt.Fprintf(stderr, "apfsim-live: sending for %s; Ctrl-C stops it\n", time.Duration(sc.Spec.Duration))
	var runErr error
	r.Result, runErr = load.Run(ctx, sc, options)
	observing.result(r)
	if runErr != nil {
		return invalid{runErr}
	}
	stopped := r.Result.Stopped
	if len(r.Result.Requests) == 0 && stopped != nil {
		return explained(stopped, c)
	}
	summary := r.Summary()
	if err := r.Write(f.out, summary); err != nil {
		return err
	}
	if err := printResults(stdout, r, summary); err != nil {
		return err
	}
	folder := output.Folder(f.out, sc.Metadata.Name)
	fmt.Fprintf(stderr, "apfsim-live: wrote the results to %s; compare them with 'apfsim compare RESULTS %s'\n", folder, folder)
	if stopped != nil && !errors.Is(stopped, load.ErrMost) {
		return explained(stopped, c)
	}
	return nil
}

// explained adds what to do to the reason why a run was stopped.
func explained(stopped error, c *cluster.Cluster) error {
	if !errors.Is(stopped, load.ErrForbidden) {
		return stopped
	}
	return fmt.Errorf(`%w
the user %q of %s needs a ClusterRole with this rule, and a ClusterRoleBinding to it:
  - apiGroups: [""]
    resources: [users, groups, serviceaccounts]
    verbs: [impersonate]`, stopped, c.User, c.File)
}

// printResults prints what came back, by workload.
func printResults(w io.Writer, r *measured.Run, s *measured.Summary) error {
	fmt.Fprintln(w)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "workload\tsent\texecuted\trejected\tunanswered\tretries\tlatency p50\tlatency p99\tanswers by status\n")
	for i := range s.Workloads {
		g := &s.Workloads[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", format.Printable(g.Name), g.Arrived, g.Executed, g.Rejected, g.Unanswered, g.Retries,
			percentile(g.Latency, func(d *result.Distribution) int64 { return d.P50Ns }),
			percentile(g.Latency, func(d *result.Distribution) int64 { return d.P99Ns }), statuses(r.Measurement.Statuses[g.Name]))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	m := &r.Measurement
	fmt.Fprintf(w, "\nRequests were sent late by %s at p50, %s at p99.\n", format.Duration(float64(m.Lateness.P50Ns)), format.Duration(float64(m.Lateness.P99Ns)))
	if m.Metrics.Note != "" {
		fmt.Fprintf(w, "metrics: %s\n", m.Metrics.Note)
	}
	fmt.Fprintln(w, "For spec.servers of a scenario:")
	if p := m.Servers.AdjustmentPhase; p != "" {
		found := m.Servers.AdjustmentPhaseRange
		fmt.Fprintf(w, "  adjustmentPhase: %s  # between %s and %s\n", p, format.Duration(float64(found.FromNs)), format.Duration(float64(found.ToNs)))
	} else {
		fmt.Fprintf(w, "  adjustmentPhase is not measured: %s\n", m.Servers.AdjustmentPhaseNote)
	}
	fmt.Fprintf(w, "  handover is not measured: %s\n", m.Servers.HandoverNote)
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "warning: %s\n", format.Printable(warning))
	}
	return nil
}

func percentile(d *result.Distribution, value func(*result.Distribution) int64) string {
	if d == nil {
		return "-"
	}
	return format.Duration(float64(value(d)))
}

// statuses writes counts by status, in the order of the statuses.
func statuses(counts map[string]int64) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s: %d", status, counts[status]))
	}
	return strings.Join(parts, ", ")
}
