package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"apfsim/experiment/evidence"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
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
			if _, err := exec.LookPath("kubectl"); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			var p paths
			p.file("out", out)
			var made atomicfile.Set
			defer made.Discard()
			if err := p.prepare(cmd, &made); err != nil {
				return err
			}
			text, n, err := evidence.Collect(ctx, k.asker(ctx, cmd), interval, leftOut(cmd))
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

// leftOut reports what a server does not give.
func leftOut(cmd *cobra.Command) func(name string, err error) {
	return func(name string, err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %s is left out: %v\n", name, err)
	}
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
			all, err := evidence.Dumps(k.asker(cmd.Context(), cmd), leftOut(cmd))
			if err != nil {
				return err
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
			err := k.display(ctx, cmd, interval, times)
			if ctx.Err() != nil {
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.DurationVar(&interval, "interval", 5*time.Second, "`DURATION` between two displays")
	f.IntVar(&times, "times", 0, "`NUMBER` of displays; 0 for no end")
	return cmd
}

// display displays the levels so many times, or until the context ends. A server with too much to do may not answer now and then:
// only its first answer and that for the last display must come.
func (k *kubectl) display(ctx context.Context, cmd *cobra.Command, interval time.Duration, times int) error {
	ask := k.asker(ctx, cmd)
	var before *evidence.Present
	for i := 0; times == 0 || i <= times; i++ {
		if i > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(interval):
			}
		}
		now, err := before.Next(ask)
		if err != nil {
			if i == 0 || i == times {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %v\n", err)
			continue
		}
		if i > 0 {
			d := &report.Document{Sections: []report.Section{{Parts: []report.Part{{Table: now.Table(before)}}}}}
			if err := render.Text(cmd.OutOrStdout(), d, textOptions(cmd.OutOrStdout(), false)); err != nil {
				return err
			}
		}
		before = now
	}
	return nil
}
