//go:build !js

package incident

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/trace"
)

// Document returns the diagnosis in words. Its first ten lines on a terminal say what happened, how far to trust the replay,
// who was hurt, by whom, when and how, and what may help.
func (d *Diagnosis) Document() *report.Document {
	v := d.Verdict
	doc := &report.Document{Title: "Diagnosis", Data: d, Answer: report.AnswerOf(v), Ran: d.logText(),
		Replay:  &report.Verdict{Sentences: []string{d.replayText()}},
		Sources: "All numbers are in " + DiagnosisFile + " and " + ReportFile + "."}
	add := func(name, title string, only report.Form, parts ...report.Part) {
		if parts = slices.DeleteFunc(parts, func(p report.Part) bool { return p.Table != nil && len(p.Table.Rows) == 0 }); len(parts) > 0 {
			doc.Sections = append(doc.Sections, report.Section{Name: name, Title: title, Parts: parts, Only: only})
		}
	}
	doc.Sections = append(doc.Sections, d.screen())
	add("answer", "Who, when and how", 0, report.Part{Table: d.answerTable()})
	if d.Client != "" {
		add("hand", "Its queues", 0, report.Part{Table: d.handTable()})
	}
	add("clients", "What the log shows, by client", 0, report.Part{Table: d.clientTable()})
	verdict := report.VerdictSection(v)
	verdict.Only = report.Markdown // a page has it on its first screen
	doc.Sections = append(doc.Sections, verdict)
	if causes := report.CauseSection(v); len(causes.Parts) > 0 {
		doc.Sections = append(doc.Sections, causes)
	}
	if len(v.Causes) > 0 {
		add("causes", "Causes", report.Terminal, report.Part{Heading: "Causes", List: report.AnswerOf(v).Why})
		if d.answer == nil { // else the table of what was tried has them
			remedies := verdict
			remedies.Only, remedies.Parts = report.Terminal, slices.DeleteFunc(slices.Clone(verdict.Parts), func(p report.Part) bool { return p.Table != nil && p.Table.Name != "try" })
			for i := range remedies.Parts {
				remedies.Parts[i].Brief = 0 // which the first screen has already
			}
			doc.Sections = append(doc.Sections, remedies)
		}
	}
	if d.answer != nil {
		add("remedies", "What was tried", 0, report.Part{Table: d.remedyTable()}, report.Part{List: d.remedyNotes()})
	}
	compared := report.ReplayTable(d.Replay)
	add("replay", "Log and replay", 0, report.Part{Table: compared})
	wanted := report.TextTable("What would tell more", "input", "what it tells")
	wanted.Caption = "Inputs that would tell more"
	for _, w := range d.Wanted {
		wanted.AddTexts(w.Input, w.Tells)
	}
	add("wanted", "What would tell more", 0, report.Part{Table: wanted})
	if len(v.Trust) > 0 {
		const title = "How far to trust it" // a page has it on its first screen
		add("trust", title, report.Terminal|report.Markdown, report.Part{Heading: title, List: v.Notes()})
	}
	for _, s := range d.imported.Document("", "").Sections {
		s.Only = report.HTML
		doc.Sections = append(doc.Sections, s)
	}
	return doc
}

// screen returns the first screen of a page.
func (d *Diagnosis) screen() report.Section {
	r := d.imported
	replayed := r.result.Summary
	if !d.ReplayTrusted {
		replayed = nil
	}
	counts := func(value func(*interval) int32) (all []report.Counts) {
		for _, c := range d.Clients {
			counted := report.Counts{Client: c.Name, Counts: make([]int64, (r.DurationNs+r.intervalNs-1)/r.intervalNs)}
			any := false
			for i := range c.overTime {
				n := int64(value(&c.overTime[i]))
				counted.Counts[c.overTime[i].index] = n
				any = any || n > 0
			}
			if any {
				all = append(all, counted)
			}
		}
		return all
	}
	var plots []*report.Plot
	for _, p := range []*report.Plot{
		report.RatePlot("not-served", "Not served per second in the log, by client", d.Verdict.StartNs, r.DurationNs, r.intervalNs, counts(func(in *interval) int32 { return in.notServed })),
		report.RatePlot("sent", "Requests per second in the log, by client", d.Verdict.StartNs, r.DurationNs, r.intervalNs, counts(func(in *interval) int32 { return in.sent })),
	} {
		if p != nil {
			plots = append(plots, p)
		}
	}
	return report.DiagnosisScreen(d.Verdict, plots, replayed)
}

// replayText says whether the replay is trusted, and if not, why.
func (d *Diagnosis) replayText() string {
	if d.ReplayTrusted {
		return report.ReplaySentences(d.Replay)[0]
	}
	text := "The replay is not trusted: " + strings.Join(d.WhyNotTrusted, "; ") + "."
	if d.Replay.Disagrees() && !slices.Contains(d.Replay.Unknown, trace.UnknownExecutions) && !d.imported.otherConfiguration() {
		text += " " + report.ReplaySentences(d.Replay)[0]
	}
	return text
}

// logText says what was diagnosed.
func (d *Diagnosis) logText() string {
	r := d.imported
	at := ""
	if d.Server != "" {
		at = " at " + d.Server
	}
	from, to := time.Unix(0, r.startNs).UTC(), time.Unix(0, r.startNs+r.DurationNs).UTC()
	unknown := ""
	if n := r.Users.Unknown; n > 0 {
		unknown = fmt.Sprintf(", the user of %s is not known", format.Whole(n))
	}
	return fmt.Sprintf("%s of %s%s%s, %s to %s; Kubernetes %s (%s)", result.RequestCount(r.Requests.InTrace), format.Counted(len(r.clients), "client"), at, unknown,
		from.Format("2006-01-02 15:04:05Z"), to.Format(untilFormat(from, to)), rules.Label(d.KubernetesVersion), d.VersionFrom)
}

// untilFormat returns the format of the end of a period: with the date if it differs from that of from.
func untilFormat(from, to time.Time) string {
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return "15:04:05Z"
	}
	return "2006-01-02 15:04:05Z"
}

// triedText says what is known of the first change that may help.
func (d *Diagnosis) triedText() string {
	r := &d.Remedies[0]
	switch {
	case r.Holds == nil:
		return " (not tried)"
	case !*r.Holds:
		return " (tried: it does not help enough)"
	}
	text := fmt.Sprintf(" (tried: %s of the requests of those hurt are not served, before %s", format.Percent(r.NotServed.After), format.Percent(r.NotServed.Before))
	if r.Fitted != nil {
		text += "; in the scenario fitted to the log: " + fittedText(r.Fitted)
	}
	return text + ")"
}

// answerTable has the rows that answer who, when and how.
func (d *Diagnosis) answerTable() *report.Table {
	v := d.Verdict
	t := report.TextTable("", "", "")
	t.Name, t.Caption, t.Flush = "answer", "Who, when and how", true
	t.Columns[0].Title, t.Columns[1].Title = "Question", "Answer"
	mark := ""
	if !d.ReplayTrusted {
		mark = " (not trusted)"
	}
	var culprits []*LoggedClient
	if len(v.Causes) > 0 {
		culprits = d.culprits(&v.Causes[0])
	}
	if len(v.Harmed) > 0 {
		// Who caused the harm is harmed as well, but others come first.
		rows := slices.Clone(v.Harmed)
		byOthers := func(h *result.Harmed) bool {
			return !slices.ContainsFunc(culprits, func(c *LoggedClient) bool { return c.flow() == h.Flow })
		}
		slices.SortStableFunc(rows, func(a, b result.Harmed) int {
			switch x, y := byOthers(&a), byOthers(&b); {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
		t.AddTexts("Who was hurt", harmedText(&rows[0])+alsoText(rows))
	}
	if len(v.Causes) > 0 {
		c := &v.Causes[0]
		var texts []string
		for _, l := range culprits[:min(len(culprits), 2)] {
			text := l.Name
			if l.Rejected > 0 {
				text += fmt.Sprintf(" (%s of its own %s were rejected)", format.Whole(l.Rejected), result.RequestCount(l.Sent))
			} else {
				text += fmt.Sprintf(" (%s)", result.RequestCount(l.Sent))
			}
			texts = append(texts, text)
		}
		if more := len(culprits) - len(texts); more > 0 {
			texts = append(texts, format.Counted(more, "other"))
		}
		if len(texts) == 0 {
			texts = []string{"no client by itself"}
		}
		t.AddTexts("Who caused it"+mark, strings.Join(texts, ", "))
		t.AddTexts("How"+mark, strings.ReplaceAll(string(c.Kind), "-", " ")+": "+c.Sentence)
	}
	if len(v.Harmed) > 0 {
		fromNs, toNs := v.Harmed[0].FromNs, v.Harmed[0].ToNs
		for i := range v.Harmed {
			fromNs, toNs = min(fromNs, v.Harmed[i].FromNs), max(toNs, v.Harmed[i].ToNs)
		}
		t.AddTexts("When", v.Moment(fromNs)+" to "+v.Moment(toNs))
	}
	switch {
	case len(v.Try) > 0:
		text := strings.TrimSuffix(v.Try[0].Sentence, ".") + d.triedText()
		if more := len(v.Try) - 1; more > 0 {
			text += "; " + format.Counted(more, "other") + " below"
		}
		t.AddTexts("What may help", text)
	case !d.ReplayTrusted:
		text := "No change is proposed, because the replay is not trusted."
		if len(d.Wanted) > 0 {
			text += " More would be known from " + d.Wanted[0].Input + "."
		}
		t.AddTexts("What may help", text)
	}
	for i := range d.KnownFaults {
		t.AddTexts("Known fault", d.KnownFaults[i].Sentence)
	}
	if s := &d.Slow; s.Requests > 0 {
		part := func(ns float64) string { return format.Percent(ns / s.TotalNs) }
		t.AddTexts("Slow requests", fmt.Sprintf("%s took 500 ms or more: %s of their time in queues, %s in webhooks, %s in etcd, %s to send the response",
			format.Whole(s.Requests), part(s.WaitNs), part(s.WebhookNs), part(s.EtcdNs), part(s.SendingNs)))
	}
	t.AddTexts("Log", d.logText())
	return t
}

// harmedText says how a client was harmed.
func harmedText(h *result.Harmed) string {
	text := h.Name
	if n := h.NotServed.Total(); n > 0 {
		how := "rejected"
		if h.NotServed.Rejected < n {
			how = "not served"
		}
		text += fmt.Sprintf(": %s of %s %s (%s)", format.Whole(n), result.RequestCount(h.Sent), how, format.ShareOf(n, h.Sent))
	} else {
		text += ": " + result.RequestCount(h.Sent)
	}
	if h.WaitP99Ns != nil {
		text += ", wait p99 " + format.Duration(float64(*h.WaitP99Ns))
	}
	if h.Level != "" {
		text += " at " + h.Level
	}
	return text
}

// alsoText counts the harmed clients after the first.
func alsoText(rows []result.Harmed) string {
	more := 0
	for i := range rows[1:] {
		more += rows[1+i].Flows
	}
	if more == 0 {
		return ""
	}
	return "; and " + format.Counted(more, "other client")
}

// clientsShown is how many clients a terminal shows.
const clientsShown = 10

// clientTable has what the log itself shows of the clients.
func (d *Diagnosis) clientTable() *report.Table {
	number := func(n int64) report.Cell {
		return report.Cell{Text: format.Whole(n), Value: float64(n), Number: true}
	}
	moment := func(ns int64) report.Cell {
		return report.Cell{Text: d.Verdict.Moment(ns), Value: float64(ns), Number: true}
	}
	none := report.Cell{Text: "–"}
	columns := report.Definition[LoggedClient]{
		{Column: report.Column{Title: "Client", Short: "client", Left: true}, Cell: func(c *LoggedClient) report.Cell { return report.Word(c.Name) }},
		{Column: report.Column{Title: "Sent", Short: "sent"}, Cell: func(c *LoggedClient) report.Cell { return number(c.Sent) }},
		{Column: report.Column{Title: "Rejected", Short: "rejected"}, Cell: func(c *LoggedClient) report.Cell { return number(c.Rejected) }},
		{Column: report.Column{Title: "Timed out in a queue", Short: "time-out"}, Cell: func(c *LoggedClient) report.Cell { return number(c.ByReason["time-out"]) }},
		{Column: report.Column{Title: "Other errors", Short: "errors"}, Cell: func(c *LoggedClient) report.Cell { return number(c.Timeouts + c.Errors + c.TooMany) }},
		{Column: report.Column{Title: "Wait p99", Short: "wait p99"}, Cell: func(c *LoggedClient) report.Cell {
			if c.WaitP99Ns == nil {
				return none
			}
			return report.Cell{Text: format.Duration(float64(*c.WaitP99Ns)), Value: float64(*c.WaitP99Ns), Number: true}
		}},
		{Column: report.Column{Title: "Seat-seconds", Short: "seat-s"}, Cell: func(c *LoggedClient) report.Cell {
			return report.Cell{Text: format.Number(c.SeatSeconds), Value: c.SeatSeconds, Number: true}
		}},
		{Column: report.Column{Title: "First", Short: "first"}, Cell: func(c *LoggedClient) report.Cell { return moment(c.firstNs) }},
		{Column: report.Column{Title: "Last", Short: "last"}, Cell: func(c *LoggedClient) report.Cell { return moment(c.lastNs) }},
		{Column: report.Column{Title: "FlowSchema", Short: "FlowSchema", Left: true}, Cell: func(c *LoggedClient) report.Cell { return report.Word(c.FlowSchema) }},
		{Column: report.Column{Title: "Priority level", Short: "priority level", Left: true}, Cell: func(c *LoggedClient) report.Cell { return report.Word(c.PriorityLevel) }},
	}
	t := &report.Table{Name: "clients", Title: "What the log shows, by client", Caption: "What the log shows, by client", Columns: columns.Columns(), First: clientsShown}
	const most = 1000
	for _, c := range d.Clients[:min(len(d.Clients), most)] {
		t.Rows = append(t.Rows, columns.Row(c))
	}
	if more := len(d.Clients) - most; more > 0 {
		t.Missing = format.Counted(more, "other client") + " in " + DiagnosisFile + "."
	}
	return t
}

// handTable has the queues of the client to whom the diagnosis is narrowed, and who shares them.
func (d *Diagnosis) handTable() *report.Table {
	t := report.TextTable("Its queues, and who shares them", "queue", "shared with")
	t.Name, t.Caption = "hand", "The queues of the client, and who shares them"
	for _, c := range d.Clients {
		if c.User != d.Client {
			continue
		}
		for _, q := range c.Hand {
			var others []string
			for _, o := range d.Clients {
				if o.User != d.Client && o.PriorityLevel == c.PriorityLevel && slices.Contains(o.Hand, q) {
					others = append(others, o.Name)
				}
			}
			text := "nobody in the log"
			if len(others) > 0 {
				text = format.Listed(others, 5, "")
			}
			t.AddTexts(c.PriorityLevel+" "+strconv.Itoa(q), text)
		}
	}
	return t
}

// Brief returns the document with fewer rows, as Markdown and a terminal show it that is asked for more than the first screen.
func (d *Diagnosis) Brief() *report.Document {
	doc := d.Document()
	doc.Answer.Why = nil // the rows below say how, and the causes stand further below
	for i := range doc.Sections {
		for k, p := range doc.Sections[i].Parts {
			if p.Table == nil || p.Table.Name != "clients" || len(p.Table.Rows) <= clientsShown {
				continue
			}
			brief := *p.Table
			brief.Missing = format.Counted(len(d.Clients)-clientsShown, "other client") + "; --format json and -o DIR have them."
			brief.Rows = brief.Rows[:clientsShown]
			doc.Sections[i].Parts[k].Table = &brief
		}
	}
	return doc
}
