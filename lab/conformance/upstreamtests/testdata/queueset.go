package queueset

import (
	"context"
	"math"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/debug"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fqrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/apiserver/pkg/util/shufflesharding"

	"apfsim/core/estimate"
	ourset "apfsim/core/queueset"
)

type queueSetFields struct {
	ours     *ourset.QueueSet
	requests []*request // that wait or execute, in the order of their arrival
	late     []*request // see settle
	epochs   ourset.Epochs
	demand   float64 // in seats
}

type requestFields struct {
	ours    ourset.Request
	inQueue bool // counted as waiting
}

// ourNowNs returns the time since the queue set was made, when upstream set lastRealTime.
func (qs *queueSet) ourNowNs() int64 { return int64(qs.clock.Now().Sub(qs.lastRealTime)) }

func (qs *queueSet) setConfiguration(_ context.Context, qCfg fq.QueuingConfig, _ *shufflesharding.Dealer, dCfg fq.DispatchingConfig) {
	qs.lock.Lock()
	defer qs.lock.Unlock()
	config, slots := ourset.Config{}, max(1, qs.qCfg.QueueLengthLimit)
	switch {
	case qCfg.DesiredNumQueues > 0:
		config = ourset.Config{Queues: qCfg.DesiredNumQueues, HandSize: qCfg.HandSize, QueueLengthLimit: qCfg.QueueLengthLimit}
		slots = max(1, qCfg.QueueLengthLimit) * qCfg.DesiredNumQueues
	case qCfg.DesiredNumQueues < 0:
		config.Queues = ourset.Unlimited
	}
	qs.qCfg, qs.dCfg = qCfg, dCfg
	qs.reqsGaugePair.RequestsWaiting.SetDenominator(float64(slots))
	qs.reqsGaugePair.RequestsExecuting.SetDenominator(float64(dCfg.ConcurrencyDenominator))
	qs.execSeatsGauge.SetDenominator(float64(dCfg.ConcurrencyDenominator))
	if qs.ours == nil {
		qs.ours = ourset.New(qs.ourNowNs(), fqrequest.OurRules(), config, dCfg.ConcurrencyLimit, (*ourHost)(qs))
	} else {
		qs.ours.Configure(qs.ourNowNs(), config, dCfg.ConcurrencyLimit)
	}
	qs.ourSettle()
}

func (qs *queueSet) StartRequest(ctx context.Context, workEstimate *fqrequest.WorkEstimate, hashValue uint64, flowDistinguisher, fsName string, descr1, descr2 interface{}, queueNoteFn fq.QueueNoteFn) (fq.Request, bool) {
	qs.lock.Lock()
	defer qs.lock.Unlock()
	req := &request{
		qs: qs, ctx: ctx, fsName: fsName, flowDistinguisher: flowDistinguisher, descr1: descr1, descr2: descr2, queueNoteFn: queueNoteFn,
		arrivalTime:  qs.clock.Now(),
		workEstimate: completedWorkEstimate{WorkEstimate: *workEstimate},
	}
	req.ours = ourset.Request{Work: ourWork(workEstimate), Owner: req}
	if qs.qCfg.DesiredNumQueues > 0 {
		req.decision = qs.promiseFactory(nil, ctx, decisionCancel)
	}
	hand := qs.ours.Hand(hashValue)
	if rejection := qs.ours.Arrive(qs.ourNowNs(), &req.ours, &hand); rejection != ourset.NotRejected {
		req.ourReject(rejection)
		qs.ourSettle()
		return nil, qs.isIdleLocked()
	}
	qs.requests = append(qs.requests, req)
	if req.ours.Waiting() {
		req.ourNoteInQueue(true)
	}
	qs.ourSettle()
	return req, false
}

func (req *request) wait() (execute, idle bool) {
	qs, decision := req.qs, req.decision.Get()
	qs.lock.Lock()
	defer qs.lock.Unlock()
	if decision == decisionExecute {
		return true, false
	}
	if req.ours.Waiting() {
		qs.ours.Cancel(qs.ourNowNs(), &req.ours)
		req.ourNoteInQueue(false)
		req.ourReject(ourset.TimedOut)
		qs.ourForget(req)
		qs.ourSettle()
	}
	return false, qs.isIdleLocked()
}

func (qs *queueSet) finishRequestAndDispatchAsMuchAsPossible(req *request) bool {
	qs.lock.Lock()
	defer qs.lock.Unlock()
	additional := qs.ours.Finish(qs.ourNowNs(), &req.ours)
	req.ourNoteExecuting(-1)
	qs.ourForget(req)
	if additional > 0 {
		qs.clock.EventAfterDuration(func(time.Time) {
			qs.lock.Lock()
			defer qs.lock.Unlock()
			qs.ours.Release(qs.ourNowNs(), &req.ours)
			req.ourNoteSeats(-1)
			qs.ourSettle()
		}, time.Duration(additional))
	} else {
		req.ourNoteSeats(-1)
	}
	qs.ourSettle()
	return qs.isIdleLocked()
}

func (qs *queueSet) isIdleLocked() bool { return qs.ours.Idle() }

// completeWorkEstimate lets a queue charge for the work.
func (qs *queueSet) completeWorkEstimate(we *fqrequest.WorkEstimate) completedWorkEstimate {
	r := *fqrequest.OurRules()
	r.ServiceGuessNs = int64(qs.estimatedServiceDuration)
	ours := ourset.New(0, &r, ourset.Config{Queues: 1, HandSize: 1, QueueLengthLimit: 1}, 0, nil)
	hand := ours.Hand(0)
	ours.Arrive(0, &ourset.Request{Work: ourWork(we)}, &hand)
	return completedWorkEstimate{WorkEstimate: *we, totalWork: fqrequest.SeatSeconds(ours.Queue(0).TotalWorkSum)}
}

// findDispatchQueueToBoundLocked brings about the state that the test has put together, all at one time: a request that
// has executed leaves each queue with its virtual start, and one of them is left with the seats in use.
func (qs *queueSet) findDispatchQueueToBoundLocked() (*queue, *request) {
	n, inUse, config := len(qs.queues), qs.totSeatsInUse, ourset.Config{Queues: len(qs.queues), HandSize: 1, QueueLengthLimit: math.MaxInt}
	var host firstDispatched
	ours := ourset.New(0, fqrequest.OurRules(), config, math.MaxInt32, &host)
	arrive := func(queue int, r *ourset.Request) {
		hand := ours.Hand(uint64(queue))
		ours.Arrive(0, r, &hand)
	}
	past := make([]ourset.Request, n)
	for k := range n {
		i := (qs.robinIndex + 1 + k) % n // the last of them is the latest one that was dispatched
		past[i].Work = estimate.Work{InitialSeats: 1, FinalSeats: 1, AdditionalLatencyNs: int64(qs.queues[i].nextDispatchR.DurationPerSeat(1))}
		if i == 0 {
			past[i].Work.InitialSeats = max(1, inUse)
		}
		arrive(i, &past[i])
	}
	host.first = nil
	ours.Configure(0, config, 0)
	for i, q := range qs.queues {
		q.requestsWaiting.Walk(func(req *request) bool {
			req.ours = ourset.Request{Work: ourWork(&req.workEstimate.WorkEstimate), Owner: req}
			arrive(i, &req.ours)
			return true
		})
		if ours.Finish(0, &past[i]); i > 0 || inUse == 0 {
			ours.Release(0, &past[i])
		}
	}
	ours.Configure(0, config, qs.dCfg.ConcurrencyLimit)
	if host.first == nil {
		qs.robinIndex = (qs.robinIndex + n) % n // upstream has been at all queues
		return nil, nil
	}
	req := host.first.Owner.(*request)
	qs.robinIndex = host.first.Queue()
	req.removeFromQueueLocked()
	return qs.queues[qs.robinIndex], req
}

func (qs *queueSet) Dump(includeRequestDetails bool) debug.QueueSetDump {
	qs.lock.Lock()
	defer qs.lock.Unlock()
	d := debug.QueueSetDump{
		Queues:  make([]debug.QueueDump, qs.ours.Len()),
		Waiting: qs.ours.Waiting(), Executing: qs.ours.Executing(), SeatsInUse: qs.ours.SeatsInUse(), SeatsWaiting: qs.ours.SeatsWaiting(),
		Dispatched: qs.totRequestsDispatched, Rejected: qs.totRequestsRejected, Timedout: qs.totRequestsTimedout, Cancelled: qs.totRequestsCancelled,
	}
	for i := range d.Queues {
		q := qs.ours.Queue(i)
		d.Queues[i] = debug.QueueDump{
			NextDispatchR: fqrequest.SeatSeconds(q.NextDispatchR).String(), ExecutingRequests: q.ExecutingRequests, SeatsInUse: q.SeatsInUse,
			QueueSum: debug.QueueSum{InitialSeatsSum: q.InitialSeatsSum, MaxSeatsSum: q.MaxSeatsSum, TotalWorkSum: fqrequest.SeatSeconds(q.TotalWorkSum).String()},
		}
	}
	for _, req := range qs.requests {
		to := &d.QueuelessExecutingRequests
		if i := req.ours.Queue(); i >= 0 {
			to = &d.Queues[i].RequestsExecuting
			if req.ours.Waiting() {
				to = &d.Queues[i].Requests
			}
		}
		*to = append(*to, dumpRequest(includeRequestDetails)(req))
	}
	return d
}

// ourSettle is to be called after core; it makes known what has changed. A request whose context has ended may have been
// dispatched, because upstream's promise knows of that before core: it ends at once.
func (qs *queueSet) ourSettle() {
	for len(qs.late) > 0 {
		req := qs.late[0]
		qs.late = qs.late[1:]
		if qs.ours.Finish(qs.ourNowNs(), &req.ours) > 0 {
			qs.ours.Release(qs.ourNowNs(), &req.ours)
		}
		req.ourNoteExecuting(-1)
		req.ourNoteSeats(-1)
		req.ourReject(ourset.TimedOut)
		qs.ourForget(req)
	}
	qs.totRequestsExecuting = qs.ours.Executing()
	qs.ours.TakeDemand(qs.ourNowNs())
	if demand := qs.ours.TakeDemand(qs.ourNowNs()).Max; demand != qs.demand { // the greatest of a period that begins now
		qs.demand = demand
		qs.seatDemandIntegrator.Set(demand)
	}
	metrics.SetCurrentR(qs.qCfg.Name, ourFloat(qs.ours.R()))
	for ; qs.epochs.Succeeded < qs.ours.Epochs().Succeeded; qs.epochs.Succeeded++ {
		metrics.AddEpochAdvance(context.Background(), qs.qCfg.Name, true)
	}
	for ; qs.epochs.Failed < qs.ours.Epochs().Failed; qs.epochs.Failed++ {
		metrics.AddEpochAdvance(context.Background(), qs.qCfg.Name, false)
	}
}

func (qs *queueSet) ourForget(req *request) {
	i := slices.Index(qs.requests, req)
	qs.requests = slices.Delete(qs.requests, i, i+1)
}

func (req *request) ourReject(why ourset.Rejection) {
	req.qs.totRequestsRejected++
	metrics.AddReject(req.ctx, req.qs.qCfg.Name, req.fsName, why.String())
}

func (req *request) ourNoteInQueue(in bool) {
	n := -1
	if in {
		n = 1
	}
	req.inQueue = in
	metrics.AddRequestsInQueues(req.ctx, req.qs.qCfg.Name, req.fsName, n)
	metrics.AddSeatsInQueues(req.ctx, req.qs.qCfg.Name, req.fsName, n*req.ours.Seats())
	req.qs.reqsGaugePair.RequestsWaiting.Add(float64(n))
	req.NoteQueued(in)
}

func (req *request) ourNoteExecuting(n int) {
	metrics.AddRequestsExecuting(req.ctx, req.qs.qCfg.Name, req.fsName, n)
	req.qs.reqsGaugePair.RequestsExecuting.Add(float64(n))
}

func (req *request) ourNoteSeats(n int) {
	metrics.AddSeatConcurrencyInUse(req.qs.qCfg.Name, req.fsName, n*req.ours.Seats())
	req.qs.execSeatsGauge.Add(float64(n * req.ours.Seats()))
}

type ourHost queueSet

func (h *ourHost) Dispatched(r *ourset.Request) {
	qs, req := (*queueSet)(h), r.Owner.(*request)
	if r.Queue() >= 0 {
		if !req.inQueue { // core has seated it without a queue
			req.ourNoteInQueue(true)
		}
		req.ourNoteInQueue(false)
		s := qs.ours.Starts(r)
		metrics.SetDispatchMetrics(qs.qCfg.Name, ourFloat(qs.ours.R()), ourFloat(s.Chosen), ourFloat(s.Min), ourFloat(s.Max),
			ourFloat(s.DiscountedMin), ourFloat(s.DiscountedMax))
	}
	req.startTime = qs.clock.Now()
	req.ourNoteExecuting(+1)
	req.ourNoteSeats(+1)
	if req.decision == nil {
		req.decision = qs.promiseFactory(decisionExecute, req.ctx, decisionCancel)
	} else if !req.decision.Set(decisionExecute) {
		qs.late = append(qs.late, req)
	}
}

func (h *ourHost) HeldBack(r *ourset.Request) {
	metrics.AddDispatchWithNoAccommodation(h.qCfg.Name, r.Owner.(*request).fsName)
}

// TimedOut is not called under the rules of the release.
func (h *ourHost) TimedOut(_ int64, r *ourset.Request) { panic("a request is overdue") }

type firstDispatched struct{ first *ourset.Request }

func (h *firstDispatched) Dispatched(r *ourset.Request) {
	if h.first == nil {
		h.first = r
	}
}
func (h *firstDispatched) HeldBack(*ourset.Request)        {}
func (h *firstDispatched) TimedOut(int64, *ourset.Request) {}

func ourWork(we *fqrequest.WorkEstimate) estimate.Work {
	return estimate.Work{InitialSeats: int(we.InitialSeats), FinalSeats: int(we.FinalSeats), AdditionalLatencyNs: int64(we.AdditionalLatency)}
}

func ourFloat(s estimate.SeatSeconds) float64 { return fqrequest.SeatSeconds(s).ToFloat() }
