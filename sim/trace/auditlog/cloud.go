package auditlog

import (
	"errors"
	"math"
	"strings"

	"apfsim/core/request"
	"apfsim/sim/trace/serverlog"
)

// cloudEntry is what an entry of Cloud Audit Logs says.
type cloudEntry struct {
	operation, insertID string
	method, resource    string
	timestamp           []byte
	first, last         bool
	service             string
	audit               bool // there is a protoPayload
}

// DecodeCloud reads an entry of Cloud Audit Logs about a cluster of GKE, which is one JSON object, into e:
//
//	operation.id, or insertId             AuditID
//	timestamp                             ArrivalNs
//	latency, or httpRequest.latency       TotalNs and StageNs; StageUnknown is set without either, as usual
//	operation.first without .last         Stage: Started, otherwise Complete
//	protoPayload.authenticationInfo
//	  .principalEmail                     User; GroupsUnknown is set
//	protoPayload.methodName               Verb: the last part
//	protoPayload.resourceName             Path, APIGroup, Resource, Subresource, Namespace, Name
//	protoPayload.requestMetadata
//	  .callerIp, .callerSuppliedUserAgent SourceIP, UserAgent
//	protoPayload.status.code              Status: of gRPC, as HTTP
//
// DecodeCloud returns false if the object is not such an entry.
func (d *Decoder) DecodeCloud(value []byte, e *serverlog.Entry) (bool, error) {
	e.Reset()
	e.Log = serverlog.Audit
	c := &d.cloud
	*c = cloudEntry{timestamp: c.timestamp[:0]}
	s := &d.scanner
	s.Reset(value)
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "insertId":
			c.insertID = strings.ToValidUTF8(string(s.Text()), "\uFFFD")
		case "latency":
			e.TotalNs = duration(s.Text())
		case "httpRequest":
			for open := s.Object(); open && s.Key(); {
				if string(s.Name) == "latency" {
					e.TotalNs = duration(s.Text())
				} else {
					s.Skip()
				}
			}
		case "timestamp":
			c.timestamp = append(c.timestamp, s.Text()...)
		case "operation":
			for open := s.Object(); open && s.Key(); {
				switch string(s.Name) {
				case "id":
					c.operation = strings.ToValidUTF8(string(s.Text()), "\uFFFD")
				case "first":
					c.first = string(s.Raw()) == "true"
				case "last":
					c.last = string(s.Raw()) == "true"
				default:
					s.Skip()
				}
			}
		case "protoPayload":
			c.audit = s.Kind() == '{'
			d.payload(e)
		default:
			s.Skip()
		}
	}
	if err := s.End(); err != nil {
		return false, err
	}
	if !c.audit || c.service != "k8s.io" && c.service != "" || !strings.HasPrefix(c.method, "io.k8s.") && c.service == "" {
		return false, nil
	}
	return true, d.finishCloud(e)
}

// payload reads a protoPayload.
func (d *Decoder) payload(e *serverlog.Entry) {
	s := &d.scanner
	for open := s.Object(); open && s.Key(); {
		switch string(s.Name) {
		case "serviceName":
			d.cloud.service = d.texts.String(s.Text())
		case "methodName":
			d.cloud.method = d.texts.String(s.Text())
		case "resourceName":
			d.cloud.resource = d.texts.String(s.Text())
		case "authenticationInfo":
			for open := s.Object(); open && s.Key(); {
				if string(s.Name) == "principalEmail" {
					e.User = d.texts.String(s.Text())
				} else {
					s.Skip()
				}
			}
		case "requestMetadata":
			for open := s.Object(); open && s.Key(); {
				switch string(s.Name) {
				case "callerIp":
					e.SourceIP = d.texts.String(s.Text())
				case "callerSuppliedUserAgent":
					e.UserAgent = d.texts.String(s.Text())
				default:
					s.Skip()
				}
			}
		case "latency":
			e.TotalNs = duration(s.Text())
		case "status":
			e.Status = 200
			for open := s.Object(); open && s.Key(); {
				if string(s.Name) == "code" {
					e.Status = httpStatus(s.Int())
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
}

// httpStatus returns the status of HTTP for a code of gRPC (google/rpc/code.proto, which gives the mapping).
func httpStatus(code int64) int {
	switch code {
	case 0:
		return 200
	case 1:
		return 499
	case 3, 9, 11:
		return 400
	case 4:
		return 504
	case 5:
		return 404
	case 6, 10:
		return 409
	case 7:
		return 403
	case 8:
		return 429
	case 12:
		return 501
	case 14:
		return 503
	case 16:
		return 401
	}
	if code >= 100 {
		return int(code)
	}
	return 500
}

// finishCloud sets what follows from several fields.
func (d *Decoder) finishCloud(e *serverlog.Entry) error {
	c := &d.cloud
	if e.AuditID = c.operation; e.AuditID == "" {
		e.AuditID = c.insertID
	}
	var err error
	if e.ArrivalNs, err = nanoseconds(c.timestamp, "timestamp"); err != nil {
		return err
	}
	e.StageNs, e.Stage, e.StageUnknown, e.GroupsUnknown = e.ArrivalNs, serverlog.Complete, true, true
	if e.TotalNs > math.MaxInt64-e.ArrivalNs {
		e.TotalNs = serverlog.Unknown
	}
	if e.TotalNs >= 0 {
		e.StageNs, e.StageUnknown = e.ArrivalNs+e.TotalNs, false
	}
	if c.first && !c.last {
		e.Stage = serverlog.Started
	}
	verb := c.method[strings.LastIndexByte(c.method, '.')+1:]
	switch {
	case verb == "":
		return errors.New("protoPayload has no methodName, from which the verb is taken")
	case c.resource == "":
		return errors.New("protoPayload has no resourceName, from which the resource is taken")
	}
	e.Verb = d.texts.Of(verb)
	e.Path = d.texts.Of(cloudPath(c.resource))
	// With the method POST, the verb does not depend on the query, which is not in the log.
	a, err := request.ReadURL("POST", e.Path, "")
	if err != nil {
		return err
	}
	e.APIGroup, e.Resource, e.Subresource = d.texts.Of(a.APIGroup), d.texts.Of(a.Resource), d.texts.Of(a.Subresource)
	e.Namespace, e.Name = d.texts.Of(a.Namespace), d.texts.Of(a.Name)
	return nil
}

// cloudPath returns the path of a resourceName: GROUP/VERSION/… for a resource, with core for the core
// group, and the path without its first slash for anything else. It is a syntax of these logs only and no URL,
// so that core/request does not read it.
func cloudPath(resource string) string {
	resource = strings.TrimPrefix(resource, "/")
	group, remaining, _ := strings.Cut(resource, "/")
	version, _, more := strings.Cut(remaining, "/")
	isVersion := len(version) > 1 && version[0] == 'v' && version[1] >= '0' && version[1] <= '9'
	switch {
	case !isVersion || !more || group == "apis" || group == "api" || group == "openapi":
		return "/" + resource
	case group == "core":
		return "/api/" + remaining
	}
	return "/apis/" + resource
}
