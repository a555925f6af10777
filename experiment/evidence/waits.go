package evidence

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"apfsim/experiment/incident"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// hasClientLines reports whether a text, of which the beginning is of no kind, is the log of a client further on, and not the log of a
// server. It may be compressed with gzip, and is read up to the first such line.
func hasClientLines(r io.Reader) bool {
	buffered := bufio.NewReader(io.LimitReader(unpacked(r), longestFile))
	for {
		line, err := buffered.ReadSlice('\n') // a longer line is read in parts
		switch {
		case bytes.Contains(line, []byte(`"HTTP" verb=`)), bytes.Contains(line, []byte(`"auditID"`)):
			return false
		case anyClientLine.Match(line):
			return true
		case err != nil && err != bufio.ErrBufferFull:
			return false
		}
	}
}

// readClient reads the log of a client.
func readClient(e *evidence, s *incident.Source, text []byte) error {
	l := readClientLog(s.File, string(text))
	if len(l.waits)+len(l.retries) == 0 && l.givenUp == 0 {
		if len(l.bad) > 0 {
			return l.bad
		}
		return errors.New("has no line on a wait of a client that can be read")
	}
	for _, bad := range l.bad {
		e.warnings = append(e.warnings, bad.Error())
	}
	l.source = s
	var from, to time.Time
	for _, w := range l.waits {
		if w.moment.Year() == 0 || w.moment.IsZero() {
			continue
		}
		if from.IsZero() || w.moment.Before(from) {
			from = w.moment
		}
		if w.moment.After(to) {
			to = w.moment
		}
	}
	if !from.IsZero() {
		s.From, s.To = from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339)
	}
	e.clientLogs = append(e.clientLogs, l)
	return nil
}

// concludeClientLogs adds what the logs of clients say.
func concludeClientLogs(e *evidence) {
	for _, l := range e.clientLogs {
		e.findings = append(e.findings, l.findings(e)...)
		e.add("waits", l.table())
	}
	if len(e.clientLogs) == 0 {
		return
	}
	e.cannot("The log of a client does not say what the server did: whether others were rejected, and how busy it was.")
	e.want(true, "rest_client_rate_limiter_duration_seconds of the client's own /metrics", "how long all of its requests waited for its limit, by verb")
}

// name is how a client is called.
func (l *clientLog) name() string { return "the client of " + filepath.Base(l.source.File) }

// findings says how long the client waited for itself, and what the server told it.
func (l *clientLog) findings(e *evidence) (all []Finding) {
	if len(l.waits) > 0 || l.givenUp > 0 {
		all = append(all, l.ownLimit(e))
	}
	if len(l.retries) > 0 {
		all = append(all, l.told(e))
	}
	return all
}

// ownLimit is the finding that the client waited for its own rate limit. Which part of its requests waited is not known, as only waits
// are logged.
func (l *clientLog) ownLimit(e *evidence) Finding {
	var longest *clientWait
	discovers := 0
	for i := range l.waits {
		w := &l.waits[i]
		if longest == nil || w.wait > longest.wait {
			longest = w
		}
		if w.what == discovery {
			discovers++
		}
	}
	name, file := l.name(), filepath.Base(l.source.File)
	f := Finding{Status: result.Warning, Cause: &result.Cause{Kind: result.ByClientLimit, Workloads: []string{name}, Flows: []result.CauseFlow{}}}
	c := f.Cause
	figure := func(name string, value float64, unit string) {
		c.Figures = append(c.Figures, result.Figure{Name: name, Value: value, Unit: unit})
	}
	figure("lines", float64(len(l.waits)), "")
	if l.givenUp > 0 {
		figure("neverSent", float64(l.givenUp), "")
	}
	rate := l.rate()
	ahead := 0.0
	switch {
	case longest == nil:
		f.Sentence = fmt.Sprintf("In %s, %s of the client %s never sent: they would have waited for its own rate limit for longer than their deadline", file, result.RequestCount(l.givenUp), judge.Were(l.givenUp))
		c.Sentence = f.Sentence + "."
	default:
		wait := float64(longest.wait)
		figure("limiterWaitMax", wait, "ns")
		f.Decided = &result.Decided{Of: result.OfWorkload, Name: name, Figure: "own rate limit", Value: wait, Limit: judge.GoodWaitNs, Unit: "ns",
			Sentence: fmt.Sprintf("requests of the client waited up to %s for its own rate limit", format.Duration(wait))}
		f.Sentence = fmt.Sprintf("In %s, %s, before it sent them; flow control of the server was not the reason of these waits", file, f.Decided.Sentence)
		switch {
		case wait >= judge.HarmStallNs:
			f.Status, f.Decided.Limit = result.Harm, judge.HarmStallNs
		case wait <= judge.GoodWaitNs:
			f.Status, f.Decided = result.OK, nil
		}
		c.Sentence = fmt.Sprintf("The longest wait was that of %s, %s", asks(longest.verb, longest.what), format.Duration(wait))
		if rate > 0 {
			figure("sentPerSecond", rate, "")
			ahead = math.Round(wait / 1e9 * rate)
			figure("requestsAhead", ahead, "")
			c.Sentence += fmt.Sprintf("; while it waited, the client sent %s requests/s, so that %s were before it", format.Number(rate), result.RequestCount(int64(ahead)))
		}
		if 2*discovers > len(l.waits) {
			part := format.Whole(int64(discovers)) + " of "
			if discovers == len(l.waits) {
				part = "all "
			}
			c.Sentence += fmt.Sprintf("; %s%s are of discovery, which asks for each group and version of the API", part, format.Counted(len(l.waits), "line"))
			if len(l.waits) == 1 {
				c.Sentence = fmt.Sprintf("It is discovery that waited %s: the client asks for each group and version of the API", format.Duration(wait))
			}
		}
		c.Sentence += "."
		if l.givenUp > 0 {
			c.Sentence += fmt.Sprintf(" %s %s never sent, as the deadline was nearer.", result.RequestCount(l.givenUp), judge.Were(l.givenUp))
		}
	}
	f.Try = []result.Remedy{{Remedy: result.RaiseClientLimit, Sentence: raise(name, rate, ahead)}}
	if 2*discovers > len(l.waits) {
		f.Try = append(f.Try, result.Remedy{Remedy: result.RaiseClientLimit, Sentence: fmt.Sprintf("Let %s keep what discovery answered, or use client-go 0.26 or later with a server of 1.27 or later, which answer it at once (aggregated discovery).", name)})
	}
	switch {
	case l.everyWait():
		e.cannot("The log of " + filepath.Base(l.source.File) + " has all waits of more than 50 ms (-v=3 or more), but not the requests that did not wait.")
	case longest != nil:
		e.cannot("The lines of " + filepath.Base(l.source.File) + " are samples: by default, client-go logs one wait of more than 1 s in 10 s. Their number is not that of the waits; -v=3 logs all.")
	}
	return f
}

// asks says what a request asks for.
func asks(verb, what string) string {
	switch text := strings.TrimSpace(verb + " " + what); {
	case what == discovery:
		return discovery
	case text == "":
		return "a request that the line does not name"
	default:
		return text
	}
}

// raise is the remedy against a client's own limit.
func raise(name string, rate, ahead float64) string {
	limit := ""
	if rate > 0 && ahead >= 1 {
		limit = fmt.Sprintf(" (its limit is about %s/s; with a burst of %s more, this request had not waited)", format.Number(rate), format.Whole(int64(ahead)))
	}
	return fmt.Sprintf("Raise qps and burst of %s%s, if the server has seats for what then comes, or let it send fewer requests.", name, limit)
}

// told is the finding that the server answered requests of the client with an error and a time after which to come again. Only 429 can
// be of flow control.
func (l *clientLog) told(e *evidence) Finding {
	name := l.name()
	tooMany, others, broken, unnamed, evictions := int64(0), int64(0), int64(0), int64(0), int64(0)
	uids := map[string]int64{}
	for i := range l.retries {
		switch r := &l.retries[i]; {
		case r.broken:
			broken++
		case r.status == 429:
			tooMany++
			if uids[r.uid]++; r.eviction {
				evictions++
			}
		case r.status != 0:
			others++
		default:
			unnamed++
		}
	}
	f := Finding{Status: result.Warning}
	var parts []string
	if tooMany > 0 {
		parts = append(parts, many(tooMany, "answer", "answers")+" 429"+l.ofSchemas(e, uids))
		e.cannot("An answer 429 is mostly a rejection by flow control. The eviction of a pod with a PodDisruptionBudget is answered so, too, as is a read from a watch cache that is not ready.")
	}
	if evictions > 0 {
		parts[len(parts)-1] += fmt.Sprintf(", %s to evictions, which a PodDisruptionBudget may have refused", format.Whole(evictions))
	}
	if others > 0 {
		parts = append(parts, many(others, "answer", "answers")+" 5xx")
	}
	if broken > 0 {
		parts = append(parts, many(broken, "error", "errors")+" of the connection")
	}
	if unnamed > 0 {
		parts = append(parts, many(unnamed, "answer", "answers")+" 429 or 5xx with Retry-After")
	}
	f.Sentence = fmt.Sprintf("Requests of %s had to be sent again, after %s", name, format.Listed(parts, 4, ""))
	e.want(true, "/metrics of the server, twice", "why the server rejected requests, and whose")
	return f
}

// ofSchemas names the FlowSchemas by their UIDs.
func (l *clientLog) ofSchemas(e *evidence, uids map[string]int64) string {
	type schema struct {
		name string
		n    int64
	}
	var all []schema
	for uid, n := range uids {
		switch name := e.schemaUIDs[uid]; {
		case uid == "":
			all = append(all, schema{"none, so that they are not of flow control", n})
		case name != "":
			all = append(all, schema{"FlowSchema " + name, n})
		default:
			all = append(all, schema{"the FlowSchema with the UID " + uid, n})
			e.want(true, "kubectl get flowschemas -o yaml", "which FlowSchema has the UID "+uid)
		}
	}
	slices.SortFunc(all, func(a, b schema) int { return cmp.Or(-cmp.Compare(a.n, b.n), cmp.Compare(a.name, b.name)) })
	var texts []string
	for _, s := range all {
		text := s.name
		if len(all) > 1 {
			text = format.Whole(s.n) + " of " + text
		}
		texts = append(texts, text)
	}
	return " (" + format.Listed(texts, 3, "") + ")"
}

// table has the waits by what the requests ask for.
func (l *clientLog) table() *report.Table {
	duration := func(d time.Duration) report.Cell {
		return report.Cell{Text: format.Duration(float64(d)), Value: float64(d), Number: true}
	}
	columns := report.Definition[waitGroup]{
		{Column: report.Column{Title: "Verb", Short: "verb", Left: true}, Cell: func(g *waitGroup) report.Cell { return report.Word(g.verb) }},
		{Column: report.Column{Title: "Asks for", Short: "asks for", Left: true}, Cell: func(g *waitGroup) report.Cell { return report.Word(g.what) }},
		{Column: report.Column{Title: "Lines", Short: "lines"}, Cell: func(g *waitGroup) report.Cell {
			return report.Cell{Text: format.Whole(g.n), Value: float64(g.n), Number: true}
		}},
		{Column: report.Column{Title: "Median of the lines", Short: "median"}, Cell: func(g *waitGroup) report.Cell { return duration(g.median) }},
		{Column: report.Column{Title: "Longest", Short: "longest"}, Cell: func(g *waitGroup) report.Cell { return duration(g.longest) }},
	}
	t := &report.Table{Name: "waits", Title: "What " + l.name() + " waited for its own rate limit", Caption: "Waits for the client's own rate limit, by request", Columns: columns.Columns(), First: flowsShown}
	for _, g := range l.groups() {
		t.Rows = append(t.Rows, columns.Row(&g))
	}
	return t
}
