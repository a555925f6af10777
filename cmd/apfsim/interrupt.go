package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"apfsim/internal/atomicfile"
)

// patience is how long an interrupted command has to end by itself. All commands notice an interruption soon,
// except while they wait for a file that is no regular one, such as a named pipe that nobody writes to.
const patience = 10 * time.Second

// interruptible returns a context that is cancelled by Ctrl-C or SIGTERM. A second signal ends the program
// immediately. The function that is returned must be called when the command ends; if that does not happen soon
// after the first signal, the program ends nevertheless, without the files that it has not completed.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	notCancelled := context.AfterFunc(ctx, func() {
		stop()
		select {
		case <-done:
		case <-time.After(patience):
			abort(cmd)
		}
	})
	return ctx, func() {
		close(done)
		notCancelled()
		stop()
	}
}

// abort ends the program although the command does not.
func abort(cmd *cobra.Command) {
	atomicfile.Abort()
	fmt.Fprintln(cmd.ErrOrStderr(), "apfsim: interrupted; what was not complete is not written")
	os.Exit(statusFailed)
}
