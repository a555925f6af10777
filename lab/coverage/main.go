// Coverage measures how often 95 % intervals contain the truth, and prints tables for lab/coverage.md.
//
//	coverage [-repetitions 1000] [-loads 0.5,0.8] [-windows 10s,100s] [-runs 3,5,10,30]
//
// The scenario is M/M/3 behind the queue of one priority level, with four clients. For each load and window it simulates as
// many runs as the repetitions of the largest number of runs need, and combines neighbouring ones. The truth of a statistic is
// that of all runs of a load and a window together. A head executes in nine tenths of the time of the base.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() { os.Exit(run(os.Stdout, os.Stderr, os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("coverage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	p := plan{}
	flags.IntVar(&p.repetitions, "repetitions", 1000, "how many intervals of each kind are computed")
	loads := flags.String("loads", "0.5,0.8,0.95,1.2", "the `loads` of the priority level")
	windows := flags.String("windows", "10s,100s", "the `windows` of a run")
	sizes := flags.String("runs", "3,5,10,30", "how many `runs` an interval is of")
	precisions := flags.String("precisions", "0.2,0.1", "the `precisions` of which sequences of runs are simulated")
	switch err := errors.Join(flags.Parse(args), parseList(*loads, &p.loads, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }),
		parseList(*windows, &p.windows, time.ParseDuration), parseList(*sizes, &p.sizes, strconv.Atoi),
		parseList(*precisions, &p.precisions, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "coverage:", err)
		return 2
	}
	rows, err := p.measure(stderr)
	if err != nil {
		fmt.Fprintln(stderr, "coverage:", err)
		return 1
	}
	print(stdout, rows)
	return 0
}

// parseList parses texts that are separated by commas.
func parseList[T any](text string, into *[]T, parse func(string) (T, error)) error {
	for _, s := range strings.Split(text, ",") {
		if s == "" {
			continue
		}
		x, err := parse(s)
		if err != nil {
			return err
		}
		*into = append(*into, x)
	}
	return nil
}

// print writes the rows as a Markdown table: of a kind, a statistic, a load and a window, a column for each number of runs.
func print(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	defer w.Flush()
	var sizes []string
	for _, r := range rows {
		if !slices.Contains(sizes, r.size) {
			sizes = append(sizes, r.size)
		}
	}
	fmt.Fprintf(w, "| Kind\t| Statistic\t| Load\t| Window\t| %s\t|\n|---\t|---\t|---\t|---\t%s|\n", strings.Join(sizes, "\t| "), strings.Repeat("|---\t", len(sizes)))
	type key struct{ kind, statistic, load, window string }
	cells := map[key]map[string]string{}
	var order []key
	for _, r := range rows {
		k := key{r.kind, r.statistic, r.load, r.window}
		if cells[k] == nil {
			cells[k] = map[string]string{}
			order = append(order, k)
		}
		cells[k][r.size] = r.text()
	}
	for _, k := range order {
		fmt.Fprintf(w, "| %s\t| `%s`\t| %s\t| %s\t", k.kind, k.statistic, k.load, k.window)
		for _, size := range sizes {
			fmt.Fprintf(w, "| %s\t", cells[k][size])
		}
		fmt.Fprintln(w, "|")
	}
}
