package fit

import (
	"fmt"

	"apfsim/experiment/fit/retries"
)

// learnBackoffs finds the back-off of clients that send rejected requests again, and not as client-go does.
func (f *fitter) learnBackoffs() {
	type number struct{ rejected, all int64 }
	fitted := map[*retries.Delays]*retries.Backoff{} // several workloads have the same kind of requests
	numbers := map[*retries.Delays]number{}
	for _, w := range f.workloads {
		d := w.members[0].delays
		numbers[d] = number{numbers[d].rejected + w.followed.Rejected, numbers[d].all + w.requests()}
	}
	for _, w := range f.workloads {
		if w.retries || w.joined || w.followed.Rejected == 0 {
			continue
		}
		d := w.members[0].delays
		b, known := fitted[d]
		if !known {
			if found, ok := d.Fit(float64(numbers[d].rejected) / float64(numbers[d].all)); ok {
				b = &found
			}
			fitted[d] = b
		}
		if b != nil {
			w.backoff = &retries.Chains{Backoff: *b}
		}
	}
}

// retryValue returns the retries of a workload in the format of a scenario, nil if there are none. It adds what is not
// as recorded to the report.
func retryValue(kinds []*workload, again int64, report *Workload) any {
	for _, k := range kinds {
		if k.backoff == nil {
			continue
		}
		value, text := k.backoff.Backoff.Value()
		report.Notes = append(report.Notes, text)
		return value
	}
	for _, k := range kinds {
		if k.retries {
			return "ClientGo"
		}
	}
	if again > 0 {
		report.Notes = append(report.Notes, "the retries do not follow Retry-After; the scenario has those of client-go in their place")
		return "ClientGo"
	}
	rejected, first, known := int64(0), int64(0), true
	for _, k := range kinds {
		rejected += k.observed.Rejected
		first += k.observed.First
		known = known && k.attempts
	}
	if !known && rejected > 0 && float64(rejected) >= suspicious*float64(first) {
		report.Notes = append(report.Notes, fmt.Sprintf("no retries were recognised; if clients send rejected requests again after times of their own, up to %d of the %d first attempts are retries", rejected, first))
	}
	return nil
}

// suspicious is the part of the requests that must have been rejected for a note that some may be retries.
const suspicious = 0.05
