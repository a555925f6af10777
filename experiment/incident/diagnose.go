//go:build !js

// A diagnosis needs what the program for a browser does without: searches for remedies, and the charts of their results.

package incident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/document"
	"apfsim/experiment/tune"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/trace"
)

// Names of the files that a diagnosis adds to those of its import.
const (
	DiagnosisFile = "diagnosis.json"
	PageFile      = "diagnosis.html"
)

// Diagnosis says who was harmed in a log, by whom, when and how. What the log itself shows is a fact: the clients, and the
// status of the verdict. Causes and remedies are concluded from a replay, and are as good as it is.
type Diagnosis struct {
	SchemaVersion     string `json:"schemaVersion"`
	KubernetesVersion string `json:"kubernetesVersion"`
	VersionFrom       string `json:"versionFrom"` // VersionGiven and the other constants
	Server            string `json:"server"`      // whose requests these are; empty if the logs name no server
	From              string `json:"from"`        // the part of the log, RFC 3339
	To                string `json:"to"`
	Client            string `json:"client,omitempty"` // the user to whom the diagnosis is narrowed

	Clients []*LoggedClient `json:"clients"` // the most harmed first

	Replay        *result.Replay  `json:"replay"`
	ReplayTrusted bool            `json:"replayTrusted"`
	WhyNotTrusted []string        `json:"whyNotTrusted"` // possible reasons, the most likely one first
	Verdict       *result.Overall `json:"verdict"`
	KnownFaults   []KnownFault    `json:"knownFaults"` // of the release
	Slow          Slow            `json:"slow"`        // where the time of slow requests went, as the audit log says it
	Remedies      []Remedy        `json:"remedies"`    // none if the replay is not trusted
	Wanted        []Wanted        `json:"wanted"`

	Sources []Source    `json:"sources"` // the files
	Schemas []SchemaUse `json:"schemas"` // by FlowSchema, if there are metrics and no log
	Levels  []LevelUse  `json:"levels"`  // likewise by priority level

	imported *Report
	answer   *tune.Answer // of the search for remedies; nil if none was tried
}

// Wanted is an input that would say what is not known.
type Wanted struct {
	Input string `json:"input"`
	Tells string `json:"tells"`
}

// temporaryFolder makes a folder for temporary files, which the caller removes. It is in the working directory if the system has
// no place for such files, as beside a program that is alone in its root folder.
func temporaryFolder() (string, error) {
	dir, err := os.MkdirTemp("", "apfsim-")
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = os.MkdirTemp(".", ".apfsim-")
	}
	return dir, err
}

// Diagnose imports logs, replays them, and says what the log shows and why. The files of the import, and those of the
// diagnosis, are written to the folder of the options. Without a folder, they are written to a temporary one, which is removed.
// A client narrows the diagnosis to it and its neighbours; "" is all of them.
func Diagnose(ctx context.Context, o Options, client string) (_ *Diagnosis, err error) {
	keep := o.Dir != ""
	if !keep {
		dir, err := temporaryFolder()
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		o.Dir = filepath.Join(dir, "incident")
	}
	imported, err := Import(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := imported.diagnosis(client)
	if err == nil {
		err = d.tryRemedies(ctx, &o)
	}
	if err != nil || !keep {
		return d, err
	}
	var list files.List
	list.Add(PageFile, func(w io.Writer) error { return render.HTML(w, d.Document()) })
	list.Add(DiagnosisFile, func(w io.Writer) error { return format.WriteJSON(w, d) })
	if d.answer != nil && d.answer.Selected != nil {
		change, err := d.answer.Manifest()
		if err != nil {
			return nil, err
		}
		list.Files = append(list.Files, files.File{Name: tune.ChangeFile, Data: change})
	}
	return d, files.Write(o.Dir, list)
}

// diagnosis returns what follows from an import.
func (r *Report) diagnosis(client string) (*Diagnosis, error) {
	complete(r.clients, r.startNs)
	d := &Diagnosis{SchemaVersion: result.SchemaVersion, KubernetesVersion: r.KubernetesVersion, VersionFrom: r.VersionFrom, Server: r.Server,
		From: r.Start, To: rfc3339(r.startNs + r.DurationNs), Clients: r.clients, Replay: r.Replay, WhyNotTrusted: []string{},
		Remedies: []Remedy{}, Wanted: r.wanted(), Sources: r.sources, Schemas: []SchemaUse{}, Levels: []LevelUse{}, imported: r}
	d.ReplayTrusted = r.Replay.Matches != nil && *r.Replay.Matches && !r.otherConfiguration()
	if !d.ReplayTrusted {
		d.WhyNotTrusted = r.whyNotTrusted()
	}
	about := r.clients
	if client != "" {
		var err error
		if about, err = d.narrow(client); err != nil {
			return nil, err
		}
	}
	d.judge(about)
	d.KnownFaults, d.Slow = knownFaults(r.rules, about), sumOf(about).slow
	for i := range d.Verdict.Try {
		t := &d.Verdict.Try[i]
		d.Remedies = append(d.Remedies, Remedy{ID: t.Remedy, Sentence: t.Sentence, Worse: []string{}})
	}
	return d, nil
}

// narrow keeps the clients of one user and the clients that share queues with them, and returns the former.
func (d *Diagnosis) narrow(name string) (about []*LoggedClient, err error) {
	user := ""
	for _, is := range []func(*LoggedClient) bool{
		func(c *LoggedClient) bool { return c.User == name || c.Name == name || c.flow() == name },
		func(c *LoggedClient) bool { return strings.HasSuffix(c.User, ":"+name) },
	} {
		if i := slices.IndexFunc(d.Clients, is); i >= 0 && user == "" {
			user = d.Clients[i].User
		}
	}
	if user == "" {
		var names []string
		for _, c := range d.Clients[:min(len(d.Clients), 1000)] {
			names = append(names, c.Name)
		}
		return nil, &WrongChoice{fmt.Sprintf("--client: %q has no request in this part of the log%s; the clients are %s",
			document.Abridge(name), document.Suggest(name, names), format.Listed(names, 10, ""))}
	}
	var kept []*LoggedClient
	for _, c := range d.Clients {
		if c.User == user {
			about = append(about, c)
		}
	}
	for _, c := range d.Clients {
		neighbour := slices.ContainsFunc(about, func(a *LoggedClient) bool {
			return c.User == user || c.PriorityLevel == a.PriorityLevel && slices.ContainsFunc(c.Hand, func(q int) bool { return slices.Contains(a.Hand, q) })
		})
		if neighbour {
			kept = append(kept, c)
		}
	}
	d.Client, d.Clients = user, kept
	return about, nil
}

// leastEqual is the part of the FlowSchemas and priority levels in a log that the configuration must give.
const leastEqual = 0.95

// otherConfiguration reports whether the configuration differs from the one that the log shows.
func (r *Report) otherConfiguration() bool {
	differs := func(a Agreement) bool { return float64(a.Equal) < leastEqual*float64(a.Compared) }
	return differs(r.Check.FlowSchema) || differs(r.Check.PriorityLevel)
}

// whyNotTrusted returns why the replay may differ from the log.
func (r *Report) whyNotTrusted() []string {
	all := []string{}
	if r.otherConfiguration() {
		worst := r.Check.FlowSchema
		what := "FlowSchema"
		if p := r.Check.PriorityLevel; p.Compared-p.Equal > worst.Compared-worst.Equal {
			worst, what = p, "priority level"
		}
		all = append(all, fmt.Sprintf("the configuration is not that of the log, in which %s of %s have another %s",
			format.Whole(worst.Compared-worst.Equal), result.RequestCount(worst.Compared), what))
	}
	compared := *r.Replay
	if r.Stamps != "" {
		all = append(all, map[string]string{
			StampsEqual:   "the log does not say how long requests executed or waited: they are received and completed at the same time",
			StampsSeconds: "the log does not say how long requests executed or waited: all of its times are whole seconds",
		}[r.Stamps])
		compared.Unknown = slices.DeleteFunc(slices.Clone(compared.Unknown), func(what string) bool { return what == trace.UnknownExecutions })
	}
	if r.otherConfiguration() { // whose queues say nothing of those that were full
		compared.Unknown = slices.DeleteFunc(slices.Clone(compared.Unknown), func(what string) bool { return what == trace.UnknownQueues })
	}
	reasons := report.ReplayReasons(&compared)
	if !r.configured {
		reasons = append(reasons, "the configuration is not known, and assumed to be that of a new cluster")
	}
	switch {
	case r.gapToNs > 0:
		all = append(all, fmt.Sprintf("a part of the log is missing: it has no request from %s to %s", r.moment(r.gapFromNs), r.moment(r.gapToNs)))
	case r.Replay.RejectedInReplay < r.Replay.RejectedInLog && !slices.Contains(r.Replay.Unknown, trace.UnknownQueues):
		if r.limits { // else these are the likelier reason
			all = append(all, mayBeMissing)
		} else {
			reasons = append(reasons, mayBeMissing)
		}
	}
	if all = append(all, reasons...); len(all) == 0 {
		all = append(all, "the reason is not known")
	}
	return all
}

// mayBeMissing is why a replay can reject less than its log shows.
const mayBeMissing = "a part of the log may be missing"

// moment writes a time since 1970 as those of the verdict are written.
func (r *Report) moment(ns int64) string {
	return (&result.Overall{StartNs: format.Clock(r.startNs)}).Moment(ns - r.startNs)
}

// wanted returns the inputs that would make the diagnosis more certain.
func (r *Report) wanted() []Wanted {
	all := []Wanted{}
	add := func(missing bool, input, tells string) {
		if missing {
			all = append(all, Wanted{input, tells})
		}
	}
	add(r.QueuesFull && !r.otherConfiguration(), "an earlier part of the log", "what was in the queues when this one begins")
	add(r.Logs.Both+r.Logs.AuditAlone == 0, "the audit log", "the users and their groups")
	add(r.Logs.Both+r.Logs.HTTPAlone == 0, "the log of kube-apiserver at -v=3", "execution times and waits, and the FlowSchema, priority level and seats of each request")
	add(!r.configured, "--config", "the FlowSchemas and priority levels of the server")
	add(!r.limits || !r.stored, "--metrics", "the limits of the priority levels, the numbers of objects, which are the seats of lists, and the release")
	return all
}

// unreadable reports whether too many lines cannot be read to conclude from the rest that there was no harm.
func (r *Report) unreadable() bool {
	bad, lines := r.badLines()
	return float64(bad) > mostUnreadable*float64(lines)
}

// badLines returns how many lines cannot be read, and of how many.
func (r *Report) badLines() (bad, lines int64) {
	for i := range r.Files {
		bad, lines = bad+r.Files[i].BadLines, lines+r.Files[i].Lines
	}
	return bad, lines
}

// Warnings returns as which release that of the server is taken, and which lines of the logs could not be read: the first of
// each file.
func (d *Diagnosis) Warnings() (all document.Errors) {
	if note := d.imported.VersionNote; note != "" {
		all.Add(document.Position{}, "", "%s", note)
	}
	for i := range d.imported.Files {
		f := &d.imported.Files[i]
		if len(f.Problems) == 0 {
			continue
		}
		text := f.Problems[0].Message + "; the line is left out"
		if more := f.BadLines - 1; more > 0 {
			text += ", as " + format.Counted(int(more), "other line") + " of the file that cannot be read"
		}
		all.Add(document.Position{File: f.Name, Line: int(f.Problems[0].Line)}, "", "%s", text)
	}
	return all
}
