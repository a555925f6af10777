package result

import (
	"errors"
)

// AsOne takes the flows that are wanted as one: their longest starvation, and the sums of their
// services, demands and fair shares.
func AsOne(flows []Flow, wanted func(*Flow) bool) (sum Flow, found bool) {
	for i := range flows {
		if f := &flows[i]; wanted(f) {
			found = true
			sum.StarvationNs = max(sum.StarvationNs, f.StarvationNs)
			sum.ServiceSeatSeconds += f.ServiceSeatSeconds
			sum.DemandSeatSeconds += f.DemandSeatSeconds
			sum.FairShareSeatSeconds += f.FairShareSeatSeconds
		}
	}
	if sum.FairShareSeatSeconds > 0 {
		ratio := sum.ServiceSeatSeconds / sum.FairShareSeatSeconds
		sum.Ratio = &ratio
	}
	return sum, found
}

// ErrNoSamples is why a run does not have a statistic that it might have had.
var ErrNoSamples = errors.New(NoSamples)
