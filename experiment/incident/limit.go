package incident

import (
	"math"

	"apfsim/reports/result"
)

// mostLimit bounds the seats of a server that are looked for, which are found to a part in limitParts.
const (
	mostLimit  = 1 << 15
	limitParts = 100
)

// estimateLimit looks for the number of seats of a server, which the logs do not say, by replays: with more seats, fewer
// requests are rejected, and all wait for less time. tried is the replay with limit seats. It returns the number with
// which the replay is most like the log, or 0 if neither shows rejections or waits that a number could explain.
//
// The seats in use say less: of a level whose requests wait, they are its current limit at most, which follows from what
// all levels ask for, in each period of the adjustments.
func estimateLimit(limit int, tried *result.Replay, replay func(limit int) (*result.Replay, error)) (best int, err error) {
	target, pressure := pressureOf(tried, true), pressureOf(tried, false)
	if target == 0 && pressure == 0 {
		return 0, nil
	}
	best = limit
	least := math.Abs(pressure - target)
	few := pressure > target
	// try finds out whether so many seats are too few.
	try := func(limit int) error {
		r, err := replay(limit)
		if err != nil {
			return err
		}
		pressure := pressureOf(r, false)
		if apart := math.Abs(pressure - target); apart < least {
			best, least = limit, apart
		}
		few = pressure > target
		return nil
	}
	low, high := 0, mostLimit+1 // too few, and enough, as far as it is known
	for {
		if few {
			low = limit
		} else {
			high = limit
		}
		switch {
		case few && high > mostLimit:
			limit *= 2
		case !few && low == 0:
			limit /= 2
		default:
			limit = (low + high) / 2
		}
		if limit == 0 || limit > mostLimit || high-low <= max(1, high/limitParts) {
			return best, nil
		}
		if err := try(limit); err != nil {
			return 0, err
		}
	}
}

// pressureOf returns how many requests were rejected, in the log or the replay, if the log has rejections, and else how
// long all executed requests waited, in seconds; 0 if the log does not say it.
func pressureOf(r *result.Replay, inLog bool) (seconds float64) {
	if r.RejectedInLog > 0 {
		if inLog {
			return float64(r.RejectedInLog)
		}
		return float64(r.RejectedInReplay)
	}
	for i := range r.Levels {
		l := &r.Levels[i]
		d := l.WaitInReplay
		if l.WaitInLog == nil {
			continue
		}
		if inLog {
			d = l.WaitInLog
		}
		if d != nil {
			seconds += float64(d.Count) * float64(d.MeanNs) / 1e9
		}
	}
	return seconds
}
