package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/reports/format"
)

// explainChanges says of each field that a candidate changes why its value is what it is, with the number that sets it.
func (a *Answer) explainChanges(c *Candidate) {
	for i := range c.Changes {
		if c.Changes[i].Because == "" { // a search at another size has not said it
			c.Changes[i].Because = a.search.because(c, &c.Changes[i])
		}
	}
}

// because says why a field has its value.
func (s *search) because(c *Candidate, ch *Change) string {
	if assumed := ch.From == nil && strings.HasSuffix(ch.Path, ".handSize"); c.searches(ch) && !assumed { // it follows from the seats
		return s.becauseSearched(c, ch)
	}
	switch ch.Kind {
	case "FlowSchema":
		return s.becauseMatched(c, ch)
	case "PriorityLevelConfiguration":
		return becauseAssumed(c, ch)
	}
	return ""
}

// changeOf returns what a candidate does to a field, nil if nothing.
func (c *Candidate) changeOf(ch *Change) *Change {
	at := slices.IndexFunc(c.Changes, func(o Change) bool { return o.Kind == ch.Kind && o.Name == ch.Name && o.Path == ch.Path })
	if at < 0 {
		return nil
	}
	return &c.Changes[at]
}

// searches says whether the candidates of a family differ in a field.
func (c *Candidate) searches(ch *Change) bool {
	return slices.ContainsFunc(c.family.all, func(o *Candidate) bool {
		other := o.changeOf(ch)
		return other != nil && textOf(other.To) != textOf(ch.To)
	})
}

// number returns the number in a field, ok if it is one. A field that does not exist has 0.
func number(v any) (x float64, ok bool) {
	if v == nil {
		return 0, true
	}
	x, err := strconv.ParseFloat(textOf(v), 64)
	return x, err == nil
}

// becauseSearched says which value nearer to the present one does not suffice.
func (s *search) becauseSearched(c *Candidate, ch *Change) string {
	var texts []string
	ofShares := strings.HasSuffix(ch.Path, "nominalConcurrencyShares")
	if ofShares {
		text := format.Counted(s.seatsWith(c, ch.Name), "seat")
		if s.leastShares(c, ch.Name) {
			text = "the least that gives " + text
		}
		texts = append(texts, text)
	}
	nearest, value := s.nearest(c, ch)
	switch {
	case nearest != nil && ofShares:
		texts = append(texts, fmt.Sprintf("%s (%v shares) %s", format.Counted(s.seatsWith(nearest, ch.Name), "seat"), value, s.fails(s.results[nearest])))
	case nearest != nil:
		texts = append(texts, fmt.Sprintf("%v %s", value, s.fails(s.results[nearest])))
	case ch.From != nil:
		texts = append(texts, fmt.Sprintf("the present %s %s", textOf(ch.From), s.fails(s.presentTrials())))
	default:
		texts = append(texts, "no smaller one was run")
	}
	return strings.Join(texts, "; ")
}

// nearest returns the candidate of the same family that does not suffice and whose value is between the present one and that
// of c, as near to that as possible; nil if none was run.
func (s *search) nearest(c *Candidate, ch *Change) (nearest *Candidate, value float64) {
	from, isFrom := number(ch.From)
	to, isTo := number(ch.To)
	if !isFrom || !isTo {
		return nil, 0
	}
	for _, o := range c.family.all {
		known, other := s.results[o], o.changeOf(ch)
		if o == c || other == nil || known == nil || known.Runs == 0 || known.Decision == Accepted {
			continue
		}
		x, is := number(other.To)
		if !is || (x-from)*(x-to) >= 0 || nearest != nil && math.Abs(x-to) >= math.Abs(value-to) {
			continue
		}
		nearest, value = o, x
	}
	return nearest, value
}

// fails says what failed in the runs of a configuration that does not suffice. A run that was ended early tells of one
// goal, so that the number of runs is that of all that failed.
func (s *search) fails(t *trials) string {
	goal := s.worstGoal(t)
	if goal == "" && t.Because == "" {
		return "holds, but not with more load or longer executions"
	}
	if goal == "" {
		return t.Because
	}
	return fmt.Sprintf("held in %d of %s, and failed %s", t.Passes, format.Counted(t.Runs, "run"), goal)
}

// presentTrials is in how many runs each of the goals that fail now did fail.
func (s *search) presentTrials() *trials {
	t := &trials{Runs: s.held.Runs, Passes: s.held.Passes, failed: make([]int, len(s.present.Spec.Thresholds))}
	for _, run := range s.first[:s.held.Runs] {
		for _, i := range run.Failed() {
			if slices.Contains(s.failing, i) {
				t.failed[i]++
			}
		}
	}
	return t
}

// seatsWith returns the nominal limit of a level with a candidate.
func (s *search) seatsWith(c *Candidate, level string) int {
	return seatsOf(divide(s.problem, c.scenarioOf(s.present)), level).Nominal
}

// leastShares says whether a share less would give a level fewer seats.
func (s *search) leastShares(c *Candidate, name string) bool {
	less := *c
	less.objects = config.Merge(c.objects, config.Objects{PriorityLevels: []*config.PriorityLevel{
		edited(c.objects.PriorityLevel(name), func(l *config.LimitedSpec) {
			shares := *l.NominalConcurrencyShares - 1
			l.NominalConcurrencyShares = &shares
		})}})
	return s.seatsWith(&less, name) < s.seatsWith(c, name)
}

// becauseMatched says why a FlowSchema matches what it does, and where it leads.
func (s *search) becauseMatched(c *Candidate, ch *Change) string {
	schema := c.objects.FlowSchema(ch.Name)
	var now *config.FlowSchema // that the requests match without the change
	for _, r := range s.problem.routes {
		old := s.present.Objects.FlowSchema(r.schema)
		if old != nil && (old.Name == schema.Name || now == nil && old.Spec.MatchingPrecedence == schema.Spec.MatchingPrecedence+1) {
			now = old
		}
	}
	switch {
	case ch.Path == "spec.matchingPrecedence" && now != nil:
		return fmt.Sprintf("just before %s (%d), which the requests match now", now.Name, now.Spec.MatchingPrecedence)
	case ch.Path == "spec.rules":
		return "matches the clients of the scenario that are meant, and none of the others"
	case strings.HasPrefix(ch.Path, "spec.distinguisherMethod") && schema.Spec.DistinguisherMethod == nil:
		return s.oneFlow(schema)
	case strings.HasPrefix(ch.Path, "spec.distinguisherMethod"):
		return "as in the FlowSchema that the requests match now"
	case ch.Path != "spec.priorityLevelConfiguration.name":
		return ""
	case c.objects.PriorityLevel(textOf(ch.To)) != nil:
		return "the new level, which no other FlowSchema uses"
	case now != nil && now.Spec.PriorityLevelConfiguration.Name == schema.Spec.PriorityLevelConfiguration.Name:
		text := "the level where the requests are now"
		if schema.Spec.DistinguisherMethod == nil {
			text += "; " + s.oneFlow(schema)
		}
		return text
	}
	return s.seatUseText(textOf(ch.To))
}

// oneFlow says what all requests of a FlowSchema without a distinguisher have together.
func (s *search) oneFlow(schema *config.FlowSchema) string {
	text := "without a distinguisher, the requests are one flow"
	if level := s.present.Objects.PriorityLevel(schema.Spec.PriorityLevelConfiguration.Name); level != nil {
		if q := level.Spec.Queuing(); q != nil {
			text += fmt.Sprintf(", with %d of the %s", q.HandSize, format.Counted(int(q.Queues), "queue"))
		}
	}
	return text
}

// seatUseText says how many of its seats a level uses.
func (s *search) seatUseText(level string) string {
	seats := seatsOf(s.problem.seats, level)
	for i := range s.problem.summary.PriorityLevels {
		if l := &s.problem.summary.PriorityLevels[i]; l.Name == level && seats != nil {
			seconds := float64(s.problem.summary.DurationNs-s.problem.summary.WarmupNs) / 1e9 * float64(s.present.Spec.Servers.Replicas)
			return fmt.Sprintf("it uses %s of its %s now, on average", format.Number(l.ServiceSeatSeconds/seconds), format.Counted(seats.Nominal, "seat"))
		}
	}
	return "it has no requests now"
}

// becauseAssumed says of a field of a new level what its value means. These values are not searched.
func becauseAssumed(c *Candidate, ch *Change) string {
	level := c.objects.PriorityLevel(ch.Name)
	q := level.Spec.Queuing()
	switch field := ch.Path[strings.LastIndex(ch.Path, ".")+1:]; {
	case ch.From != nil:
		return ""
	case field == "lendablePercent" && textOf(ch.To) == "0":
		return "not searched: seats that are lent come back after up to 10 s"
	case ch.Path == "spec.limited.limitResponse.type" && q != nil:
		return "not searched: requests wait before they are rejected"
	case q != nil && field == "handSize" && q.HandSize < 6:
		return "not searched: at most half of the seats, so that a list can take more than one"
	case q != nil && (field == "queues" || field == "handSize"):
		return fmt.Sprintf("not searched: %d of %d queues are all filled by 4 other flows with a probability of %s", q.HandSize, q.Queues,
			format.Number(dealer.CollisionProbabilityFloat(int(q.Queues), int(q.HandSize), 4)))
	case q != nil && field == "queueLengthLimit":
		return fmt.Sprintf("not searched: a flow has %d × %d = %d places", q.HandSize, q.QueueLengthLimit, q.HandSize*q.QueueLengthLimit)
	}
	return "not searched"
}
