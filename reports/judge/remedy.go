package judge

import (
	"fmt"
	"slices"

	"apfsim/reports/result"
)

// BeyondFlowControl says whether a cause lies where flow control has no influence, so that no division of the seats is
// a remedy.
func BeyondFlowControl(c *result.Cause) bool {
	switch c.Kind {
	case result.ByExecution, result.ByEtcd, result.ByWebhook, result.ByCores, result.ByMemory, result.ByClientLimit, result.ByWorkers:
		return true
	}
	return false
}

// dividesSeats are the remedies that divide seats, hands and queues in another way. None of them stands beside a cause that is beyond
// flow control.
var dividesSeats = []result.RemedyID{result.MergeFlows, result.Move, result.OwnLevel, result.ListLevel, result.MoreShares, result.Transfer,
	result.ChangeHandSize, result.MoreQueues, result.MoreQueueLength, result.LendLess, result.BorrowMore}

// remedies returns what may help against causes, by the table of docs/reference/statistics.md. None of them has been tried.
func (d *diagnosis) remedies(causes []result.Cause) []result.Remedy {
	all := []result.Remedy{}
	add := func(c *result.Cause, id result.RemedyID, sentence string, args ...any) {
		if slices.Contains(dividesSeats, id) && (BeyondFlowControl(&causes[0]) ||
			slices.ContainsFunc(causes, func(o result.Cause) bool { return o.Level == c.Level && BeyondFlowControl(&o) })) {
			return
		}
		for i := range all {
			if r := &all[i]; r.Remedy == id && r.Sentence == fmt.Sprintf(sentence, args...) {
				r.Causes = append(r.Causes, c.ID)
				return
			}
		}
		all = append(all, result.Remedy{Remedy: id, Sentence: fmt.Sprintf(sentence, args...), Causes: []string{c.ID}})
	}
	for i := range causes {
		c := &causes[i]
		who := "the clients"
		if len(c.Flows) > 0 {
			who = c.Flows[0].Name
		} else if len(c.Workloads) > 0 {
			who = c.Workloads[0]
		}
		if c.Kind == result.ByDemand && len(c.Flows) > 0 && len(c.Workloads) > 0 && (isOneOfEquals(c.Flows) ||
			c.Flows[0].ShareOfDemand < leastOfOne && c.Flows[0].OfFairShare <= OverDemandingRatio) {
			who = c.Workloads[0] // none of its flows stands out
		}
		switch c.Kind {
		case result.ByDemand:
			if d.manySimilarFlows(c) {
				add(c, result.MergeFlows, "Make the flows of %s one flow, by a FlowSchema with the distinguisher ByNamespace or none.", d.nameOfSimilarFlows(c))
			} else {
				add(c, result.OwnLevel, "Give %s a priority level of its own.", who)
			}
			add(c, result.LimitClient, "Let %s send less at a time.", who)
			add(c, result.MoreShares, moreShares, c.Level)
		case result.ByHand:
			add(c, result.ChangeHandSize, "Change handSize or queues of %s, so that hands overlap less.", c.Level)
			add(c, result.MoreQueues, "Give %s more queues.", c.Level)
		case result.ByLending:
			add(c, result.LendLess, "Let %s lend fewer seats: a lower lendablePercent.", c.Level)
			add(c, result.BorrowMore, "Let %s borrow more, and others lend more.", c.Level)
		case result.BySeats:
			add(c, result.MoreShares, moreShares, c.Level)
			add(c, result.Transfer, "Give %s shares of a level that does not need them.", c.Level)
			add(c, result.LimitClient, "Let %s send less at a time.", who)
		case result.ByWideLists:
			add(c, result.ListLevel, "Give the lists of %s a priority level of their own.", who)
			add(c, result.ChangeHandSize, "Raise handSize of %s, which lowers the most seats of a request.", c.Level)
			add(c, result.ListInPages, "Let %s list in pages.", who)
			add(c, result.WatchInstead, "Let %s watch instead of listing.", who)
		case result.ByClientLimit:
			add(c, result.RaiseClientLimit, "%s", raiseLimit(c))
		case result.ByWorkers:
			add(c, result.MoreWorkers, "%s", moreWorkers(c))
		case result.ByStoppedServer:
			add(c, result.MoreReplicas, "Let a server serve until the load balancer knows that it stops, and run one more.")
		case result.ByInFlightLimit:
			add(c, result.RaiseInFlightLimit, "Raise the limits of requests in flight, or use API Priority and Fairness.")
			add(c, result.LimitClient, "Let %s send less at a time.", who)
		case result.ByMemory:
			add(c, result.ListInPages, "Let %s list in pages.", who)
			add(c, result.WatchInstead, "Let %s watch instead of listing.", who)
		case result.ByRetries, result.ByConflict:
			add(c, result.LimitClient, "Let %s wait longer before they send a request again.", who)
		case result.ByCores:
			add(c, result.MoreReplicas, "Run more servers, or servers with more cores.")
			add(c, result.LimitClient, "Let %s send less at a time.", who)
		case result.ByNetwork:
			add(c, result.MoreReplicas, "Run more servers, each with a network of its own.")
			add(c, result.WatchInstead, "Let %s watch instead of listing.", who)
		case result.ByExecution, result.ByEtcd, result.ByWebhook:
			add(c, result.NoChange, "No change of flow control helps: the time is lost in %s.", map[result.Kind]string{
				result.ByExecution: "executions", result.ByEtcd: "etcd", result.ByWebhook: "what the server calls"}[c.Kind])
		}
	}
	return all
}

// moreShares is the remedy of more seats. Those of other levels are not free.
const moreShares = "Give %s more seats: shares, as far as other levels can spare them, or else more seats of the server."

// isOneOfEquals says whether another flow asks for at least half as much as the first.
func isOneOfEquals(flows []result.CauseFlow) bool {
	return len(flows) > 1 && 2*flows[1].ShareOfDemand >= flows[0].ShareOfDemand
}

// leastOfOne is the part of the demand from which on a remedy addresses a flow by itself, even if it asks for no more
// than its fair share.
const leastOfOne = 0.5

// leastSimilarFlows is how many flows of one FlowSchema must ask for too much for manySimilarFlows.
const leastSimilarFlows = 10

// manySimilarFlows says whether many flows, and none of them much more than the others, ask for too much.
func (d *diagnosis) manySimilarFlows(c *result.Cause) bool {
	if len(c.Flows) < result.MostCauseFlows {
		return false
	}
	for _, f := range c.Figures {
		if f.Name == "overDemandingFlows" && f.Value >= leastSimilarFlows {
			return c.Flows[0].ShareOfDemand < 3*c.Flows[len(c.Flows)-1].ShareOfDemand
		}
	}
	return false
}

// nameOfSimilarFlows names the workload, or else the level, whose flows manySimilarFlows found.
func (d *diagnosis) nameOfSimilarFlows(c *result.Cause) string {
	if len(c.Workloads) > 0 {
		return c.Workloads[0]
	}
	return c.Level
}
