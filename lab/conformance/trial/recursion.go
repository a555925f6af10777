package trial

import "time"

// Recursion is creations of pods that arrive together, at 0, and wait for a validating webhook each. The webhook
// reads a namespace from the same server. Times count from the arrival.
type Recursion struct {
	Objects   Objects
	Seats     int           // of the server
	Outers    int           // creations, each by a user of its own
	Execution time.Duration // of an outer, besides its call
	Callback  time.Duration // execution of a callback
	Exempt    string        // who is exempt from flow control: "", Outer or Callback
	Timeout   time.Duration // of the webhook, in whole seconds
	Ignore    bool          // the failure policy of the webhook; otherwise Fail
	Continue  bool          // the webhook does not leave its callback when the server no longer waits for it
}

// Outer and Callback are who is Seen of a Recursion.
const (
	Outer    = "outer"
	Callback = "callback"
)

// What can be seen of them, besides the statuses of responses.
const (
	Dispatched = "dispatched"
	Left       = "left" // the server without having been dispatched
)
