package rules

// WhatIf is what has been proposed to change in flow control, and no release does. Its zero value changes nothing, and is
// that of all releases.
type WhatIf struct {
	// QueueWaitShare is the share of the time from the receipt of a request to its deadline for which the request waits
	// in a queue at most, MaxWaitNs aside; 0 for ReleasedWaitShare. It has no effect with LazyWaitLimit. It is the change
	// of kubernetes/kubernetes#129985, which sets 3/4 for a test at scale.
	QueueWaitShare float64

	// BorrowingWeights are the weights of the levels in the division of the seats, see package seats; nil for a division
	// without them, as in all releases. They have no effect without Lending.
	BorrowingWeights *Weights
}

// ReleasedWaitShare is what QueueWaitShare is in the releases without LazyWaitLimit.
const ReleasedWaitShare = 0.25

// Weights say which levels are preferred when seats are borrowed, as the field weight of a priority level does that
// kubernetes/kubernetes#128087 proposes.
type Weights struct{ byLevel map[string]float64 }

// NewWeights returns weights, which are more than 0, by the names of their levels.
func NewWeights(byLevel map[string]float64) *Weights { return &Weights{byLevel} }

// Of returns the weight of a level: 1 if none is given.
func (w *Weights) Of(level string) float64 {
	if w != nil {
		if weight, given := w.byLevel[level]; given {
			return weight
		}
	}
	return 1
}
