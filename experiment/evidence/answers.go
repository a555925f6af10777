package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// tooMany is the code of answers to requests that were rejected.
const tooMany = "429"

// answers returns what the answers of the server by code show beyond what flow control reports: rejections that are not its own, or
// all of them where it reports none.
func (s *server) answers(levels []*level, at string) *Finding {
	from, to := s.window()
	all, known := s.during(requestTotal, from, to, func(*series) bool { return true })
	// An eviction that a disruption budget forbids is answered 429 as well, by its handler.
	of429 := func(one *series) bool {
		return one.labels["code"] == tooMany && one.labels["subresource"] != "eviction"
	}
	n, _ := s.during(requestTotal, from, to, of429)
	if !known || n == 0 {
		return nil
	}
	rejected, reports := 0.0, s.tellsRejections()
	for _, l := range levels {
		rejected += l.rejected
	}
	if reports && n-rejected < 0.5*n {
		return nil // flow control's own, which its levels have
	}
	j := result.Judged{Of: result.OfServers, Name: "the server", Arrived: int64(all), NotServed: int64(n)}
	status, decided := judge.Decide([]result.Judged{j})
	if status == result.OK {
		return nil
	}
	c := &result.Cause{Workloads: []string{}, Flows: []result.CauseFlow{}, Figures: []result.Figure{{Name: "answers429", Value: n}}}
	f := &Finding{Status: status, Decided: decided, Cause: c, Doubt: true,
		Sentence: fmt.Sprintf("%s of the %s%s were answered 429 %s", judge.ShareText(j.NotServed, j.Arrived), result.RequestCount(j.Arrived), at, s.observed())}
	c.Sentence = s.mostly429(from, to, n, of429)
	if reports {
		c.Kind, c.Or = result.ByInFlightLimit, []result.Kind{result.ByStoppedServer}
		c.Sentence += fmt.Sprintf(" Flow control rejected %s of them: the others are of the max-in-flight filter, of an aggregated server, or of a handler whose cache is not filled yet.", format.Whole(int64(rejected)))
		c.Confirm = "--enable-priority-and-fairness of the server, and the label component of apiserver_request_total"
		f.Try = []result.Remedy{{Remedy: result.NoChange, Sentence: "No change of FlowSchemas or priority levels helps against rejections that are not those of flow control."}}
		return f
	}
	c.Kind, c.Or = result.ByDemand, []result.Kind{result.BySeats, result.ByHand, result.ByLending, result.ByWideLists, result.ByExecution, result.ByRetries, result.ByInFlightLimit}
	c.Confirm = "two scrapes of all metrics: kubectl get --raw /metrics"
	busy := slices.DeleteFunc(slices.Clone(levels), func(l *level) bool { return l.exempt() || !(l.loaded() >= 1) })
	slices.SortStableFunc(busy, func(a, b *level) int { return cmp.Compare(b.loaded(), a.loaded()) })
	for i, l := range busy {
		if i == 0 {
			c.Level = l.level
		}
		c.Sentence += fmt.Sprintf(" %s was asked for %s of its %s, on average in 10 s.", l.level, format.Percent(l.loaded()), seatsText(l.current.most))
	}
	if len(busy) == 0 {
		c.Sentence += " No level was asked for more than its seats at the samples."
	}
	f.Try = []result.Remedy{{Remedy: result.NoChange, Sentence: "Before anything is changed, find out which level and which FlowSchema rejected: apfsim diagnose with two scrapes of kubectl get --raw /metrics."}}
	return f
}

// loaded returns the highest demand that the level reports, of its current limit.
func (l *level) loaded() float64 {
	if !l.average.known() || !l.current.known() {
		return math.NaN()
	}
	return l.average.most / max(l.current.least, 1)
}

// mostly429 says which requests most of the answers 429 are of, by verb and resource.
func (s *server) mostly429(from, to int, all float64, of429 func(*series) bool) string {
	counts := map[string]float64{}
	for _, one := range s.series[requestTotal] {
		if of429(one) {
			for _, x := range s.growth(one)[from:to] {
				counts[strings.TrimSpace(one.labels["verb"]+" "+one.labels["resource"])] += x
			}
		}
	}
	most := ""
	for what, n := range counts {
		if most == "" || n > counts[most] || n == counts[most] && what < most {
			most = what
		}
	}
	return fmt.Sprintf("%s of the answers 429 were to %s.", format.Percent(counts[most]/all), format.Printable(most))
}
