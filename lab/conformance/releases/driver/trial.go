package driver

import "time"

// trial is the input, as apfsim marshals its trial.Trial. Times are in nanoseconds since the start.
type trial struct {
	Name                        string
	MaxRequestsInflight         int
	MaxMutatingRequestsInflight int
	RequestTimeoutNs            int64
	Objects                     objects
	Resources                   []resource
	Requests                    []record
	HangUps                     []hangUp
	Changes                     []change
	SamplesNs                   []int64
}

func (t *trial) timeout() time.Duration { return time.Duration(t.RequestTimeoutNs) }

// waitLimit returns the wait limit that kube-apiserver derives from its time-out.
func (t *trial) waitLimit() time.Duration { return t.timeout() / 4 }

type resource struct {
	Group, Resource       string
	Objects, AverageBytes int64
}

func (r *resource) name() string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// record is a request of a trace.
type record struct {
	ID, ArrivalNs                         int64
	User                                  string
	Groups                                []string
	Verb, APIGroup, Resource, Subresource string
	Namespace, Name, Path, Query          string
	ExecutionNs, WatchNs                  int64
}

type hangUp struct {
	ID      int64
	AfterNs int64
}

type change struct {
	AtNs    int64
	Objects objects
}

// result is the output, as apfsim unmarshals its trial.Result.
type result struct {
	Decisions  []decision
	Rejections map[string]int
}

type decision struct {
	FlowSchema, PriorityLevel string
	Rejected                  bool
	DispatchNs, EndNs         int64
	Seats, FinalSeats         int
	AdditionalNs              int64
	RetryAfterSeconds         int
}
