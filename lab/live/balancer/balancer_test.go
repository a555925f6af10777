package balancer

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// named returns the address of a server that sends its name on each connection.
func named(t *testing.T, name string) (address string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, name)
			c.Close()
		}
	}()
	return l.Addr().String(), l.Close
}

// dial returns what a client of the balancer reads, "" if its connection is reset.
func dial(t *testing.T, b *Balancer) string {
	t.Helper()
	c, err := net.Dial("tcp", b.Address())
	if errors.Is(err, syscall.ECONNRESET) { // it may be reset before it is known to be open
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, _ := io.ReadAll(c)
	return string(text)
}

// Connections go to the servers in turn, also to one that does not listen any more, until probes have failed in a row. Without
// a healthy server, all are chosen.
func TestInTurn(t *testing.T) {
	first, stop := named(t, "first")
	second, _ := named(t, "second")
	b, err := Start(Options{Servers: []string{first, second}, Failures: 2, Successes: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := func(names ...string) {
		t.Helper()
		for i, name := range names {
			if got := dial(t, b); got != name {
				t.Errorf("connection %d: got %q, want %q", i, got, name)
			}
		}
	}
	want("first", "second", "first", "second")
	stop()
	want("", "second")
	n := b.probed(0, false, 0)
	want("", "second")
	if n = b.probed(0, false, n); n != 0 {
		t.Errorf("%d failures in a row after the server was left out", n)
	}
	want("second", "second")
	b.probed(1, false, 1)
	want("", "second", "")
	b.probed(1, true, b.probed(1, true, 0))
	want("second", "second")
}

// Probes are made from a time on, each an interval after the one before. Close ends them, and the connections that are open.
func TestProbesAndClose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts nothing, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	probed := make(chan int)
	b, err := Start(Options{Servers: []string{l.Addr().String()}, Interval: time.Millisecond, Failures: 1, Successes: 1, Probe: func(ctx context.Context, server int) bool {
		select {
		case probed <- server:
		case <-ctx.Done():
		}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.ProbeFrom(time.Now())
	for range 3 {
		if server := <-probed; server != 0 {
			t.Errorf("probed %d", server)
		}
	}
	c, err := net.Dial("tcp", b.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b.Close() // or the test does not end
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	b.Close()
}
