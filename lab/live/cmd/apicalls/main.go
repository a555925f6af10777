// Apicalls compares the simulated store with a live kube-apiserver, call by call. See docs/background/fidelity.md.
//
//	apicalls [-repository DIR] [-results DIR] [-seed N] [-sequences N] [-calls N] [-shrink D]
//	apicalls [-repository DIR] [-results DIR] [-record DIR] -replay TRACE...
//	apicalls -again FOLDER...
//
// The first form sends random sequences of calls to a server; the second one those of traces; the third one compares
// the results of an earlier run, a folder of -results, without a server. All replay them in a simulation and print the differences. Traces and answers are written to the folder of the results; with
// -record, the answers of the server also to another folder. Exit status: 0 no difference; 1 there are some, or a
// run failed; 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"apfsim/lab/live/apicalls"
	"apfsim/lab/live/apiserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status)
}

type options struct {
	repository, results, record string
	seed                        uint64
	sequences, calls            int
	shrink                      time.Duration
	replay, compareAgain        bool
	traces, folders             []string
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("apicalls", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	flags.StringVar(&o.repository, "repository", ".", "the `folder` of apfsim's repository")
	flags.StringVar(&o.results, "results", "results/apicalls", "the `folder` for traces and answers")
	flags.StringVar(&o.record, "record", "", "with -replay, the `folder` for the answers of the server")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the first sequence; 0 draws one")
	flags.IntVar(&o.sequences, "sequences", 10, "number of sequences")
	flags.IntVar(&o.calls, "calls", 1000, "calls of each sequence")
	flags.DurationVar(&o.shrink, "shrink", time.Minute, "how long to look for a shorter sequence that still differs")
	flags.BoolVar(&o.replay, "replay", false, "replay the traces that are named")
	flags.BoolVar(&o.compareAgain, "again", false, "compare the results in the folders that are named, without a server")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	named := len(flags.Args()) > 0
	if o.replay && o.compareAgain || named != (o.replay || o.compareAgain) || o.record != "" && !o.replay || o.sequences < 1 || o.calls < 1 {
		fmt.Fprintln(stderr, "apicalls: -replay and -again need names, nothing else has them, and -record needs -replay")
		return 2
	}
	if o.replay {
		o.traces = flags.Args()
	} else {
		o.folders = flags.Args()
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1e9) + 1
	}
	differences, err := o.all(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "apicalls: %v\n", err)
		return 1
	}
	if differences > 0 {
		return 1
	}
	return 0
}

// all makes the comparisons, and returns the number of differences.
func (o *options) all(ctx context.Context, stdout, stderr io.Writer) (differences int, err error) {
	if o.compareAgain {
		return o.again(stdout)
	}
	binaries, err := apiserver.Build(ctx, o.repository, stderr)
	if err != nil {
		return 0, err
	}
	if o.replay {
		for _, file := range o.traces {
			n, err := o.one(ctx, stdout, binaries, strings.TrimSuffix(filepath.Base(file), ".jsonl"), file)
			if err != nil {
				return differences, fmt.Errorf("%s: %w", file, err)
			}
			differences += n
		}
		return differences, nil
	}
	server, err := apicalls.StartServer(ctx, binaries)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	compared, made := 0, 0
	for n := range o.sequences {
		seed := o.seed + uint64(n)
		live, err := server.Generate(ctx, apicalls.NewGenerator(seed), o.calls)
		if err != nil {
			return differences, fmt.Errorf("seed %d: %w", seed, err)
		}
		found, c, err := o.compare(stdout, fmt.Sprintf("seed-%d", seed), live)
		if err != nil {
			return differences, fmt.Errorf("seed %d: %w", seed, err)
		}
		compared, made, differences = compared+c, made+len(live.Calls), differences+len(found)
		if len(found) > 0 && o.shrink > 0 {
			if err := o.shorten(ctx, stdout, server, seed, live.Calls, &found[0]); err != nil {
				return differences, err
			}
		}
	}
	fmt.Fprintf(stdout, "%d calls of %d sequences (seeds %d to %d), %d compared, %d differences\n",
		made, o.sequences, o.seed, o.seed+uint64(o.sequences)-1, compared, differences)
	return differences, nil
}

// compare simulates what a live server has been asked, writes both results to files and prints the differences.
func (o *options) compare(stdout io.Writer, name string, live *apicalls.Live) (found []apicalls.Difference, compared int, err error) {
	dir := filepath.Join(o.results, name)
	if err := live.WriteFiles(dir); err != nil {
		return nil, 0, err
	}
	found, compared, err = simulateAndCompare(live)
	if err != nil {
		return nil, 0, err
	}
	print(stdout, name, live, found, compared)
	return found, compared, nil
}

// simulateAndCompare compares what a server has answered with what the handlers of a simulated one answer. A run is
// compared only with the recorded answers to short traces: in it, etcd reports its progress every 5 s, as clusters have
// it set, which moves the resourceVersion of a quiet watch cache at other times than in the live server.
func simulateAndCompare(live *apicalls.Live) (found []apicalls.Difference, compared int, err error) {
	simulated, err := apicalls.Handle(live.Calls)
	if err != nil {
		return nil, 0, err
	}
	return apicalls.Compare(live.Calls, live.Answers, apicalls.Relative(simulated))
}

// again compares results of earlier runs with a simulation of now.
func (o *options) again(stdout io.Writer) (differences int, err error) {
	for _, dir := range o.folders {
		live, err := apicalls.ReadLive(dir)
		if err != nil {
			return differences, err
		}
		found, compared, err := simulateAndCompare(live)
		if err != nil {
			return differences, fmt.Errorf("%s: %w", dir, err)
		}
		differences += len(found)
		print(stdout, dir, live, found, compared)
	}
	return differences, nil
}

func print(w io.Writer, name string, live *apicalls.Live, found []apicalls.Difference, compared int) {
	fmt.Fprintf(w, "%s: %d calls, %d compared, %d differences\n", name, len(live.Calls), compared, len(found))
	for i := range found[:min(len(found), 20)] {
		fmt.Fprint(w, &found[i])
	}
	if len(found) > 20 {
		fmt.Fprintf(w, "and %d more\n", len(found)-20)
	}
}

// one replays a trace at a server of its own.
func (o *options) one(ctx context.Context, stdout io.Writer, b *apiserver.Binaries, name, file string) (differences int, err error) {
	calls, err := apicalls.ReadCalls(file)
	if err != nil {
		return 0, err
	}
	server, err := apicalls.StartServer(ctx, b, apicalls.ServerArguments(calls)...)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	live, err := server.Replay(ctx, calls)
	if err != nil {
		return 0, err
	}
	if o.record != "" {
		if err := live.WriteAnswers(filepath.Join(o.record, name+".jsonl")); err != nil {
			return 0, err
		}
	}
	found, _, err := o.compare(stdout, name, live)
	return len(found), err
}

// shorten looks for a shorter sequence that still differs, and prints it.
func (o *options) shorten(ctx context.Context, stdout io.Writer, server *apicalls.Server, seed uint64, calls []apicalls.Call, difference *apicalls.Difference) error {
	dir := filepath.Join(o.results, fmt.Sprintf("seed-%d", seed))
	deadline := time.Now().Add(o.shrink)
	shortest, found := apicalls.Shrink(calls, difference, func(calls []apicalls.Call) []apicalls.Difference {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil
		}
		live, err := server.Replay(ctx, calls)
		if err != nil {
			return nil
		}
		differences, _, err := simulateAndCompare(live)
		if err != nil {
			return nil
		}
		return differences
	})
	if found == nil {
		return nil
	}
	fmt.Fprintf(stdout, "the shortest sequence of seed %d that was found to differ, in %s:\n", seed, filepath.Join(dir, "shortest.jsonl"))
	for i := range shortest {
		fmt.Fprintf(stdout, "  %s\n", shortest[i].String())
	}
	fmt.Fprint(stdout, found)
	f, err := os.Create(filepath.Join(dir, "shortest.jsonl"))
	if err != nil {
		return err
	}
	defer f.Close()
	return apicalls.WriteCalls(f, shortest)
}
