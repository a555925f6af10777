// Package incident makes a trace and a scenario from the logs of real servers, so that what happened
// can be replayed, and changed.
//
// Whatever the logs do not say is derived by a rule, drawn from requests like it, or left out, and
// counted in the report.
package incident

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"apfsim/document"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/sim/trace/requests"
)

// Options say what is imported.
type Options struct {
	Sources  []requests.Source
	Server   string  // whose requests; empty for the server with the most
	From, To *Moment // the part of the logs; nil for the whole
	Strict   bool    // bad lines are an error
	Settings *Settings
	Dir      string   // the folder for the files
	Memory   int      // see requests.Options
	Files    []Source // what the files of a diagnosis were taken for, those that are not logs as well
	// Progress, if not nil, returns what shows the progress of the next part of the work, of which so many units are done.
	Progress func(unit string) format.Progress
}

// Moment is a point in time: absolute, or after the first arrival in the logs.
type Moment struct {
	Absolute bool
	Ns       int64 // since 1970, or since the first arrival
}

// ParseMoment reads an RFC 3339 time or a duration.
func ParseMoment(text string) (Moment, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return Moment{true, t.UnixNano()}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return Moment{false, d.Nanoseconds()}, nil
	}
	return Moment{}, fmt.Errorf("%q: want a time such as 2026-01-02T15:04:05Z, or a duration after the first arrival such as 90s", document.Abridge(text))
}

// After returns the moment as nanoseconds since 1970.
func (m *Moment) After(firstNs int64) int64 {
	if m.Absolute {
		return m.Ns
	}
	return firstNs + m.Ns
}

// WrongChoice is an error of the user: a server or a part of the logs without requests.
type WrongChoice struct{ Message string }

// Error implements error.
func (e *WrongChoice) Error() string { return e.Message }

// importer is one import.
type importer struct {
	*requests.Log
	progress func(unit string) format.Progress
	report   *Report
	clients  clients
	needed   drawKeys
	releases releases
	stamps   stamps
}

const second = int64(1_000_000_000)

// Import reads logs and writes the files of a replay: the trace, the scenario, the configuration and
// the report. Either all files are written or none.
func Import(ctx context.Context, o Options) (_ *Report, err error) {
	var set atomicfile.Set
	defer func() { err = errors.Join(err, set.Discard()) }()
	if err := set.MakeFolder(o.Dir); err != nil {
		return nil, err
	}
	return importTo(ctx, &o, &diskFolder{dir: o.Dir, set: &set})
}

// ImportInMemory is Import without a file system: it returns the files by their names, and sorts in memory. Dir is only a
// name. If the trace has more than so many bytes, the error is an [input.TooLong].
func ImportInMemory(ctx context.Context, o Options, maxBytes int64) (*Report, map[string][]byte, error) {
	o.Memory = 1 << 40 // so that nothing is sorted in a temporary file
	to := &memoryFolder{maxBytes: maxBytes}
	report, err := importTo(ctx, &o, to)
	return report, to.files, err
}

// importTo imports logs to a folder.
func importTo(ctx context.Context, o *Options, to folder) (_ *Report, err error) {
	m := &importer{report: newReport(), needed: drawKeys{}, progress: o.Progress}
	if m.progress == nil {
		m.progress = func(string) format.Progress { return func(int, int) {} }
	}
	reading := m.progress("MiB")
	m.Log, err = requests.Read(ctx, requests.Options{Sources: o.Sources, Strict: o.Strict, Dir: o.Dir, Memory: o.Memory,
		Progress: func(read, all int64) { reading(int(read>>20), int(max(1, read, all)>>20)) },
		Joined: func(q *requests.Request) {
			m.clients.learn(q)
			m.needed.add(q)
			m.releases.learn(q)
			m.stamps.learn(q)
		}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Log.Close()) }()
	m.report.sources = append([]Source{}, o.Files...)
	m.report.Files, m.report.Entries, m.report.Logs = m.Files, m.Entries, m.Logs
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		n := m.Servers[name].Requests
		m.report.Servers = append(m.report.Servers, Server{Name: name, Requests: n})
		m.report.Requests.Total += n
	}
	if m.report.Requests.Total == 0 {
		return nil, &WrongChoice{noRequests(m.Files)}
	}
	if apart, wrong := m.Apart(); wrong {
		direction, offset := "earlier", "smaller"
		if apart < 0 {
			apart, direction, offset = -apart, "later", "larger"
		}
		return nil, &WrongChoice{fmt.Sprintf("--zone: the httplog has the same requests %v %s than the audit log; use the time zone of the server: its offset from UTC is %v %s",
			apart, direction, apart, offset)}
	}
	w, err := m.window(o)
	if err != nil {
		return nil, err
	}
	if o.Settings, err = m.releases.settle(o.Settings, w.server); err != nil {
		return nil, err
	}
	m.report.Stamps = m.stamps.text()
	m.report.KubernetesVersion, m.report.VersionFrom, m.report.VersionNote = o.Settings.rules.Version, o.Settings.versionFrom, o.Settings.versionNote
	if err := m.write(ctx, o, w, to); err != nil {
		return nil, err
	}
	return m.report, nil
}

// noRequests says that the logs contain no requests, with the first lines that cannot be read.
func noRequests(files []requests.File) string {
	var lines int64
	var problems strings.Builder
	for _, f := range files {
		lines += f.Lines
		for _, p := range f.Problems[:min(3, len(f.Problems))] {
			fmt.Fprintf(&problems, "\n%s:%d: %s", f.Name, p.Line, p.Message)
		}
	}
	return fmt.Sprintf("the logs contain no requests: none of %s is an audit event, or a line of the log of kube-apiserver with \"HTTP\", which it writes at verbosity 3 and more%s",
		format.Counted(int(lines), "line"), problems.String())
}

// window is the part of the logs that is imported.
type window struct {
	server  string
	startNs int64 // time 0
	endNs   int64 // the end of the run
}

// window chooses the server and the part of its log.
func (m *importer) window(o *Options) (w window, err error) {
	most := slices.MaxFunc(m.report.Servers, func(a, b Server) int { // the first of several
		return cmp.Compare(a.Requests, b.Requests)
	})
	w.server = cmp.Or(o.Server, most.Name)
	log := m.Servers[w.server]
	if log == nil {
		return w, m.noSuchServer(w.server)
	}
	first := log.FirstNs
	if first < 0 { // all requests are long-running and were open before
		first = log.BeginNs
	}
	w.startNs = first
	if o.From != nil {
		w.startNs = o.From.After(first)
	}
	w.endNs = w.startNs + wholeSeconds(log.EndNs+1-w.startNs)
	if o.To != nil {
		w.endNs = o.To.After(first)
	}
	switch {
	case w.startNs > log.EndNs:
		return w, &WrongChoice{fmt.Sprintf("--from %s is after the end of the log, %s", rfc3339(w.startNs), rfc3339(log.EndNs))}
	case w.startNs >= w.endNs && o.From != nil:
		return w, &WrongChoice{fmt.Sprintf("--from %s is not before --to %s", rfc3339(w.startNs), rfc3339(w.endNs))}
	case w.startNs >= w.endNs:
		return w, &WrongChoice{fmt.Sprintf("--to %s is before the first arrival, %s", rfc3339(w.endNs), rfc3339(first))}
	}
	m.report.Server = w.server
	m.report.AdjustmentPhaseNs = adjustmentPhase(log.Adjustments, w.startNs)
	m.report.Start, m.report.DurationNs = rfc3339(w.startNs), w.endNs-w.startNs
	return w, nil
}

func (m *importer) noSuchServer(name string) error {
	var named []string
	for _, s := range m.report.Servers {
		if s.Name != "" {
			named = append(named, s.Name)
		}
	}
	if len(named) == 0 {
		return &WrongChoice{fmt.Sprintf("--server: %q: the logs name no server; use SERVER=FILE to name the server of a file", name)}
	}
	return &WrongChoice{fmt.Sprintf("--server: %q has no request in the logs%s; the servers are %s",
		name, document.Suggest(name, named), strings.Join(named, ", "))}
}

// wholeSeconds rounds up to whole seconds.
func wholeSeconds(ns int64) int64 { return (max(ns, 1) + second - 1) / second * second }

func rfc3339(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
