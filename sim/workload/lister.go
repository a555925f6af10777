package workload

import (
	"strconv"

	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
)

// Lister lists objects again and again.
type Lister struct {
	Selection
	Limit           int64                 `json:"limit,omitempty" jsonschema:"default=500,minimum=0" jsonschema_description:"Page size; 0 for the whole list at once."`
	ResourceVersion string                `json:"resourceVersion,omitempty" jsonschema_description:"Of the first page: empty for the latest, 0 for any."`
	Every           quantity.Distribution `json:"every" document:"required" jsonschema_description:"From the beginning of a list to that of the next, or until the one before has ended."`
}

func (s *Lister) check(c *checker, path string) {
	c.selection(path, &s.Selection)
	c.every(path+".every", s.Every)
	if n, err := strconv.ParseInt(s.ResourceVersion, 10, 64); s.ResourceVersion != "" && (err != nil || n < 0) {
		c.Fail(path+".resourceVersion", "%q: want a version, 0 for any, or nothing for the latest", document.Abridge(s.ResourceVersion))
	}
}

func (s *Lister) resources() []string { return []string{request.JoinResource(s.Group, s.Resource)} }

// lister lists objects, and page by page if there is a limit. When a page has expired, it asks for the whole list
// at once, as client-go's pager does.
type lister struct {
	repeated
	selected ReflectorSettings
	version  request.Version
	limit    int64
	pager    pager
	beganNs  int64
	nextNs   int64 // when the next list begins, if this one has ended by then
}

// Machine returns a client that lists.
func (s *Lister) Machine(c Client) Machine {
	l := &lister{selected: selected(c, &s.Selection), version: request.ParseVersion(s.ResourceVersion), limit: s.Limit}
	l.open(c, s.Every, l.list)
	return l
}

func (l *lister) list(nowNs int64) {
	l.beganNs, l.nextNs = nowNs, nowNs+l.interval()
	l.pager = pager{First: l.version, Limit: l.limit}
	l.page(nowNs)
}

// page asks for the next page.
func (l *lister) page(nowNs int64) {
	l.client.Send(nowNs, l.selected.Request("list", l.pager.Options()))
}

// Answered implements Machine.
func (l *lister) Answered(nowNs int64, _ int32, a *api.Answer) {
	if a.Status == 410 {
		l.client.Note(nowNs, Note{Event: metric.Expired, Object: l.selected.Resource})
	}
	switch {
	case a.Status == 200 && l.pager.Add(a) || a.Status == 410 && l.pager.Expire():
		l.page(nowNs)
		return
	case a.Status == 200:
		l.client.Note(nowNs, Note{Event: metric.Listed, Object: l.selected.Resource, N: l.pager.Items, Ns: nowNs - l.beganNs})
	}
	l.scheduleAt(max(nowNs, l.nextNs))
}

// Received implements Machine. A lister does not watch.
func (l *lister) Received(int64, int32, *api.Event) {}
