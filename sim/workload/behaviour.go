package workload

import (
	"apfsim/sim/quantity"
)

// Behaviour is what the clients of a workload do. Exactly one field is given.
type Behaviour struct {
	Informer       *Informer       `json:"informer,omitempty" jsonschema_description:"Keeps a copy of some objects by list and watch, as a reflector of client-go."`
	Controller     *Controller     `json:"controller,omitempty" jsonschema_description:"Watches objects and reconciles each that changes, by a work queue."`
	LeaderElection *LeaderElection `json:"leaderElection,omitempty" jsonschema_description:"Candidates compete for a lease, as those of client-go."`
	Kubelet        *Kubelet        `json:"kubelet,omitempty" jsonschema_description:"A node: its lease, its status, its pods and its watches."`
	Writer         *Writer         `json:"writer,omitempty" jsonschema_description:"Changes objects again and again."`
	EventRecorder  *EventRecorder  `json:"eventRecorder,omitempty" jsonschema_description:"Records events, as that of client-go."`
	Lister         *Lister         `json:"lister,omitempty" jsonschema_description:"Lists objects again and again, page by page."`
	Kubectl        *Kubectl        `json:"kubectl,omitempty" jsonschema_description:"Runs a command of kubectl again and again."`
}

// Selection is which objects are listed and watched.
type Selection struct {
	Group         string `json:"group,omitempty" also:"apiGroup" jsonschema_description:"API group; empty for the core group."`
	Resource      string `json:"resource" also:"kind" document:"required"`
	Namespace     string `json:"namespace,omitempty" also:"ns" jsonschema_description:"Empty for all."`
	LabelSelector string `json:"labelSelector,omitempty"`
	FieldSelector string `json:"fieldSelector,omitempty"`
	Matches       *int64 `json:"matches,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many of the objects that are only counted in spec.resources match the selectors and the namespace; without selectors and namespace all do, otherwise none."`
}

// The ways in which an informer gets its first objects.
const (
	List      = "List"
	WatchList = "WatchList"
)

// Informer keeps a copy of some objects (k8s.io/client-go, tools/cache/reflector.go).
type Informer struct {
	Selection
	Start     string                `json:"start,omitempty" jsonschema:"enum=List,enum=WatchList,default=WatchList" jsonschema_description:"List: a list and then a watch. WatchList: a watch that begins with the objects, as client-go does since 1.35."`
	Bookmarks bool                  `json:"bookmarks,omitempty" jsonschema:"default=true" jsonschema_description:"Whether the watches ask for bookmarks."`
	Limit     int64                 `json:"limit,omitempty" jsonschema:"default=500,minimum=0" jsonschema_description:"Page size of lists."`
	Backoff   string                `json:"backoff,omitempty" jsonschema:"enum=SinceReset,enum=SinceLastUse,default=SinceReset" jsonschema_description:"When the back-off starts over: SinceReset, 2m after it last started over, as client-go since 1.36; SinceLastUse, 2m after its last use, as before."`
	PerEvent  quantity.Distribution `json:"perEvent,omitempty" jsonschema_description:"How long the client takes to read one event; without it, no time."`
}

// The values of Informer.Backoff.
const (
	SinceReset   = "SinceReset"
	SinceLastUse = "SinceLastUse"
)

// Step is a request of a reconciliation. Without a name it is for the object that is reconciled.
type Step struct {
	Verb        string `json:"verb" document:"required" jsonschema:"enum=get,enum=list,enum=create,enum=update,enum=patch,enum=delete"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource" document:"required"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty" jsonschema_description:"Without it that of the object that is reconciled."`
	Name        string `json:"name,omitempty" jsonschema_description:"Without it that of the object that is reconciled."`
}

// Queue is a work queue's limiter of failures (k8s.io/client-go, util/workqueue): an item that has failed n
// times waits for the larger of base·2^n, at most max, and of what a token bucket that all items share says.
type Queue struct {
	Base  quantity.Duration `json:"base,omitempty" jsonschema:"default=5ms"`
	Max   quantity.Duration `json:"max,omitempty" jsonschema:"default=1000s"`
	QPS   float64           `json:"qps,omitempty" jsonschema:"default=10,minimum=0" document:"maximum=1e9" message:"{value}: want {want}; 0 for no bucket" jsonschema_description:"0 for no bucket, as controller-runtime."`
	Burst int               `json:"burst,omitempty" jsonschema:"default=100,minimum=0"`
}

// Controller watches objects and reconciles each that changes.
type Controller struct {
	Watches    string                `json:"watches" document:"required" jsonschema_description:"The resource, such as pods or deployments.apps."`
	Start      string                `json:"start,omitempty" jsonschema:"enum=List,enum=WatchList,default=WatchList" jsonschema_description:"Of its informer."`
	Workers    int                   `json:"workers,omitempty" jsonschema:"default=1,minimum=1,maximum=10000"`
	Reconcile  []Step                `json:"reconcile,omitempty" jsonschema_description:"The requests of a reconciliation, one after another. An update carries the version of what was read before: by a step get, or from the informer."`
	Work       quantity.Distribution `json:"work,omitempty" jsonschema_description:"How long a worker computes, before the first request."`
	Queue      *Queue                `json:"queue,omitempty" jsonschema:"default=Default" jsonschema_description:"Default, or its parameters."`
	MaxRetries int                   `json:"maxRetries,omitempty" jsonschema:"minimum=0" message:"{value}: want {want}; 0 for no limit" jsonschema_description:"Failures after which an item is dropped; 0 for never."`
	QPS        float64               `json:"qps,omitempty" jsonschema:"default=20" document:"maximum=1e9" message:"{value}: want {want}, or less than 0 for no limit" jsonschema_description:"Of the client's rate limiter; negative for none."`
	Burst      int                   `json:"burst,omitempty" jsonschema:"default=30"`
}

// LeaderElection lets candidates compete for a lease (k8s.io/client-go, tools/leaderelection).
type LeaderElection struct {
	Lease         string            `json:"lease" document:"required" jsonschema_description:"Namespace and name, such as kube-system/scheduler; {i} is replaced by the client's index."`
	Candidates    int               `json:"candidates,omitempty" jsonschema:"default=2,minimum=1,maximum=1000"`
	LeaseDuration quantity.Duration `json:"leaseDuration,omitempty" jsonschema:"default=15s"`
	RenewDeadline quantity.Duration `json:"renewDeadline,omitempty" jsonschema:"default=10s"`
	RetryPeriod   quantity.Duration `json:"retryPeriod,omitempty" jsonschema:"default=2s,exclusiveMinimum=0s"`
	Restart       quantity.Duration `json:"restart,omitempty" jsonschema:"default=10s" jsonschema_description:"From the loss of the lease, which ends the process of the leader, until it is a candidate again."`
}

// Kubelet is a node.
type Kubelet struct {
	Pods     int               `json:"pods,omitempty" jsonschema:"default=30,minimum=0,maximum=1000"`
	Churn    quantity.Rate     `json:"churn,omitempty" jsonschema_description:"Pods of the node that end, and are replaced, in a second."`
	Secrets  int               `json:"secrets,omitempty" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"Secrets and configmaps of its pods; it watches each one by its name."`
	Start    string            `json:"start,omitempty" jsonschema:"enum=List,enum=WatchList,default=WatchList" jsonschema_description:"Of its informers."`
	NotReady quantity.Duration `json:"notReadyAfter,omitempty" jsonschema:"default=50s,exclusiveMinimum=0s" jsonschema_description:"How long without its lease and its status until the node is not ready; 40s before 1.32."`
}

// The ways in which a writer writes.
const (
	Put   = "Put"
	Patch = "Patch"
	Apply = "Apply"
)

// Conflict is how often a write is tried again after a conflict (k8s.io/client-go, util/retry): after
// duration·factor^n, and up to 1 + jitter times as long by chance.
type Conflict struct {
	Steps    int               `json:"steps,omitempty" jsonschema:"default=5,minimum=1,maximum=1000000" jsonschema_description:"Tries, the first included."`
	Duration quantity.Duration `json:"duration,omitempty" jsonschema:"default=10ms"`
	Factor   float64           `json:"factor,omitempty" jsonschema:"default=1,minimum=0" document:"maximum=1000"`
	Jitter   float64           `json:"jitter,omitempty" jsonschema:"default=0.1,minimum=0" document:"maximum=1000"`
}

// Writer changes objects again and again.
type Writer struct {
	Group           string                `json:"group,omitempty"`
	Resource        string                `json:"resource" document:"required"`
	Subresource     string                `json:"subresource,omitempty"`
	Namespace       string                `json:"namespace,omitempty"`
	Objects         int                   `json:"objects,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=10000000" jsonschema_description:"How many objects all clients of the workload write, named NAME-0, NAME-1 and so on by the workload; each write is for one of them by chance."`
	With            string                `json:"with,omitempty" jsonschema:"enum=Put,enum=Patch,enum=Apply,default=Put" jsonschema_description:"Put: get, then update. Patch: a merge patch of one field. Apply: server-side apply of a field that the client owns."`
	Version         bool                  `json:"version,omitempty" jsonschema:"default=true" jsonschema_description:"Of Put: whether the update carries the version that was read; without it, it overwrites what others have written in between."`
	Force           bool                  `json:"force,omitempty" jsonschema_description:"Of Apply: takes fields away from other owners."`
	Field           string                `json:"field,omitempty" jsonschema_description:"The field that is written; {i} is replaced by the client's index. Without it f{i}, a field of its own for each client."`
	RetryOnConflict *Conflict             `json:"retryOnConflict,omitempty" jsonschema:"default=None" jsonschema_description:"None, Default (5 tries, 10ms apart), Backoff (4 tries, 10ms, 50ms and 250ms apart), or the parameters."`
	Every           quantity.Distribution `json:"every" document:"required" jsonschema_description:"From the beginning of a write to that of the next, or until the one before has ended."`
}

// EventRecorder records events of objects (k8s.io/client-go, tools/record).
type EventRecorder struct {
	Rate    quantity.Rate `json:"rate" document:"required" jsonschema:"exclusiveMinimum=0/s" jsonschema_description:"Events that the component has, a second, by a Poisson process."`
	Objects int           `json:"objects,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=1000000" jsonschema_description:"How many objects they are about, evenly by chance."`
	Reasons int           `json:"reasons,omitempty" jsonschema:"default=1,minimum=1" document:"maximum=1000000" jsonschema_description:"How many different messages there are for one object, evenly by chance."`
	QPS     float64       `json:"qps,omitempty" jsonschema:"default=5" document:"maximum=1e9" message:"{value}: want {want}, or less than 0 for no limit" jsonschema_description:"Of the client's rate limiter; negative for none."`
	Burst   int           `json:"burst,omitempty" jsonschema:"default=10"`
}

// Lister lists objects again and again.
type Lister struct {
	Selection
	Limit           int64                 `json:"limit,omitempty" jsonschema:"default=500,minimum=0" jsonschema_description:"Page size; 0 for the whole list at once."`
	ResourceVersion string                `json:"resourceVersion,omitempty" jsonschema_description:"Of the first page: empty for the latest, 0 for any."`
	Every           quantity.Distribution `json:"every" document:"required" jsonschema_description:"From the beginning of a list to that of the next, or until the one before has ended."`
}

// The commands of kubectl.
const (
	Get         = "get"
	ApplyClient = "apply"
	ApplyServer = "apply --server-side"
	Delete      = "delete"
)

// Kubectl runs a command of kubectl again and again.
type Kubectl struct {
	Command   string                `json:"command" document:"required" jsonschema:"enum=get,enum=apply,enum=apply --server-side,enum=delete" jsonschema_description:"get lists in chunks of 500; apply reads and patches, up to 5 times; apply --server-side sends one apply."`
	Group     string                `json:"group,omitempty"`
	Resource  string                `json:"resource" document:"required"`
	Namespace string                `json:"namespace,omitempty"`
	Name      string                `json:"name,omitempty" jsonschema_description:"Of the object; {i} is replaced by the client's index."`
	Every     quantity.Distribution `json:"every" document:"required" jsonschema_description:"From the end of a command to the beginning of the next."`
}
