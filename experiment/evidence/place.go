package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/experiment/incident"
	"apfsim/lint/metrics"
	"apfsim/lint/space"
	"apfsim/reports/format"
	"apfsim/sim/workload"
)

// sender is who sends the requests of a FlowSchema, and which. In its texts {i} is the index of a client.
type sender struct {
	as      workload.Identity
	request workload.Request
	lists   bool // the FlowSchema takes lists of the resource, too
	flows   bool // clients are flows of their own
}

// placement is the flow control that the requests meet.
type placement struct {
	release    *rules.Rules
	objects    config.Objects
	seats      int // of the server
	controller *flowcontrol.Controller
	own        []string // FlowSchemas that the objects do not have, or whose rules take no request
	notes      []string
}

// nominal returns the nominal limits of the levels.
func (l *load) nominal() map[string]int {
	limits := map[string]int{}
	for _, level := range l.levels {
		if level.nominal.known() {
			limits[level.level] = int(level.nominal.last)
		}
	}
	if _, has := limits[config.Exempt]; !has && len(limits) > 0 { // of which old releases have no limit
		limits[config.Exempt] = 0
	}
	return limits
}

// place finds the flow-control objects: those that are given, else those of a new cluster if they have the limits and the FlowSchemas
// of the series, else levels with these limits.
func (l *load) place(release *rules.Rules, given *config.Objects) (*placement, error) {
	p := &placement{release: release}
	nominal := l.nominal()
	if len(nominal) == 0 {
		return nil, &incident.WrongChoice{Message: fmt.Sprintf("%s: the series do not say how many seats a level has; want %s, or %s before 1.26", l.server.fileNames(), metrics.NominalLimit, metrics.ConcurrencyLimit)}
	}
	exact := false
	switch {
	case given != nil:
		p.objects = *given
		if p.seats, exact = incident.ServerLimit(release, p.objects, nominal); !exact {
			p.note("The objects give other nominal limits than the series have: check that they are of the same server. It has %d seats, the sum of the limits of the series.", p.seats)
		}
	default:
		p.objects = config.Suggested(release)
		if p.seats, exact = incident.ServerLimit(release, p.objects, nominal); exact && l.known(p.objects) {
			p.note("The levels have the limits of a new cluster with %d seats, so that its FlowSchemas and levels are taken. Give the objects of the server (kubectl get flowschemas,prioritylevelconfigurations -o yaml) if they were changed.", p.seats)
			break
		}
		if p.objects, p.seats, exact = l.levelsOf(release, nominal); !exact {
			p.note("No shares give the levels the limits of the series; some differ.")
		}
		p.note("The objects of the server are not given: levels have the limits of the series, and queues as those of a new cluster, by name, or else 64 queues of length 50 with hands of 6 at most. Give the objects: kubectl get flowschemas,prioritylevelconfigurations -o yaml.")
	}
	for _, s := range l.schemas {
		if p.objects.PriorityLevel(s.level) == nil {
			return nil, &incident.WrongChoice{Message: fmt.Sprintf("the series have requests at the priority level %q, which is not among the objects: give those of the same server and time", s.level)}
		}
	}
	p.control()
	return p, nil
}

func (p *placement) note(text string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(text, args...))
}

// noteOwn says which FlowSchemas are not those of the objects.
func (p *placement) noteOwn() {
	if n := len(p.own); n > 0 {
		p.note("The objects have no FlowSchema with a request of %s: in the scenario, %s a group of that name, as flowschema:%s.", format.Listed(p.own, 5, ""), map[bool]string{true: "it takes", false: "each takes"}[n == 1], p.own[0])
	}
}

func (p *placement) control() {
	p.controller = flowcontrol.New(0, p.release, p.seats, p.objects, nil, nil)
}

// known reports whether the objects have the FlowSchemas of the series at the same levels.
func (l *load) known(objects config.Objects) bool {
	return !slices.ContainsFunc(l.schemas, func(s *schemaLoad) bool { return !takes(objects, s) })
}

func takes(objects config.Objects, s *schemaLoad) bool {
	found := objects.FlowSchema(s.schema)
	return found != nil && found.Spec.PriorityLevelConfiguration.Name == s.level
}

// mostTried is how many numbers of seats for a share are tried.
const mostTried = 500

// levelsOf returns objects with the limits of the series. The shares of catch-all are the same in every cluster; those of the others
// are whole numbers with which all limits are as in the series. exact is false if there are none.
func (l *load) levelsOf(release *rules.Rules, nominal map[string]int) (objects config.Objects, seats int, exact bool) {
	fixed := config.Mandatory(release).PriorityLevel(config.CatchAll).Spec.Shares()
	most := float64(max(1, nominal[config.CatchAll]))
	for i := range mostTried {
		perShare := (most - float64(i)/mostTried) / float64(fixed)
		objects = l.levelsWith(release, nominal, perShare)
		if seats, exact = incident.ServerLimit(release, objects, nominal); exact {
			break
		}
	}
	suggested := config.Suggested(release)
	for _, s := range l.schemas {
		if takes(suggested, s) && objects.FlowSchema(s.schema) == nil {
			objects.FlowSchemas = append(objects.FlowSchemas, suggested.FlowSchema(s.schema))
		}
	}
	return objects, seats, exact
}

// widest returns the most seats of a request at a level.
func (l *load) widest(level string) float64 {
	most := 1.0
	for _, s := range l.schemas {
		if kinds := s.widths.seats(); s.level == level {
			most = max(most, kinds[len(kinds)-1].value)
		}
	}
	return most
}

// levelsWith returns objects with so many seats for a share.
func (l *load) levelsWith(release *rules.Rules, nominal map[string]int, perShare float64) config.Objects {
	objects, suggested, all := config.Mandatory(release), config.Suggested(release), 0
	for _, n := range nominal {
		all += n
	}
	for _, level := range l.levels {
		n, limited := nominal[level.level]
		shares := new(int32(math.Floor(float64(n)/perShare + 1e-9)))
		if level.exempt() {
			objects.PriorityLevel(level.level).Spec.Exempt.NominalConcurrencyShares = shares
		}
		if !limited || level.exempt() || level.level == config.CatchAll {
			continue
		}
		spec := &config.LimitedSpec{NominalConcurrencyShares: shares, LendablePercent: new(int32(0)), LimitResponse: config.LimitResponse{Type: config.ResponseQueue}}
		if known := suggested.PriorityLevel(level.level); known != nil && known.Spec.Limited != nil {
			spec.LimitResponse = known.Spec.Limited.LimitResponse
		} else if level.reasons[queueset.ConcurrencyLimit.String()] > 0 {
			spec.LimitResponse.Type = config.ResponseReject
		} else {
			// As most levels of a new cluster; the widest request bounds the hand, see seats.Cap.
			hand := min(6, max(1, n/int(l.widest(level.level))))
			spec.LimitResponse.Queuing = &config.Queuing{Queues: 64, HandSize: int32(hand), QueueLengthLimit: 50}
		}
		percent := func(of float64) *int32 { return new(int32(math.Round(100 * of / float64(max(1, n))))) }
		if level.lower.known() {
			spec.LendablePercent = percent(float64(n) - level.lower.last)
		}
		if level.upper.known() && level.upper.last-float64(n) < float64(all-len(nominal)) { // else it may borrow all
			spec.BorrowingLimitPercent = percent(level.upper.last - float64(n))
		}
		objects.PriorityLevels = append(objects.PriorityLevels, &config.PriorityLevel{Name: level.level, Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: spec}})
	}
	return objects
}

// sender returns who sends the requests of a FlowSchema. If the objects have none that takes them, one of the same name takes those of
// a group of its own.
func (p *placement) sender(s *schemaLoad) *sender {
	schema := p.objects.FlowSchema(s.schema)
	wide := slices.ContainsFunc(s.widths.seats(), func(a atom) bool { return a.value > 1 })
	if schema != nil && schema.Spec.PriorityLevelConfiguration.Name == s.level {
		if found := p.find(schema, wide); found != nil {
			return found
		}
	}
	everything := []string{config.Wildcard}
	own := &config.FlowSchema{Name: s.schema, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: s.level}, MatchingPrecedence: 3, DistinguisherMethod: &config.DistinguisherMethod{Type: config.ByUser},
		Rules: []config.PolicyRulesWithSubjects{{
			Subjects:      []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: "flowschema:" + s.schema}}},
			ResourceRules: []config.ResourceRule{{Verbs: everything, APIGroups: everything, Resources: everything, ClusterScope: true, Namespaces: everything}}}},
	}}
	p.own = append(p.own, s.schema)
	p.objects = config.Merge(p.objects, config.Objects{FlowSchemas: []*config.FlowSchema{own}})
	p.control()
	return p.find(own, wide)
}

// find returns a sender whose requests a FlowSchema takes, or nil. It prefers a rule with lists, if they are wanted.
func (p *placement) find(schema *config.FlowSchema, lists bool) (best *sender) {
	for _, part := range space.PartsOf(schema) {
		verbs := []string{"get", "list", "create", "update", "patch", "delete", "deletecollection", "post", "watch"}
		for _, verb := range verbs {
			one := p.try(schema, &part, verb)
			if one == nil {
				continue
			}
			one.lists = p.takes(schema, one, "list")
			if best == nil {
				best = one
			}
			if one.lists || !lists {
				return one
			}
			break
		}
	}
	return best
}

// try returns the sender of requests of a part with a verb, nil if the FlowSchema does not take them.
func (p *placement) try(schema *config.FlowSchema, part *space.Part, verb string) *sender {
	one := &sender{as: identityOf(&part.Subject, schema.Name), request: workload.Request{Verb: verb}}
	if part.Resource {
		box := part.Box
		if box[space.Verbs] = box[space.Verbs].And(space.Of(verb)); box[space.Verbs].Empty() {
			return nil
		}
		a := box.Request(&part.Subject)
		one.request.Group, one.request.Resource, one.request.Subresource, one.request.Namespace = a.APIGroup, a.Resource, a.Subresource, a.Namespace
		if by := schema.Spec.DistinguisherMethod; by != nil && by.Type == config.ByNamespace && box[space.Namespaces].Infinite() {
			one.request.Namespace = schema.Name + "-{i}"
		}
		if slices.Contains([]string{"get", "update", "patch", "delete"}, verb) {
			one.request.Name = "object"
		}
	} else {
		if !part.Verbs.Has(verb) {
			return nil
		}
		one.request.Path = cmp.Or(part.Paths.Exact, part.Paths.Prefix)
	}
	if !p.takes(schema, one, verb) {
		return nil
	}
	first, _ := one.request.Attributes(&one.as, 0)
	second, _ := one.request.Attributes(&one.as, 1)
	one.flows = p.controller.Route(&first).Hash != p.controller.Route(&second).Hash
	return one
}

// takes reports whether a FlowSchema takes the requests of the sender with another verb.
func (p *placement) takes(schema *config.FlowSchema, one *sender, verb string) bool {
	q := one.request
	if q.Verb != verb {
		if q.Path != "" {
			return false
		}
		q.Verb, q.Name, q.Subresource = verb, "", ""
	}
	as := one.as
	if len(workload.CheckRequest(&as, &q)) > 0 {
		return false
	}
	for i := range 2 {
		a, _ := q.Attributes(&as, i)
		if p.controller.Route(&a).Schema.Name != schema.Name {
			return false
		}
	}
	return true
}

// identityOf returns the identity of clients that a subject matches, each one of its own if there are several. The name is that of the
// FlowSchema.
func identityOf(s *config.Subject, name string) workload.Identity {
	user, groups := space.ExampleUser(s)
	namespace, account, isAccount := classify.SplitServiceAccount(user)
	switch {
	case user == classify.Anonymous:
		return workload.Identity{Anonymous: true}
	case s.Kind == config.SubjectUser:
		return workload.Identity{User: user}
	case s.Kind == config.SubjectServiceAccount && s.ServiceAccount.Name != config.Wildcard:
		return workload.Identity{ServiceAccount: namespace + "/" + account}
	case s.Kind == config.SubjectGroup && s.Group.Name == classify.ServiceAccounts:
		return workload.Identity{ServiceAccount: name + "-{i}/default"}
	case isAccount:
		return workload.Identity{ServiceAccount: namespace + "/" + name + "-{i}"}
	case s.Kind == config.SubjectGroup && s.Group.Name == classify.Nodes:
		return workload.Identity{Node: name + "-{i}"}
	}
	return workload.Identity{User: name + "-{i}", Groups: slices.DeleteFunc(groups, func(g string) bool { return g == classify.Authenticated })}
}

// listed is what is stored of each resource that lists are of: by a limit, they have any number of seats.
func (p *placement) listed() estimate.Stats {
	return estimate.Stats{Objects: 1_000_000, AverageBytes: p.release.BytesPerSeat}
}

// exactly is the query of a list of which a page is read from etcd.
const exactly = "&resourceVersion=1&resourceVersionMatch=Exact"

// query returns the query of a list that takes so many seats, "" if the release has none.
func (p *placement) query(s *sender, seats float64) string {
	q := s.request
	q.Verb, q.Name, q.Subresource = "list", "", ""
	a, _ := q.Attributes(&s.as, 0)
	e := estimate.NewEstimator(p.release, estimate.Store{{Name: q.Resource, Group: q.Group}: p.listed()})
	for _, limit := range []float64{seats, seats * float64(p.release.ObjectsPerSeat) / 2} {
		for _, query := range []string{fmt.Sprintf("limit=%.0f%s", limit, exactly), fmt.Sprintf("limit=%.0f", limit)} {
			if r, err := e.NewRequest(&a, query); err == nil && r.Estimate(math.MaxInt32).InitialSeats == int(seats) {
				return query
			}
		}
	}
	return ""
}
