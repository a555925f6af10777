// Bench-peers measures how fast apfsim simulates, beside others that do the same or less.
//
// # Regimes
//
// A, B and C are one priority level of 100 seats with 128 queues of at most 50 requests
// and hands of 6. Requests of one seat arrive in a Poisson process a flow and are served
// for an exponential time of 10 ms on average: (A) 200 flows at load 0.9, (B) 200 flows at
// load 1.2, (C) 2,000 flows at load 1.05. D is the default configuration with all its
// levels, in a cluster of 5,000 nodes and 150,000 pods, with lists and mutations of
// several seats. E is the level of A in a closed loop of 100,000 clients. Each is a
// scenario file in this folder.
//
// # Peers
//
//   - upstream: the queue set of k8s.io/apiserver, unmodified, with the metrics and the
//     demand integrator that kube-apiserver gives it, in a single-threaded event loop that
//     is its clock: no goroutines, no classification, no estimate of seats.
//   - bare loop: the arrivals and services of the regime and nothing between them, so that
//     there are two events a request; a binary heap of typed events by (time, sequence
//     number), two PCG streams a client, one pending arrival a client, requests in slots
//     that are used again. In D, requests wait for nothing and hold nothing when they are
//     served; watches are requests like others, at the rate at which they are renewed.
//   - bare loop with apfsim's clock: the same with the event queue of sim/clock.
//   - SimPy: an M/M/c queue of the regime's rate and seats, with one Poisson process. Its
//     only queue is unlimited, so that in B and C it grows until the run ends.
//   - apfsim core/queueset: our queue set in place of upstream's, in the same loop with the
//     same arrivals and services.
//   - apfsim: from a scenario's text to all its statistics.
//   - apfsim with request log: that, and a line for each request in a file.
//
// # Method
//
// Each measurement is a process of its own, and in each round every peer is measured once,
// one after the other. A measurement has a number of requests that keeps the peer busy for
// a while (apfsim: as much time as so many take on average), and times all that there is
// to do for them, except starting the process. Seeds are fixed: a peer has the same work
// in each round.
//
// Requests a second, ns a request and memory, which is the most that was resident, are
// medians over the rounds; spread is the difference between the slowest and the fastest, as
// a share of the median. The column vs upstream says how many times as fast as upstream a
// peer is; vs bare and vs apfsim, how many times as long as the bare loop or apfsim it
// takes. Set-up is the time of one run that ends with its first request; what a client
// needs only once it has sent one is not in it.
//
// The tool fails when a peer did not do its work: see check.
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
	if len(args) > 0 && args[0] == childCommand {
		if err := child(stdout, args[1:]); err != nil {
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
	inRegimes := flags.String("regimes", strings.Join(regimeNames, ","), "`list` of regimes, with commas")
	ofPeers := flags.String("peers", strings.Join(peerNames, ","), "`list` of peers, with commas")
	flags.IntVar(&o.rounds, "rounds", 5, "measurements of each peer in each regime")
	format := flags.String("format", "text", "text or markdown")
	flags.StringVar(&python, "python", python, "the `interpreter` that has the module simpy")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q: want flags only", flags.Arg(0))
	}
	if o.rounds < 1 {
		return nil, fmt.Errorf("-rounds: %d: want at least 1", o.rounds)
	}
	switch *format {
	case "text":
	case "markdown":
		o.markdown = true
	default:
		return nil, fmt.Errorf("-format: %q: want text or markdown", *format)
	}
	for _, name := range strings.Split(*inRegimes, ",") {
		r := find(regimes, name, func(r *regime) string { return r.name })
		if r == nil {
			return nil, fmt.Errorf("-regimes: %q: want some of %s", name, strings.Join(regimeNames, ", "))
		}
		o.regimes = append(o.regimes, r)
	}
	for _, name := range strings.Split(*ofPeers, ",") {
		p := find(peers, name, func(p *peer) string { return p.name })
		if p == nil {
			return nil, fmt.Errorf("-peers: %q: want some of %s", name, strings.Join(peerNames, ", "))
		}
		o.peers = append(o.peers, p)
	}
	return o, nil
}

// find returns the element of that name, nil for none.
func find[E any](among []E, name string, nameOf func(*E) string) *E {
	for i := range among {
		if nameOf(&among[i]) == strings.TrimSpace(name) {
			return &among[i]
		}
	}
	return nil
}

// bench measures regime by regime and prints a table of each.
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
	var wrong []error
	for _, r := range o.regimes {
		l, err := r.load()
		if err != nil {
			return err
		}
		var results []*result
		for _, p := range present {
			if strings.Contains(p.regimes, r.name) {
				results = append(results, &result{peer: p})
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
				m, err := inChild(ctx, s.peer, r, s.peer.requestsIn(r))
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
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// childCommand makes the program one measurement: its arguments are the names of peer and
// regime, the number of requests, and the Python interpreter.
const childCommand = "measure"

func inChild(ctx context.Context, p *peer, r *regime, requests int) (m measurement, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	out, err := output(exec.CommandContext(ctx, self, childCommand, p.name, r.name, strconv.Itoa(requests), python))
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

func child(stdout io.Writer, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%s: want peer, regime, requests, interpreter", childCommand)
	}
	p := find(peers, args[0], func(p *peer) string { return p.name })
	r := find(regimes, args[1], func(r *regime) string { return r.name })
	requests, err := strconv.Atoi(args[2])
	if p == nil || r == nil || err != nil || requests < 1 {
		return fmt.Errorf("%s: no measurement is %q", childCommand, args)
	}
	python = args[3]
	m, err := p.measure(r, requests)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(m)
}

// output runs a command; an error has what the command said.
func output(c *exec.Cmd) ([]byte, error) {
	out, err := c.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) && len(failed.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(failed.Stderr)))
	}
	return out, err
}
