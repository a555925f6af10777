package incident

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Document returns the report of the import in words. The files are in the folder dir, and scenario is one of them. Without a
// folder, it does not say where they are.
func (r *Report) Document(dir, scenario string) *report.Document {
	d := &report.Document{Title: "Import", Data: r, Replay: &report.Verdict{Sentences: report.ReplaySentences(r.Replay)}}
	add := func(name, title string, parts ...report.Part) {
		d.Sections = append(d.Sections, report.Section{Name: name, Title: title, Parts: parts})
	}
	add("files", "Files", r.fileParts()...)
	add("requests", "Requests", r.requestParts()...)
	if len(r.Levels) > 0 {
		t := report.TextTable("Requests in the trace, by the priority level in the log", "priority level", "dispatched", "rejected")
		for _, l := range r.Levels {
			t.AddTexts(l.PriorityLevel, count(l.Dispatched), count(l.Rejected))
		}
		add("levels", "Priority levels", report.Part{Table: t})
	}
	add("decisions", "Decisions", r.checkParts()...)
	settings := report.TextTable("Settings of the scenario, and where they come from", "", "", "")
	for _, s := range r.Settings {
		settings.AddTexts(strings.TrimPrefix(s.Field, "spec."), s.Value, s.Source)
	}
	add("settings", "Settings", report.Part{Table: settings})
	missing := []report.Part{{Heading: "What the logs do not contain", List: r.notes()}}
	if dir != "" {
		missing = append(missing, report.Part{Paragraph: fmt.Sprintf("The files are in %s. The next command is:\n  apfsim run %s", dir, scenario)})
	}
	add("missing", "What the logs do not contain", missing...)
	return d
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

// fileParts are the table of the files, and the lines that could not be read.
func (r *Report) fileParts() []report.Part {
	t := report.TextTable("", "File", "lines", "audit events", "httplog lines", "not about requests", "bad")
	t.Flush = true
	for _, f := range r.Files {
		t.AddTexts(f.Name, count(f.Lines), count(f.Audit), count(f.HTTP), count(f.LeftOut), count(f.BadLines))
	}
	parts := []report.Part{{Table: t}}
	for _, f := range r.Files {
		for _, p := range f.Problems {
			parts = append(parts, report.Part{Note: fmt.Sprintf("%s:%d: %s", f.Name, p.Line, p.Message)})
		}
		if more := f.BadLines - int64(len(f.Problems)); more > 0 {
			parts = append(parts, report.Part{Note: fmt.Sprintf("%s: %d more bad lines", f.Name, more)})
		}
	}
	return parts
}

// row is a number and what it is of. Rows that are 0 are left out, unless they are always shown.
type row struct {
	what   string
	n      int64
	always bool
}

func counts(title string, rows []row) report.Part {
	t := report.TextTable(title, "", "")
	for _, r := range rows {
		if r.n > 0 || r.always {
			t.AddTexts(r.what, count(r.n))
		}
	}
	return report.Part{Table: t}
}

// requestParts are the tables of the requests in the logs and in the trace.
func (r *Report) requestParts() []report.Part {
	n := r.Requests
	all := []row{{"in the logs", n.Total, true}, {"in the trace", n.InTrace, true}, {"left out", n.Total - n.InTrace, true}}
	for _, c := range n.LeftOut {
		all = append(all, row{"  " + c.Of, c.Requests, true})
	}
	server := ""
	if r.Server != "" {
		server = "has the requests of the server " + r.Server + ", "
	}
	var verbs []row
	for _, v := range r.Verbs {
		verbs = append(verbs, row{v.Of, v.Requests, false})
	}
	return []report.Part{
		counts("Requests", all),
		{Paragraph: fmt.Sprintf("The trace %sbegins at %s and lasts %v.", server, r.Start, time.Duration(r.DurationNs)), Tight: true},
		counts("Requests in the trace, by verb", verbs),
		counts("Requests in the trace, by outcome", []row{
			{"executed", r.Outcomes.Executed, true},
			{"  with response 429 of the handler, not of flow control", r.Outcomes.OtherTooManyRequests, false},
			{"rejected by flow control", r.Outcomes.Rejected, true},
			{"their end is not in the log", r.Outcomes.WithoutEnd, false},
		}),
		counts("Requests in the trace, by the source of their execution time", []row{
			{"measured by the server", r.Times.Measured, false},
			{"the time until the response, less the wait", r.Times.TotalLessWait, false},
			{"the time until the response, with the wait if there was one", r.Times.TotalWithWait, false},
			{"of watches, the time until the response started", r.Times.UntilStarted, false},
			{"of watches that were open at the start, 0", r.Times.OpenBefore, false},
			{"of other long-running requests, which bypass flow control, the time until their end", r.Times.Lifetime, false},
			{"drawn from other requests", r.Times.Drawn, false},
			{"  for rejected requests", r.Drawn.Rejected, false},
			{"  for requests whose end is not in the log", r.Drawn.WithoutEnd, false},
			{"  for watches whose initialization is not in the log", r.Drawn.Watches, false},
			{"  from the same user, verb and resource", r.Drawn.FromUser, false},
			{"  from the same verb and resource", r.Drawn.FromResource, false},
			{"  from the same verb", r.Drawn.FromVerb, false},
			{"  from all requests that are not watches", r.Drawn.FromAny, false},
			{"  from none, because the logs have no execution time; it is 0", r.Drawn.None, false},
		}),
	}
}

// checkParts compare the decisions of the configuration with those in the log.
func (r *Report) checkParts() []report.Part {
	c := r.Check
	t := report.TextTable("Decisions of the configuration, compared with those in the log", "", "")
	parts := []report.Part{{Table: t}}
	switch {
	case c.Requests == 0 && c.WithoutUser > 0:
		return append(parts, report.Part{Note: "The decisions in the log cannot be compared, because the users are unknown."})
	case c.Requests == 0:
		return append(parts, report.Part{Note: "The logs do not say what the server decided. An httplog says it."})
	}
	for _, a := range []struct {
		name string
		Agreement
	}{{"FlowSchema", c.FlowSchema}, {"priority level", c.PriorityLevel}, {"seats", c.Seats}, {"final seats", c.FinalSeats}} {
		t.AddTexts(a.name, fmt.Sprintf("%d of %d are equal", a.Equal, a.Compared))
	}
	for _, d := range c.Differences {
		parts = append(parts, report.Part{Note: fmt.Sprintf("  %s: %s: the log has %s, the configuration gives %s", d.At, d.Field, d.Logged, d.Decided)})
	}
	return parts
}

// notes returns sentences on what the logs do not say and what follows from it.
func (r *Report) notes() (notes []string) {
	add := func(text string, args ...any) { notes = append(notes, fmt.Sprintf(text, args...)) }
	if len(r.Servers) > 1 {
		var others []string
		for _, s := range r.Servers {
			if s.Name != r.Server {
				others = append(others, fmt.Sprintf("%s (%d)", nameOf(s.Name), s.Requests))
			}
		}
		add("Each server has its own flow control, so that the trace has the requests of one server only, %s. The logs also have requests of %s. Use --server to choose another server.",
			nameOf(r.Server), format.Listed(others, 10, ""))
	}
	if a, b := r.overlapping(); a != "" {
		add("%s and %s have lines of the same time. If they are logs of different servers, name the servers: a=%s b=%s.", a, b, a, b)
	}
	if missing := r.missingVerbs(); len(missing) > 0 {
		add("The logs have no request with the verbs %s. If the audit policy leaves them out, the replay does not have their load.", strings.Join(missing, ", "))
	}
	if n := r.Waits.UnknownShort; n > 0 {
		add("The waits of %s that took up to 500 ms are unknown, because an audit log has the waits of longer requests only. In the replay, these "+
			"requests execute for that time too, so that an overload looks worse than it was. Import the httplog of the server as well, which has the execution times.",
			format.Counted(int(n), "executed request"))
	}
	if n := r.Waits.UnknownLonger; n > 0 {
		add("The waits of %s that took more than 500 ms are unknown. In the replay, these requests execute for that time too.", format.Counted(int(n), "executed request"))
	}
	if n := r.Users.Learned; n > 0 {
		add("The logs do not have the users of %s. They have got the only user with the same address and user agent.", format.Counted(int(n), "request"))
	}
	if n := r.Users.Unknown; n > 0 {
		add("The users of %s are unknown. Each address with a user agent has become a user of its own in the group system:authenticated, "+
			"so that the FlowSchemas of these requests can be wrong.", format.Counted(int(n), "request"))
	}
	if n := r.Users.GroupsUnknown; n > 0 {
		add("The groups of the users of %s are unknown, so that the FlowSchemas of these requests can be wrong.", format.Counted(int(n), "request"))
	}
	if n := r.Watches.Total; n > 0 {
		add("%d of %d watches were open at the start. Watches that have no line in the logs are missing in the replay, where writes can then take too few seats.",
			r.Watches.OpenBefore, n)
	} else {
		add("The logs have no watches, so that all writes take one seat in the replay.")
	}
	if n := r.Watches.WithoutEnd; n > 0 {
		add("The end of %d of the watches is not in the logs. In the replay they last until the trace ends.", n)
	}
	if n := r.Outcomes.WithoutEnd - r.Watches.WithoutEnd; n > 0 {
		add("The end of %s other than watches is not in the logs.", format.Counted(int(n), "request"))
	}
	if n := r.Check.FinalSeats.Compared - r.Check.FinalSeats.Equal; n > 0 {
		add("In the replay, %s take other final seats than in the server, where they depend on the number of watches.", format.Counted(int(n), "write"))
	}
	if n := r.Check.WithoutUser; n > 0 {
		add("The decisions of the server for %s could not be compared, because the users are unknown.", format.Counted(int(n), "request"))
	}
	return notes
}

// nameOf returns the name of a server for a sentence.
func nameOf(server string) string {
	if server == "" {
		return "without a name"
	}
	return server
}

// overlapping returns two files of the same kind of log, without a named server, of which a large part
// is of the same time.
func (r *Report) overlapping() (a, b string) {
	for i, f := range r.Files {
		for _, g := range r.Files[:i] {
			sameKind := f.Audit > 0 && g.Audit > 0 && f.HTTP == 0 && g.HTTP == 0 || f.HTTP > 0 && g.HTTP > 0 && f.Audit == 0 && g.Audit == 0
			if !sameKind || f.Server != g.Server || len(r.Servers) > 1 {
				continue
			}
			common := min(f.LastNs, g.LastNs) - max(f.FirstNs, g.FirstNs)
			if shorter := min(f.LastNs-f.FirstNs, g.LastNs-g.FirstNs); common > 0 && common > shorter/10 {
				return g.Name, f.Name
			}
		}
	}
	return "", ""
}
