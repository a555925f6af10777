package reports_test

import (
	"slices"
	"testing"

	"apfsim/reports/result"
)

// told is what the description of a scenario tells of who was harmed and why. It is written from the descriptions.
type told struct {
	kinds    []result.Kind // of the first cause; several where the description does not say which of them comes first
	workload string        // that causes it, or is harmed by it; "" where the description names none
}

// descriptions are the scenarios of the library whose descriptions tell of harm or of long waits, and what they tell.
var descriptions = map[string]told{
	"anonymous-health-checks": {kinds(result.ByDemand), "strangers"},
	"borrowing-stops-1-26-12": {kinds(result.ByLending), "tenants"},
	"borrowing-stops-1-26-13": {kinds(result.ByLending), "tenants"},
	"borrowing":               {kinds(result.ByLending), "tenants"},
	"cold-cache-429":          {kinds(result.ByStoppedServer), "agents"},
	// "They need all places for reads, so that the probe is answered 429 like most requests"
	"cold-cache-liveness-loop-5000": {kinds(result.ByInFlightLimit), "nodes"},
	"collapse-max-in-flight":        {kinds(result.ByInFlightLimit), "kubelets"},
	// "A server slows down to 40 % of its speed after a minute"
	"collapse-with-priorities": {kinds(result.ByExecution), "kubelets"},
	"congestion-collapse":      {kinds(result.ByExecution), "kubelets"},
	"controller-write-loop":    {kinds(result.ByDemand), "doom"},
	"crash-and-reconnect":      {kinds(result.ByStoppedServer), "agents"},
	// "each with a read and a transaction of etcd, which takes 8 ms on average here. After 60 s the request is at its deadline"
	"edit-undone":        {kinds(result.BySeats), "jobs-after-edit"},
	"edit-kept":          {kinds(result.BySeats), "jobs-after-edit"},
	"elephants-and-mice": {kinds(result.ByDemand), "elephants"},
	"exempt-demand-low":  {kinds(result.BySeats), "tenants"},
	// "So every level gets only its lower limit"
	"exempt-demand-high": {kinds(result.ByLending), "tenants"},
	"exempt-outers":      {kinds(result.ByWebhook), "restore"},
	// It is the fair queuing itself that penalises a flow for its earlier demand: there is no other kind for it.
	"idle-capacity-penalty":   {kinds(result.ByDemand, result.BySeats), "first"},
	"informer-restart":        {kinds(result.ByLending), "informers"},
	"informers-at-scale-list": {kinds(result.ByMemory), "informers"},
	// "their initial events take 200 s of the processor"
	"informers-at-scale-pods": {kinds(result.ByCores, result.ByLending), "agents"},
	"isolate-list-events":     {kinds(result.ByDemand), "list-events"},
	// The server opens watches on 0.32 cores, and the lists of the informers are at the limit of requests in flight.
	"kubelets-close-connections-5000": {kinds(result.ByInFlightLimit), "kubelets"},
	"kubelet-list-loop":               {kinds(result.ByDemand), "node-13"},
	"leader-election":                 {kinds(result.ByDemand), "flood"},
	"leader-lost":                     {kinds(result.ByDemand), "flood"},
	"leader-kept":                     {kinds(result.BySeats), "flood"},
	"lent-seats":                      {kinds(result.ByLending), "burst"},
	"list-cost-table":                 {kinds(result.ByDemand), "benchmark"},
	"list-seat-cap":                   {kinds(result.ByDemand), "agents"},
	"list-storm":                      {kinds(result.ByDemand), "informers"},
	// "The pages need 600 seats, nearly twice what workload-low can borrow"
	"lists-by-count-1-31": {kinds(result.BySeats), "pages-of-configmaps"},
	"lists-by-bytes-1-34": {kinds(result.ByDemand), "large-secrets"},
	"max-in-flight":       {kinds(result.ByInFlightLimit), "flood"},
	"max-in-flight-apf":   {kinds(result.BySeats), "flood"},
	"memory-and-relists":  {kinds(result.ByMemory), "agents"},
	// "requests that share data hinder each other", also when the speed is back
	"metastable-collapse":          {kinds(result.ByCores), "kubelets"},
	"node-heartbeats":              {kinds(result.BySeats), "batch"},
	"nodes-not-ready":              {kinds(result.ByDemand), "daemons"},
	"nodes-stay-ready":             {kinds(result.ByDemand), "daemons"},
	"noisy-namespace-by-user":      {kinds(result.ByDemand), "noisy"},
	"noisy-namespace-by-namespace": {kinds(result.ByDemand), "noisy"},
	// The lists of the agents are wide, many at once, and meet a level that has lent its seats: which of them comes first is
	// not said.
	"relist-storm-neither":             {kinds(result.ByDemand, result.ByWideLists, result.ByLending, result.ByCores), "agents"},
	"rolling-restart-send-retry-after": {kinds(result.ByStoppedServer), "controllers"},
	"rolling-restart-without-delay":    {kinds(result.ByStoppedServer), "controllers"},
	// The articles are about the order of fair queuing; the level is full of its users.
	"the-article-of-1-18": {kinds(result.ByDemand), "busy"},
	"the-article-in-1-20": {kinds(result.ByDemand), "busy"},
	"the-article-in-1-23": {kinds(result.ByDemand), "lister"},
	"the-article-in-1-37": {kinds(result.ByDemand), "lister"},
	// "The limit of workload-low falls, and the tenants wait"
	"upgrade-after-1-28":    {kinds(result.ByLending), "tenants"},
	"upgrade-fight":         {kinds(result.ByDemand), "controller"},
	"upgrade-without-fight": {kinds(result.ByDemand), "controller"},
	// A write keeps seats for long after it was executed: the level has too many requests of too many seats.
	"watch-storm":             {kinds(result.ByDemand), "initial-events"},
	"webhook-deadlock":        {kinds(result.ByWebhook), "controllers"},
	"webhook-deadlock-ignore": {kinds(result.ByWebhook), "controllers"},
	"wide-lists-at-catch-all": {kinds(result.ByWideLists), "lists"},
	"wide-lists":              {kinds(result.ByWideLists), "slow-readers"},
	"zero-shares":             {kinds(result.BySeats), "prisoner"},
	// "the exporters of 30 teams list pods at the same level, each 40 at a time"
	"autoscaler-lease-behind-lists": {kinds(result.ByDemand), "exporters"},
	// "although it borrows more than 100 seats", "which then takes seats back"
	"chunked-lists":                            {kinds(result.ByClientLimit), "slow"},
	"chunked-lists-without-snapshots":          {kinds(result.ByClientLimit), "slow"},
	"conflict-put-against-patch-against-apply": {kinds(result.ByConflict), ""},
	"lost-update-without-a-version":            {kinds(result.ByConflict), ""},
	"policy-engine-behind-operators":           {kinds(result.ByLending), "operators"},
	// "which has lent all but 56 of its 245"
	"sandbox-claims-burst": {kinds(result.ByLending), "tenants"},
}

// untold are the scenarios whose descriptions tell of no harm, although there is some.
var untold = []string{
	"list-cost-table-in-flight-hundred-seats", // lists execute for seconds longer than by themselves when the run ends
	"upgrade-before-1-26",                     // jobs starve at a level of the upgraded configuration
	"slow-watcher-stalls-its-resource",        // the warning is of the watches that are closed, and has no cause
}

func kinds(all ...result.Kind) []result.Kind { return all }

// The first cause of a scenario of the library with harm or long waits is the one that its description tells.
func TestVerdictsOfTheLibrary(t *testing.T) {
	seen := map[string]bool{}
	eachOfTheLibrary(t, func(r *result.Result) {
		v, s := r.Summary.Verdict, r.Summary
		want, is := descriptions[s.Name]
		seen[s.Name] = true
		bad := v.Status == result.Harm || v.Status == result.Warning
		switch {
		case slices.Contains(untold, s.Name):
			if !bad {
				t.Errorf("%s is %s %s", s.Name, v.Status, v.Sentence)
			}
		case !is && bad:
			t.Errorf("%s is %s, and its description tells of no cause: %s", s.Name, v.Status, v.Sentence)
		case is && (!bad || len(v.Causes) == 0):
			t.Errorf("%s is %s: %s", s.Name, v.Status, v.Sentence)
		case is:
			c := &v.Causes[0]
			named := slices.Contains(append(c.Harmed, c.Workloads...), want.workload) // nobody makes a server crash
			if c.Kind == result.ByDemand {
				named = c.Workloads[0] == want.workload
			}
			if !slices.Contains(want.kinds, c.Kind) || want.workload != "" && !named {
				t.Errorf("%s: the first cause is %s of %v (%s), want %v of %s", s.Name, c.Kind, c.Workloads, c.Sentence, want.kinds, want.workload)
			}
		}
	})
	for name := range descriptions {
		if !seen[name] && *long {
			t.Errorf("there is no scenario %s", name)
		}
	}
}
