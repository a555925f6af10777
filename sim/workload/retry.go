package workload

import (
	"apfsim/document"
	"apfsim/sim/quantity"
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
