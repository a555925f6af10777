package tune

import (
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/experiment"
	"apfsim/reports/result"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/workload"
)

// listed returns the answer of a search that ends before the first candidate is decided: it has listed them all. The
// elephants fill the suggested level workload-low. Tests that only read it share it.
func listed(t *testing.T, kinds []string) *Answer {
	t.Helper()
	return once("elephants "+strings.Join(kinds, " "), func() *Answer { return listedAnew(t, kinds) })
}

func listedAnew(t *testing.T, kinds []string) *Answer {
	t.Helper()
	sc, err := experiment.LoadOne("elephants-and-mice", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	goals, err := ParseGoals(sc, []string{"rejected{workload:elephants}: rate == 0"})
	if err != nil {
		t.Fatal(err)
	}
	sc.Spec.Duration, sc.Spec.Warmup.Duration = quantity.Duration(6e9), 1e9
	a, err := Run(t.Context(), Options{Scenario: sc, Goals: goals, Kinds: kinds, Probability: 0.9, Confidence: 0.95, Budget: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !a.OutOfBudget || a.Selected != nil || len(a.search.all) == 0 {
		t.Fatalf("out of budget %v, selected %v, %d candidates; want a search that ended early", a.OutOfBudget, a.Selected, len(a.search.all))
	}
	return a
}

func TestCandidatesTouchNothingForbidden(t *testing.T) {
	a := listed(t, Usual)
	for i, c := range a.search.all {
		if i > 0 && a.search.all[i-1].Cost.Compare(c.Cost) > 0 {
			t.Errorf("%s comes after %s, which costs more", c.ID, a.search.all[i-1].ID)
		}
		if c.Class == ServerLimits {
			t.Errorf("%s: its kind is not allowed", c.ID)
		}
		for _, l := range c.objects.PriorityLevels {
			if l.Name == config.Exempt || l.Name == config.CatchAll {
				t.Errorf("%s changes the level %s", c.ID, l.Name)
			}
			if old := a.search.problem.builtIn.PriorityLevel(l.Name); old != nil && c.Class != Suggested && c.Class != SuggestedField && !c.Cost.Pair {
				t.Errorf("%s changes a suggested level and has class %s", c.ID, c.Class)
			}
		}
		for _, s := range c.objects.FlowSchemas {
			if a.search.problem.builtIn.FlowSchema(s.Name) != nil {
				t.Errorf("%s changes the FlowSchema %s, which servers maintain", c.ID, s.Name)
			}
			if to := s.Spec.PriorityLevelConfiguration.Name; c.Remedy == result.Move && a.search.problem.builtIn.PriorityLevel(to) != nil {
				t.Errorf("%s moves clients to %s", c.ID, to)
			}
		}
	}
}

// A change of a suggested level has the annotation, without which a server undoes it, and shows whom it costs seats.
func TestSuggestedLevelsKeepTheirChanges(t *testing.T) {
	a := listedAnew(t, []string{"levels", "suggested"})
	at := slices.IndexFunc(a.search.all, func(c *Candidate) bool { return strings.HasPrefix(c.ID, "nominalConcurrencyShares of workload-low ") })
	if at < 0 {
		t.Fatal("there is no candidate with more shares of workload-low")
	}
	a.Selected = a.search.all[at]
	if most := a.Selected.family.all[len(a.Selected.family.all)-1]; most.Cost.Seats <= a.Selected.Cost.Seats {
		t.Errorf("%s takes %d seats from others, and %s %d", a.Selected.ID, a.Selected.Cost.Seats, most.ID, most.Cost.Seats)
	}
	text, err := a.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if want := config.AutoupdateAnnotation + `: "false"`; !strings.Contains(string(text), want) {
		t.Errorf("want the annotation %s in\n%s", want, text)
	}
}

// Of 600 seats, a new level of 20 shares gets 46, and the suggested levels lose as many as ⌈600·shares/Σ⌉ says.
func TestNewLevelsDiluteOthers(t *testing.T) {
	a := listed(t, []string{"levels"})
	at := slices.IndexFunc(a.search.all, func(c *Candidate) bool {
		return strings.HasPrefix(c.ID, "own-level elephants ") && seatsOf(divide(a.search.problem, c.scenarioOf(a.search.present)), "elephants").Nominal == 46
	})
	if at < 0 {
		t.Fatal("there is no candidate with a level of 46 seats")
	}
	if c := a.search.all[at]; c.ID != "own-level elephants 20" {
		t.Errorf("got %s, want 20 shares", c.ID)
	} else if got, want := c.Cost.Seats, (245-227)+2*(98-91)+(74-68)+(49-46)+(25-23)+(13-12); got != want {
		t.Errorf("others lose %d seats, want %d", got, want)
	}
}

// find returns the candidate with an ID.
func find(t *testing.T, a *Answer, id string) *Candidate {
	t.Helper()
	for _, c := range a.search.all {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no candidate %s", id)
	return nil
}

// nominal returns the seats of a level with a candidate.
func nominal(a *Answer, c *Candidate, level string) int {
	return seatsOf(divide(a.search.problem, c.scenarioOf(a.search.present)), level).Nominal
}

// The idle level spare gives its shares away one by one. The seats of catch-all stay, as the sum of the shares does.
func TestTransfersKeepTheSumOfShares(t *testing.T) {
	a := readers(t, readersText, Usual)
	p := a.search.problem
	catchAll := seatsOf(p.seats, config.CatchAll).Nominal
	n := 0
	for _, c := range a.search.all {
		if c.Remedy != result.Transfer || c.Cost.Pair {
			continue
		}
		n++
		if got := nominal(a, c, config.CatchAll); got != catchAll {
			t.Errorf("%s: catch-all has %d seats, want %d as now", c.ID, got, catchAll)
		}
		if c.Class != Shares || c.Cost.Objects != 2 || c.Cost.Seats == 0 || nominal(a, c, "readers") <= seatsOf(p.seats, "readers").Nominal {
			t.Errorf("%s has class %s and cost %v; want two levels of class 2c, of which one loses seats", c.ID, c.Class, c.Cost)
		}
	}
	if n < 5 {
		t.Errorf("%d transfers, want several", n)
	}
}

// A level keeps the seats that it had in use. One that was full lends nothing, as its demand is not known.
func TestTransfersLeaveWhatIsNeeded(t *testing.T) {
	const others = `  - name: others
    clients: 10
    as: {user: "other-{i}"}
    request: {verb: get, resource: secrets, namespace: others, name: s}
    execution: 1s
    arrivals: {closed: {}}
  thresholds:`
	text := strings.Replace(readersText, "    - apiVersion: flowcontrol.apiserver.k8s.io/v1\n      kind: FlowSchema\n",
		"    - {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: others}, spec: {priorityLevelConfiguration: {name: spare}, matchingPrecedence: 900, rules: "+
			"[{subjects: [{kind: User, user: {name: other-0}}OTHERS], resourceRules: [{verbs: [\"*\"], apiGroups: [\"*\"], resources: [\"*\"], namespaces: [\"*\"]}]}]}}\n"+
			"    - apiVersion: flowcontrol.apiserver.k8s.io/v1\n      kind: FlowSchema\n", 1)
	subjects := ""
	for i := 1; i < 10; i++ {
		subjects += ", {kind: User, user: {name: other-" + string(rune('0'+i)) + "}}"
	}
	text = strings.Replace(strings.Replace(text, "OTHERS", subjects, 1), "  thresholds:", others, 1)
	a := readers(t, text, Usual)
	least := 100
	for _, c := range a.search.all {
		if c.Remedy == result.Transfer {
			least = min(least, nominal(a, c, "spare"))
		}
	}
	if peak := a.search.problem.peak("spare"); peak < 10 || least < peak || least > peak+1 {
		t.Errorf("spare had %d seats in use and keeps %d, want 10 or a few more of each", peak, least)
	}
	full := strings.Replace(text, "as: {user: \"other-{i}\"}\n    request: {verb: get, resource: secrets, namespace: others, name: s}\n    execution: 1s\n    arrivals: {closed: {}}",
		"as: {user: \"other-{i}\"}\n    request: {verb: get, resource: secrets, namespace: others, name: s}\n    execution: 1s\n    arrivals: {closed: {concurrency: 3}}", 1)
	for _, c := range readers(t, full, Usual).search.all {
		if c.Remedy == result.Transfer {
			t.Errorf("%s takes shares of a level that was full", c.ID)
		}
	}
}

// Where the nodes need all seats of node-high, no candidate takes one of them, and no suggested level gives shares of its own.
func TestCriticalLevelsKeepWhatTheyNeed(t *testing.T) {
	a := listedAnew(t, Usual)
	p := a.search.problem
	for i := range p.summary.PriorityLevels {
		if l := &p.summary.PriorityLevels[i]; l.Name == "node-high" {
			l.PeakSeats, l.Arrived = l.Limits.Nominal, 1
		}
	}
	now := seatsOf(p.seats, "node-high").Nominal
	p.families = nil
	all := p.candidates()
	transfers := 0
	for _, c := range all {
		if got := nominal(a, c, "node-high"); got < now {
			t.Errorf("%s leaves node-high %d of %d seats", c.ID, got, now)
		}
		if c.Remedy == result.Transfer {
			transfers++
		}
	}
	if transfers > 0 || len(all) == 0 || len(all) >= len(a.search.all) {
		t.Errorf("%d transfers and %d candidates; want none, and fewer candidates than %d", transfers, len(all), len(a.search.all))
	}
}

// Users who have fewer namespaces than they are can be told apart by namespace. The apps have a namespace each.
func TestFlowsAreMergedByNamespace(t *testing.T) {
	a := readers(t, readersText, Usual)
	c := find(t, a, "merge-flows reports by namespace")
	if m := c.objects.FlowSchemas[0].Spec.DistinguisherMethod; m == nil || m.Type != config.ByNamespace || c.Class != SameLevel {
		t.Errorf("%s has class %s and the distinguisher %v", c.ID, c.Class, m)
	}
	if m := find(t, a, "merge-flows reports").objects.FlowSchemas[0].Spec.DistinguisherMethod; m != nil {
		t.Errorf("the one flow has the distinguisher %v, want none", m)
	}
	for _, c := range a.search.all {
		if c.ID == "merge-flows apps by namespace" {
			t.Errorf("%s changes nothing", c.ID)
		}
	}
}

// A part of a workload is moved by the names of its clients, and costs less than the whole.
func TestPartsAreMovedByName(t *testing.T) {
	a := readers(t, readersText, Usual)
	half, whole := find(t, a, "move 1/2 of reports to spare"), find(t, a, "move reports to spare")
	schema := half.objects.FlowSchemas[0]
	var users []string
	for _, s := range schema.Spec.Rules[0].Subjects {
		users = append(users, s.User.Name)
	}
	if len(users) != 4 || users[0] != "system:serviceaccount:reports:reader-0" || users[3] != "system:serviceaccount:reports:reader-3" ||
		schema.Spec.PriorityLevelConfiguration.Name != "spare" || half.Cost.Moved != 4 || half.Cost.Compare(whole.Cost) >= 0 {
		t.Errorf("%s has the subjects %v and cost %v, and the whole %v", half.ID, users, half.Cost, whole.Cost)
	}
	// More clients than a FlowSchema names are moved in smaller parts, or not at all.
	many := readers(t, strings.Replace(readersText, "clients: 8", "clients: 300", 1), Usual)
	find(t, many, "move 1/4 of reports to spare")
	for _, c := range many.search.all {
		if c.ID == "move 1/2 of reports to spare" {
			t.Errorf("%s names %d users", c.ID, c.Cost.Moved)
		}
	}
}

// Lists that hold others up get a level, and the other requests of their clients stay.
func TestListsGetALevelOfTheirOwn(t *testing.T) {
	a := readers(t, readersText, Usual)
	c := find(t, a, "list-level reports 13")
	rules := c.objects.FlowSchemas[0].Spec.Rules
	if len(rules) != 1 || len(rules[0].ResourceRules) != 1 || len(rules[0].NonResourceRules) > 0 || c.Class != NewLevel {
		t.Fatalf("%s has the rules %+v and class %s", c.ID, rules, c.Class)
	}
	if r := rules[0].ResourceRules[0]; !slices.Equal(r.Verbs, []string{"list"}) || !slices.Equal(r.Resources, []string{"pods"}) || !slices.Equal(r.APIGroups, []string{""}) {
		t.Errorf("%s matches %+v, want lists of pods", c.ID, r)
	}
	// If the clients only list, their lists are all that they send.
	gets := readersText[strings.Index(readersText, "    - {verb: get"):strings.Index(readersText, "    arrivals: {closed")]
	for _, c := range readers(t, strings.Replace(readersText, gets, "", 1), Usual).search.all {
		if c.Remedy == result.ListLevel {
			t.Errorf("%s is the same as own-level", c.ID)
		}
	}
}

// Pairs come after all that is tried alone, at most 50, and each makes both changes.
func TestPairsFollowSingles(t *testing.T) {
	a := readers(t, readersText, append([]string{"server"}, Usual...))
	pairs := 0
	for i, c := range a.search.all {
		if c.Cost.Pair {
			pairs++
		} else if pairs > 0 {
			t.Errorf("%s comes after %s", c.ID, a.search.all[i-1].ID)
		}
	}
	if pairs == 0 || pairs > mostPairs {
		t.Errorf("%d pairs, want 1 to %d", pairs, mostPairs)
	}
	hands, shares := find(t, a, "handSize of readers 10"), find(t, a, "nominalConcurrencyShares of readers 86")
	both := find(t, a, hands.ID+" + "+shares.ID)
	level := both.objects.PriorityLevels[0].Spec.Limited
	if len(both.objects.PriorityLevels) != 1 || level.LimitResponse.Queuing.HandSize != 10 || *level.NominalConcurrencyShares != 86 {
		t.Errorf("%s has the levels %+v", both.ID, both.objects.PriorityLevels)
	}
	want := Cost{Class: Queues, Objects: 1, Seats: shares.Cost.Seats, Steps: hands.Cost.Steps + shares.Cost.Steps, Pair: true}
	if both.Cost != want {
		t.Errorf("%s costs %+v, want %+v", both.ID, both.Cost, want)
	}
	two := find(t, a, "move reports to spare + nominalConcurrencyShares of readers 86")
	if two.Class != Shares || two.Cost.Objects != 2 || two.Cost.Moved != 8 {
		t.Errorf("%s has class %s and cost %+v", two.ID, two.Class, two.Cost)
	}
}

// Servers are added after all limits, and only where the scenario says nothing of each server.
func TestServersAreAdded(t *testing.T) {
	a := readers(t, readersText, []string{"server"})
	last := find(t, a, "max-requests-inflight 160")
	two := find(t, a, "replicas 2")
	if two.Class != ServerLimits || two.Cost.Compare(last.Cost) <= 0 || two.scenarioOf(a.search.present).Spec.Servers.Replicas != 2 {
		t.Errorf("%s has class %s and cost %v, and the highest limit %v", two.ID, two.Class, two.Cost, last.Cost)
	}
	if len(two.Changes) != 1 || two.Changes[0].From != 1 || two.Changes[0].To != 2 {
		t.Errorf("%s changes %+v", two.ID, two.Changes)
	}
	phases := strings.Replace(readersText, "maxMutatingRequestsInflight: 24}", "maxMutatingRequestsInflight: 24, maintenance: true, maintenancePhases: [0s]}", 1)
	for _, c := range readers(t, phases, []string{"server"}).search.all {
		if c.Remedy == result.MoreReplicas {
			t.Errorf("%s: the scenario has no phase for the second server", c.ID)
		}
	}
}

// Queues and hands are changed only where flows collide less, or where lists become narrower.
func TestHandsCollideLess(t *testing.T) {
	for name, a := range map[string]*Answer{"narrow": listed(t, Usual), "wide": readers(t, readersText, Usual)} {
		p := a.search.problem
		hands := 0
		for _, c := range a.search.all {
			if c.Cost.Pair || c.Remedy != result.ChangeHandSize && c.Remedy != result.MoreQueues {
				continue
			}
			hands++
			l := c.objects.PriorityLevels[0]
			before, after := p.Objects.PriorityLevel(l.Name).Spec.Queuing(), l.Spec.Queuing()
			n := p.elephants(l.Name)
			less := dealer.CollisionProbabilityFloat(int(after.Queues), int(after.HandSize), n) < dealer.CollisionProbabilityFloat(int(before.Queues), int(before.HandSize), n)
			if !less && (name == "narrow" || after.HandSize <= before.HandSize) {
				t.Errorf("%s of %s does not help against %d flows", c.ID, name, n)
			}
		}
		if hands == 0 {
			t.Errorf("%s: there are no hands", name)
		}
	}
}

// Those for whom there is no flow control get none.
func TestMastersAreLeftAlone(t *testing.T) {
	own := *readers(t, readersText, Usual).search.problem
	p := &own
	old := p.Objects.FlowSchema("readers")
	masters := []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: "system:masters"}}}
	if s := p.newSchema(old, "x", masters); s != nil {
		t.Errorf("got the FlowSchema %+v for system:masters", s)
	}
	theirs := *old
	theirs.Spec.Rules = []config.PolicyRulesWithSubjects{{Subjects: masters}}
	p.routes = []route{{"reports", "readers", "readers"}}
	if s := p.schemaOf("reports", &theirs, "x"); s != nil {
		t.Errorf("got the FlowSchema %+v instead of one for system:masters", s)
	}
	w := *p.workload("reports")
	w.As = workload.Identity{User: "root", Groups: []string{"system:masters"}}
	if s := p.subjectsOf(&w); s != nil {
		t.Errorf("got the subjects %+v of a member of system:masters", s)
	}
}

// What the clients can do is said, and not searched.
func TestClientsAreTold(t *testing.T) {
	p := readers(t, readersText, Usual).search.problem
	notes := strings.Join(p.clientNotes(), " ")
	for _, want := range []string{"list in pages.", "watch instead of listing."} {
		if !strings.Contains(notes, want) {
			t.Errorf("got the notes %q, want one with %q", notes, want)
		}
	}
}

// With a capacity, more seats can make a server slower, so that each value has to be run: few are.
func TestFewValuesWithoutOrder(t *testing.T) {
	text := strings.Replace(readersText, "servers: {", "servers: {capacity: {cores: 64}, ", 1)
	for _, f := range readers(t, text, append([]string{"server"}, Usual...)).search.problem.families {
		if len(f.all) > mostUnordered && (!f.monotone || strings.Contains(f.name, "hares") || f.name == "max-requests-inflight") {
			t.Errorf("%s has %d values, monotone: %v; want at most %d, and no order of seats", f.name, len(f.all), f.monotone, mostUnordered)
		}
	}
}
