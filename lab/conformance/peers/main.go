// Bench-peers measures how fast apfsim simulates a regime, compared with other programs that
// simulate the same regime or a simpler one.
//
// # Regimes
//
// A, B and C are one priority level of 100 seats with 128 queues of at most 50 requests
// and a hand size of 6. Requests of one seat arrive in a Poisson process for each flow, and
// their service times are exponential with a mean of 10 ms. (A) has 200 flows at load 0.9, (B)
// 200 flows at load 1.2, and (C) 2,000 flows at load 1.05. D is the default configuration with
// all its levels, in a cluster of 5,000 nodes and 150,000 pods, with lists and mutations of
// several seats. E is the level of A in a closed loop of 100,000 clients. F is three servers that each
// have the level and the load of A, on machines whose cores the requests share. G is a store: two servers of 8 cores
// with 5,000 kubelets, 400 informers and some controllers, from the start of all of them. H is the replay of a
// request log of A. Each is a scenario file in this folder.
//
// # Peers
//
//   - upstream: the queue set of k8s.io/apiserver, unmodified, with the metrics and the
//     demand integrator of kube-apiserver, in a single-threaded event loop that is also its
//     clock. There are no goroutines, no classification and no estimate of seats.
//   - bare loop: the arrivals and services of the regime without flow control, so that each
//     request has two events. It has a binary heap of typed events in the order of time and
//     sequence number, two PCG streams and one pending arrival for each client, and reuses the
//     slots of requests. In D, requests neither wait nor occupy seats, and a watch is a request
//     like the others, which is sent at the rate at which watches are renewed. In G, the clients have the
//     rate of the run with a store in the mean, and services of 5 ms. In H, nothing is read.
//   - bare loop with apfsim's clock: the same with the event queue of sim/clock.
//   - SimPy: an M/M/c queue with the rate and the seats of the regime and one Poisson process.
//     Its queue is unlimited, so that in B and C it grows until the run ends.
//   - apfsim core/queueset: apfsim's queue set in place of upstream's, in the same loop with the
//     same arrivals and services.
//   - apfsim: a whole run, from the text of a scenario to all its statistics. In H, this includes reading the
//     trace, but not the run that has written it, which is another process.
//   - apfsim with request log: the same, with a line for each request in a file.
//
// # Method
//
// Each measurement is a process of its own. In each round every peer is measured once, one after
// the other. The number of requests of a peer is chosen so that a measurement takes seconds;
// apfsim simulates the time in which this number of requests arrives on average. A measurement
// includes everything except the start of the process. Seeds are fixed, so that a peer has the
// same work in each round.
//
// Requests per second, ns per request and memory, which is the highest resident memory, are
// medians over the rounds. Spread is the difference between the slowest and the fastest round,
// divided by the median. The column "vs upstream" is the speed of a peer divided by that of
// upstream. The columns "vs bare" and "vs apfsim" are the time of a peer divided by that of the
// bare loop and of apfsim. Set-up is the time of a run that ends with its first request; it does
// not include what a client allocates with its first request.
//
// The tool fails if the results of a peer are implausible: see check.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	if isChild(args) {
		act := func() error { return child(stdout, args[1:]) }
		if args[0] == recordCommand {
			act = func() error { return recordRequests(args[1:]) }
		}
		if err := act(); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	}
	o, err := parseOptions(stderr, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "bench-peers:", err)
		return 2
	}
	if err := bench(ctx, stdout, stderr, o); err != nil {
		fmt.Fprintln(stderr, "bench-peers:", err)
		return 1
	}
	return 0
}

type options struct {
	regimes  []*regime
	peers    []*peer
	rounds   int
	requests int // in each measurement; 0 means peer.requestsIn
	markdown bool
}

func parseOptions(stderr io.Writer, args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("bench-peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var regimeNames, peerNames []string
	for i := range regimes {
		regimeNames = append(regimeNames, regimes[i].name)
	}
	for i := range peers {
		peerNames = append(peerNames, peers[i].name)
	}
	chosenRegimes := flags.String("regimes", strings.Join(regimeNames, ","), "`list` of regimes, separated by commas")
	chosenPeers := flags.String("peers", strings.Join(peerNames, ","), "`list` of peers, separated by commas")
	flags.IntVar(&o.rounds, "rounds", 5, "measurements of each peer in each regime")
	flags.IntVar(&o.requests, "requests", 0, "requests in each measurement, to try the tool out; 0: as many as each peer simulates in seconds")
	format := flags.String("format", "text", "text or markdown")
	flags.StringVar(&python, "python", python, "the Python `interpreter` with the module simpy")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q: want no arguments other than flags", flags.Arg(0))
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds: %d: want at least 1", o.rounds)
	}
	if o.requests < 0 {
		return nil, fmt.Errorf("-requests: %d: want at least 0", o.requests)
	}
	switch *format {
	case "text":
	case "markdown":
		o.markdown = true
	default:
		return nil, fmt.Errorf("-format: %q: want text or markdown", *format)
	}
	for _, name := range strings.Split(*chosenRegimes, ",") {
		r := find(regimes, name, func(r *regime) string { return r.name })
		if r == nil {
			return nil, fmt.Errorf("-regimes: %q: want some of %s", name, strings.Join(regimeNames, ", "))
		}
		o.regimes = append(o.regimes, r)
	}
	for _, name := range strings.Split(*chosenPeers, ",") {
		p := find(peers, name, func(p *peer) string { return p.name })
		if p == nil {
			return nil, fmt.Errorf("-peers: %q: want some of %s", name, strings.Join(peerNames, ", "))
		}
		o.peers = append(o.peers, p)
	}
	return o, nil
}

// find returns the element with this name, or nil if there is none.
func find[E any](elements []E, name string, nameOf func(*E) string) *E {
	for i := range elements {
		if nameOf(&elements[i]) == strings.TrimSpace(name) {
			return &elements[i]
		}
	}
	return nil
}

// bench measures one regime after the other and prints a table for each. It returns the errors of
// check.
func bench(ctx context.Context, stdout, stderr io.Writer, o *options) error {
	fmt.Fprintf(stdout, "%s, %s/%s, processors: %d, rounds: %d.\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds)
	var present []*peer
	for _, p := range o.peers {
		if p.name == peerSimPy {
			version, err := simpyVersion(ctx)
			if err != nil {
				fmt.Fprintf(stdout, "SimPy is left out: %v.\n", err)
				continue
			}
			fmt.Fprintf(stdout, "SimPy is version %s.\n", version)
		}
		present = append(present, p)
	}
	var implausible []error
	for _, r := range o.regimes {
		l, err := r.load()
		if err != nil {
			return err
		}
		var results []*peerResult
		for _, p := range present {
			if strings.Contains(p.regimes, r.name) {
				results = append(results, &peerResult{peer: p})
			}
		}
		for _, s := range results {
			fmt.Fprintf(stderr, "%s: set-up of %s\n", r.name, s.peer.name)
			m, err := inChild(ctx, s.peer, r, 1)
			if err != nil {
				return err
			}
			s.setUpNs = m.ElapsedNs
		}
		for round := range o.rounds {
			for _, s := range results {
				fmt.Fprintf(stderr, "%s: round %d of %d: %s\n", r.name, round+1, o.rounds, s.peer.name)
				requests := o.requests
				if requests == 0 {
					requests = s.peer.requestsIn(r)
				}
				m, err := inChild(ctx, s.peer, r, requests)
				if err != nil {
					return err
				}
				s.rounds = append(s.rounds, m)
			}
		}
		if err := write(stdout, r, results, o.markdown); err != nil {
			return err
		}
		if err := check(r, l, results); err != nil {
			implausible = append(implausible, err)
		}
	}
	return errors.Join(implausible...)
}

// childCommand is the command with which the program starts itself for one measurement. Its
// arguments are the name of the peer, the name of the regime, the number of requests, and the
// Python interpreter.
const childCommand = "measure"

// isChild reports whether the arguments are those of a process that the program has started.
func isChild(args []string) bool {
	return len(args) > 0 && (args[0] == childCommand || args[0] == recordCommand)
}

// inChild returns a measurement by a child process.
func inChild(ctx context.Context, p *peer, r *regime, requests int) (m measurement, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	out, err := runOutput(exec.CommandContext(ctx, self, childCommand, p.name, r.name, strconv.Itoa(requests), python))
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	switch {
	case ctx.Err() != nil:
		return m, errors.New("interrupted")
	case err != nil:
		return m, fmt.Errorf("%s: %s: %w", r.name, p.name, err)
	}
	return m, nil
}

// child is the child process: it writes one measurement as JSON.
func child(stdout io.Writer, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%s: want peer, regime, requests, interpreter", childCommand)
	}
	p := find(peers, args[0], func(p *peer) string { return p.name })
	r := find(regimes, args[1], func(r *regime) string { return r.name })
	requests, err := strconv.Atoi(args[2])
	if p == nil || r == nil || err != nil || requests < 1 {
		return fmt.Errorf("%s: %q is not a peer, a regime, a number of requests and an interpreter", childCommand, args)
	}
	python = args[3]
	m, err := p.measure(r, requests)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(m)
}

// runOutput runs a command and returns its standard output. An error includes its standard error.
func runOutput(c *exec.Cmd) ([]byte, error) {
	out, err := c.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) && len(failed.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	return out, err
}
