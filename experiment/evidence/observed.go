package evidence

import (
	"fmt"
	"regexp"

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

// conclude adds what follows from all files together.
func (e *evidence) conclude() {
	concludeDumps(e)
	e.concludeClientMetrics()
	concludeClientLogs(e)
	concludeRequestCounts(e)
}

// readDump reads a file with dumps. Of one in a bundle, rows that are wrong are left out unless most are.
func readDump(e *evidence, s *incident.Source, text []byte) error {
	found, errs := readDumps(s.File, string(text))
	e.dumps = append(e.dumps, found...)
	rows, wrong := 0, 0
	for _, d := range found {
		rows, wrong = rows+d.rows(), wrong+d.wrong
	}
	if len(errs) == 0 || !e.bundled || wrong == 0 || wrong > rows {
		return errs.Err()
	}
	left := "the row is left out"
	if wrong > 1 {
		left = fmt.Sprintf("%d of %d rows are left out", wrong, rows+wrong)
	}
	e.warnings = append(e.warnings, fmt.Sprintf("%v; %s", errs[0], left))
	return nil
}

// add adds a table, unless it has no rows.
func (e *evidence) add(name string, t *report.Table) {
	if len(t.Rows) > 0 {
		e.tables = append(e.tables, report.Section{Name: name, Title: t.Title, Parts: []report.Part{{Table: t}}})
	}
}

// shape is the configuration of a level.
type shape struct {
	known          bool
	assumed        bool // it is that of a new cluster
	reject, exempt bool
	queues, hand   int64
}

// readObjects keeps what objects say of levels, and the names of FlowSchemas. Objects that are wrong are left out, with a warning.
func (e *evidence) readObjects(s *incident.Source, text []byte) error {
	docs, errs := yaml.Parse(s.File, text)
	if len(errs) > 0 {
		return errs.Err()
	}
	decoded := config.Decode(docs...)
	for _, wrong := range decoded.Errors {
		e.warnings = append(e.warnings, wrong.Error())
	}
	if e.shapes == nil {
		e.shapes, e.schemaUIDs = map[string]shape{}, map[string]string{}
	}
	for _, l := range decoded.Objects.PriorityLevels {
		e.shapes[l.Name] = newShape(l)
	}
	for _, f := range decoded.Objects.FlowSchemas {
		if uid := textOf(f.Origin.Document.Root.Get("metadata").Get("uid")); uid != "" {
			e.schemaUIDs[uid] = f.Name
		}
	}
	return nil
}

// serverVersion finds the release of the server, which is not that of kubectl.
var serverVersion = regexp.MustCompile(`(?:(?:serverVersion|Server Version)[\s\S]*?|\A[\s{"]*major[\s\S]*?|\A[\s{"]*gitVersion"?\s*:\s*"?)v(\d+\.\d+\.\d+)`)

func (e *evidence) readVersion(s *incident.Source, text []byte) error {
	if m := serverVersion.FindSubmatch(text); m != nil {
		e.version, e.from = string(m[1]), incident.VersionFile
	} else {
		e.warnings = append(e.warnings, s.File+": says no version of a server, which is in kubectl get --raw /version")
	}
	return nil
}

func newShape(l *config.PriorityLevel) shape {
	s := shape{known: true, exempt: l.Spec.Type == config.TypeExempt}
	if limited := l.Spec.Limited; limited != nil {
		s.reject = limited.LimitResponse.Type == config.ResponseReject
		if q := limited.LimitResponse.Queuing; q != nil {
			s.queues, s.hand = int64(q.Queues), int64(q.HandSize)
		}
	}
	return s
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
	l := config.Suggested(rules.Default()).PriorityLevel(level)
	if l == nil {
		return shape{}
	}
	s := newShape(l)
	s.assumed = true
	return s
}
