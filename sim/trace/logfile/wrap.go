package logfile

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"apfsim/internal/jsonobject"
	"apfsim/sim/trace/auditlog"
	"apfsim/sim/trace/serverlog"
)

// maxWraps bounds how many wrappers may be around a line.
const maxWraps = 4

// wrap is a JSON object of a collector of logs, in which a line of a server is the value of a member.
type wrap struct {
	scanner jsonobject.Scanner
	values  []byte // the values of the members that may be the line, one after another
	ends    []int  // where they end in values
	source  source
	stream  string // of Docker
	log     int    // the index of Docker's log in ends, or -1
	list    bool   // a member is a list of records
	query   bool   // the record is a result of CloudWatch Logs Insights
}

// unwrap reads the line that an object contains. These members are tried, in the order of the object, until
// one is a request:
//
//	log                           Docker, Fluentd, Fluent Bit; AKS, in properties
//	properties                    AKS, in the format of diagnostic settings
//	message, @message             EKS, in the formats of CloudWatch; Filebeat, Logstash
//	MESSAGE                       journald
//	textPayload, jsonPayload      Cloud Logging, of components other than Cloud Audit Logs
//	kubernetes.audit              Elastic Agent
//	event, original               Elastic, Splunk
//	_source                       Elasticsearch
//	result, _raw                  Splunk
//	body, structured, line        OpenTelemetry, OpenShift, Loki
func (r *Reader) unwrap(value []byte, from source, depth int, e *serverlog.Entry) (bool, error) {
	w := &r.wraps[depth]
	if err := r.members(w, value, from); err != nil {
		return false, err
	}
	var first error
	begin := 0
	for i, end := range w.ends {
		text := w.values[begin:end]
		begin = end
		if i == w.log && w.stream != "" {
			var whole bool
			if text, whole = r.joinDocker(w.stream, text); !whole {
				return false, errPartial
			}
		}
		ok, err := r.text(text, w.source, depth+1, e)
		if ok || err == errPartial {
			return ok, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil && w.list {
		first = auditlog.ErrList
	}
	if len(w.ends) == 0 && (w.query || r.columns != nil) {
		first = errors.New("the result of the query has no @message; query fields @timestamp, @logStream, @message")
	}
	return false, first
}

// members reads the members of the object.
func (r *Reader) members(w *wrap, value []byte, from source) error {
	w.values, w.ends, w.source, w.stream, w.log = w.values[:0], w.ends[:0], from, "", -1
	w.list, w.query = false, false
	s := &w.scanner
	var at time.Time
	s.Reset(value)
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "log":
			w.log = len(w.ends)
			w.add()
		case "properties", "message", "@message", "MESSAGE", "textPayload", "jsonPayload", "event", "original",
			"_source", "result", "_raw", "body", "stringValue", "structured", "line", "audit":
			w.add()
		case "kubernetes": // of Elastic, the event; of Fluentd, the container
			for open := s.Object(); open && s.Key(); {
				switch string(s.Name) {
				case "audit":
					w.add()
				case "pod_name":
					w.source.server = r.texts.String(s.Text())
				default:
					s.Skip()
				}
			}
		case "@ptr":
			w.query = true
			s.Skip()
		case "stream":
			w.stream = r.texts.String(s.Text())
		case "hostname", "_HOSTNAME", "pod", "@logStream", "logStreamName":
			if name := s.Text(); len(name) > 0 {
				w.source.server = r.texts.String(name)
			}
		case "time", "@timestamp", "timestamp":
			at = readTime(bytes.Trim(s.Raw(), `"`))
		case "__REALTIME_TIMESTAMP":
			w.source.recorded = readTime(bytes.Trim(s.Raw(), `"`))
		default:
			w.list = w.list || s.Kind() == '[' && slices.Contains(listKeys, string(s.Name))
			s.Skip()
		}
	}
	switch {
	case at.IsZero():
	case w.log >= 0 && w.stream != "": // Docker
		w.source.recorded = at
	default: // perhaps much later
		w.source.near = at
	}
	return s.End()
}

// add adds the next value if it is a string or an object.
func (w *wrap) add() {
	switch w.scanner.Kind() {
	case '"':
		w.values = append(w.values, w.scanner.Text()...)
	case '{':
		w.values = append(w.values, w.scanner.Raw()...)
	default:
		w.scanner.Skip()
		return
	}
	w.ends = append(w.ends, len(w.values))
}

// dockerPart is the least length of a part of a line that Docker has split.
const dockerPart = 16 << 10

// joinDocker joins the parts of a line. Docker keeps the end of a line in the last part.
func (r *Reader) joinDocker(stream string, text []byte) (line []byte, whole bool) {
	part := &r.partial[streamOf(stream)]
	if len(text) >= dockerPart && text[len(text)-1] != '\n' && len(*part)+len(text) <= maxRecord {
		*part = append(*part, text...)
		return nil, false
	}
	if len(*part) > 0 {
		text = append(*part, text...)
		*part = text[:0]
	}
	return text, true
}
