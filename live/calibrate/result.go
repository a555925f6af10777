package calibrate

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"apfsim/core/classify"
	"apfsim/experiment/fit/sharing"
	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// The files of a measurement.
const (
	CapacityFile    = "capacity.yaml"
	CalibrationFile = "calibration.json"
)

// Measurement is all that is known after a measurement. It is what calibration.json contains.
type Measurement struct {
	SchemaVersion string    `json:"schemaVersion"`
	Server        string    `json:"server"`
	Version       string    `json:"version"` // of the server; empty if it does not say
	StartedAt     time.Time `json:"startedAt"`
	Requests      []string  `json:"requests"` // method and URL
	*Curve
	Request  *classify.Attributes `json:"-"` // of the only kind; nil if there are several
	Capacity *Capacity            `json:"-"`
	Fitted   *fitted              `json:"capacity"` // null if there is nothing to fit to
}

// fitted is a capacity as JSON has it. Bounds that do not exist are null.
type fitted struct {
	Cores        *float64 `json:"cores"`
	Contention   float64  `json:"contention"`
	Coherency    float64  `json:"coherency"`
	Identifiable bool     `json:"identifiable"`
	Reason       string   `json:"reason"`
	Measured     int      `json:"measured"`
	DemandNs     int64    `json:"demandNs"`
	Scatter      float64  `json:"scatter"`
	Text         string   `json:"text"` // the capacity in a sentence

	CoresLow       *float64 `json:"coresLow"`
	CoresHigh      *float64 `json:"coresHigh"`
	ContentionLow  *float64 `json:"contentionLow"`
	ContentionHigh *float64 `json:"contentionHigh"`
	CoherencyLow   *float64 `json:"coherencyLow"`
	CoherencyHigh  *float64 `json:"coherencyHigh"`

	ThroughputLow  float64 `json:"throughputLow"` // of so many requests at a time as were measured, in another period as long as a step, in parts of that of the law
	ThroughputHigh float64 `json:"throughputHigh"`
}

func newFitted(c *Capacity) *fitted {
	bounded := func(x float64) *float64 {
		if math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	interval := func(i sharing.Interval) (low, high *float64) { return bounded(i.Low), bounded(i.High) }
	f := &fitted{Cores: bounded(c.Law.Cores), Contention: c.Law.Contention, Coherency: c.Law.Coherency, Identifiable: c.Identifiable,
		Reason: c.Reason, Measured: c.Measured, Text: "Capacity: " + c.String() + ".", DemandNs: int64(c.Demand), Scatter: c.Scatter}
	f.CoresLow, f.CoresHigh = interval(c.Cores)
	f.ContentionLow, f.ContentionHigh = interval(c.Contention)
	f.CoherencyLow, f.CoherencyHigh = interval(c.Coherency)
	f.ThroughputLow, f.ThroughputHigh = c.Throughput.Low, c.Throughput.High
	return f
}

// Fit fits the capacity to the curve. The error says that there is nothing to fit to.
func (m *Measurement) Fit() (err error) {
	if m.Capacity, err = Fit(m.Curve); err == nil {
		m.Capacity.Request = m.Request
		m.Fitted = newFitted(m.Capacity)
	}
	return err
}

// Write writes the files to a folder: both or none.
func (m *Measurement) Write(dir string) (err error) {
	m.SchemaVersion = result.SchemaVersion
	var list files.List
	list.Add(CapacityFile, m.writeCapacity)
	list.Add(CalibrationFile, func(w io.Writer) error { return format.WriteJSON(w, m) })
	var set atomicfile.Set
	defer func() {
		if e := set.Discard(); err == nil {
			err = e
		}
	}()
	if err := list.AddTo(&set, filepath.Clean(dir)); err != nil {
		return err
	}
	return set.Commit()
}

// writeCapacity writes the part of spec.servers that was measured.
func (m *Measurement) writeCapacity(w io.Writer) error {
	c := m.Capacity
	_, err := fmt.Fprintf(w, `# spec.servers of a scenario, measured with closed loops of 1 to %d clients:
%s# Capacity: %v.
# A request takes %s alone. With several kinds of requests this is their mean.
capacity: %s
`, m.maxClients(), "#   "+strings.Join(m.Requests, "\n#   ")+"\n", c, format.Duration(float64(c.Demand)), c.Fields())
	return err
}

func (m *Measurement) maxClients() (clients int) {
	for _, s := range m.used() {
		clients = max(clients, s.Clients)
	}
	return clients
}

// Print prints the curve, and what it says.
func (m *Measurement) Print(w io.Writer) error {
	fmt.Fprintln(w)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "clients\trequests/s\t± 95 %%\texecution mean\twait mean\tlatency mean\tp50\tp99\tfailed\t\n")
	mean := func(ns *float64) string {
		if ns == nil {
			return "-"
		}
		return format.Duration(*ns)
	}
	for _, s := range m.Steps {
		fmt.Fprintf(out, "%d\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%d\t\n", s.Clients, s.PerSecond, 1.96*s.Error, mean(s.Execution), mean(s.Wait),
			format.Duration(float64(s.Latency.MeanNs)), format.Duration(float64(s.Latency.P50Ns)), format.Duration(float64(s.Latency.P99Ns)), s.Failed)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMeasured until: %s.\n", m.Stopped)
	for _, s := range m.Steps {
		if s.Unused != "" {
			fmt.Fprintf(w, "Not used, with %d clients: %s.\n", s.Clients, s.Unused)
		}
	}
	for _, note := range m.Notes {
		fmt.Fprintf(w, "warning: %s\n", format.Printable(note))
	}
	c := m.Capacity
	if c == nil {
		return nil
	}
	fmt.Fprintln(w, m.Fitted.Text)
	_, err := fmt.Fprintf(w, "A request takes %s alone. For a scenario:\n  --set 'spec.servers.capacity=%s'\n", format.Duration(float64(c.Demand)), c.Fields())
	return err
}
