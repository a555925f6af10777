package rules

// Objects says which objects that configure flow control the servers of a release support, and
// which of them they create. It changes no decision about a request by itself: the decisions follow
// from the objects.
type Objects struct {
	OldestAPI, NewestAPI APIVersion // the versions that a server serves, and all between them; v1alpha1 has to be enabled
	Suggested            Suggested
	// Maintained says that a server keeps the specs of its suggested objects as the annotation
	// apf.kubernetes.io/autoupdate-spec says. Otherwise it creates them once and never changes them.
	Maintained bool
	ZeroShares ZeroShares
	PassOrder  PassOrder
}

// APIVersion is a version of the API group flowcontrol.apiserver.k8s.io. Each replaced the former.
type APIVersion uint8

// The versions.
const (
	V1alpha1 APIVersion = iota
	V1beta1
	V1beta2
	V1beta3
	V1
)

// String returns the name of the version without the group.
func (v APIVersion) String() string {
	return [...]string{"v1alpha1", "v1beta1", "v1beta2", "v1beta3", "v1"}[v]
}

// Served returns the first release that serves the version, and the first one after it that does
// not, or "" if the newest release serves it (k8s.io/api/flowcontrol, APILifecycleIntroduced and
// APILifecycleRemoved).
func (v APIVersion) Served() (from, removedIn string) {
	from = Since(func(r *Rules) bool { return r.Objects.Serves(v) })
	return from, Since(func(r *Rules) bool { return r.Objects.OldestAPI > v })
}

// Serves reports whether a server of the release serves the version.
func (o Objects) Serves(v APIVersion) bool { return o.OldestAPI <= v && v <= o.NewestAPI }

// Suggested is the set of objects that a server creates in a new cluster, named after what it has
// that the set before it has not (k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap).
type Suggested uint8

// The sets, of which each replaced the former.
const (
	FirstSuggested    Suggested = iota // global-default is for service accounts only
	GlobalDefaultOpen                  // global-default is for all users
	WorkloadLowLarge                   // workload-low has 100 shares, global-default 20 and catch-all 5
	NodeHigh                           // the level node-high for the heartbeats of nodes
	ElectionsByLeases                  // system-leader-election is for leases only, and endpoint-controller is there
	LendableLevels                     // levels lend seats
	NoOldElections                     // workload-leader-election and endpoint-controller are gone
)

// ZeroShares selects how a server treats a Limited level with 0 shares.
type ZeroShares uint8

// The ways.
const (
	ZeroSharesDefault ZeroShares = iota // the default, 30, in their place
	ZeroSharesRefused                   // v1 can express them, but a server refuses them
	ZeroSharesKept
)

// PassOrder is the order in which a server writes the objects that it maintains. The unwanted
// FlowSchemas are always removed before the unwanted levels.
type PassOrder uint8

// The orders.
const (
	SchemasFirst          PassOrder = iota // suggested and mandatory FlowSchemas before levels
	MandatorySchemasFirst                  // suggested levels before FlowSchemas
	LevelsFirst                            // suggested and mandatory levels before FlowSchemas
)
