package workload

import (
	"math"

	"apfsim/document"
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/server"
)

// Retry says what a client does after a request that has failed: it was rejected, or there was no response.
// The zero value gives up at once. Without Backoff the client does as client-go: it waits exactly as long as
// the answer's Retry-After says, and gives up if there is none (such as on a 504); after a connection that
// broke it sends what only reads again a second later; and a connection that cannot be opened is an error.
// With Backoff, it sends a request again after any failure.
type Retry struct {
	MaxRetries int      `json:"maxRetries,omitempty" jsonschema:"default=10,minimum=0,maximum=1000000" jsonschema_description:"How often a request is sent again."`
	Backoff    *Backoff `json:"backoff,omitempty"`
}

// UnmarshalDocument implements document.Unmarshaler.
func (r *Retry) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	names := []string{"None", "ClientGo"}
	switch {
	case n.Kind == document.Object:
		type plain Retry
		d.Decode(n, path, (*plain)(r))
	case n.Kind != document.String:
		d.Fail(n, path, "is %v; want None, ClientGo or an object with maxRetries and backoff", n.Kind)
	case n.Text == "None":
		*r = Retry{}
	case n.Text == "ClientGo":
		*r = clientGo()
	default:
		d.Fail(n, path, "%q: want None, ClientGo or an object with maxRetries and backoff%s",
			document.Abridge(n.Text), document.Suggest(n.Text, names))
	}
}

// clientGo returns what client-go does.
func clientGo() (r Retry) {
	document.SetDefaults(&r)
	return r
}

// Backoff is how long a client waits before retry n = 0, 1, ..., in place of Retry-After:
//
//	min(initial·factor^n, max)·(1 + jitter·U), U uniform from 0 to 1
//
// (k8s.io/apimachinery/pkg/util/wait.Backoff). A Max of 0 is no bound.
type Backoff struct {
	Initial quantity.Duration `json:"initial" document:"required" jsonschema:"exclusiveMinimum=0s" jsonschema_description:"The wait before the first retry."`
	Factor  float64           `json:"factor,omitempty" jsonschema:"default=2,minimum=1" document:"maximum=1000" jsonschema_description:"What each further wait is multiplied by."`
	Max     quantity.Duration `json:"max,omitempty" jsonschema_description:"The longest wait, before jitter; 0 for no bound."`
	Jitter  float64           `json:"jitter,omitempty" jsonschema:"minimum=0" document:"maximum=1000" jsonschema_description:"A wait is drawn from itself to itself times 1 + jitter."`
}

func (c *checker) retry(path string, r *Retry) {
	if b := r.Backoff; b != nil && b.Max != 0 && b.Max < b.Initial {
		c.Fail(path+".backoff.max", "%v: want at least initial, %v", b.Max, b.Initial)
	}
}

// retry sends a request again that has failed, if again does, and returns whether it does.
func (cl *sender) retry(nowNs int64, r *server.Request, response server.Response) bool {
	request, _ := cl.again(nowNs, r, response)
	return request != nil
}

// again returns the request that is sent instead of one that has failed, and the event of sending it,
// unless that was the last attempt or the client gives up.
func (cl *sender) again(nowNs int64, r *server.Request, response server.Response) (*server.Request, clock.Handle) {
	waitNs, again := cl.retryAfter(r, response)
	if !again {
		return nil, 0
	}
	return cl.resend(nowNs+waitNs, r)
}

// retryAfter returns after which time a request that has failed is sent again, if it is.
func (cl *sender) retryAfter(r *server.Request, response server.Response) (waitNs int64, again bool) {
	if int(r.Attempt) > cl.Retry.MaxRetries || ended(r, response) {
		return 0, false
	}
	if cl.Retry.Backoff != nil {
		return cl.backOff(r), true
	}
	return cl.clientGo(r, response)
}

// clientGo returns whether client-go sends a request again, and after which time: after Retry-After, if
// the response has it, and after 1 s if the connection broke and the request only reads. A connection that
// cannot be opened is an error to the caller (k8s.io/client-go, rest/request.go and rest/with_retry.go).
func (cl *sender) clientGo(r *server.Request, response server.Response) (waitNs int64, again bool) {
	switch {
	case response.Failure == server.BrokenConnection:
		switch r.Attributes.Verb {
		case "get", "list", "watch":
			return second, true
		}
	case response.RetryAfterSeconds > 0:
		return int64(response.RetryAfterSeconds) * second, true
	}
	return 0, false
}

// backOff returns how long the client's own back-off waits after an attempt.
func (cl *sender) backOff(r *server.Request) (waitNs int64) {
	b := cl.Retry.Backoff
	wait := float64(b.Initial) * math.Pow(b.Factor, float64(r.Attempt-1))
	if b.Max > 0 {
		wait = min(wait, float64(b.Max))
	}
	if b.Jitter > 0 {
		wait *= 1 + b.Jitter*cl.backoff.Float64()
	}
	return int64(min(wait, random.LongestNs))
}

// resend sends a request again at a time.
func (cl *sender) resend(atNs int64, r *server.Request) (*server.Request, clock.Handle) {
	again := cl.all.runState.NewRequest()
	again.Template, again.TemplateID, again.ID, again.Attempt = r.Template, r.TemplateID, r.ID, r.Attempt+1
	again.ExecutionNs, again.WatchNs, again.WantedNs = r.ExecutionNs, r.WatchNs, r.WantedNs
	if r.Details != nil {
		again.Details.DelayNs, again.Details.ClientTimeoutNs = r.Details.DelayNs, r.Details.ClientTimeoutNs
		again.Details.Asked, again.Details.Execution, again.Details.GivenNs = r.Details.Asked, r.Details.Execution, r.Details.GivenNs
		if again.Details.Execution { // the other says how long it has executed, perhaps beside others
			again.ExecutionNs = again.Details.GivenNs
		}
		again.Details.Logged, again.Details.LoggedSeats = r.Details.Logged, r.Details.LoggedSeats
	}
	return again, cl.all.runState.Events.Schedule(atNs, uint8(server.Resend), server.Event{Kind: server.Resend, Request: again})
}
