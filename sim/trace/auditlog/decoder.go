// Package auditlog reads audit events, which are what a kube-apiserver writes to its audit log.
//
// An event is a JSON object of audit.k8s.io, one for each stage of a request. The versions v1 and v1beta1
// have the same fields. Cloud Audit Logs of Google, which GKE writes instead, are read as well; they have
// other fields. Package logfile finds the events in a file.
package auditlog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"apfsim/core/request"
	"apfsim/internal/intern"
	"apfsim/internal/jsonobject"
	"apfsim/sim/trace/serverlog"
)

// Decoder decodes events.
type Decoder struct {
	scanner jsonobject.Scanner
	texts   *intern.Table

	// What the event says and an entry does not have.
	uri          []byte
	impersonated bool
	waits        bool // the server is one that writes waits
	stage        string
	received     []byte
	reached      []byte
	timestamp    []byte
	cloud        cloudEntry
}

// NewDecoder returns a decoder that takes strings that repeat from the table.
func NewDecoder(texts *intern.Table) *Decoder { return &Decoder{texts: texts} }

// stages are the stages by their names in an event.
var stages = map[string]serverlog.Stage{
	"RequestReceived":  serverlog.Received,
	"ResponseStarted":  serverlog.Started,
	"ResponseComplete": serverlog.Complete,
	"Panic":            serverlog.Panicked,
}

// ErrList is the error for an object that has events in a member instead of being one.
var ErrList = errors.New("the object is a list")

// Decode reads an audit event, which is one JSON object, into e. These fields are read; the others of the
// event have no influence:
//
//	auditID                   AuditID
//	stage                     Stage
//	requestReceivedTimestamp  ArrivalNs
//	stageTimestamp            StageNs; without it, StageUnknown is set
//	user, impersonatedUser    User, Groups: those of the impersonated user if there is one
//	userAgent                 UserAgent
//	sourceIPs                 SourceIP: the last one, which is the address of the connection
//	verb                      Verb
//	objectRef                 APIGroup, Resource, Subresource, Namespace, Name
//	requestURI                Path, decoded, and Query, encoded
//	responseStatus            Status, StatusReason
//	annotations               TotalNs, WaitNs: apiserver.latency.k8s.io/total and …/apf-queue-wait
//	                          WebhookNs: the sum of …/mutating-webhook and …/validating-webhook
//	                          EtcdNs, SendingNs: …/etcd and …/response-write
//	hostname                  Server: added by collectors of OpenShift
//
// A user who is authenticated has groups, so GroupsUnknown is set if there are none.
// With total and authentication or authorization (Kubernetes 1.33 and later) and without apf-queue-wait, the request did not
// wait, and WaitNs is 0. Before 1.31, servers do not write apf-queue-wait at all. Decode returns false
// if the object is not an audit event, which has a kind and a version, or a requestReceivedTimestamp; the entry then says nothing useful. The error says what is wrong
// with the JSON or with the event. It is ErrList for an EventList.
func (d *Decoder) Decode(value []byte, e *serverlog.Entry) (bool, error) {
	e.Reset()
	e.Log = serverlog.Audit
	d.uri, d.received, d.reached, d.timestamp = d.uri[:0], d.received[:0], d.reached[:0], d.timestamp[:0]
	d.impersonated, d.waits, d.stage = false, false, ""
	kind, version := false, false
	s, list := &d.scanner, false
	s.Reset(value)
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "kind":
			kind = string(s.Text()) == "Event"
		case "apiVersion":
			version = bytes.HasPrefix(s.Text(), []byte("audit.k8s.io/"))
		case "auditID":
			e.AuditID = strings.ToValidUTF8(string(s.Text()), "\uFFFD")
		case "stage":
			d.stage = d.texts.String(s.Text())
		case "requestURI":
			d.uri = append(d.uri, s.Text()...)
		case "verb":
			e.Verb = d.texts.String(s.Text())
		case "user":
			d.user(e, false)
		case "impersonatedUser":
			d.user(e, true)
		case "sourceIPs":
			for open := s.Array(); open && s.Element(); {
				e.SourceIP = d.texts.String(s.Text())
			}
		case "userAgent":
			e.UserAgent = d.texts.String(s.Text())
		case "objectRef":
			d.objectRef(e)
		case "responseStatus":
			d.status(e)
		case "requestReceivedTimestamp":
			d.received = append(d.received, s.Text()...)
		case "stageTimestamp":
			d.reached = append(d.reached, s.Text()...)
		case "timestamp": // of the first versions, for either
			d.timestamp = append(d.timestamp, s.Text()...)
		case "annotations":
			d.annotations(e)
		case "hostname":
			e.Server = d.texts.String(s.Text())
		case "items":
			list = list || s.Kind() == '['
			s.Skip()
		default:
			s.Skip()
		}
	}
	if err := s.End(); err != nil {
		return false, err
	}
	if list {
		return false, ErrList
	}
	switch isEvent := kind && version || len(d.received) > 0; {
	case e.AuditID != "" && d.stage != "":
		return true, d.finish(e)
	case isEvent && e.AuditID == "":
		return false, errors.New("the event has no auditID")
	case isEvent:
		return false, errors.New("the event has no stage")
	}
	return false, nil
}

// finish sets what follows from several fields.
func (d *Decoder) finish(e *serverlog.Entry) error {
	stage, ok := stages[d.stage]
	if !ok {
		return fmt.Errorf("stage: %q is not a stage of an audit event; use RequestReceived, ResponseStarted, "+
			"ResponseComplete or Panic", d.stage)
	}
	e.Stage = stage
	received, name := d.received, "requestReceivedTimestamp"
	if len(received) == 0 && len(d.timestamp) > 0 {
		received, name = d.timestamp, "timestamp"
	}
	var err error
	if e.ArrivalNs, err = nanoseconds(received, name); err != nil {
		return err
	}
	e.StageNs, e.StageUnknown = e.ArrivalNs, len(d.reached) == 0
	if !e.StageUnknown {
		if e.StageNs, err = nanoseconds(d.reached, "stageTimestamp"); err != nil {
			return err
		}
	}
	if e.StageNs < e.ArrivalNs {
		return fmt.Errorf("stageTimestamp: %s is before %s, which is %s", d.reached, name, received)
	}
	if e.TotalNs >= 0 && e.WaitNs < 0 && d.waits {
		e.WaitNs = 0
	}
	if len(d.uri) == 0 {
		return errors.New("the event has no requestURI")
	}
	e.Path, e.Query, _ = request.SplitURI(d.texts.String(d.uri)) // a path that cannot be decoded stays as it is
	if e.Verb == "" {
		return errors.New("the event has no verb")
	}
	e.GroupsUnknown = e.User != "" && len(e.Groups) == 0
	return nil
}

// nanoseconds reads a time.
func nanoseconds(text []byte, field string) (int64, error) {
	if len(text) == 0 {
		return 0, fmt.Errorf("the event has no %s", field)
	}
	var t time.Time
	if err := t.UnmarshalText(text); err != nil {
		return 0, fmt.Errorf("%s: %q is not a time such as 2026-11-21T22:53:48.216709Z", field, text)
	}
	return serverlog.Nanoseconds(t, field)
}

// user reads the user, or the impersonated user, who replaces the user.
func (d *Decoder) user(e *serverlog.Entry, impersonated bool) {
	s := &d.scanner
	if !s.Object() {
		return
	}
	if d.impersonated { // the user after the impersonated user
		for s.Key() {
			s.Skip()
		}
		return
	}
	e.User, e.Groups = "", e.Groups[:0]
	d.impersonated = impersonated
	for s.Key() {
		switch string(s.Name) {
		case "username":
			e.User = d.texts.String(s.Text())
		case "groups":
			for open := s.Array(); open && s.Element(); {
				e.Groups = append(e.Groups, d.texts.String(s.Text()))
			}
		default:
			s.Skip()
		}
	}
}

func (d *Decoder) objectRef(e *serverlog.Entry) {
	s := &d.scanner
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "apiGroup":
			e.APIGroup = d.texts.String(s.Text())
		case "resource":
			e.Resource = d.texts.String(s.Text())
		case "subresource":
			e.Subresource = d.texts.String(s.Text())
		case "namespace":
			e.Namespace = d.texts.String(s.Text())
		case "name":
			e.Name = d.texts.String(s.Text())
		default:
			s.Skip()
		}
	}
}

func (d *Decoder) status(e *serverlog.Entry) {
	s := &d.scanner
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "code":
			e.Status = int(s.Int())
		case "reason":
			e.StatusReason = d.texts.String(s.Text())
		default:
			s.Skip()
		}
	}
}

func (d *Decoder) annotations(e *serverlog.Entry) {
	s := &d.scanner
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "apiserver.latency.k8s.io/total":
			e.TotalNs = duration(s.Text())
		case "apiserver.latency.k8s.io/apf-queue-wait":
			e.WaitNs = duration(s.Text())
		case "apiserver.latency.k8s.io/mutating-webhook", "apiserver.latency.k8s.io/validating-webhook":
			if ns := duration(s.Text()); ns >= 0 && ns < 1<<62 {
				e.WebhookNs = min(max(0, e.WebhookNs), 1<<62) + ns
			}
		case "apiserver.latency.k8s.io/etcd":
			e.EtcdNs = duration(s.Text())
		case "apiserver.latency.k8s.io/response-write":
			e.SendingNs = duration(s.Text())
		case "apiserver.latency.k8s.io/authentication", "apiserver.latency.k8s.io/authorization":
			d.waits = true
			s.Skip()
		default:
			s.Skip()
		}
	}
}

// duration returns a duration in nanoseconds, or Unknown if the text is none.
func duration(text []byte) int64 {
	if d, err := time.ParseDuration(string(text)); err == nil && d >= 0 {
		return int64(d)
	}
	return serverlog.Unknown
}
