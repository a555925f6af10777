package flowcontrol

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	flowcontrol "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/utils/ptr"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	ourcontrol "apfsim/core/flowcontrol"
	"apfsim/core/seats"
)

// ourDivide is divide of core/seats, which only Adjust calls there.
//
//go:linkname ourDivide apfsim/core/seats.divide
func ourDivide(whole float64, demands []ourDemand) (parts []float64, p float64, ok bool)

type ourDemand struct{ low, high, target float64 }

func computeConcurrencyAllocation(requiredSum int, classes []allocProblemItem) ([]float64, float64, error) {
	demands := make([]ourDemand, len(classes))
	for i, c := range classes {
		demands[i] = ourDemand{c.lowerBound, c.upperBound, c.target}
	}
	parts, p, ok := ourDivide(float64(requiredSum), demands)
	if !ok {
		return nil, 0, errors.New("core finds no division")
	}
	return parts, p, nil
}

func (meal *cfgMeal) finishQueueSetReconfigsLocked() {
	for name, s := range meal.newPLStates {
		shares, lendable, borrowing := plSpecCommons(s.pl)
		limits := seats.NewLimits(meal.cfgCtlr.serverConcurrencyLimit, *shares, meal.shareSum,
			ptr.Deref(lendable, 0), ptr.Deref(borrowing, 0), borrowing != nil)
		s.nominalCL, s.minCL, s.maxCL = limits.Nominal, limits.Min, limits.Max
		meal.maxExecutingRequests += limits.Nominal
		if limited := s.pl.Spec.Limited; limited != nil && limited.LimitResponse.Queuing != nil {
			queuing := limited.LimitResponse.Queuing
			meal.maxWaitingRequests += int(queuing.Queues * queuing.QueueLengthLimit)
			meal.cfgCtlr.SetMaxSeats(name, uint64(seats.Cap(fcrequest.OurRules().LevelShare, limits.Nominal, int(queuing.HandSize))))
		}
		if s.queues == nil {
			s.seatDemandStats = seatDemandStats{}
			s.currentCL = limits.Nominal - (limits.Nominal-limits.Min)/2
		}
	}
	meal.cfgCtlr.nominalCLSum = meal.maxExecutingRequests
	meal.cfgCtlr.updateBorrowingLocked(false, meal.newPLStates)
}

func (cfgCtlr *configController) updateBorrowingLocked(setCompleters bool, plStates map[string]*priorityLevelState) {
	r, names := fcrequest.OurRules(), slices.Sorted(maps.Keys(plStates))
	levels := make([]*seats.Level, len(names))
	for i, name := range names {
		s, demand := plStates[name], plStates[name].seatDemandIntegrator.Reset()
		level := &seats.Level{
			Limits:  seats.Limits{Nominal: s.nominalCL, Min: s.minCL, Max: s.maxCL},
			Exempt:  s.pl.Spec.Type == flowcontrol.PriorityLevelEnablementExempt,
			Average: s.seatDemandStats.avg, Deviation: s.seatDemandStats.stdDev, Smoothed: s.seatDemandStats.smoothed,
			Current: s.currentCL,
		}
		level.Observe(r, seats.DemandStatistics{Seconds: demand.Duration, Average: demand.Average, Deviation: demand.Deviation, Max: demand.Max})
		s.seatDemandStats = seatDemandStats{avg: level.Average, stdDev: level.Deviation, highWatermark: level.High, smoothed: level.Smoothed}
		levels[i] = level
	}
	seats.Adjust(r, levels)
	for i, name := range names {
		s := plStates[name]
		s.currentCL = levels[i].Current
		if setCompleters {
			completer, err := queueSetCompleterForPL(cfgCtlr.queueSetFactory, s.queues, s.pl, s.reqsGaugePair, s.execSeatsObs,
				metrics.NewUnionGauge(s.seatDemandIntegrator, s.seatDemandRatioedGauge))
			if err != nil {
				panic(err)
			}
			s.qsCompleter = completer
		}
		denominator := max(1, s.currentCL)
		s.seatDemandRatioedGauge.SetDenominator(float64(denominator))
		s.queues = s.qsCompleter.Complete(fq.DispatchingConfig{ConcurrencyLimit: s.currentCL, ConcurrencyDenominator: denominator})
	}
}

func matchesFlowSchema(digest RequestDigest, flowSchema *flowcontrol.FlowSchema) bool {
	text, err := json.Marshal(flowSchema.Spec)
	if err != nil {
		panic(err)
	}
	ours := config.FlowSchema{Name: flowSchema.Name}
	if err := json.Unmarshal(text, &ours.Spec); err != nil {
		panic(err)
	}
	a := ourAttributes(digest.RequestInfo)
	a.User, a.Groups = digest.User.GetName(), digest.User.GetGroups()
	rule, _ := classify.Matching(&ours, a)
	return rule >= 0
}

func matchesPolicyRule(digest RequestDigest, policyRule *flowcontrol.PolicyRulesWithSubjects) bool {
	return matchesFlowSchema(digest, &flowcontrol.FlowSchema{Spec: flowcontrol.FlowSchemaSpec{Rules: []flowcontrol.PolicyRulesWithSubjects{*policyRule}}})
}

func ourAttributes(info *request.RequestInfo) *classify.Attributes {
	return &classify.Attributes{Verb: info.Verb, APIGroup: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name, Path: info.Path}
}

type watchTrackerFields struct{ ours *estimate.Estimator }

// NewWatchTracker returns one that counts watches as core does.
func NewWatchTracker() WatchTracker {
	return &watchTracker{watchTrackerFields: watchTrackerFields{estimate.NewEstimator(fcrequest.OurRules(), nil)}}
}

func (w *watchTracker) ourRequest(info *request.RequestInfo, query string) *estimate.Request {
	w.lock.Lock()
	defer w.lock.Unlock()
	r, err := w.ours.NewRequest(ourAttributes(info), query)
	if err != nil {
		panic(err)
	}
	return r
}

func (w *watchTracker) RegisterWatch(r *http.Request) ForgetWatchFunc {
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || info.Verb != "watch" {
		return nil
	}
	watch := w.ourRequest(info, r.URL.RawQuery)
	watch.WatchStarts()
	return watch.WatchEnds
}

func (w *watchTracker) GetInterestedWatchCount(info *request.RequestInfo) int {
	n, _ := w.ourRequest(info, "").Watchers()
	return n
}

type droppedRequestsTrackerFields struct {
	ours map[string]*ourcontrol.RetryAfter
}

func newDroppedRequestsTracker(now func() time.Time) *droppedRequestsTracker {
	return &droppedRequestsTracker{now: now, droppedRequestsTrackerFields: droppedRequestsTrackerFields{map[string]*ourcontrol.RetryAfter{}}}
}

func (t *droppedRequestsTracker) RecordDroppedRequest(level string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.ours[level] == nil {
		t.ours[level] = ourcontrol.NewRetryAfter(fcrequest.OurRules())
	}
	t.ours[level].Drop(t.now().UnixNano())
}

func (t *droppedRequestsTracker) GetRetryAfter(level string) int64 {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.ours[level] == nil {
		return 1 // core has the trackers of the levels that there are
	}
	return int64(t.ours[level].Seconds())
}
