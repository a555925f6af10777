package request

import (
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"

	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// SeatsTimesDuration is core's.
func SeatsTimesDuration(seats float64, duration time.Duration) SeatSeconds {
	return SeatSeconds(estimate.SeatsTimesDuration(seats, int64(duration)))
}

// DurationPerSeat is core's.
func (ss SeatSeconds) DurationPerSeat(seats float64) time.Duration {
	return time.Duration(estimate.SeatSeconds(ss).DurationPerSeat(seats))
}

// MaxSeats is core's.
func (we *WorkEstimate) MaxSeats() int {
	return estimate.Work{InitialSeats: int(we.InitialSeats), FinalSeats: int(we.FinalSeats)}.MaxSeats()
}

// NewWorkEstimator estimates each request as at a server that has the given statistics and watches. A request without
// RequestInfo is estimated by upstream, as core has no such requests.
func NewWorkEstimator(objectCountFn statsGetterFunc, watchCountFn watchCountGetterFunc, config *WorkEstimatorConfig, maxSeatsFn maxSeatsFunc) WorkEstimatorFunc {
	upstream := upstreamNewWorkEstimator(objectCountFn, watchCountFn, config, maxSeatsFn)
	return func(r *http.Request, flowSchemaName, priorityLevelName string) WorkEstimate {
		info, ok := apirequest.RequestInfoFrom(r.Context())
		if !ok {
			return upstream(r, flowSchemaName, priorityLevelName)
		}
		store := estimate.Store{}
		if stats, err := objectCountFn(key(info)); err != ObjectCountNotFoundErr {
			known := ourStats(stats)
			known.Stale = err != nil
			store[estimate.Resource{Group: info.APIGroup, Name: info.Resource}] = known
		}
		e := estimate.NewEstimator(ourRules(config), store)
		watch, err := e.NewRequest(&classify.Attributes{Verb: "watch", APIGroup: info.APIGroup, Resource: info.Resource}, "")
		if err != nil {
			panic(err)
		}
		for range watchCountFn(info) {
			watch.WatchStarts()
		}
		ours, err := e.NewRequest(&classify.Attributes{Verb: info.Verb, APIGroup: info.APIGroup, Resource: info.Resource,
			Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name, Path: info.Path}, r.URL.RawQuery)
		if err != nil {
			panic(err)
		}
		work := ours.Estimate(int(maxSeatsFn(priorityLevelName)))
		return WorkEstimate{InitialSeats: uint64(work.InitialSeats), FinalSeats: uint64(work.FinalSeats),
			AdditionalLatency: time.Duration(work.AdditionalLatencyNs)}
	}
}

func (e *listWorkEstimator) seatsBasedOnObjectCount(stats storage.Stats, o metav1.ListOptions, isListFromCache, matchesSingle bool) uint64 {
	return e.ourSeats(stats, o, isListFromCache, matchesSingle, false)
}

func (e *listWorkEstimator) seatsBasedOnObjectSize(stats storage.Stats, o metav1.ListOptions, isListFromCache, matchesSingle bool) uint64 {
	return e.ourSeats(stats, o, isListFromCache, matchesSingle, true)
}

// ourSeats returns the seats of a list, without bounds, that the cache serves or not as the test says.
func (e *listWorkEstimator) ourSeats(stats storage.Stats, o metav1.ListOptions, isListFromCache, matchesSingle, bySize bool) uint64 {
	r := ourRules(e.config)
	if err := r.SetGate("SizeBasedListCostEstimate", bySize); err != nil {
		panic(err)
	}
	r.MinSeats, r.MaxListSeats = 0, math.MaxInt32
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("limit", strconv.FormatInt(o.Limit, 10))
	set("labelSelector", o.LabelSelector)
	set("fieldSelector", o.FieldSelector)
	if isListFromCache {
		set("resourceVersion", "0")
	} else {
		set("continue", "token")
	}
	a := &classify.Attributes{Verb: "list", Resource: "pods"}
	if matchesSingle {
		a.Name = "one"
	}
	list, err := estimate.NewEstimator(r, estimate.Store{{Name: "pods"}: ourStats(stats)}).NewRequest(a, query.Encode())
	if err != nil {
		panic(err)
	}
	return uint64(list.Estimate(0).InitialSeats)
}

func ourStats(s storage.Stats) estimate.Stats {
	return estimate.Stats{Objects: s.ObjectCount, AverageBytes: s.EstimatedAverageObjectSizeBytes}
}

// OurRules are those of the release that APFSIM_RULES names.
func OurRules() *rules.Rules {
	r, err := rules.For(os.Getenv("APFSIM_RULES"))
	if err != nil {
		panic(err)
	}
	return r
}

// ourRules are the rules of the release with the numbers of a test, and at the etcd of the tests, which says that it
// cannot report the progress of watches. Core takes it that etcd can.
func ourRules(c *WorkEstimatorConfig) *rules.Rules {
	r := *OurRules()
	r.CacheUnversioned = etcdfeature.DefaultFeatureSupportChecker.Supports(storage.RequestWatchProgress)
	r.MinSeats, r.MaxListSeats, r.MaxMutatingSeats = int(c.MinimumSeats), int(c.MaximumListSeatsLimit), int(c.MaximumMutatingSeatsLimit)
	r.ObjectsPerSeat, r.WatchersPerSeat = int64(c.ObjectsPerSeat), int(c.WatchesPerSeat)
	r.EventNs = int64(c.eventAdditionalDuration())
	return &r
}
