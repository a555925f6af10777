package evidence

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/document"
)

// dumpKind is one of the three dumps of flow control that kube-apiserver serves under /debug/api_priority_and_fairness/.
type dumpKind uint8

const (
	levelsDump dumpKind = iota
	queuesDump
	requestsDump
	dumpKinds
)

// dumps are the names of the kinds, with the columns that are needed. The others came with a release, or are those of
// includeRequestDetails: see k8s.io/apiserver, util/flowcontrol/apf_controller_debug.go.
var dumps = [dumpKinds]struct {
	name   string
	needed []string
}{
	{"dump_priority_levels", []string{"PriorityLevelName", "ActiveQueues", "WaitingRequests", "ExecutingRequests"}},
	{"dump_queues", []string{"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests"}},
	{"dump_requests", []string{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime"}},
}

// dump is one dump: what one server answered at one moment.
type dump struct {
	kind     dumpKind
	at       document.Position // of the line with the names of its columns
	columns  []string
	comma    bool // each line ends with one, as in 1.18 and 1.19
	leftOut  bool // rows that whoever copied it has replaced by dots
	wrong    int  // rows with an error
	levels   []dumpedLevel
	queues   []dumpedQueue
	requests []dumpedRequest
}

// dumpedLevel is a row of dump_priority_levels.
type dumpedLevel struct {
	name                string
	active              int64 // queues with waiting requests
	waiting, executing  int64
	quiescing           bool  // no longer configured, and draining
	counted             bool  // from 1.27 on: the counters exist, since the server started or the level was made
	dispatched          int64 // requests that began to execute
	rejected, cancelled int64 // rejected requests; those of them that had been in a queue
}

// dumpedQueue is a row of dump_queues.
type dumpedQueue struct {
	level              string
	index              int64
	pending, executing int64
	seats              int64 // in use; -1 before 1.23
}

// dumpedRequest is a row of dump_requests.
type dumpedRequest struct {
	level, schema, flow string
	queue, position     int64     // -1 at a level without queues; -1 if it executes
	arrived, started    time.Time // started is zero while it waits
	seats               int64     // while it executes; 1 before 1.23
	details             bool      // includeRequestDetails
	user, verb, path    string
}

// executing reports whether a request has seats. Before 1.28, a dump has only requests that wait.
func (r *dumpedRequest) executing() bool { return !r.started.IsZero() || r.position < 0 }

// rows returns how many rows without an error the dump has.
func (d *dump) rows() int { return len(d.levels) + len(d.queues) + len(d.requests) }

// has reports whether the dump has a column.
func (d *dump) has(column string) bool { return slices.Contains(d.columns, column) }

// noFigure is in all columns but the first of a level that the release does not describe: exempt ones up to 1.27, and the row that
// dump_requests had for each of them (kubernetes#93376).
const noFigure = "<none>"

// readDumps returns the dumps in a text: one, several one after another, or an issue with dumps in it. What precedes and follows them
// is not read. The errors are all that is wrong with rows, which are not in the dumps.
func readDumps(file, text string) ([]*dump, document.Errors) {
	r := dumpReader{file: file}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		for strings.HasPrefix(line, "> ") { // a quotation
			line = strings.TrimSpace(line[1:])
		}
		r.bad = false
		r.line(line, document.Position{File: file, Line: number})
		if r.bad && r.open != nil {
			r.open.wrong++
		}
	}
	return r.all, r.errs
}

// mostDumpErrors bounds how many errors of a file are reported.
const mostDumpErrors = 20

// dumpReader reads lines.
type dumpReader struct {
	file      string
	all       []*dump
	errs      document.Errors
	open      *dump // whose rows follow; nil outside of a dump
	separator string
	gap       bool // an empty line precedes: what follows is a row only if it looks like one
	seen      map[string]int
	bad       bool // the line that is read has an error
}

func (r *dumpReader) line(line string, at document.Position) {
	if head, separator := dumpHead(line); head != nil {
		r.open, r.separator, r.gap, r.seen = head, separator, false, map[string]int{}
		kind, columns := head.kind, head.columns
		head.at = at
		r.all = append(r.all, r.open)
		for _, name := range dumps[kind].needed {
			if !r.open.has(name) {
				r.fail(at, "", "%s has no column %s%s; want the whole answer of the server", dumps[kind].name, name, document.Suggest(name, columns))
				r.open = nil
				return
			}
		}
		return
	}
	if r.open == nil {
		return
	}
	cells := splitRow(line, r.separator)
	switch {
	case line == "":
		r.gap = true
	case strings.Trim(line, "|:- ") == "": // of a table in Markdown
	case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"), strings.HasPrefix(line, "$ "), strings.HasPrefix(line, "</"), strings.Contains(line, "kubectl "), strings.Contains(line, "curl "):
		r.open = nil
	case strings.Trim(line, "., \t…[]()|<>") == "", strings.EqualFold(strings.Trim(line, "[]<>()"), "snip"):
		r.open.leftOut = true
	case len(cells) < len(r.open.columns) && (r.gap || len(cells) == 1):
		r.open = nil
	default:
		r.row(cells, at)
	}
}

// dumpHead returns the dump that a line with the names of its columns begins; nil for other lines. Cells are separated by commas or, if
// the table was in a spreadsheet or on a page, by tabs, semicolons, bars or spaces.
func dumpHead(line string) (d *dump, separator string) {
	after, is := strings.CutPrefix(strings.TrimLeft(line, `"| `+"\t"), "PriorityLevelName")
	if !is {
		return nil, ""
	}
	after = strings.TrimLeft(after, `" `)
	for _, separator = range []string{",", "\t", ";", "|", ""} {
		if strings.HasPrefix(after, separator) {
			break
		}
	}
	d = &dump{columns: splitRow(line, separator)}
	if last := len(d.columns) - 1; d.columns[last] == "" {
		d.columns, d.comma = d.columns[:last], true
	}
	if i := slices.Index(d.columns, "FlowDistinguisher"); i >= 0 { // as it should be spelled
		d.columns[i] = "FlowDistingsher"
	}
	switch {
	case len(d.columns) < 2:
		return nil, ""
	case d.has("FlowSchemaName"), d.has("QueueIndex"):
		d.kind = requestsDump
	case d.has("Index"), d.has("PendingRequests"):
		d.kind = queuesDump
	}
	return d, separator
}

// splitRow returns the cells of a row. The separator "" is white space.
func splitRow(line, separator string) []string {
	if separator == "" {
		return strings.Fields(line)
	}
	if separator == "|" {
		line = strings.Trim(line, "|")
	}
	cells := strings.Split(line, separator)
	for i, cell := range cells {
		if cell = strings.TrimSpace(cell); len(cell) > 1 && cell[0] == '"' && cell[len(cell)-1] == '"' {
			cell = cell[1 : len(cell)-1]
		}
		cells[i] = cell
	}
	return cells
}

func (r *dumpReader) fail(at document.Position, column, format string, args ...any) {
	r.bad = true
	if len(r.errs) < mostDumpErrors {
		r.errs.Add(at, column, format, args...)
	}
}

// row reads a row of the open dump.
func (r *dumpReader) row(cells []string, at document.Position) {
	d := r.open
	if last := len(cells) - 1; d.comma && cells[last] == "" {
		cells = cells[:last]
	}
	if d.kind == requestsDump && len(cells) > len(d.columns) {
		cells = joinNames(cells, d.columns)
	}
	if len(cells) != len(d.columns) {
		r.fail(at, "", "the row has %d columns, and the first line of the dump has %d; want the whole answer of the server", len(cells), len(d.columns))
		return
	}
	row := dumpRow{r, at, d.columns, cells}
	if cells[1] == noFigure {
		return
	}
	level := row.text("PriorityLevelName")
	if d.kind != requestsDump {
		key := level
		if d.kind == queuesDump {
			key += " " + row.text("Index")
		}
		if first := r.seen[key]; first > 0 {
			r.fail(at, "", "duplicate row of %s (first at line %d)", key, first)
		}
		r.seen[key] = at.Line
	}
	switch d.kind {
	case levelsDump:
		l := dumpedLevel{name: level, active: row.count("ActiveQueues"), waiting: row.count("WaitingRequests"), executing: row.count("ExecutingRequests"),
			quiescing: row.text("IsQuiescing") == "true", counted: d.has("RejectedRequests") && d.has("DispatchedRequests"),
			dispatched: row.count("DispatchedRequests"), rejected: row.count("RejectedRequests"), cancelled: row.count("CancelledRequests")}
		if l.cancelled > l.rejected {
			r.fail(at, "CancelledRequests", "%d is more than RejectedRequests, %d, which includes them", l.cancelled, l.rejected)
		}
		if !r.bad {
			d.levels = append(d.levels, l)
		}
	case queuesDump:
		q := dumpedQueue{level: level, index: row.count("Index"), pending: row.count("PendingRequests"), executing: row.count("ExecutingRequests"), seats: -1}
		if d.has("SeatsInUse") {
			q.seats = row.count("SeatsInUse")
		}
		if !r.bad {
			d.queues = append(d.queues, q)
		}
	case requestsDump:
		q := dumpedRequest{level: level, schema: row.text("FlowSchemaName"), flow: row.text("FlowDistingsher"), queue: row.index("QueueIndex"), position: row.index("RequestIndexInQueue"),
			arrived: row.time("ArriveTime"), seats: 1}
		if d.has("InitialSeats") {
			q.seats = row.count("InitialSeats")
		}
		if d.has("StartTime") {
			if q.started = row.time("StartTime"); q.started.Year() == 1 {
				q.started = time.Time{}
			}
		}
		if q.details = d.has("UserName"); q.details {
			q.user, q.verb, q.path = row.text("UserName"), row.text("Verb"), row.text("APIPath")
		}
		if q.position < 0 && d.has("StartTime") && q.started.IsZero() {
			r.fail(at, "StartTime", "the request executes, as its RequestIndexInQueue is -1, but it has not started")
		}
		if !r.bad {
			d.requests = append(d.requests, q)
		}
	}
}

// verbs are those of requests in a dump.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "put", "head", "options", "connect"}

// joinNames joins the cells of flows, users and paths with commas, which the server does not quote. These are the only columns that
// can have one; the time, the verb and the last columns show where they end.
func joinNames(cells, columns []string) []string {
	at := slices.Index(columns, "ArriveTime")
	flow := slices.Index(columns, "FlowDistingsher")
	if at != flow+1 {
		return cells
	}
	end := slices.IndexFunc(cells[min(at, len(cells)):], isTime)
	if end < 0 {
		return cells
	}
	end += at
	joined := append(slices.Clone(cells[:flow]), strings.Join(cells[flow:end], ","))
	user, verb, path := slices.Index(columns, "UserName"), slices.Index(columns, "Verb"), slices.Index(columns, "APIPath")
	if user < 0 || verb != user+1 || path != verb+1 || len(cells)-(end-at) == len(columns) {
		return append(joined, cells[end:]...)
	}
	rest := cells[end:]
	begin := user - at // of the user, in rest
	after := len(columns) - path - 1
	if len(rest) < begin+3+after {
		return cells
	}
	v := slices.IndexFunc(rest[begin:len(rest)-after], func(cell string) bool { return slices.Contains(verbs, cell) })
	if v < 0 {
		return cells
	}
	v += begin
	joined = append(append(joined, rest[:begin]...), strings.Join(rest[begin:v], ","), rest[v], strings.Join(rest[v+1:len(rest)-after], ","))
	return append(joined, rest[len(rest)-after:]...)
}

func isTime(cell string) bool {
	_, err := time.Parse(time.RFC3339Nano, cell)
	return err == nil
}

// dumpRow is a row whose cells are read by the names of their columns. A column that the release does not have reads as zero.
type dumpRow struct {
	*dumpReader
	at      document.Position
	columns []string
	cells   []string
}

func (r *dumpRow) text(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 {
		return r.cells[i]
	}
	return ""
}

// index reads an integer of -1 or more.
func (r *dumpRow) index(column string) int64 {
	return r.integer(column, -1)
}

// count reads an integer of 0 or more.
func (r *dumpRow) count(column string) int64 {
	return r.integer(column, 0)
}

// mostDumped is more than a server counts.
const mostDumped = 1e15

func (r *dumpRow) integer(column string, least int64) int64 {
	if !slices.Contains(r.columns, column) {
		return 0
	}
	text := r.text(column)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > mostDumped {
		r.fail(r.at, column, "%q is not a number of this column; want an integer of %d or more", document.Abridge(text), least)
		return 0
	}
	return n
}

func (r *dumpRow) time(column string) time.Time {
	text := r.text(column)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		r.fail(r.at, column, "%q is not a time; want one such as 2006-01-02T15:04:05.123Z", document.Abridge(text))
	}
	return t
}
