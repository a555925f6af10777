package workload

import (
	"maps"
	"strconv"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// The ways in which a writer writes.
const (
	Put   = "Put"
	Patch = "Patch"
	Apply = "Apply"
)

// Writer changes objects again and again.
type Writer struct {
	Group           string                `json:"group,omitempty"`
	Resource        string                `json:"resource" document:"required"`
	Subresource     string                `json:"subresource,omitempty"`
	Namespace       string                `json:"namespace,omitempty"`
	Objects         int                   `json:"objects,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=10000000" jsonschema_description:"How many objects all clients of the workload write, named NAME-0, NAME-1 and so on by the workload; each write is for one of them by chance."`
	With            string                `json:"with,omitempty" jsonschema:"enum=Put,enum=Patch,enum=Apply,default=Put" jsonschema_description:"Put: get, then update. Patch: a merge patch of one field. Apply: server-side apply of a field that the client owns."`
	Version         bool                  `json:"version,omitempty" jsonschema:"default=true" jsonschema_description:"Of Put: whether the update carries the version that was read; without it, it overwrites what others have written in between."`
	Force           bool                  `json:"force,omitempty" jsonschema_description:"Of Apply: takes fields away from other owners."`
	Field           string                `json:"field,omitempty" jsonschema_description:"The field that is written; {i} is replaced by the client's index. Without it f{i}, a field of its own for each client."`
	RetryOnConflict *Conflict             `json:"retryOnConflict,omitempty" jsonschema:"default=None" jsonschema_description:"None, Default (5 tries, 10ms apart), Backoff (4 tries, 10ms, 50ms and 250ms apart), or the parameters."`
	Every           quantity.Distribution `json:"every" document:"required" jsonschema_description:"From the beginning of a write to that of the next, or until the one before has ended."`
}

func (s *Writer) check(c *checker, path string) {
	c.resource(path+".resource", s.Group, s.Resource)
	c.every(path+".every", s.Every)
	c.templates(path, field{"namespace", s.Namespace}, field{"field", s.Field})
	if s.Force && s.With != Apply {
		c.Fail(path+".force", "needs with: Apply")
	}
	if !s.Version && s.With != Put {
		c.Fail(path+".version", "needs with: Put; a patch and an apply carry none")
	}
}

func (s *Writer) resources() []string { return []string{request.JoinResource(s.Group, s.Resource)} }

// writer changes objects again and again. A write is
//
//	Put     a GET (from etcd), and a PUT of the whole object with one field changed
//	Patch   a merge patch of one field
//	Apply   a server-side apply of one field
//
// and the same again after a conflict, as long as RetryOnConflict says. An object that does not exist is
// created.
type writer struct {
	client    Client
	settings  *Writer
	namespace string
	field     string

	choice, every, backoff random.Stream

	next, again *timer // of the next write, and of its next try
	manager     string // of the fields that it applies

	object  string // of the present write
	beganNs int64
	nextNs  int64 // when the next one may begin
	written int64 // writes so far, which make the values
	tries   tries
	tried   int64
	step    writerStep
	read    *api.Object // by the GET of this try
	readNs  int64
}

// writerStep is what the request of a writer is for.
type writerStep uint8

const (
	writerReads writerStep = iota
	writerWrites
	writerCreates
)

// Machine returns a writer. Its objects are named after the workload.
func (s *Writer) Machine(c Client) Machine {
	w := &writer{client: c, settings: s, field: s.Field}
	if w.field == "" {
		w.field = "f{i}"
	}
	w.field, w.namespace = expand(w.field, c.Index()), expand(s.Namespace, c.Index())
	w.next, w.again = newTimer(c, w.begin), newTimer(c, w.try)
	w.manager = numbered(c.Workload(), c.Index())
	c.Stream(&w.choice, "object")
	c.Stream(&w.every, "every")
	c.Stream(&w.backoff, "backoff")
	return w
}

// Start implements Machine. The first write begins anywhere within the first interval.
func (w *writer) Start(nowNs int64) {
	w.next.setAfter(nowNs, int64(w.every.Float64()*float64(w.settings.Every.Sample(&w.every.Rand))))
}

// numbered returns the name of one of several.
func numbered(name string, number int) string { return name + "-" + strconv.Itoa(number) }

// begin begins a write.
func (w *writer) begin(nowNs int64) {
	w.object = numbered(w.client.Workload(), w.choice.IntN(w.settings.Objects))
	w.beganNs, w.nextNs = nowNs, nowNs+w.settings.Every.Sample(&w.every.Rand)
	w.written++
	w.tries, w.tried = newTries(w.settings.RetryOnConflict), 0
	w.try(nowNs)
}

// try begins a try of the write.
func (w *writer) try(nowNs int64) {
	w.tried++
	if w.settings.With == Put {
		w.get(nowNs)
		return
	}
	w.step = writerWrites
	r := w.request("patch", w.change())
	if w.settings.With == Apply {
		r.Call.Body.Patch = api.ApplyPatch
		r.Call.Options.FieldManager = w.manager
		r.Call.Options.Force = w.settings.Force
	}
	w.client.Send(nowNs, r)
}

// get reads the object, without its subresource: clients get the whole object by either.
func (w *writer) get(nowNs int64) {
	w.step = writerReads
	r := w.request("get", nil)
	r.Subresource = ""
	w.client.Send(nowNs, r)
}

// request returns a request for the object, with fields in its body, or nil for one without a body.
func (w *writer) request(verb string, fields map[string]string) *APIRequest {
	r, body := w.client.Scratch()
	r.Verb, r.Group, r.Resource, r.Subresource = verb, w.settings.Group, w.settings.Resource, w.settings.Subresource
	r.Namespace, r.Name = w.namespace, w.object
	if fields != nil {
		r.Call.Body = body
		body.Fields = fields
	}
	return r
}

// change returns the field of the present write.
func (w *writer) change() map[string]string { return map[string]string{w.field: w.value()} }

// value returns what the present write writes.
func (w *writer) value() string {
	b := make([]byte, 0, 24)
	b = append(strconv.AppendInt(b, int64(w.client.Index()), 10), '.')
	return string(strconv.AppendInt(b, w.written, 10))
}

// Answered implements Machine.
func (w *writer) Answered(nowNs int64, _ int32, a *api.Answer) {
	switch {
	case a.Status == 404 && w.step != writerCreates:
		w.step = writerCreates
		r := w.request("create", w.change())
		r.Name, r.Subresource, r.Call.Body.Name = "", "", w.object
		w.client.Send(nowNs, r)
	case w.step == writerReads && succeeded(a):
		w.read, w.readNs = a.Object, nowNs
		w.put(nowNs)
	case w.step == writerCreates && a.Status == 409:
		w.tried--
		w.try(nowNs) // another one has created it
	case w.step != writerReads && succeeded(a):
		w.noteOverwritten(nowNs, a)
		w.end(nowNs, metric.WriteDone)
	case conflicted(a):
		w.note(nowNs, metric.Conflicted, nowNs-w.beganNs)
		if waitNs, again := w.tries.next(&w.backoff.Rand); again {
			w.again.setAfter(nowNs, waitNs)
			return
		}
		w.end(nowNs, metric.WriteLost)
	default:
		w.end(nowNs, metric.WriteLost)
	}
}

// put writes the object that was read, with the field changed.
func (w *writer) put(nowNs int64) {
	w.step = writerWrites
	fields := maps.Clone(w.read.Fields)
	if fields == nil {
		fields = map[string]string{}
	}
	fields[w.field] = w.value()
	r := w.request("update", fields)
	body := r.Call.Body
	body.UID = w.read.UID
	body.Finalizers, body.FinalizersGiven = w.read.Finalizers, true
	if w.settings.Version {
		body.Version = request.At(w.read.Version)
	}
	w.client.Send(nowNs, r)
}

// noteOverwritten notes a lost update: an update without a version has replaced not what it was made of, but
// what somebody else had written since. The note says how long before it was read.
func (w *writer) noteOverwritten(nowNs int64, a *api.Answer) {
	if w.step == writerWrites && w.settings.With == Put && a.Replaced > w.read.Version {
		w.note(nowNs, metric.Overwritten, nowNs-w.readNs)
	}
}

// end ends a write.
func (w *writer) end(nowNs int64, k metric.Event) {
	w.note(nowNs, k, nowNs-w.beganNs)
	w.next.setAfter(nowNs, max(0, w.nextNs-nowNs))
}

func (w *writer) note(nowNs int64, k metric.Event, ns int64) {
	w.client.Note(nowNs, Note{Event: k, Object: api.Key(w.namespace, w.object), Ns: ns, N: w.tried})
}

// Received implements Machine. A writer does not watch.
func (w *writer) Received(int64, int32, *api.Event) {}
