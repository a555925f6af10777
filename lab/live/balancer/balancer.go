// Package balancer passes TCP connections on to servers in turn, as a load balancer in front of API servers does. It probes the
// servers, and leaves out those that are not healthy. If none is, it chooses among all.
package balancer

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Options say how servers are chosen.
type Options struct {
	Servers  []string      // addresses, HOST:PORT
	Interval time.Duration // between two probes

	// After so many failed probes in a row a server gets no connections, and after so many successful ones it gets them again.
	Failures, Successes int

	// Probe returns whether a server is healthy, by its index.
	Probe func(ctx context.Context, server int) bool
}

// Balancer is a running load balancer. Close ends it.
type Balancer struct {
	Options
	listener net.Listener
	ctx      context.Context // until Close
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	healthy []bool
	last    int // server that was chosen last
	open    map[net.Conn]bool
	closed  bool
}

// Start listens on loopback. All servers are taken for healthy until probes say otherwise.
func Start(o Options) (*Balancer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{Options: o, listener: l, ctx: ctx, cancel: cancel, last: len(o.Servers) - 1, open: map[net.Conn]bool{}}
	for range o.Servers {
		b.healthy = append(b.healthy, true)
	}
	b.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.running.Go(func() { b.pass(c) })
		}
	})
	context.AfterFunc(ctx, func() { l.Close() })
	return b, nil
}

// Address returns where it listens, as HOST:PORT.
func (b *Balancer) Address() string { return b.listener.Addr().String() }

// ProbeFrom begins to probe at a time, at which the first probe is made.
func (b *Balancer) ProbeFrom(start time.Time) {
	for server := range b.Servers {
		b.running.Go(func() {
			same := 0
			for n := 0; ; n++ {
				select {
				case <-time.After(time.Until(start.Add(time.Duration(n) * b.Interval))):
				case <-b.ctx.Done():
					return
				}
				if ok := b.Probe(b.ctx, server); b.ctx.Err() == nil {
					same = b.probed(server, ok, same)
				}
			}
		})
	}
}

// probed takes note of a probe, and returns how many probes in a row have now said the opposite of what the balancer believes.
func (b *Balancer) probed(server int, ok bool, opposite int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok == b.healthy[server] {
		return 0
	}
	need := b.Failures
	if ok {
		need = b.Successes
	}
	if opposite++; opposite < need {
		return opposite
	}
	b.healthy[server] = ok
	return 0
}

// choose returns the next healthy server, or the next one if none is healthy.
func (b *Balancer) choose() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.Servers)
	for k := 1; k <= n; k++ {
		if s := (b.last + k) % n; b.healthy[s] {
			b.last = s
			return s
		}
	}
	b.last = (b.last + 1) % n
	return b.last
}

// pass passes a connection on to a server. A client whose server does not listen has its connection reset.
func (b *Balancer) pass(client net.Conn) {
	if !b.keep(client) {
		return
	}
	defer b.drop(client)
	server, err := net.Dial("tcp", b.Servers[b.choose()])
	if err != nil {
		client.(*net.TCPConn).SetLinger(0)
		return
	}
	if !b.keep(server) {
		return
	}
	defer b.drop(server)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		both.Go(func() {
			io.Copy(way[0], way[1])
			way[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}

// keep takes note of an open connection. It closes it and returns false if the balancer is closed.
func (b *Balancer) keep(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		c.Close()
		return false
	}
	b.open[c] = true
	return true
}

func (b *Balancer) drop(c net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
	c.Close()
}

// Close ends all connections and probes. It may be called again.
func (b *Balancer) Close() error {
	b.cancel()
	b.mu.Lock()
	b.closed = true
	for c := range b.open {
		c.Close()
	}
	b.mu.Unlock()
	b.running.Wait()
	return nil
}

// URL returns the address as that of a server with TLS.
func (b *Balancer) URL() string { return fmt.Sprintf("https://%s", b.Address()) }
