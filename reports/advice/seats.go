package advice

import (
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/reports/result"
)

// LevelSeats is a priority level: how it is configured, and the limits in seats that follow from it.
type LevelSeats struct {
	Name             string `json:"name"`
	Response         string `json:"response"` // Exempt, Queue or Reject
	Shares           int32  `json:"nominalConcurrencyShares"`
	Nominal          int    `json:"nominalLimit"`
	Lower            int    `json:"lowerLimit"` // when the level has lent all seats that it may lend
	Upper            int    `json:"upperLimit"` // when the level has borrowed all seats that it may borrow
	SeatCap          int    `json:"seatCap"`    // the most seats that one request takes; 0 if the level has no limit of its own
	Queues           int32  `json:"queues"`
	HandSize         int32  `json:"handSize"`
	QueueLengthLimit int32  `json:"queueLengthLimit"`
	// Reachable is the greatest limit that the level can get: Upper, or less if the others cannot lend so many
	// seats. It is nil for an exempt level, whose requests are not limited.
	Reachable *int `json:"reachableLimit,omitempty"`
}

// SeatDivision is how a server's seats are divided among its priority levels.
type SeatDivision struct {
	SchemaVersion     string       `json:"schemaVersion"`
	KubernetesVersion string       `json:"kubernetesVersion"` // the release of the server
	Levels            []LevelSeats `json:"priorityLevels"`
}

// DivideSeats divides the seats of a server of a release, serverLimit, among the priority levels of a
// configuration.
func DivideSeats(r *rules.Rules, objects config.Objects, serverLimit int) *SeatDivision {
	seats := &SeatDivision{SchemaVersion: result.SchemaVersion, KubernetesVersion: r.Version}
	control := flowcontrol.New(0, r, serverLimit, objects, nil, nil)
	for _, l := range control.Levels() {
		spec, limits := l.Spec(), l.Limits()
		s := LevelSeats{
			Name: l.Name(), Response: config.TypeExempt, Shares: spec.Shares(),
			Nominal: limits.Nominal, Lower: limits.Min, Upper: limits.Max, SeatCap: l.SeatCap(),
		}
		if spec.Limited != nil {
			s.Response = spec.Limited.LimitResponse.Type
		}
		if q := spec.Queuing(); q != nil {
			s.Queues, s.HandSize, s.QueueLengthLimit = q.Queues, q.HandSize, q.QueueLengthLimit
		}
		if reachable, ok := control.ReachableLimit(l); ok {
			s.Reachable = &reachable
		}
		seats.Levels = append(seats.Levels, s)
	}
	return seats
}
