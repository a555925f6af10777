// Package httplog reads the lines that a kube-apiserver logs of HTTP requests at verbosity 3 and more, from
// its file httplog.go.
//
//	I1121 22:53:52.476437   19222 httplog.go:134] "HTTP" verb="GET" URI="/healthz" latency="1.6ms" …
//
// The formats text and json of the server are read, as Kubernetes 1.18 and later write them. Package logfile
// finds the lines in a file.
package httplog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"apfsim/core/request"
	"apfsim/internal/intern"
	"apfsim/internal/jsonobject"
	"apfsim/sim/trace/serverlog"
)

// Kind is the kind of a line.
type Kind uint8

// The kinds.
const (
	Other    Kind = iota
	Request       // a request, in the entry
	Adjusted      // a limit of a priority level, in Decoder.Adjustment
)

// Adjustment is the limit that a priority level has from a time on, from a line "Update CurrentCL" of
// apf_controller.go. Servers of 1.26 and later write them when they adjust the limits, every 10 s: at
// verbosity 2 for limits that move by 5 % or more, at verbosity 4 for all.
type Adjustment struct {
	TimeNs        int64 // since 1970
	Server        string
	PriorityLevel string
	Limit         int // currentCL, in seats
}

// Decoder decodes lines.
type Decoder struct {
	Clock Clock
	// Adjustment is that of the latest line for which the result was Adjusted.
	Adjustment Adjustment

	scanner jsonobject.Scanner
	texts   *intern.Table
	buffer  []byte

	// What the line says and an entry does not have.
	verb      string
	uri       []byte
	watchList int64  // until the initial events of a watch were sent
	name      string // of the message
	ended     bool   // the line has resp or hijacked, which all complete lines have
	err       error  // of the first value that cannot be read
}

// NewDecoder returns a decoder that takes strings that repeat from the table.
func NewDecoder(clock Clock, texts *intern.Table) *Decoder {
	return &Decoder{Clock: clock, texts: texts}
}

func (d *Decoder) reset(e *serverlog.Entry) {
	e.Reset()
	e.Log, e.Stage = serverlog.HTTP, serverlog.Complete
	d.Adjustment = Adjustment{Limit: -1}
	d.verb, d.uri, d.watchList, d.name, d.err = "", d.uri[:0], serverlog.Unknown, "", nil
	d.ended = false
}

// Text reads a line that begins with a klog header into e. Recorded is when the line was received from
// the server, or zero; it tells the year and the zone, see [Clock]. These keys are read:
//
//	header                   StageNs: the end; ArrivalNs: the end minus latency
//	verb                     Verb, with URI
//	URI                      Path, Query, APIGroup, Resource, Subresource, Namespace, Name
//	latency                  TotalNs
//	userAgent, audit-ID      UserAgent, AuditID: the server shortens it to 64 bytes
//	srcIP                    SourceIP
//	apf_pl, apf_fs           PriorityLevel, FlowSchema
//	apf_iseats, apf_fseats   Seats, FinalSeats
//	apf_additionalLatency    AdditionalNs
//	apf_execution_time       ExecutionNs; of a watch InitNs, if there is no apf_init_latency
//	apf_init_latency         InitNs
//	watchlist_init_latency   InitNs, if there is neither
//	fl_priorityandfairness   WaitNs: which the server logs from 100 ms on
//	resp, hijacked           Status: 101 for a connection that was hijacked
//
// The keys of flow control are there from Kubernetes 1.24 on. Verb is the one that flow control sees: the
// server logs LIST, WATCH and APPLY, or the HTTP method in early versions, and the URI tells the rest. The server logs CONNECT for any method of the subresources
// exec, attach, portforward, log and proxy; the verb is then taken to be create for the first three and get
// for the others. Flow control lets these requests pass without a limit.
func (d *Decoder) Text(line []byte, recorded time.Time, e *serverlog.Entry) (Kind, error) {
	header, caller, message, ok := parseHeader(line)
	if !ok {
		return Other, nil
	}
	if bytes.HasPrefix(caller, []byte("httplog.go:")) && bytes.Contains(message, []byte(": (")) &&
		!bytes.HasPrefix(message, []byte(`"HTTP"`)) && !bytes.HasPrefix(message, []byte(`verb="`)) {
		return Other, errors.New("this is the format of Kubernetes 1.17 and earlier, which is not read; use the audit log")
	}
	kind, pairs := messageKind(message)
	if kind == Other {
		return Other, nil
	}
	end, err := d.Clock.complete(header, recorded)
	if err != nil {
		return Other, err
	}
	return d.message(kind, pairs, end, e)
}

// Message reads a line whose klog header a collector has replaced by a time of its own, recorded, which is
// taken to be the end of the request.
func (d *Decoder) Message(message []byte, recorded time.Time, e *serverlog.Entry) (Kind, error) {
	kind, pairs := messageKind(message)
	switch {
	case kind == Other:
		return Other, nil
	case recorded.IsZero():
		return Other, errors.New("the line has neither a klog header nor a time of a collector")
	}
	end, err := serverlog.Nanoseconds(recorded, "the time of the collector")
	if err != nil {
		return Other, err
	}
	return d.message(kind, pairs, end, e)
}

// messageKind returns what a message is about, and its keys and values.
func messageKind(message []byte) (kind Kind, pairs []byte) {
	for _, m := range []struct {
		begin string
		kind  Kind
		skip  int
	}{
		{`"HTTP" `, Request, len(`"HTTP" `)},
		{`verb="`, Request, 0}, // Kubernetes 1.18
		{`"Update CurrentCL" `, Adjusted, len(`"Update CurrentCL" `)},
	} {
		if len(message) >= len(m.begin) && string(message[:len(m.begin)]) == m.begin {
			return m.kind, message[m.skip:]
		}
	}
	return Other, nil
}

// message reads the pairs of a message.
func (d *Decoder) message(kind Kind, pairs []byte, end int64, e *serverlog.Entry) (Kind, error) {
	d.reset(e)
	for {
		var key, value []byte
		if key, value, pairs, d.buffer = nextPair(pairs, d.buffer); key == nil {
			return d.finish(kind, end, e)
		}
		d.set(e, key, value)
	}
}

// JSON reads a line of the format json, which is one JSON object. Its time is ts, in milliseconds since
// 1970. The keys are those of [Decoder.Text].
func (d *Decoder) JSON(value []byte, e *serverlog.Entry) (Kind, error) {
	d.reset(e)
	end := int64(serverlog.Unknown)
	s := &d.scanner
	s.Reset(value)
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "ts":
			ms, err := strconv.ParseFloat(string(s.Raw()), 64)
			if err == nil && ms > 0 && ms < 9.2e12 {
				end = int64(math.Round(ms*1e3)) * 1e3
			}
		case "msg":
			d.name = d.texts.String(s.Text())
		default:
			key := append(d.buffer[:0], s.Name...)
			d.buffer = key
			switch s.Kind() {
			case '"':
				d.set(e, key, s.Text())
			case '{', '[':
				s.Skip()
			default:
				d.set(e, key, s.Raw())
			}
		}
	}
	if err := s.End(); err != nil {
		return Other, err
	}
	kind := Request
	switch d.name {
	case "HTTP":
	case "Update CurrentCL":
		kind = Adjusted
	default:
		return Other, nil
	}
	if end < 0 {
		return Other, errors.New("ts: the line has no time in milliseconds since 1970")
	}
	return d.finish(kind, end, e)
}

// set takes the value of a key.
func (d *Decoder) set(e *serverlog.Entry, key, value []byte) {
	switch string(key) {
	case "verb":
		d.verb = d.texts.String(value)
	case "URI":
		d.uri = append(d.uri[:0], value...)
	case "latency":
		e.TotalNs = d.duration(key, value)
	case "userAgent", "UserAgent":
		e.UserAgent = d.texts.String(value)
	case "audit-ID":
		e.AuditID = strings.ToValidUTF8(string(value), "\uFFFD")
	case "srcIP":
		e.SourceIP = d.texts.String(value)
		if host, _, err := net.SplitHostPort(e.SourceIP); err == nil {
			e.SourceIP = d.texts.Of(host)
		}
	case "apf_pl":
		e.PriorityLevel = d.texts.String(value)
	case "apf_fs":
		e.FlowSchema = d.texts.String(value)
	case "apf_iseats":
		e.Seats = d.integer(key, value)
	case "apf_fseats":
		e.FinalSeats = d.integer(key, value)
	case "apf_additionalLatency":
		e.AdditionalNs = d.duration(key, value)
	case "apf_execution_time":
		e.ExecutionNs = d.duration(key, value)
	case "apf_init_latency":
		e.InitNs = d.duration(key, value)
	case "watchlist_init_latency":
		d.watchList = d.duration(key, value)
	case "fl_priorityandfairness":
		e.WaitNs = d.duration(key, value)
	case "resp":
		e.Status, d.ended = d.integer(key, value), true
	case "hijacked":
		d.ended = true
		if string(value) == "true" {
			e.Status = 101
		}
	case "plName":
		d.Adjustment.PriorityLevel = d.texts.String(value)
	case "currentCL":
		d.Adjustment.Limit = d.integer(key, value)
	}
}

// duration reads a duration. It keeps the error for finish.
func (d *Decoder) duration(key, value []byte) int64 {
	t, err := time.ParseDuration(string(value))
	if (err != nil || t < 0) && d.err == nil {
		d.err = fmt.Errorf("%s: %q is not a duration such as 1.5ms", key, value)
	}
	if err != nil || t < 0 {
		return serverlog.Unknown
	}
	return int64(t)
}

// integer reads a number. It keeps the error for finish.
func (d *Decoder) integer(key, value []byte) int {
	n, err := strconv.Atoi(string(value))
	if (err != nil || n < 0) && d.err == nil {
		d.err = fmt.Errorf("%s: %q is not a non-negative integer", key, value)
	}
	return n
}

// finish sets what follows from several keys. End is the time of the line.
func (d *Decoder) finish(kind Kind, end int64, e *serverlog.Entry) (Kind, error) {
	if d.err != nil {
		return Other, d.err
	}
	if kind == Adjusted {
		if d.Adjustment.TimeNs = end; d.Adjustment.PriorityLevel == "" || d.Adjustment.Limit < 0 {
			return Other, errors.New(`"Update CurrentCL" without plName and currentCL`)
		}
		return Adjusted, nil
	}
	switch {
	case len(d.uri) == 0 || d.verb == "":
		return Other, errors.New("the line has no URI and verb, or a quote is missing")
	case e.TotalNs < 0:
		return Other, errors.New("the line has no latency, without which the arrival is unknown")
	case e.TotalNs > end:
		return Other, fmt.Errorf("latency: with %v, the request would have arrived before 1970", time.Duration(e.TotalNs))
	}
	if !d.ended {
		return Other, errors.New("the line ends before resp: it is cut off, or a quote is missing")
	}
	e.StageNs, e.ArrivalNs = end, end-e.TotalNs
	d.attributes(e)
	if e.Verb == "watch" {
		if e.InitNs < 0 {
			e.InitNs = e.ExecutionNs
		}
		if e.InitNs < 0 {
			e.InitNs = d.watchList
		}
		e.ExecutionNs = serverlog.Unknown // which ends with the initialization
	}
	return Request, nil
}

// methods are the HTTP methods of the verbs that the server logs instead of the method.
var methods = map[string]string{"LIST": "GET", "WATCH": "GET", "WATCHLIST": "GET", "APPLY": "PATCH",
	"DELETECOLLECTION": "DELETE", "CONNECT": "GET"}

// attributes sets what the verb and the URI say.
func (d *Decoder) attributes(e *serverlog.Entry) {
	e.Path, e.Query, _ = request.SplitURI(d.texts.String(d.uri)) // a path that cannot be decoded stays as it is
	method, ok := methods[d.verb]
	if !ok {
		method = d.verb
	}
	a, err := request.ReadURL(method, e.Path, e.Query)
	e.Verb = d.texts.Of(a.Verb)
	e.APIGroup, e.Resource, e.Subresource = d.texts.Of(a.APIGroup), d.texts.Of(a.Resource), d.texts.Of(a.Subresource)
	e.Namespace, e.Name = d.texts.Of(a.Namespace), d.texts.Of(a.Name)
	if err != nil && (d.verb == "LIST" || d.verb == "WATCH") {
		e.Verb = strings.ToLower(d.verb) // the query cannot be read; the server decides without it too
	}
	if d.verb == "CONNECT" {
		switch e.Subresource {
		case "exec", "attach", "portforward":
			e.Verb = "create"
		}
	}
}
