package network_test

import (
	"slices"
	"testing"

	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/server"

	"pgregory.net/rapid"
)

// known is a connection as the model knows it.
type known struct {
	number  int32
	server  int
	client  int
	streams int
	away    bool
	endNs   int64 // when it is closed if nothing happens before
}

// model is the connections as plainly as possible: all that are open, in the order in which they were dialled.
type model struct {
	most int // requests in progress on one connection
	open []*known
}

func (m *model) find(number int32) *known {
	for _, c := range m.open {
		if c.number == number {
			return c
		}
	}
	return nil
}

// forget forgets the connections that are closed.
func (m *model) forget(closed func(c *known) bool) { m.open = slices.DeleteFunc(m.open, closed) }

// idle forgets the connections that have been idle for long enough.
func (m *model) idle(nowNs int64) {
	m.forget(func(c *known) bool { return c.streams == 0 && c.endNs <= nowNs })
}

// A request goes on the oldest connection of its client that takes one, and else on a new one. A connection takes
// requests until it has as many as it may have in progress, or until its server stops. It is closed when it has had
// none for 90 s; when its server stops, with its last request, or after 1 s without one. With a crash all of them end.
func TestConnectionsAgreeWithAPlainModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const clients = 3
		most := rapid.IntRange(1, 3).Draw(rt, "most")
		servers := rapid.IntRange(1, 3).Draw(rt, "servers")
		w := newWorld(t, plan{servers: servers, network: network.Deps{Workloads: []network.Workload{{Name: "w", Clients: clients}}}})
		for _, s := range w.servers {
			s.Rules().Server.MaxStreams = most
		}
		m := &model{most: most}
		clientOf := map[int64]int{} // by the ID of the request
		w.runState.Observe(server.Observer{
			Arrived: func(nowNs int64, r *server.Request) {
				m.idle(nowNs)
				client := clientOf[r.ID]
				i := slices.IndexFunc(m.open, func(c *known) bool { return c.client == client && !c.away && c.streams < m.most })
				if i < 0 {
					if m.find(r.Connection) != nil {
						rt.Fatalf("%d ns: a request of client %d is on connection %d, which takes none; want a new one", nowNs, client, r.Connection)
					}
					i = len(m.open)
					m.open = append(m.open, &known{number: r.Connection, server: int(r.Server), client: client})
				}
				c := m.open[i]
				if c.number != r.Connection || c.server != int(r.Server) {
					rt.Fatalf("%d ns: a request of client %d is on connection %d to server %d; want %+v", nowNs, client, r.Connection, r.Server, *c)
				}
				c.streams++
			},
			Refused: func(nowNs int64, r *server.Request) {
				if r.Connection != 0 {
					rt.Fatalf("%d ns: a request that reached no server is on connection %d", nowNs, r.Connection)
				}
			},
			Answered: func(nowNs int64, r *server.Request) {
				if c := m.find(r.Connection); c != nil {
					c.streams--
					c.endNs = nowNs + 90*second
					m.forget(func(c *known) bool { return c.away && c.streams == 0 && c.number == r.Connection })
				}
			},
			Changed: func(nowNs int64, s *server.Server) {
				switch m.idle(nowNs); s.Stage() {
				case server.NotAccepting:
					for _, c := range m.open {
						if c.server == s.Index() {
							c.away, c.endNs = true, nowNs+second
						}
					}
				case server.Off:
					m.forget(func(c *known) bool { return c.server == s.Index() })
				}
			},
		})
		w.after = func() {
			nowNs := w.runState.Events.NowNs()
			if atNs, ok := w.runState.Events.NextNs(); ok && atNs == nowNs {
				return // more happens at this instant
			}
			m.idle(nowNs)
			for i := range w.servers {
				want := 0
				for _, c := range m.open {
					if c.server == i {
						want++
					}
				}
				if got := w.Connections(i); got != want {
					rt.Fatalf("%d ns: server %d has %d connections, want %d", nowNs, i, got, want)
				}
			}
		}
		atNs := int64(0)
		for range rapid.IntRange(100, 300).Draw(rt, "operations") {
			atNs += 1000 // so that nothing else happens when a connection is closed
			atNs += rapid.SampledFrom([]int64{0, 0, 0, 7 * millisecond, 7 * millisecond, 900 * millisecond, 900 * millisecond, 2 * second, 40 * second, 91 * second}).Draw(rt, "after")
			s := w.servers[rapid.IntRange(0, servers-1).Draw(rt, "server")]
			switch rapid.SampledFrom([]string{"send", "send", "send", "send", "send", "send", "send", "send", "send", "send", "send", "send", "stop", "crash", "start", "start"}).Draw(rt, "operation") {
			case "send":
				client, executionNs := rapid.IntRange(0, clients-1).Draw(rt, "client"), rapid.SampledFrom([]int64{3 * millisecond, second, 5 * second, 50 * second}).Draw(rt, "execution")
				w.at(atNs, func(nowNs int64) {
					r := w.request("", executionNs)
					clientOf[r.ID] = client
					w.Send(nowNs, r, 0, client)
				})
			case "stop":
				w.at(atNs, s.Stop)
			case "crash":
				w.at(atNs, s.Crash)
			case "start":
				w.at(atNs, func(nowNs int64) { s.Start(nowNs, "") })
			}
		}
		w.run(atNs + 10*minute)
		if len(m.open) > 0 {
			rt.Fatalf("%d connections are left", len(m.open))
		}
	})
}

// When a server stops, connections with requests end with these, and idle ones exactly a second later; the client of an
// idle one does not use it any more.
func TestConnectionsOfAServerThatStops(t *testing.T) {
	w := newWorld(t, plan{servers: 1, process: server.Process{Shutdown: server.Shutdown{Delay: quantity.Duration(5 * second)}}})
	w.send(0, 0, "early", second)
	w.send(8*second, 1, "late", 10*second)
	w.at(5*second, w.servers[0].Stop)
	w.send(10*second+1, 0, "refused", second)
	w.run(10 * second)
	w.connections(2)
	w.run(11*second - 1)
	w.connections(2)
	w.run(11 * second)
	w.connections(1)
	w.run(18*second - 1)
	w.connections(1)
	w.run(18 * second)
	w.connections(0)
	if stage := w.servers[0].Stage(); stage != server.Draining {
		t.Errorf("the server is %v although a client was connected until now", stage)
	}
	w.run(19 * second)
	if stage := w.servers[0].Stage(); stage != server.Off {
		t.Errorf("the server is %v although nobody is connected", stage)
	}
	w.wants(`
1s early at 0: 200
10.000000001s refused at 0: no connection
18s late at 0: 200`)
}

// A server closes a connection 90 s after its last request, not earlier and not later.
func TestIdleConnectionIsClosed(t *testing.T) {
	w := newWorld(t, plan{servers: 1})
	w.send(0, 0, "first", second)
	w.send(60*second, 0, "second", second)
	w.send(61*second, 0, "third", 200*millisecond)
	w.run(61200*millisecond + 90*second - 1)
	w.connections(1)
	w.run(61200*millisecond + 90*second)
	w.connections(0)
	if dials, failed := w.Dials(0); dials != 1 || failed != 0 {
		t.Errorf("%d connections were dialled, %d failed; want one for all requests", dials, failed)
	}
}

// The number of a connection that is closed is used again, so that a client that comes and goes takes no more memory.
func TestNumbersAreUsedAgain(t *testing.T) {
	w := newWorld(t, plan{servers: 1})
	var numbers []int32
	w.runState.Observe(server.Observer{Arrived: func(_ int64, r *server.Request) { numbers = append(numbers, r.Connection) }})
	for i := range int64(5) {
		w.send(i*100*second, 0, "", second)
	}
	w.run(10 * minute)
	if want := []int32{1, 1, 1, 1, 1}; !slices.Equal(numbers, want) {
		t.Errorf("the connections have the numbers %v, want %v", numbers, want)
	}
}
