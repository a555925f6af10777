package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// part is a part of the simulator: the functions whose names begin with one of the prefixes.
type part struct {
	name     string
	prefixes []string
}

// theParts are the rows of the table. A function belongs to the first part with a matching prefix,
// or to the last part.
var theParts = []part{
	{"statistics and fingerprint", []string{"apfsim/reports", "github.com/cespare/xxhash/"}},
	{"queue set, with its seats", []string{"apfsim/core/queueset.", "apfsim/core/seats.", "apfsim/core/estimate.", "apfsim/core/dealer."}},
	{"flow control around it", []string{"apfsim/core/"}},
	{"event queue", []string{"apfsim/sim/clock."}},
	{"server and event loop", []string{"apfsim/sim/server.", "apfsim/sim."}},
	{"clients", []string{"apfsim/sim/workload."}},
	{"random numbers and distributions", []string{"apfsim/sim/random.", "math/rand/"}},
	{"the rest: Go's runtime, math, set-up", nil},
}

// collectors are the functions that together call all of the garbage collector's work.
var collectors = []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart", "runtime.bgsweep", "runtime.bgscavenge"}

// profile is the CPU profile of a benchmark.
type profile struct {
	name         string
	nsPerRequest float64
	totalMs      float64
	parts        []float64 // ms, by theParts
	collectorMs  float64
}

// profileLine matches a line of pprof -top -unit=ms: the flat time, its share, the running sum of
// the shares, the cumulative time, its share, and the function.
var profileLine = regexp.MustCompile(`^\s*(\d+(?:\.\d+)?)(?:ms)?\s+\S+%\s+\S+%\s+(\d+(?:\.\d+)?)(?:ms)?\s+\S+%\s+(.+)$`)

// parts returns a section with a table of the processor time of a request by part of the simulator.
func parts(input string) (section, error) {
	if err := failed(input); err != nil {
		return section{}, err
	}
	var profiles []*profile
	for line := range strings.Lines(input) {
		name, values, err := parseResult(line, "Run")
		if err != nil {
			return section{}, err
		}
		if name != "" {
			profiles = append(profiles, &profile{name: name, nsPerRequest: values[nsPerOp], parts: make([]float64, len(theParts))})
			continue
		}
		if m := profileLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if len(profiles) == 0 {
				return section{}, errors.New("a profile comes before any line of BenchmarkRun")
			}
			if err := profiles[len(profiles)-1].add(m[1], m[2], m[3]); err != nil {
				return section{}, fmt.Errorf("%q: %w", line, err)
			}
		}
	}
	if len(profiles) == 0 {
		return section{}, errors.New("the input has no lines of BenchmarkRun")
	}
	rows := make([][]string, 1+len(theParts)+2)
	rows[0] = []string{""}
	for i := range theParts {
		rows[1+i] = []string{theParts[i].name}
	}
	sum, collector := &rows[len(rows)-2], &rows[len(rows)-1]
	*sum, *collector = []string{"**ns/request**"}, []string{"garbage collection (within the rest)"}
	for _, p := range profiles {
		if p.totalMs == 0 {
			return section{}, fmt.Errorf("in BenchmarkRun/%s: has no profile; want the output of go tool pprof -top -unit=ms after it", p.name)
		}
		rows[0] = append(rows[0], strings.ReplaceAll(p.name, "/", ", "), "")
		for i, ms := range p.parts {
			share := ms / p.totalMs
			rows[1+i] = append(rows[1+i], fmt.Sprintf("%.0f %%", 100*share), fmt.Sprintf("%.0f ns", share*p.nsPerRequest))
		}
		*sum = append(*sum, "", fmt.Sprintf("**%.0f ns**", p.nsPerRequest))
		*collector = append(*collector, fmt.Sprintf("%.1f %%", 100*p.collectorMs/p.totalMs), "")
	}
	return section{text: fmt.Sprintf("%s; one run each.\n\n%s", machine(input), table(rows))}, nil
}

// add adds the times of a function to its part.
func (p *profile) add(flat, cumulative, function string) error {
	flatMs, err := strconv.ParseFloat(flat, 64)
	if err != nil {
		return err
	}
	cumulativeMs, err := strconv.ParseFloat(cumulative, 64)
	if err != nil {
		return err
	}
	p.totalMs += flatMs
	if slices.Contains(collectors, strings.TrimSuffix(function, " (inline)")) {
		p.collectorMs += cumulativeMs
	}
	p.parts[partOf(function)] += flatMs
	return nil
}

// partOf returns the index of the part to which a function belongs.
func partOf(function string) int {
	i := slices.IndexFunc(theParts, func(part part) bool {
		return slices.ContainsFunc(part.prefixes, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
	})
	if i < 0 {
		return len(theParts) - 1
	}
	return i
}
