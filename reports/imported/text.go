package imported

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"apfsim/reports/format"
)

// WriteText writes the report in words. The files are in the folder dir, and scenario is one of them.
func (r *Report) WriteText(w io.Writer, dir, scenario string) error {
	var b strings.Builder
	r.writeFiles(&b)
	r.writeRequests(&b)
	r.writeLevels(&b)
	r.writeCheck(&b)
	b.WriteString("\nThe scenario\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", strings.TrimPrefix(s.Field, "spec."), s.Value, s.Source)
	}
	table.Flush()
	if notes := r.Notes(); len(notes) > 0 {
		b.WriteString("\nNot in the logs\n")
		for _, note := range notes {
			for i, line := range format.Wrap(note, 96) {
				b.WriteString([]string{"  - ", "    "}[min(i, 1)] + line + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "\nWritten to %s. Next:\n  apfsim run %s\n", dir, scenario)
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
		of = "of the server " + r.Server + ", "
	}
	fmt.Fprintf(b, "The trace: %s%v from %s\n", of, time.Duration(r.DurationNs), r.Start)

	b.WriteString("\nVerbs in the trace\n")
	rows = nil
	for _, v := range r.Verbs {
		rows = append(rows, row{v.Of, v.Requests, false})
	}
	writeRows(b, rows)
	b.WriteString("\nOutcomes in the trace\n")
	writeRows(b, []row{
		{"executed", r.Outcomes.Executed, true},
		{"  and answered 429 by the handler, not by flow control", r.Outcomes.OtherTooManyRequests, false},
		{"rejected by flow control", r.Outcomes.Rejected, true},
		{"without an end in the log", r.Outcomes.WithoutEnd, false},
	})
	b.WriteString("\nExecution times in the trace\n")
	writeRows(b, []row{
		{"measured by the server", r.Times.Measured, false},
		{"total less wait", r.Times.TotalLessWait, false},
		{"total, including the wait if there was one", r.Times.TotalWithWait, false},
		{"watches: until the response started", r.Times.UntilStarted, false},
		{"watches that were open at the start: 0", r.Times.OpenBefore, false},
		{"other long-running requests, which bypass flow control: total", r.Times.Lifetime, false},
		{"drawn", r.Times.Drawn, false},
		{"  for rejected requests", r.Drawn.Rejected, false},
		{"  for requests without an end", r.Drawn.WithoutEnd, false},
		{"  for watches whose initialization is not in the log", r.Drawn.Watches, false},
		{"  from the same user, verb and resource", r.Drawn.FromUser, false},
		{"  from the same verb and resource", r.Drawn.FromResource, false},
		{"  from the same verb", r.Drawn.FromVerb, false},
		{"  from all requests that are not watches", r.Drawn.FromAny, false},
		{"  from none, since the logs have no execution time: 0", r.Drawn.None, false},
	})
}

func (r *Report) writeLevels(b *strings.Builder) {
	if len(r.Levels) == 0 {
		return
	}
	b.WriteString("\nWhat the server did with them\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  priority level\tdispatched\trejected")
	for _, l := range r.Levels {
		fmt.Fprintf(table, "  %s\t%d\t%d\n", l.PriorityLevel, l.Dispatched, l.Rejected)
	}
	table.Flush()
}

func (r *Report) writeCheck(b *strings.Builder) {
	c := r.Check
	b.WriteString("\nDecisions of the configuration beside those of the server\n")
	if c.Requests == 0 {
		b.WriteString("  the logs do not say what the server decided; lines of an httplog do\n")
		return
	}
	for _, a := range []struct {
		name string
		Agreement
	}{{"FlowSchema", c.FlowSchema}, {"priority level", c.PriorityLevel}, {"seats", c.Seats}, {"final seats", c.FinalSeats}} {
		fmt.Fprintf(b, "  %-14s  %d of %d are equal\n", a.name, a.Equal, a.Compared)
	}
	for _, d := range c.Differences {
		fmt.Fprintf(b, "    %s: %s: the server %s, the configuration %s\n", d.At, d.Field, d.Logged, d.Decided)
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
		add("Each server has its own flow control, so that the trace has the requests of one server, %s. Requests of others: %s. Use --server to choose another one.",
			nameOf(r.Server), format.Listed(others, 10, ""))
	}
	if a, b := r.overlapping(); a != "" {
		add("%s and %s have lines of the same time. If they are logs of different servers, name the servers: a=%s b=%s.", a, b, a, b)
	}
	if missing := r.MissingVerbs(); len(missing) > 0 {
		add("Verbs of which the logs have no request: %s. If the audit policy leaves them out, their load is missing.", strings.Join(missing, ", "))
	}
	if n := r.Waits.UnknownShort; n > 0 {
		add("Executed requests of up to 500 ms whose wait is unknown: %d. An audit log has the waits of longer requests only. The replay executes "+
			"the wait too, so that an overload looks worse than it was. Import the httplog of the server as well, which has the execution times.", n)
	}
	if n := r.Waits.UnknownLonger; n > 0 {
		add("Executed requests of more than 500 ms whose wait is unknown: %d. The replay executes the wait too.", n)
	}
	if n := r.Users.Learned; n > 0 {
		add("Requests without a user in the logs that have the only user of the same address and user agent: %d.", n)
	}
	if n := r.Users.Unknown; n > 0 {
		add("Requests whose user is unknown: %d. Each address with a user agent is a user of its own, in the group system:authenticated, "+
			"so that FlowSchemas can be wrong.", n)
	}
	if n := r.Users.GroupsUnknown; n > 0 {
		add("Requests whose groups are unknown: %d. Their FlowSchemas can be wrong.", n)
	}
	if n := r.Watches.Total; n > 0 {
		add("Watches that were open at the start: %d of %d. Watches without any line in the logs are missing, so that writes can take too few seats.", r.Watches.OpenBefore, n)
	} else {
		add("The logs have no watches. Without watches, all writes take one seat.")
	}
	if n := r.Watches.WithoutEnd; n > 0 {
		add("Watches without an end in the logs, which last to the end of the trace: %d.", n)
	}
	if n := r.Outcomes.WithoutEnd - r.Watches.WithoutEnd; n > 0 {
		add("Other requests without an end in the logs: %d.", n)
	}
	if n := r.Check.FinalSeats.Compared - r.Check.FinalSeats.Equal; n > 0 {
		add("Writes that take other final seats than on the server, where they depend on the number of watches: %d.", n)
	}
	if n := r.Check.WithoutUser; n > 0 {
		add("Requests that could not be compared with what the server decided, since their user is unknown: %d.", n)
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
