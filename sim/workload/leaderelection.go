package workload

import (
	"fmt"
	"strings"

	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// LeaderElection lets candidates compete for a lease (k8s.io/client-go, tools/leaderelection).
type LeaderElection struct {
	Lease         string            `json:"lease" document:"required" jsonschema_description:"Namespace and name, such as kube-system/scheduler; {i} is replaced by the client's index."`
	Candidates    int               `json:"candidates,omitempty" jsonschema:"default=2,minimum=1,maximum=1000"`
	LeaseDuration quantity.Duration `json:"leaseDuration,omitempty" jsonschema:"default=15s"`
	RenewDeadline quantity.Duration `json:"renewDeadline,omitempty" jsonschema:"default=10s"`
	RetryPeriod   quantity.Duration `json:"retryPeriod,omitempty" jsonschema:"default=2s,exclusiveMinimum=0s"`
	Restart       quantity.Duration `json:"restart,omitempty" jsonschema:"default=10s" jsonschema_description:"From the loss of the lease, which ends the process of the leader, until it is a candidate again."`
}

func (s *LeaderElection) check(c *checker, path string) {
	if namespace, name, ok := strings.Cut(s.Lease, "/"); !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		c.Fail(path+".lease", "%q: want a namespace and a name, such as kube-system/scheduler", document.Abridge(s.Lease))
	}
	c.templates(path, field{"lease", s.Lease})
	// As client-go demands (tools/leaderelection/leaderelection.go, NewLeaderElector).
	if s.LeaseDuration <= s.RenewDeadline {
		c.Fail(path+".leaseDuration", "%v: want more than renewDeadline, %v", s.LeaseDuration, s.RenewDeadline)
	}
	if float64(s.RenewDeadline) <= 1.2*float64(s.RetryPeriod) {
		c.Fail(path+".renewDeadline", "%v: want more than 1.2 times retryPeriod, %v", s.RenewDeadline, s.RetryPeriod)
	}
}

func (s *LeaderElection) resources() []string { return []string{"leases.coordination.k8s.io"} }

// electionJitter is by how much a candidate's wait is at most longer than the retry period, as a factor
// (k8s.io/client-go, tools/leaderelection/leaderelection.go, JitterFactor).
const electionJitter = 1.2

// holderField is the field of a lease that names its holder.
const holderField = "spec.holderIdentity"

// election is a set of candidates for one lease (k8s.io/client-go, tools/leaderelection, since 0.30, where a
// leader renews without a GET).
type election struct {
	client          Client
	settings        *LeaderElection
	namespace, name string
	chance          random.Stream
	startNs, lostNs int64 // when the election began, and when one of the candidates last ceased to lead
	candidates      []candidate
}

// Machine returns the candidates of one client. The namespace and the name of the lease are
// separated by a slash.
func (s *LeaderElection) Machine(c Client) Machine {
	e := &election{client: c, settings: s, candidates: make([]candidate, s.Candidates)}
	e.namespace, e.name, _ = strings.Cut(expand(s.Lease, c.Index()), "/")
	c.Stream(&e.chance, "leader election")
	for i := range e.candidates {
		e.candidates[i].election, e.candidates[i].token = e, int32(i)
		e.candidates[i].onWake, e.candidates[i].onDeadline = e.candidates[i].woken, e.candidates[i].late
	}
	return e
}

// Start implements Machine.
func (e *election) Start(nowNs int64) {
	e.startNs = nowNs
	for i := range e.candidates {
		e.candidates[i].run(nowNs)
	}
}

// Answered implements Machine.
func (e *election) Answered(nowNs int64, token int32, a *api.Answer) {
	e.candidates[token].answered(nowNs, a)
}

// Received implements Machine. Candidates do not watch.
func (e *election) Received(int64, int32, *api.Event) {}

// record is what candidates look at in a lease. Candidates compare the time of the renewal in seconds
// (tools/leaderelection/resourcelock/interface.go: the JSON of LeaderElectionRecord).
type record struct {
	holder  string
	renewed int64 // in seconds
}

func recordOf(o *api.Object) record { return record{o.Fields[holderField], o.Stamp / second} }

// electionStep is what the request of a candidate is for.
type electionStep uint8

const (
	resting  electionStep = iota
	renewing              // the leader's PUT from memory
	reading
	creating
	taking // the PUT after a GET
)

// candidate is one process of an election. It tries to acquire the lease until it leads, and then renews it.
// A try is a PUT, or a GET and a PUT or POST.
//
//	acquire   a try, then a wait of retryPeriod × [1, 2.2), and so on until a try succeeds
//	renew     rounds of tries, the first at once: a round has succeeded with its first successful try, and
//	          the next begins retryPeriod later. Within a round tries begin at multiples of retryPeriod, as
//	          a time.Ticker has them. renewDeadline after it has begun the round has failed.
//
// So a leader steps down retryPeriod + renewDeadline after its last success
// (tools/leaderelection/leaderelection.go, acquire, renew and tryAcquireOrRenew).
type candidate struct {
	*election
	token    int32
	identity string // a new one for each process
	started  int    // processes

	leads      bool
	leadsNs    int64 // since when
	observed   record
	observedNs int64  // when it was first seen
	read       record // by the last GET
	hasRead    bool
	version    int64 // of the lease that it has read or written last
	renewedNs  int64 // by the lease that it takes over, -1 if nobody has had it

	step      electionStep
	tryNs     int64 // when the try began
	roundNs   int64
	wake, end clock.AlarmID

	onWake, onDeadline alarm
}

// run begins a process.
func (c *candidate) run(nowNs int64) {
	c.started++
	c.identity = fmt.Sprintf("%d-%d-%d", c.client.Index(), c.token, c.started)
	c.observed, c.observedNs, c.hasRead, c.version = record{}, 0, false, 0
	c.try(nowNs)
}

// woken begins a try, or a process.
func (c *candidate) woken(nowNs int64) {
	c.wake = clock.AlarmID{}
	switch {
	case nowNs >= c.client.EndNs():
	case c.identity == "":
		c.run(nowNs)
	case c.leads && !c.end.Pending():
		c.round(nowNs)
	default:
		c.try(nowNs)
	}
}

// holdsLease says whether the lease is the candidate's, as far as it knows.
func (c *candidate) holdsLease() bool { return c.observed.holder == c.identity }

// valid says whether the lease has not expired: leaseDuration, in whole seconds, has not passed since the
// candidate first saw the record as it is.
func (c *candidate) valid(nowNs int64) bool {
	return c.observedNs+int64(c.settings.LeaseDuration)/second*second > nowNs
}

// try acquires or renews the lease.
func (c *candidate) try(nowNs int64) {
	c.tryNs = nowNs
	if c.holdsLease() && c.valid(nowNs) {
		c.send(nowNs, renewing, "update")
		return
	}
	c.send(nowNs, reading, "get")
}

// send sends a request for the lease. A client time-out of half of renewDeadline keeps one request that hangs
// from costing the lease (tools/leaderelection/resourcelock/interface.go, NewFromKubeconfig).
func (c *candidate) send(nowNs int64, step electionStep, verb string) {
	c.step = step
	r := &APIRequest{Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Namespace: c.namespace, Name: c.name,
		Token: c.token, TimeoutNs: max(second, int64(c.settings.RenewDeadline)/2)}
	if verb != "get" {
		r.Call.Body = &api.Body{Fields: map[string]string{holderField: c.identity}, Stamp: c.tryNs + 1}
	}
	switch verb {
	case "update":
		r.Call.Body.Version = request.At(c.version)
	case "create":
		r.Name, r.Call.Body.Name = "", c.name
	}
	c.client.Send(nowNs, r)
}

func (c *candidate) answered(nowNs int64, a *api.Answer) {
	step := c.step
	c.step = resting
	if succeeded(a) {
		c.version = a.Version
	}
	switch {
	case step == reading && a.Status == 404:
		c.renewedNs = -1
		c.send(nowNs, creating, "create")
	case step == reading && succeeded(a):
		if r := recordOf(a.Object); !c.hasRead || r != c.read {
			c.observed, c.observedNs, c.read, c.hasRead = r, nowNs, r, true
		}
		if c.observed.holder != "" && !c.holdsLease() && c.valid(c.tryNs) {
			c.tried(nowNs, false)
			return
		}
		c.renewedNs = a.Object.Stamp - 1
		c.send(nowNs, taking, "update")
	case step == renewing && !succeeded(a):
		c.send(nowNs, reading, "get")
	case step != reading && succeeded(a):
		c.observed, c.observedNs = record{c.identity, (c.tryNs + 1) / second}, nowNs
		c.tried(nowNs, true)
	default:
		c.tried(nowNs, false)
	}
}

// tried ends a try.
func (c *candidate) tried(nowNs int64, success bool) {
	retryNs := int64(c.settings.RetryPeriod)
	var waitNs int64
	if !c.leads {
		waitNs = jittered(retryNs, electionJitter, &c.chance.Rand) // drawn after a success, too
	}
	switch {
	case !c.leads && !success:
		c.wakeAt(nowNs + waitNs)
	case !c.leads:
		c.leads, c.leadsNs = true, nowNs
		c.client.Note(nowNs, Note{Event: metric.LeaderGained, Object: c.lease(), Ns: nowNs - c.noneSinceNs(nowNs)})
		c.round(nowNs)
	case success:
		c.client.Alarms().Cancel(&c.end)
		c.wakeAt(nowNs + retryNs)
	default:
		// The first tick after the try began; a ticker keeps one that has been missed. The end of the
		// round comes before a tick of the same time.
		tickNs := c.roundNs + ((c.tryNs-c.roundNs)/retryNs+1)*retryNs
		if atNs := max(nowNs, tickNs); atNs < c.roundNs+int64(c.settings.RenewDeadline) {
			c.wakeAt(atNs)
		}
	}
}

// noneSinceNs returns since when nobody has led: since the leader before has stepped down, which it does
// retryPeriod + renewDeadline after it has renewed the lease for the last time.
func (c *candidate) noneSinceNs(nowNs int64) int64 {
	sinceNs := max(c.startNs, c.lostNs)
	if c.renewedNs >= 0 {
		sinceNs = max(sinceNs, c.renewedNs+int64(c.settings.RetryPeriod)+int64(c.settings.RenewDeadline))
	}
	return min(sinceNs, nowNs)
}

// round begins a round of renewals.
func (c *candidate) round(nowNs int64) {
	c.roundNs = nowNs
	c.end = c.client.Alarms().Set(nowNs+int64(c.settings.RenewDeadline), c.onDeadline)
	c.try(nowNs)
}

// late ends a round without a success, and with it the process.
func (c *candidate) late(nowNs int64) {
	c.end = clock.AlarmID{}
	c.client.Alarms().Cancel(&c.wake)
	if nowNs >= c.client.EndNs() {
		return
	}
	if c.step != resting {
		c.step = resting
		c.client.HangUp(nowNs, c.token)
	}
	c.leads, c.identity, c.lostNs = false, "", nowNs
	c.client.Note(nowNs, Note{Event: metric.LeaderLost, Object: c.lease(), Ns: nowNs - c.leadsNs})
	c.wakeAt(nowNs + int64(c.settings.Restart))
}

func (c *candidate) wakeAt(atNs int64) { c.wake = c.client.Alarms().Set(atNs, c.onWake) }

func (c *candidate) lease() string { return api.Key(c.namespace, c.name) }
