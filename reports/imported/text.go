package imported

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// WriteText writes the report in words. The files are in the folder dir, and scenario is one of them.
func (r *Report) WriteText(w io.Writer, dir, scenario string) error {
	var b strings.Builder
	for _, sentence := range report.ReplaySentences(r.Replay) {
		b.WriteString(strings.Join(format.Wrap(sentence, 100), "\n") + "\n")
	}
	b.WriteString("\n")
	r.writeFiles(&b)
	r.writeRequests(&b)
	r.writeLevels(&b)
	r.writeCheck(&b)
	b.WriteString("\nSettings of the scenario, and where they come from\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", strings.TrimPrefix(s.Field, "spec."), s.Value, s.Source)
	}
	table.Flush()
	if notes := r.Notes(); len(notes) > 0 {
		b.WriteString("\nWhat the logs do not contain\n")
		for _, note := range notes {
			for i, line := range format.Wrap(note, 96) {
				b.WriteString([]string{"  - ", "    "}[min(i, 1)] + line + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "\nThe files are in %s. The next command is:\n  apfsim run %s\n", dir, scenario)
	_, err := io.WriteString(w, format.PrintableLines(b.String()))
	return err
}

func (r *Report) writeFiles(b *strings.Builder) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "File\tlines\taudit events\thttplog lines\tnot about requests\tbad")
	for _, f := range r.Files {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\n", f.Name, f.Lines, f.Audit, f.HTTP, f.LeftOut, f.BadLines)
	}
	table.Flush()
	for _, f := range r.Files {
		for _, p := range f.Problems {
			fmt.Fprintf(b, "  %s:%d: %s\n", f.Name, p.Line, p.Message)
		}
		if more := f.BadLines - int64(len(f.Problems)); more > 0 {
			fmt.Fprintf(b, "  %s: %d more bad lines\n", f.Name, more)
		}
	}
}

// row is a number and what it is of. Rows that are 0 are left out, unless they are always shown.
type row struct {
	what   string
	n      int64
	always bool
}

func writeRows(b *strings.Builder, rows []row) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if r.n > 0 || r.always {
			fmt.Fprintf(table, "  %s\t%d\n", r.what, r.n)
		}
	}
	table.Flush()
}

func (r *Report) writeRequests(b *strings.Builder) {
	n := r.Requests
	rows := []row{{"in the logs", n.Total, true}, {"in the trace", n.InTrace, true}, {"left out", n.Total - n.InTrace, true}}
	for _, c := range n.LeftOut {
		rows = append(rows, row{"  " + c.Of, c.Requests, true})
	}
	b.WriteString("\nRequests\n")
	writeRows(b, rows)
	of := ""
	if r.Server != "" {
		of = "has the requests of the server " + r.Server + ", "
	}
	fmt.Fprintf(b, "The trace %sbegins at %s and lasts %v.\n", of, r.Start, time.Duration(r.DurationNs))

	b.WriteString("\nRequests in the trace, by verb\n")
	rows = nil
	for _, v := range r.Verbs {
		rows = append(rows, row{v.Of, v.Requests, false})
	}
	writeRows(b, rows)
	b.WriteString("\nRequests in the trace, by outcome\n")
	writeRows(b, []row{
		{"executed", r.Outcomes.Executed, true},
		{"  with response 429 of the handler, not of flow control", r.Outcomes.OtherTooManyRequests, false},
		{"rejected by flow control", r.Outcomes.Rejected, true},
		{"their end is not in the log", r.Outcomes.WithoutEnd, false},
	})
	b.WriteString("\nRequests in the trace, by the source of their execution time\n")
	writeRows(b, []row{
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
	})
}

func (r *Report) writeLevels(b *strings.Builder) {
	if len(r.Levels) == 0 {
		return
	}
	b.WriteString("\nRequests in the trace, by the priority level in the log\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  priority level\tdispatched\trejected")
	for _, l := range r.Levels {
		fmt.Fprintf(table, "  %s\t%d\t%d\n", l.PriorityLevel, l.Dispatched, l.Rejected)
	}
	table.Flush()
}

func (r *Report) writeCheck(b *strings.Builder) {
	c := r.Check
	b.WriteString("\nDecisions of the configuration, compared with those in the log\n")
	switch {
	case c.Requests == 0 && c.WithoutUser > 0:
		b.WriteString("  The decisions in the log cannot be compared, because the users are unknown.\n")
		return
	case c.Requests == 0:
		b.WriteString("  The logs do not say what the server decided. An httplog says it.\n")
		return
	}
	for _, a := range []struct {
		name string
		Agreement
	}{{"FlowSchema", c.FlowSchema}, {"priority level", c.PriorityLevel}, {"seats", c.Seats}, {"final seats", c.FinalSeats}} {
		fmt.Fprintf(b, "  %-14s  %d of %d are equal\n", a.name, a.Equal, a.Compared)
	}
	for _, d := range c.Differences {
		fmt.Fprintf(b, "    %s: %s: the log has %s, the configuration gives %s\n", d.At, d.Field, d.Logged, d.Decided)
	}
}

// Notes returns sentences on what the logs do not say and what follows from it.
func (r *Report) Notes() (notes []string) {
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
	if missing := r.MissingVerbs(); len(missing) > 0 {
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
