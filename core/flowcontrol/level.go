package flowcontrol

import (
	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/core/seats"
)

// Level is a priority level that a server has: one of its configuration, or one that drains.
type Level struct {
	object     *config.PriorityLevel
	queuing    queueset.Config
	seats      seats.Level
	seatCap    int
	queues     *queueset.QueueSet // nil until the first adjustment
	retryAfter *RetryAfter
	draining   bool // no longer configured, but not yet idle
}

// Name returns the level's name.
func (l *Level) Name() string { return l.object.Name }

// Spec returns the level's configuration.
func (l *Level) Spec() *config.PriorityLevelSpec { return &l.object.Spec }

// Limits returns the nominal concurrency limit and its bounds, in seats.
func (l *Level) Limits() seats.Limits { return l.seats.Limits }

// CurrentLimit returns the concurrency limit in force, in seats.
func (l *Level) CurrentLimit() int { return l.seats.Current }

// Seats returns what the last adjustment knew of the level, and its result.
func (l *Level) Seats() seats.Level { return l.seats }

// SeatCap returns the most seats that a request is estimated to take, 0 when only the
// estimator's own limit holds: at levels that do not queue, and in releases without caps by level.
func (l *Level) SeatCap() int { return l.seatCap }

// Queues returns the level's queues, for reading: only the Controller calls the methods that take the
// time.
func (l *Level) Queues() *queueset.QueueSet { return l.queues }

// Draining says whether the level is no longer configured, but not yet idle.
func (l *Level) Draining() bool { return l.draining }

// hasSeats says whether the level has a part in the server's seats: every level but, up to 1.27, the
// exempt one.
func (l *Level) hasSeats(r *rules.Rules) bool {
	return l.object.Spec.Type != config.TypeExempt || r.Exempt != rules.ExemptAbsent
}

// derive works out what follows from the level's configuration and the sum of all shares.
func (l *Level) derive(r *rules.Rules, serverLimit int, allShares float64) {
	spec := &l.object.Spec
	if l.hasSeats(r) {
		l.deriveLimits(r, serverLimit, allShares)
	}
	switch q := spec.Queuing(); {
	case spec.Type == config.TypeExempt:
		l.queuing = queueset.Config{Queues: queueset.Unlimited}
	case q == nil:
		l.queuing = queueset.Config{}
	default:
		l.queuing = queueset.Config{Queues: int(q.Queues), HandSize: int(q.HandSize), QueueLengthLimit: int(q.QueueLengthLimit)}
		if r.CapByLevel {
			// A level that stops queuing keeps its cap, as it does upstream.
			l.seatCap = seats.Cap(r.LevelShare, l.seats.Nominal, int(q.HandSize))
		}
	}
}

// deriveLimits works out the level's limits. What a configuration says about lending does not count
// in releases without it: there the limits are fixed.
func (l *Level) deriveLimits(r *rules.Rules, serverLimit int, allShares float64) {
	spec := &l.object.Spec
	l.seats.Exempt = spec.Type == config.TypeExempt && r.Exempt == rules.ExemptFirst
	l.seats.Weight = r.WhatIf.BorrowingWeights.Of(l.Name())
	if !r.Lending {
		l.seats.Limits = seats.NewLimits(serverLimit, spec.Shares(), allShares, 0, 0, true)
		l.seats.Current = l.seats.Nominal
		return
	}
	borrowing, bounded := spec.BorrowingLimitPercent()
	l.seats.Limits = seats.NewLimits(serverLimit, spec.Shares(), allShares, spec.LendablePercent(), borrowing, bounded)
	if l.queues == nil {
		// In force should the first adjustment find no solution.
		l.seats.Current = l.seats.Nominal - (l.seats.Nominal-l.seats.Min)/2
	}
}
