package tune

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// Class says how much a change interferes. Classes are compared as text: a change of a lower class is tried first.
type Class string

// The classes.
const (
	SameLevel      Class = "1a" // a FlowSchema with another distinguisher, at the same level
	OtherLevel     Class = "1b" // a FlowSchema to another level that exists
	Lending        Class = "2a" // what levels lend and borrow
	QueueLength    Class = "2b"
	Shares         Class = "2c"
	Queues         Class = "2d" // handSize, then queues
	SuggestedField Class = "2e" // the fields of 2a, 2b and 2d of an object that servers maintain
	NewLevel       Class = "3"  // a level and a FlowSchema
	Suggested      Class = "4"  // the shares of a level that servers maintain
	ServerLimits   Class = "5"  // what a restart of the servers changes
	ClientLimits   Class = "6"  // rate limits of clients, which others have to change
)

// Kinds are the kinds of changes that can be allowed and forbidden, in the order of their classes.
var Kinds = []string{"flowschemas", "lending", "queues", "levels", "suggested", "server", "clients"}

// serverChanges is the kind of changes of the servers.
const serverChanges = "server"

// Usual are the kinds that are allowed by default. The others need a restart, or another team.
var Usual = []string{"flowschemas", "lending", "queues", "levels", "suggested"}

// kindOf is the kind of a class.
var kindOf = map[Class]string{
	SameLevel: "flowschemas", OtherLevel: "flowschemas", Lending: "lending", QueueLength: "queues", Queues: "queues",
	Shares: "levels", NewLevel: "levels", SuggestedField: "suggested", Suggested: "suggested", ServerLimits: "server", ClientLimits: "clients",
}

// Cost is what a change costs those who make it and others. It is known before anything is run.
type Cost struct {
	Class   Class
	Objects int // that are changed or added
	Moved   int // clients whose requests go to another level
	Seats   int // that levels lose together, at each server
	Steps   int // how far the value is from the present one, on the grid of its field

	Pair bool // whether two remedies are combined, which is done only after each alone
}

// MarshalJSON writes the numbers in the order in which costs are compared. The first is the number of the class.
func (c Cost) MarshalJSON() ([]byte, error) {
	return json.Marshal([]int{int(c.Class[0] - '0'), c.Objects, c.Moved, c.Seats, c.Steps})
}

// Compare orders costs: the lower one is first. Pairs follow all others.
func (c Cost) Compare(other Cost) int {
	if c.Pair != other.Pair {
		if c.Pair {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(c.Class, other.Class), cmp.Compare(c.Objects, other.Objects), cmp.Compare(c.Moved, other.Moved),
		cmp.Compare(c.Seats, other.Seats), cmp.Compare(c.Steps, other.Steps))
}

// serverKind is the kind of a change of the flags of servers.
const serverKind = "kube-apiserver"

// serversPath is the path of a change of the number of servers.
const serversPath = "replicas"

// Change is a field of an object that a candidate sets, a flag of the servers, or a field of the scenario that says what a client
// does.
type Change struct {
	Kind string `json:"kind"` // FlowSchema, PriorityLevelConfiguration, kube-apiserver or client
	Name string `json:"name"` // of the object, or the workload of a client; "" of a server
	Path string `json:"path"`
	From any    `json:"from"` // nil of a new object or field
	To   any    `json:"to"`

	Because string `json:"because"` // why To is what it is; "" of a candidate that was not chosen
}

// Candidate is a change of the configuration that may help.
type Candidate struct {
	ID       string          `json:"id"`
	Remedy   result.RemedyID `json:"remedy"`
	Sentence string          `json:"sentence"`
	Class    Class           `json:"class"`
	Cost     Cost            `json:"cost"`
	Changes  []Change        `json:"changes"`

	objects     config.Objects // that are changed or added
	requests    int            // max-requests-inflight; 0: as it is
	servers     int            // their number; 0: as it is
	size        *size          // of the servers, in the place of both; nil: as it is
	limit       *clientLimit   // of clients; nil: as it is
	value       int            // of the field; of a new level its seats; 0 of a candidate without one
	moves       string         // what is moved, "" of a candidate that moves nothing
	from        []string       // levels that the requests leave
	seatsAtMost int            // that others lose with the candidates that it follows; 0 of one that follows none
	kind        string         // the kind of the change, whoever maintains the object
	family      *family
	step        int // index in the family
}

// family is candidates that differ in one value, in its order away from the present one.
type family struct {
	name     string // of all, for what is said of those that were not run
	all      []*Candidate
	monotone bool // if a value does not suffice, no value nearer to the present one does
	searched bool
}

// scenarioOf returns the scenario with a candidate.
func (c *Candidate) scenarioOf(sc *scenario.Scenario) *scenario.Scenario {
	own := *sc
	own.Objects = config.Merge(sc.Objects, c.objects)
	if c.requests > 0 {
		own.Spec.Servers.MaxRequestsInflight = c.requests
	}
	if c.servers > 0 {
		own.Spec.Servers.Replicas = c.servers
	}
	if c.size != nil {
		c.size.applyTo(&own.Spec.Servers)
	}
	if c.limit != nil {
		own.Spec.Workload = c.limit.applyTo(sc.Spec.Workload)
	}
	return &own
}

// describe sets the changes and the cost of a candidate from its objects. It returns how it divides the seats.
func (p *problem) describe(c *Candidate) *advice.SeatDivision {
	c.Changes = []Change{}
	for _, s := range c.objects.FlowSchemas {
		var before any
		if old := p.Objects.FlowSchema(s.Name); old != nil {
			before = old.Spec
		}
		c.Changes = appendChanges(c.Changes, "FlowSchema", s.Name, before, s.Spec)
	}
	for _, l := range c.objects.PriorityLevels {
		var before any
		if old := p.Objects.PriorityLevel(l.Name); old != nil {
			before = old.Spec
		}
		c.Changes = appendChanges(c.Changes, "PriorityLevelConfiguration", l.Name, before, l.Spec)
	}
	c.Cost.Objects = len(c.objects.FlowSchemas) + len(c.objects.PriorityLevels)
	if c.requests > 0 {
		c.Cost.Objects++
		c.Changes = append(c.Changes, Change{Kind: serverKind, Path: "max-requests-inflight", From: p.Spec.Servers.MaxRequestsInflight, To: c.requests})
	}
	if c.servers > 0 {
		c.Cost.Objects += 1 + c.servers - p.Spec.Servers.Replicas // each new one costs more than to start the present ones anew
		c.Changes = append(c.Changes, Change{Kind: serverKind, Path: serversPath, From: p.Spec.Servers.Replicas, To: c.servers})
	}
	if c.size != nil {
		c.Changes = append(c.Changes, c.size.changes(&p.Spec.Servers)...)
	}
	if c.limit != nil {
		c.Cost.Objects += len(c.limit.workloads)
		c.Changes = append(c.Changes, c.limit.changes(p.Spec.Workload)...)
	}
	after := divide(p, c.scenarioOf(p.Scenario))
	c.Cost.Seats = 0
	for i := range p.seats.Levels {
		before := &p.seats.Levels[i]
		if now := seatsOf(after, before.Name); now != nil {
			c.Cost.Seats += max(0, before.Nominal-now.Nominal)
		}
	}
	c.Cost.Seats = max(c.Cost.Seats, c.seatsAtMost)
	c.Class = c.Cost.Class
	return after
}

// divide returns the limits of the levels at a server of a scenario.
func divide(p *problem, sc *scenario.Scenario) *advice.SeatDivision {
	s := &sc.Spec.Servers
	return advice.DivideSeats(p.rules, sc.Objects, s.MaxRequestsInflight+s.MaxMutatingRequestsInflight)
}

func seatsOf(d *advice.SeatDivision, level string) *advice.LevelSeats {
	at := slices.IndexFunc(d.Levels, func(l advice.LevelSeats) bool { return l.Name == level })
	if at < 0 {
		return nil
	}
	return &d.Levels[at]
}

// appendChanges appends the fields in which two specs of an object differ. before is nil if the object is new.
func appendChanges(all []Change, kind, name string, before, after any) []Change {
	if before == nil {
		return appendFields(all, kind, name, "spec", treeOf(after))
	}
	for _, d := range config.Differences(before, after) {
		all = append(all, Change{Kind: kind, Name: name, Path: d.Path, From: valueOf(d.Before), To: valueOf(d.After)})
	}
	return all
}

// appendFields appends the fields of a new object, with lists as a whole.
func appendFields(all []Change, kind, name, path string, value any) []Change {
	fields, ok := value.(map[string]any)
	if !ok {
		return append(all, Change{Kind: kind, Name: name, Path: path, To: value})
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		all = appendFields(all, kind, name, document.Join(path, key), fields[key])
	}
	return all
}

// valueOf returns the value of a JSON text, nil of none.
func valueOf(text string) any {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// treeOf returns the maps, lists and values that the JSON of a spec decodes to.
func treeOf(spec any) (tree any) {
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if err != nil {
		panic("tune: a spec that cannot be JSON: " + err.Error())
	}
	return tree
}

// nameOf makes the name of an object of a workload's name.
func nameOf(name string) string { return cmp.Or(format.Slug(name), "workload") }
