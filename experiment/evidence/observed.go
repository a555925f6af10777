package evidence

import (
	"strconv"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/experiment/incident"
	"apfsim/reports/report"
)

// observed is what the files say that conclusions join: dumps of different kinds are of one moment, and objects say what a dump and a
// log name.
type observed struct {
	dumps      []*dump
	clientLogs []*clientLog
	counts     *requestCounts
	shapes     map[string]shape  // of the levels in objects
	schemaUIDs map[string]string // the names of FlowSchemas in objects
	tables     []report.Section
}

func init() {
	for _, k := range []incident.Kind{incident.DumpLevels, incident.DumpQueues, incident.DumpRequests} {
		readers[k] = readDump
	}
	readers[incident.ClientLog], readers[incident.APIRequestCount] = readClient, readRequestCounts
	if readers[incident.Objects] == nil {
		readers[incident.Objects] = func(*evidence, *incident.Source, []byte) error { return nil }
	}
}

// conclude adds what follows from all files together.
func (e *evidence) conclude() {
	concludeDumps(e)
	concludeClientLogs(e)
	concludeRequestCounts(e)
}

// readDump reads a file with dumps.
func readDump(e *evidence, s *incident.Source, text []byte) error {
	found, errs := readDumps(s.File, string(text))
	e.dumps = append(e.dumps, found...)
	return errs.Err()
}

// add adds a table, unless it has no rows.
func (e *evidence) add(name string, t *report.Table) {
	if len(t.Rows) > 0 {
		e.tables = append(e.tables, report.Section{Name: name, Title: t.Title, Parts: []report.Part{{Table: t}}})
	}
}

// shape is the configuration of a level.
type shape struct {
	known                       bool
	assumed                     bool // it is that of a new cluster
	reject, exempt              bool
	queues, hand, lengthOfQueue int64
}

// learn keeps what objects say of levels, and the names of FlowSchemas. What is wrong with them is said where they are read.
func (e *evidence) learn(o *opened) {
	if o.source.Kind != incident.Objects {
		return
	}
	if e.shapes == nil {
		e.shapes, e.schemaUIDs = map[string]shape{}, map[string]string{}
	}
	docs, _ := yaml.Parse(o.source.File, o.text)
	for i := range docs {
		e.learnObject(docs[i].Root)
	}
}

func (e *evidence) learnObject(n *document.Node) {
	for _, item := range items(n) {
		e.learnObject(item)
	}
	name := textOf(n.Get("metadata").Get("name"))
	switch textOf(n.Get("kind")) {
	case "FlowSchema":
		if uid := textOf(n.Get("metadata").Get("uid")); uid != "" {
			e.schemaUIDs[uid] = name
		}
	case "PriorityLevelConfiguration":
		spec := n.Get("spec")
		response := spec.Get("limited").Get("limitResponse")
		number := func(field string, fallback int64) int64 {
			if n, err := strconv.ParseInt(textOf(response.Get("queuing").Get(field)), 10, 32); err == nil && n > 0 {
				return n
			}
			return fallback
		}
		s := shape{known: true, exempt: textOf(spec.Get("type")) == config.TypeExempt, reject: textOf(response.Get("type")) == config.ResponseReject}
		if !s.exempt && !s.reject {
			s.queues, s.hand, s.lengthOfQueue = number("queues", 64), number("handSize", 8), number("queueLengthLimit", 50)
		}
		e.shapes[name] = s
	}
}

// items returns the objects of a list.
func items(n *document.Node) []*document.Node {
	if list := n.Get("items"); list != nil {
		return list.Items
	}
	return nil
}

func textOf(n *document.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}

// shapeOf returns the configuration of a level: that of the objects or, without any, that of a new cluster.
func (e *evidence) shapeOf(level string) shape {
	if e.shapes != nil {
		return e.shapes[level]
	}
	versions := rules.Versions()
	latest, err := rules.For(versions[len(versions)-1])
	if err != nil {
		return shape{}
	}
	objects := config.Suggested(latest)
	for _, l := range objects.PriorityLevels {
		if l.Name != level {
			continue
		}
		s := shape{known: true, assumed: true, exempt: l.Spec.Type == config.TypeExempt}
		if limited := l.Spec.Limited; limited != nil {
			s.reject = limited.LimitResponse.Type == config.ResponseReject
			if q := limited.LimitResponse.Queuing; q != nil {
				s.queues, s.hand, s.lengthOfQueue = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
			}
		}
		return s
	}
	return shape{}
}
