package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/experiment/evidence"
	"apfsim/experiment/incident"
	"apfsim/internal/atomicfile"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
)

// debugPath is where kube-apiserver serves the dumps of its flow control.
const debugPath = "/debug/api_priority_and_fairness/"

// The dumps, of which that of requests has their users, verbs and paths, too.
const (
	levelsDump   = "dump_priority_levels"
	queuesDump   = "dump_queues"
	requestsDump = "dump_requests"
	withDetails  = "?includeRequestDetails=1"
)

// newCollect returns the command that writes a bundle for diagnose.
func newCollect(k *kubectl) *cobra.Command {
	var out string
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Write what a server reports of its flow control to a file for diagnose",
		Long: `Write an archive of what a server reports of its flow control: its version, the FlowSchemas and priority
levels, its metrics twice, and its dumps between them. 'apfsim diagnose' reads it.

The archive has nothing secret in it: of the objects, only their names and their specs; of the metrics, only
those of API requests, of etcd and of the process; and of the requests in flight, their users, verbs and paths. What
the user of the kubeconfig may not read is left out, and a message says so.`,
		Example: `  apfsim collect -o bundle.tar.gz
  apfsim diagnose bundle.tar.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval <= 0 {
				return invalid(fmt.Errorf("--interval: %s: want more than 0", interval))
			}
			if out == "" || out == "-" {
				return invalid(fmt.Errorf("--out: %q: want the name of a file", out))
			}
			if _, err := os.Lstat(out); err == nil {
				return invalid(fmt.Errorf("--out: %s: exists already; want the name of a new file", out))
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			cmd.SetContext(ctx)
			var p paths
			p.file("out", out)
			var made atomicfile.Set
			defer made.Discard()
			if err := p.prepare(cmd, &made); err != nil {
				return err
			}
			text, n, err := k.bundle(cmd, interval)
			switch {
			case ctx.Err() != nil:
				return errors.New("interrupted; nothing was written")
			case err != nil:
				return err
			}
			if err := made.Write(out, text); err != nil {
				return err
			}
			if err := made.Commit(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: wrote %s to %s; next: kubectl apf diagnose %s\n", format.Counted(n, "file"), out, out)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "bundle.tar.gz", "`FILE` that the archive is written to")
	f.DurationVar(&interval, "interval", 30*time.Second, "`DURATION` between the two scrapes of the metrics")
	return cmd
}

// bundle returns the archive and how many files it has.
func (k *kubectl) bundle(cmd *cobra.Command, interval time.Duration) (text []byte, n int, err error) {
	var all bytes.Buffer
	packed := gzip.NewWriter(&all)
	archive := tar.NewWriter(packed)
	missing := false
	add := func(name string, only func([]byte) ([]byte, error), args ...string) {
		if missing {
			return
		}
		text, err := k.output(cmd, args...)
		missing = errors.Is(err, exec.ErrNotFound) // which the error below says once
		if err == nil {
			text, err = only(text)
		}
		if err == nil {
			if err = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err == nil {
				_, err = archive.Write(text)
			}
		}
		if err != nil {
			if cmd.Context().Err() == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %s is left out: %v\n", name, err)
			}
			return
		}
		n++
	}
	add("version.json", only(incident.Version), "get", "--raw", "/version")
	add("objects.yaml", onlySpecs, "get", flowControlObjects, "-o", "yaml")
	add("metrics-1.txt", onlyServers, "get", "--raw", "/metrics")
	began := time.Now()
	add(levelsDump+".csv", only(incident.DumpLevels), "get", "--raw", debugPath+levelsDump)
	add(queuesDump+".csv", only(incident.DumpQueues), "get", "--raw", debugPath+queuesDump)
	add(requestsDump+".csv", only(incident.DumpRequests), "get", "--raw", debugPath+requestsDump+withDetails)
	if n == 0 {
		return nil, 0, errors.New("the server answers nothing of what is collected")
	}
	wait(cmd.Context(), interval-time.Since(began))
	add("metrics-2.txt", onlyServers, "get", "--raw", "/metrics")
	err = errors.Join(archive.Close(), packed.Close()) // which write to all
	return all.Bytes(), n, err
}

// wait returns when a time has passed, or the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// only checks that a text is of a kind.
func only(kind incident.Kind) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		if is := evidence.Recognize(text); is != kind {
			return nil, fmt.Errorf("the answer is %s, and not %s", evidence.Words(is), evidence.Words(kind))
		}
		return text, nil
	}
}

// onlySpecs returns objects without their annotations, labels, status and managed fields.
func onlySpecs(text []byte) ([]byte, error) {
	docs, errs := yaml.Parse("the output of kubectl", text)
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

// onlyServers returns the lines of the metrics of API requests, of etcd and of the process.
func onlyServers(text []byte) ([]byte, error) {
	var kept bytes.Buffer
	for line := range bytes.Lines(text) {
		name := bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("# HELP ")), []byte("# TYPE "))
		for _, prefix := range []string{"apiserver_", "etcd_", "process_", "rest_client_", "kubernetes_build_info"} {
			if bytes.HasPrefix(name, []byte(prefix)) {
				kept.Write(line)
			}
		}
	}
	if kept.Len() == 0 {
		return nil, errors.New("the answer has no metrics of a kube-apiserver")
	}
	_, err := metrics.Read(bytes.NewReader(kept.Bytes()), metrics.FlowControl)
	return kept.Bytes(), err
}

// newWho returns the command that says whose requests are queued and execute now.
func newWho(k *kubectl) *cobra.Command {
	flags := diagnoseFlags{form: "text"}
	cmd := &cobra.Command{
		Use:   "who",
		Short: "Say whose requests wait and execute now",
		Long: `Say whose requests wait and execute at this moment, who shares whose queues, and what may help: the diagnosis of
the dumps of one server. It is a moment: repeat it if nothing waits.`,
		Example: `  apfsim who
  apfsim who -v`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []evidence.File
			for _, name := range []string{levelsDump, queuesDump, requestsDump + withDetails} {
				text, err := k.output(cmd, "get", "--raw", debugPath+name)
				if err != nil {
					return err
				}
				all = append(all, evidence.File{
					Name: strings.TrimSuffix(name, withDetails), Kind: evidence.Recognize(text),
					Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
				})
			}
			return runEvidence(cmd, all, nil, &flags)
		},
	}
	cmd.Flags().BoolVarP(&flags.verbose, "verbose", "v", false, "list all levels and flows")
	cmd.Flags().StringVarP(&flags.out, "out", "o", "", "write a page and a file for programs to `DIR`")
	return cmd
}

// newTop returns the command that displays the levels again and again.
func newTop(k *kubectl) *cobra.Command {
	var interval time.Duration
	var times int
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Display the priority levels, again and again",
		Long: `Display the priority levels of a server: the seats in use of the current limit, the requests in its queues,
the rejections per second since the display before, and the FlowSchemas with most seats. It ends when it is interrupted.`,
		Example: `  apfsim top
  apfsim top --interval 5s --times 1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval <= 0 {
				return invalid(fmt.Errorf("--interval: %s: want more than 0", interval))
			}
			if times < 0 {
				return invalid(fmt.Errorf("--times: %d: want 0 or more", times))
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			cmd.SetContext(ctx)
			var before *moment
			for i := 0; times == 0 || i <= times; i++ {
				now, err := k.moment(cmd)
				switch {
				case ctx.Err() != nil:
					return nil
				case err != nil && (i == 0 || i == times):
					return err
				case err != nil: // a server with too much to do may answer the next time
					fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %v\n", err)
					now = before
				case i > 0:
					if err := now.write(cmd.OutOrStdout(), before); err != nil {
						return err
					}
				}
				before = now
				if i < times || times == 0 {
					wait(ctx, interval)
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.DurationVar(&interval, "interval", 5*time.Second, "`DURATION` between two displays")
	f.IntVar(&times, "times", 0, "`NUMBER` of displays; 0 for no end")
	return cmd
}

// moment is what the metrics of a server say at one moment.
type moment struct {
	at     time.Time
	levels map[string]*levelMoment
	starts float64 // when the process started
}

// levelMoment is a priority level at a moment.
type levelMoment struct {
	limit, seats, queued, rejected float64
	schemas                        map[string]float64 // seats in use
}

// moment scrapes the server.
func (k *kubectl) moment(cmd *cobra.Command) (*moment, error) {
	text, err := k.output(cmd, "get", "--raw", "/metrics")
	if err != nil {
		return nil, err
	}
	samples, err := metrics.Read(bytes.NewReader(text), metrics.FlowControl, metrics.ProcessStart)
	if err != nil {
		return nil, fmt.Errorf("the metrics of the server: %w", err)
	}
	m := &moment{at: time.Now(), levels: map[string]*levelMoment{}}
	each := func(use func(l *levelMoment, s *metrics.Sample), names ...string) {
		for _, name := range names { // the first one that the release has
			for i := range samples.ByName[name] {
				s := &samples.ByName[name][i]
				level := s.Label("priority_level")
				if m.levels[level] == nil {
					m.levels[level] = &levelMoment{schemas: map[string]float64{}}
				}
				use(m.levels[level], s)
			}
			if len(samples.ByName[name]) > 0 {
				return
			}
		}
	}
	each(func(l *levelMoment, s *metrics.Sample) { l.limit += s.Value }, metrics.CurrentLimit, metrics.NominalLimit, metrics.ConcurrencyLimit)
	each(func(l *levelMoment, s *metrics.Sample) {
		l.seats += s.Value
		l.schemas[s.Label("flow_schema")] += s.Value
	}, metrics.ExecutingSeats, metrics.ConcurrencyInUse)
	each(func(l *levelMoment, s *metrics.Sample) { l.queued += s.Value }, metrics.InQueue)
	each(func(l *levelMoment, s *metrics.Sample) { l.rejected += s.Value }, metrics.RejectedTotal)
	if len(m.levels) == 0 {
		return nil, errors.New("the metrics of the server have no priority levels")
	}
	for _, s := range samples.ByName[metrics.ProcessStart] {
		m.starts = s.Value
	}
	return m, nil
}

// write writes the levels, those with most of their limit in use first.
func (m *moment) write(w io.Writer, before *moment) error {
	names := slices.SortedFunc(maps.Keys(m.levels), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.levels[b].queued, m.levels[a].queued), cmp.Compare(m.levels[b].seats, m.levels[a].seats), cmp.Compare(a, b))
	})
	fmt.Fprintln(w, m.at.UTC().Format(time.RFC3339))
	if m.starts != before.starts {
		fmt.Fprintln(w, "Another server answered than before, or it has started again: there are no rejections per second.")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "priority level\tseats\tof limit\tqueued\trejected/s\tFlowSchemas with most seats")
	for _, name := range names {
		l, rate := m.levels[name], "–"
		if old := before.levels[name]; old != nil && m.starts == before.starts {
			rate = format.Number((l.rejected - old.rejected) / m.at.Sub(before.at).Seconds())
		}
		most := slices.SortedFunc(maps.Keys(l.schemas), func(a, b string) int {
			return cmp.Or(cmp.Compare(l.schemas[b], l.schemas[a]), cmp.Compare(a, b))
		})
		var shown []string
		for _, schema := range most[:min(3, len(most))] {
			if n := l.schemas[schema]; n > 0 {
				shown = append(shown, format.Printable(schema)+" "+format.Number(n))
			}
		}
		limit := "–" // an exempt level has none
		if l.limit > 0 {
			limit = format.Number(l.limit)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", format.Printable(name), format.Number(l.seats), limit, format.Number(l.queued), rate, strings.Join(shown, ", "))
	}
	return t.Flush()
}
