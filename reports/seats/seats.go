// Package seats tabulates how a server's seats are divided among its priority levels.
package seats

import (
	"io"
	"strconv"

	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// LevelSeats is how a priority level is configured, and the seats that follow from it.
type LevelSeats struct {
	Name             string `json:"name"`
	Response         string `json:"response"` // Exempt, Queue or Reject
	Shares           int32  `json:"nominalConcurrencyShares"`
	Nominal          int    `json:"nominalLimit"`
	Lower            int    `json:"lowerLimit"` // when it has lent all it may
	Upper            int    `json:"upperLimit"` // when it has borrowed all it may
	SeatCap          int    `json:"seatCap"`    // the most seats of one request; 0 for no cap of its own
	Queues           int32  `json:"queues"`
	HandSize         int32  `json:"handSize"`
	QueueLengthLimit int32  `json:"queueLengthLimit"`
}

// Seats is how a server's seats are divided among its priority levels.
type Seats struct {
	SchemaVersion string       `json:"schemaVersion"`
	Levels        []LevelSeats `json:"priorityLevels"`
}

// Of divides a server's seats among the levels of a configuration.
func Of(objects config.Objects, serverLimit int) *Seats {
	seats := &Seats{SchemaVersion: result.SchemaVersion}
	for _, l := range flowcontrol.New(0, rules.Latest(), serverLimit, objects, nil).Levels() {
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
		seats.Levels = append(seats.Levels, s)
	}
	return seats
}

// WriteText writes the levels as a table.
func (s *Seats) WriteText(w io.Writer) error {
	t := &format.TextTable{Left: 2}
	t.Row("priority level", "response", "shares", "nominal", "lower", "upper", "seat cap", "queues", "hand size", "queue length limit")
	sum := 0
	for _, l := range s.Levels {
		sum += l.Nominal
		row := []string{format.Printable(l.Name), l.Response}
		for i, n := range []int{int(l.Shares), l.Nominal, l.Lower, l.Upper, l.SeatCap, int(l.Queues), int(l.HandSize), int(l.QueueLengthLimit)} {
			if text := strconv.Itoa(n); n > 0 || i < 4 {
				row = append(row, text)
			} else {
				row = append(row, "–")
			}
		}
		t.Row(row...)
	}
	t.Row("all", "", "", strconv.Itoa(sum))
	return t.WritePlain(w)
}
