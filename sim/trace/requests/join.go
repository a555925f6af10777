package requests

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"apfsim/sim/trace/serverlog"
)

// mostProblems is the number of bad lines of a file that are listed.
const mostProblems = 10

// mostTogether is the number of lines with one audit ID that are joined at a time. A request has four
// at most; more are a client's that sends the same audit ID with all of its requests.
const mostTogether = 64

// Server describes the log of one server.
type Server struct {
	BeginNs int64 // the time of the earliest line
	EndNs   int64 // the time of the latest line
	// FirstNs is the earliest arrival, without requests that may take arbitrarily long and that were
	// open when the log began; negative if there is none.
	FirstNs     int64
	Requests    int64
	Adjustments []int64 // when the server adjusted its limits

	days      days
	medianDay int64
}

// located is an entry and where it is.
type located struct {
	serverlog.Entry
	file int
	line int64
}

// code writes or reads an entry and where it is.
func (l *located) code(c *codec) {
	codeEntry(c, &l.Entry)
	number(c, &l.file)
	number(c, &l.line)
}

// add adds an entry to those that are to be joined.
func (r *Log) add(e *located) error {
	s := r.Servers[e.Server]
	if s == nil {
		s = &Server{FirstNs: -1, days: days{}}
		r.Servers[e.Server] = s
	}
	s.days.add(e.StageNs)
	r.added++

	key := append(append(r.buf[:0], e.Server...), 0)
	if e.AuditID == "" { // a request of its own
		key = binary.BigEndian.AppendUint64(append(key, 0, byte(e.file>>8), byte(e.file)), uint64(e.line))
		key = binary.BigEndian.AppendUint32(key, uint32(r.added)) // a line can have several
	} else {
		key = append(append(key, e.AuditID...), 0)
		key = binary.BigEndian.AppendUint64(key, uint64(e.ArrivalNs))
	}
	r.buf = key
	r.out.b = r.out.b[:0]
	e.code(&r.out)
	if err := r.entries.Add(key, r.out.b); err != nil {
		return fmt.Errorf("sorting the lines: %w", err)
	}
	return nil
}

// join makes requests from the entries with the same server and audit ID.
func (r *Log) join(ctx context.Context) error {
	in := codec{reading: true}
	err := ahead(func(next func() *located) error {
		return r.entries.Each(func(_, value []byte) error {
			l := next()
			if l == nil {
				return errStopped
			}
			in.read(value)
			l.code(&in)
			return nil
		})
	}, func(l *located) error {
		file := &r.Files[l.file]
		if why := r.Servers[l.Server].wrongClock(l); why != "" {
			file.bad(l.line, why)
			return nil
		}
		file.add(&l.Entry)
		r.Entries.Total++
		if n := len(r.group); n > 0 {
			cut := 0
			if l.AuditID == "" || l.AuditID != r.group[0].AuditID || l.Server != r.group[0].Server {
				cut = n
			} else if n == mostTogether {
				cut = widestGap(r.group)
			}
			if err := r.joinGroup(cut); err != nil {
				return err
			}
			if r.requests%4096 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		r.group = appendEntry(r.group, l)
		return nil
	})
	if err == nil {
		err = r.joinGroup(len(r.group))
	}
	return err
}

// errStopped ends a goroutine that another one has stopped, whose error is the one that is returned.
var errStopped = errors.New("stopped")

// appendEntry appends a copy of an entry, and uses the memory of entries that were in the group before.
func appendEntry(group []located, l *located) []located {
	n := len(group)
	if n < cap(group) {
		group = group[:n+1]
	} else {
		group = append(group, located{})
	}
	groups := append(group[n].Groups[:0], l.Groups...)
	group[n] = *l
	group[n].Groups = groups
	return group
}

// widestGap returns where the widest gap between arrivals is in the second half of a group, so that the
// lines of one request are probably on one side.
func widestGap(group []located) (cut int) {
	cut = len(group) / 2
	for i := cut; i < len(group); i++ {
		if group[i].ArrivalNs-group[i-1].ArrivalNs > group[cut].ArrivalNs-group[cut-1].ArrivalNs {
			cut = i
		}
	}
	return cut
}

// joinGroup makes requests from the first n entries of the group, which have one audit ID. All lines of a request in an audit log
// have the same arrival. A line of an httplog belongs to the nearest one that has none yet.
func (r *Log) joinGroup(n int) error {
	if n == 0 {
		return nil
	}
	group := r.group[:n]
	slices.SortStableFunc(group, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.Log, b.Log), cmp.Compare(a.ArrivalNs, b.ArrivalNs), cmp.Compare(a.Stage, b.Stage))
	})
	requests := r.joining[:0]
	for i := range group {
		l := &group[i]
		var into *Request
		if l.Log == serverlog.Audit {
			if n := len(requests); n > 0 && requests[n-1].ArrivalNs == l.ArrivalNs {
				into = requests[n-1]
			}
		} else {
			into = nearest(requests, l)
		}
		if into == nil {
			if len(requests) == len(r.made) {
				r.made = append(r.made, new(Request))
			}
			into = r.made[len(requests)]
			into.begin(l)
			requests = append(requests, into)
		}
		if !into.take(l) {
			r.Entries.Duplicates++
		}
	}
	r.joining = requests
	if n == len(r.group) {
		r.group = r.group[:0] // whose memory appendEntry uses
	} else {
		r.group = slices.Delete(r.group, 0, n)
	}
	slices.SortStableFunc(requests, func(a, b *Request) int { return cmp.Compare(a.ArrivalNs, b.ArrivalNs) })
	for _, q := range requests {
		if err := r.addRequest(q); err != nil {
			return fmt.Errorf("sorting the requests: %w", err)
		}
	}
	return nil
}

// nearest returns the request to which a line of an httplog belongs; nil if there is none. A line
// that is equal to one before it belongs to the same request: it is a duplicate.
func nearest(requests []*Request, l *located) (best *Request) {
	distance := func(q *Request) int64 { return max(q.ArrivalNs-l.ArrivalNs, l.ArrivalNs-q.ArrivalNs) }
	for _, q := range requests {
		if q.HTTP && (q.httpNs != l.StageNs || q.httpTotalNs != l.TotalNs) {
			continue
		}
		if best == nil || distance(q) < distance(best) {
			best = q
		}
	}
	return best
}

// begin makes the request one of which nothing is known but when and where the line says that it arrived.
func (q *Request) begin(l *located) {
	*q = Request{Entry: q.Entry, StartedNs: serverlog.Unknown, EndNs: serverlog.Unknown, File: l.file, Line: l.line}
	q.Reset()
	q.Log, q.AuditID, q.Server, q.ArrivalNs = l.Log, l.AuditID, l.Server, l.ArrivalNs
}

// take adds what a line says to the request. It returns false if the request has this line already.
func (q *Request) take(l *located) bool {
	if l.Log == serverlog.HTTP {
		return q.takeHTTP(l)
	}
	if q.stages&(1<<l.Stage) != 0 {
		return false
	}
	q.stages |= 1 << l.Stage
	q.Audit = true
	q.Entries++
	q.describe(&l.Entry)
	switch l.Stage {
	case serverlog.Started:
		q.StartedNs = l.StageNs
	case serverlog.Complete, serverlog.Panicked:
		if !l.StageUnknown {
			q.EndNs = l.StageNs
		}
	}
	for _, d := range []struct {
		into *int64
		from int64
	}{{&q.WaitNs, l.WaitNs}, {&q.TotalNs, l.TotalNs}, {&q.ExecutionNs, l.ExecutionNs}, {&q.InitNs, l.InitNs},
		{&q.WebhookNs, l.WebhookNs}, {&q.EtcdNs, l.EtcdNs}, {&q.SendingNs, l.SendingNs}} {
		if d.from >= 0 {
			*d.into = d.from
		}
	}
	return true
}

// takeHTTP is take for a line of an httplog.
func (q *Request) takeHTTP(l *located) bool {
	if q.HTTP {
		return false
	}
	q.HTTP, q.httpNs, q.httpTotalNs, q.HTTPArrivalNs = true, l.StageNs, l.TotalNs, l.ArrivalNs
	q.Entries++
	q.File, q.Line = l.file, l.line
	if !q.Audit {
		q.describe(&l.Entry)
	}
	if q.Status == 0 {
		q.Status = l.Status
	}
	if q.EndNs < 0 {
		q.EndNs = q.ArrivalNs + max(0, l.TotalNs)
	}
	if q.UserAgent == "" {
		q.UserAgent = l.UserAgent
	}
	if q.SourceIP == "" {
		q.SourceIP = l.SourceIP
	}
	if q.TotalNs < 0 {
		q.TotalNs = l.TotalNs
	}
	if q.WaitNs < 0 {
		q.WaitNs = l.WaitNs
	}
	q.ExecutionNs, q.InitNs = l.ExecutionNs, l.InitNs
	q.FlowSchema, q.PriorityLevel = l.FlowSchema, l.PriorityLevel
	q.Seats, q.FinalSeats, q.AdditionalNs = l.Seats, l.FinalSeats, l.AdditionalNs
	return true
}

// describe takes who asks for what from a line. A later stage takes precedence, but only for what it
// says.
func (q *Request) describe(l *serverlog.Entry) {
	for _, s := range []struct {
		into *string
		from string
	}{{&q.User, l.User}, {&q.UserAgent, l.UserAgent}, {&q.SourceIP, l.SourceIP}, {&q.Verb, l.Verb}, {&q.APIGroup, l.APIGroup},
		{&q.Resource, l.Resource}, {&q.Subresource, l.Subresource}, {&q.Namespace, l.Namespace}, {&q.Name, l.Name}, {&q.Path, l.Path},
		{&q.Query, l.Query}, {&q.StatusReason, l.StatusReason}} {
		if s.from != "" {
			*s.into = s.from
		}
	}
	if len(l.Groups) > 0 {
		q.Groups = append(q.Groups[:0], l.Groups...)
	}
	if l.Status != 0 {
		q.Status = l.Status
	}
	q.GroupsUnknown = q.GroupsUnknown || l.GroupsUnknown
}

// addRequest adds a request to those that are sorted by their arrival.
func (r *Log) addRequest(q *Request) error {
	s := r.Servers[q.Server]
	s.Requests++
	r.requests++
	r.Entries.Joined += int64(q.Entries)
	a := q.Attributes()
	if (q.ArrivalNs >= s.BeginNs || !a.LongRunning()) && (s.FirstNs < 0 || q.ArrivalNs < s.FirstNs) {
		s.FirstNs = q.ArrivalNs
	}
	if q.Audit && q.HTTP {
		r.Logs.Both++
		apart := max(q.ArrivalNs-q.HTTPArrivalNs, q.HTTPArrivalNs-q.ArrivalNs)
		r.Logs.MostApartNs = max(r.Logs.MostApartNs, apart)
		if apart > time.Minute.Nanoseconds() {
			r.farApart++
			r.apartNs = q.ArrivalNs - q.HTTPArrivalNs
		}
	} else if q.Audit {
		r.Logs.AuditAlone++
	} else {
		r.Logs.HTTPAlone++
	}
	if r.joinedOne != nil {
		r.joinedOne(q)
	}
	key := binary.BigEndian.AppendUint64(r.buf[:0], uint64(q.ArrivalNs))
	r.buf = append(key, q.AuditID...)
	r.out.b = r.out.b[:0]
	q.code(&r.out)
	return r.joined.Add(r.buf, r.out.b)
}
