package apiserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// process is a program that has been started.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	kill context.CancelFunc
	done chan struct{} // closed when it has ended
}

// startProcess starts a program that appends to a log file. It ends with stop, with the context and,
// where the operating system can do that, with this process.
func startProcess(ctx context.Context, log, program string, arguments ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, arguments...)
	p := &process{name: filepath.Base(program), log: log, cmd: cmd, kill: cancel, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.SysProcAttr = endWithParent()
	started := make(chan error)
	go func() {
		// Linux sends the signal of endWithParent when the thread ends that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait() // how it ended does not matter
		}
	}()
	if err := <-started; err != nil {
		cancel()
		return nil, fmt.Errorf("%s could not be started: %w", program, err)
	}
	return p, nil
}

// stop ends the process and waits until it has ended. A process that does not end in time is killed.
func (p *process) stop() {
	if p == nil {
		return
	}
	p.kill()
	select {
	case <-p.done:
	case <-time.After(2 * stopTimeout):
	}
}

// ended returns a channel that is closed when the process has ended; nil without a process.
func (p *process) ended() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.done
}

// logEnd returns the last lines of the log.
func (p *process) logEnd() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
