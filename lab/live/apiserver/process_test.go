package apiserver

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program ends when it is stopped, and when the context ends, also if the test is interrupted.
func TestProcessEnds(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProcess(context.Background(), log, shell, "-c", "echo started; exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	p.stop()
	<-p.done // or the test does not end

	ctx, cancel := context.WithCancel(context.Background())
	p, err = startProcess(ctx, log, shell, "-c", "exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-p.done
	p.stop()
}

// The error of a program that ends by itself has the end of its log.
func TestLogEnd(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	p, err := startProcess(context.Background(), filepath.Join(t.TempDir(), "log"), shell, "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exit 1")
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	if got := p.logEnd(); !strings.HasPrefix(got, "line 3\n") || !strings.HasSuffix(got, "line 12") {
		t.Errorf("got %q, want lines 3 to 12", got)
	}
	if _, err := startProcess(context.Background(), filepath.Join(t.TempDir(), "log"), "/no/such/program"); err == nil {
		t.Error("a program that does not exist was started")
	}
}
