package sim_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkMemory is what a run in a process of its own takes: peak-B is the most memory
// that was resident, from the start to the summary, live-B what the garbage collector has
// to leave at the end of the run. A level of regime C gets more and more requests, or more
// and more clients, which are flows or all of one flow. make bench-memory turns it into
// lab/performance.md.
func BenchmarkMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("only Linux says what was resident")
	}
	for _, requests := range []int{1_000_000, 10_000_000, 100_000_000} {
		b.Run(fmt.Sprintf("requests=%d", requests), func(b *testing.B) {
			if requests > 1_000_000 && testing.Short() {
				b.Skip("takes up to a minute")
			}
			measureMemory(b, memoryRun{Requests: requests, Clients: regimeC.flows, Flows: regimeC.flows})
		})
	}
	for _, clients := range []int{1000, 10_000, 100_000} {
		for _, kind := range []string{"clients", "flows"} {
			b.Run(fmt.Sprintf("%s=%d", kind, clients), func(b *testing.B) {
				if clients > 10_000 && testing.Short() {
					b.Skip("takes half a minute")
				}
				// As many for each client, so that no run is ahead in what it has counted.
				m := memoryRun{Requests: 70 * clients, Clients: clients, Flows: 1}
				if kind == "flows" {
					m.Flows = clients
				}
				measureMemory(b, m)
			})
		}
	}
}

// memoryRun is a run whose memory is measured.
type memoryRun struct{ Requests, Clients, Flows int }

// memory is what it took, in bytes.
type memory struct{ Peak, Live int64 }

// memoryVariable is the environment variable that makes the test binary do one memoryRun,
// which is its value.
const memoryVariable = "APFSIM_MEMORY_RUN"

func measureMemory(b *testing.B, m memoryRun) {
	var took memory
	for range b.N {
		var err error
		if took, err = m.inChild(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took.Peak), "peak-B")
	b.ReportMetric(float64(took.Live), "live-B")
}

func (m memoryRun) inChild(ctx context.Context) (took memory, err error) {
	spec, err := json.Marshal(m)
	if err != nil {
		return took, err
	}
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), memoryVariable+"="+string(spec))
	child.Stderr = os.Stderr
	out, err := child.Output()
	if err != nil {
		return took, err
	}
	return took, json.Unmarshal(out, &took)
}

func TestMain(m *testing.M) {
	spec := os.Getenv(memoryVariable)
	if spec == "" {
		os.Exit(m.Run())
	}
	var run memoryRun
	err := json.Unmarshal([]byte(spec), &run)
	if err == nil {
		var took memory
		if took, err = run.measure(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(took)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s=%s: %v\n", memoryVariable, spec, err)
		os.Exit(1)
	}
}

func (m memoryRun) measure() (took memory, err error) {
	l := regimeC
	l.flows, l.clients = m.Flows, m.Clients
	nothing := func() {}
	run, err := l.steady(0, m.Requests, 0, nothing, nothing)
	if err != nil {
		return took, err
	}
	took.Peak, err = peakBytes()
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	took.Live = int64(stats.HeapAlloc)
	runtime.KeepAlive(run) // and with it the statistics
	return took, err
}

// peakBytes returns the most memory that the process has had resident (Linux's VmHWM).
func peakBytes() (int64, error) {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.New("/proc/self/status: has no VmHWM")
}
