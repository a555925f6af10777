package observed

import (
	"bytes"

	"apfsim/core/estimate"
	"apfsim/lint/metrics"
	"apfsim/reports/scrape"
)

// Scrape is what a server answered to a request for /metrics.
type Scrape []byte

// Count is what is counted of a priority level: the rejections for a reason or, with the reason Dispatched,
// what was dispatched.
type Count struct{ Level, Reason string }

// Dispatched is the reason of a Count that is no rejection.
const Dispatched = "dispatched"

// Store returns the number of stored objects and their average size, as the server reports them.
func (s Scrape) Store() (estimate.Store, error) { return metrics.ReadStore(bytes.NewReader(s)) }

// Difference returns how much more was counted after than before. A level without rejections is not in it. The error
// says that the scrapes are not of one process.
func Difference(before, after Scrape) (map[Count]int, error) {
	from, err := scrape.Read("the scrape before the load", bytes.NewReader(before))
	if err != nil {
		return nil, err
	}
	to, err := scrape.Read("the scrape after the load", bytes.NewReader(after))
	if err != nil {
		return nil, err
	}
	between, err := scrape.Between(from, to)
	if err != nil {
		return nil, err
	}
	counts := map[Count]int{}
	for _, level := range between.Levels {
		counts[Count{level.Name, Dispatched}] = int(level.Dispatched)
		for reason, n := range level.Rejected {
			counts[Count{level.Name, reason}] = int(n)
		}
	}
	return counts, nil
}
