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

// peer is one way to simulate a regime.
type peer struct {
	name     string
	regimes  string
	requests int  // in one measurement of A, B or C: a second or two of work
	seats    bool // whether a request may have to wait, for a seat
	queues   bool // whether it may be rejected
	run      func(r *regime, l load, requests int) (measurement, error)
}

// The peers by the names under which others are compared with them.
const (
	peerUpstream = "upstream"
	peerBare     = "bare loop"
	peerQueueSet = "apfsim core/queueset"
	peerApfsim   = "apfsim"
	peerLogging  = "apfsim with request log"
	peerSimPy    = "SimPy"
)

var peers = []peer{
	{peerUpstream, "ABC", 400_000, true, true, ofLoad(runUpstream)},
	{peerSimPy, "ABC", 50_000, true, false, runSimPy},
	{peerBare, "ABCDE", 10_000_000, false, false, ofLoad(bare)},
	{"bare loop with apfsim's clock", "ABCDE", 10_000_000, false, false, ofLoad(bareByClock)},
	{peerQueueSet, "ABC", 5_000_000, true, true, ofLoad(runQueueSet)},
	{peerApfsim, "ABCDE", 4_000_000, true, true, runApfsim},
	{peerLogging, "ABCDE", 4_000_000, true, true, runApfsimLogging},
}

func ofLoad(run func(load, int) measurement) func(*regime, load, int) (measurement, error) {
	return func(_ *regime, l load, requests int) (measurement, error) { return run(l, requests), nil }
}

func (p *peer) requestsIn(r *regime) int {
	if r.requests > 0 {
		return r.requests
	}
	return p.requests
}

// measurement is what a child process prints. Arrived is the sum of the four after it,
// which say what had become of the requests when the last arrived or time was over.
type measurement struct {
	Arrived     int     `json:"arrived"`
	Completed   int     `json:"completed"`
	Rejected    int     `json:"rejected"`
	Waiting     int     `json:"waiting"`
	Executing   int     `json:"executing"`
	MeanWaitNs  float64 `json:"meanWaitNs"` // of those dispatched
	SimulatedNs int64   `json:"simulatedNs"`
	ElapsedNs   int64   `json:"elapsedNs"`
	PeakBytes   int64   `json:"peakBytes"` // resident memory of the process; 0 where the system does not say
}

// measure simulates so many requests in this process.
func (p *peer) measure(r *regime, requests int) (measurement, error) {
	l, err := r.load()
	if err != nil {
		return measurement{}, err
	}
	start := time.Now()
	m, err := p.run(r, l, requests)
	if m.ElapsedNs == 0 {
		m.ElapsedNs = int64(time.Since(start))
		m.PeakBytes = peakBytes()
	}
	return m, err
}

// peakBytes returns the most memory that the process has had resident (Linux's VmHWM).
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

// python is the interpreter that SimPy is looked for in.
var python = "python3"

// simpyVersion returns an error where there is no SimPy.
func simpyVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, python, "-c", "import simpy; print(simpy.__version__)").Output()
	if err != nil {
		return "", fmt.Errorf("%s has no module simpy", python)
	}
	return strings.TrimSpace(string(out)), nil
}

// runSimPy is an M/M/c queue of the regime's rate, service and seats.
func runSimPy(_ *regime, l load, requests int) (m measurement, err error) {
	out, err := output(exec.Command(python, "-c", simpyScript, fmt.Sprint(l.rate()), fmt.Sprint(l.groups[0].serviceNs/1e9),
		strconv.Itoa(l.seats), strconv.Itoa(requests), strconv.FormatUint(l.seed, 10)))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}
