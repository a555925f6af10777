package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peer is a program that simulates a regime.
type peer struct {
	name     string
	regimes  string // names of the regimes that it can simulate
	requests int    // in a measurement of A, B or C; chosen to take one or two seconds
	seats    bool   // requests may wait for a seat
	queues   bool   // requests may be rejected
	run      func(r *regime, l load, requests int) (measurement, error)
}

// Names of the peers with which others are compared.
const (
	peerUpstream = "upstream"
	peerBare     = "bare loop"
	peerQueueSet = "apfsim core/queueset"
	peerApfsim   = "apfsim"
	peerLogging  = "apfsim with request log"
	peerSimPy    = "SimPy"
)

var peers = []peer{
	{peerUpstream, "ABC", 400_000, true, true, withoutRegime(runUpstream)},
	{peerSimPy, "ABC", 50_000, true, false, runSimPy},
	{peerBare, "ABCDEFGH", 10_000_000, false, false, withoutRegime(bare)},
	{"bare loop with apfsim's clock", "ABCDEFGH", 10_000_000, false, false, withoutRegime(bareByClock)},
	{peerQueueSet, "ABC", 5_000_000, true, true, withoutRegime(runQueueSet)},
	{peerApfsim, "ABCDEFGH", 4_000_000, true, true, runApfsim},
	{peerLogging, "ABCDEFGH", 4_000_000, true, true, runApfsimLogging},
}

// withoutRegime adapts a function that needs only the load of a regime and cannot fail.
func withoutRegime(run func(load, int) measurement) func(*regime, load, int) (measurement, error) {
	return func(_ *regime, l load, requests int) (measurement, error) { return run(l, requests), nil }
}

// requestsIn returns the number of requests in a measurement of a regime.
func (p *peer) requestsIn(r *regime) int {
	if r.requests > 0 {
		return r.requests
	}
	return p.requests
}

// measurement is the output of a child process. Invariant: Arrived is the sum of the next four
// fields, which count the requests by their state at the end. The run ends when the last request
// has arrived or the simulated time is over.
type measurement struct {
	Arrived     int     `json:"arrived"`
	Completed   int     `json:"completed"`
	Rejected    int     `json:"rejected"`
	Waiting     int     `json:"waiting"`
	Executing   int     `json:"executing"`
	MeanWaitNs  float64 `json:"meanWaitNs"` // of the dispatched requests
	SimulatedNs int64   `json:"simulatedNs"`
	ElapsedNs   int64   `json:"elapsedNs"`
	PeakBytes   int64   `json:"peakBytes"` // highest resident memory of the process; 0 if the system does not report it
}

// measure simulates a number of requests in this process.
func (p *peer) measure(r *regime, requests int) (measurement, error) {
	l, err := r.load()
	if err != nil {
		return measurement{}, err
	}
	if r.replay && p.queues {
		dir, err := os.MkdirTemp("", "bench-peers-")
		if err != nil {
			return measurement{}, err
		}
		defer os.RemoveAll(dir)
		if r, err = recorded(r, requests, dir); err != nil {
			return measurement{}, err
		}
	}
	start := time.Now()
	m, err := p.run(r, l, requests)
	if m.ElapsedNs == 0 {
		m.ElapsedNs = int64(time.Since(start))
		m.PeakBytes = peakBytes()
	}
	return m, err
}

// peakBytes returns the highest resident memory of the process so far (VmHWM of Linux).
func peakBytes() int64 {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kilobytes * 1024
		}
	}
	return 0
}

//go:embed mmc.py
var simpyScript string

// python is the interpreter that runs SimPy.
var python = "python3"

// simpyVersion returns the version of SimPy, or an error if it is not installed.
func simpyVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, python, "-c", "import simpy; print(simpy.__version__)").Output()
	if err != nil {
		return "", fmt.Errorf("%s has no module simpy", python)
	}
	return strings.TrimSpace(string(out)), nil
}

// runSimPy measures an M/M/c queue with the arrival rate, the service time and the seats of the
// regime.
func runSimPy(_ *regime, l load, requests int) (m measurement, err error) {
	out, err := runOutput(exec.Command(python, "-c", simpyScript, fmt.Sprint(l.rate()), fmt.Sprint(l.groups[0].serviceNs/1e9),
		strconv.Itoa(l.seats), strconv.Itoa(requests), strconv.FormatUint(l.seed, 10)))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}
