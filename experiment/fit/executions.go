package fit

import (
	"fmt"

	"apfsim/experiment/fit/sharing"
	"apfsim/sim/trace"
)

const (
	mostKept = 1_000_000 // executions from which the capacity is estimated, the first ones of the log
	// mostUnknown is the greatest part of the executions that may begin at an unknown time.
	mostUnknown = 0.01
)

// executed is an execution in the log.
type executed struct {
	beginNs, endNs int64
	stream         *stream
	known          bool // when it began; otherwise that is when its request arrived
}

// executions are those from which the capacity of the server is estimated.
type executions struct {
	servers [][]executed // by server
	n       int
	unknown int     // of which it is not known when they began
	average float64 // at a time, of one server
}

// shares returns whether the request of an entry was executed, and how long it might have shared the server with others.
func shares(e *Entry) (known, ok bool) {
	return e.WaitNs >= 0, e.Outcome == trace.Executed && e.TookNs() > 0
}

// learn takes note of an execution in the first pass.
func (x *executions) learn(s *stream, e *Entry) {
	for len(x.servers) <= e.Server {
		x.servers = append(x.servers, nil)
	}
	switch known, ok := shares(e); {
	case !ok || x.n+x.unknown >= mostKept:
	default:
		begin := e.ArrivalNs + max(0, e.WaitNs)
		x.servers[e.Server] = append(x.servers[e.Server], executed{begin, begin + e.TookNs(), s, known})
		if known {
			x.n++
		} else {
			x.unknown++
		}
	}
}

// busiest returns how many requests execute at a server at least when those end that are the busiest hundredth.
func (x *executions) busiest() (n int) {
	for _, all := range x.servers {
		log := make([]sharing.Execution, 0, len(all))
		for _, e := range all {
			log = append(log, sharing.Execution{BeginNs: e.beginNs, EndNs: e.endNs})
		}
		n = max(n, sharing.Busiest(log))
	}
	return n
}

// meanOver returns how many requests execute at a time on average, in so much time, at one server.
func (x *executions) meanOver(durationNs int64) float64 {
	sum := 0.0
	for _, all := range x.servers {
		for _, e := range all {
			sum += float64(e.endNs - e.beginNs)
		}
	}
	return sum / float64(max(1, durationNs)) / float64(max(1, len(x.servers)))
}

// whyUnidentifiable says why the executions do not tell the capacity of one of so many servers; "" if they may.
func (x *executions) whyUnidentifiable(servers int) string {
	switch n := x.n + x.unknown; {
	case len(x.servers) > servers:
		return fmt.Sprintf("the log is of %d servers, and the scenario has %d", len(x.servers), servers)
	case float64(x.unknown) > mostUnknown*float64(n):
		return "the log does not say when requests began to execute"
	}
	return ""
}

// kinds gives the workloads of all logs numbers. Workloads of different logs with one name are one kind.
type kinds map[string]int

// numbered returns the executions with their kinds, of each server.
func (k kinds) numbered(x *executions) (logs [][]sharing.Execution) {
	for _, all := range x.servers {
		log := make([]sharing.Execution, 0, len(all))
		for _, e := range all {
			if !e.known {
				continue
			}
			name := "" // it is left out
			if e.stream.workload != nil {
				name = e.stream.workload.name
			}
			if _, ok := k[name]; !ok {
				k[name] = len(k)
			}
			log = append(log, sharing.Execution{BeginNs: e.beginNs, EndNs: e.endNs, Kind: k[name]})
		}
		logs = append(logs, log)
	}
	return logs
}
