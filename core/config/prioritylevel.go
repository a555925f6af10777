package config

import (
	"fmt"

	"apfsim/core/dealer"
)

const maxQueues = 10_000_000

// priorityLevel validates a level whose defaults are filled in. Shares is the name of the
// field with the shares in the object's API version.
func (v *validator) priorityLevel(l *PriorityLevel, shares string) {
	spec := &l.Spec
	v.oneOf("spec.type", spec.Type, TypeLimited, TypeExempt)
	switch {
	case spec.Type == TypeExempt && l.Name != Exempt:
		v.fail("spec.type", "%s is reserved for the level named %s", TypeExempt, Exempt)
	case spec.Type == TypeLimited && l.Name == Exempt:
		v.fail("spec.type", "the level named %s must be of type %s", Exempt, TypeExempt)
	}
	switch spec.Type {
	case TypeExempt:
		if spec.Limited != nil {
			v.fail("spec.limited", "is not allowed for type %s; remove it", TypeExempt)
		}
		v.shares("spec.exempt.nominalConcurrencyShares", *spec.Exempt.NominalConcurrencyShares)
		v.lendable("spec.exempt.lendablePercent", *spec.Exempt.LendablePercent)
	case TypeLimited:
		if spec.Exempt != nil {
			v.fail("spec.exempt", "is not allowed for type %s; remove it", TypeLimited)
		}
		if spec.Limited == nil {
			v.fail("spec.limited", "is missing from a level of type %s", TypeLimited)
			break
		}
		v.limited(spec.Limited, shares)
	}
}

func (v *validator) limited(l *LimitedSpec, shares string) {
	v.shares("spec.limited."+shares, *l.NominalConcurrencyShares)
	v.lendable("spec.limited.lendablePercent", *l.LendablePercent)
	if p := l.BorrowingLimitPercent; p != nil && *p < 0 {
		v.fail("spec.limited.borrowingLimitPercent", "%d is negative; want 0 or more, or leave it out for no limit", *p)
	}
	response := &l.LimitResponse
	v.oneOf("spec.limited.limitResponse.type", response.Type, ResponseQueue, ResponseReject)
	switch {
	case response.Type == ResponseReject && response.Queuing != nil:
		v.fail("spec.limited.limitResponse.queuing", "is not allowed for type %s; remove it", ResponseReject)
	case response.Type == ResponseQueue && response.Queuing == nil:
		v.fail("spec.limited.limitResponse.queuing", "is missing from a response of type %s", ResponseQueue)
	case response.Type == ResponseQueue:
		v.queuing("spec.limited.limitResponse.queuing", response.Queuing)
	}
}

func (v *validator) shares(path string, shares int32) {
	if shares < 0 {
		v.fail(path, "%d is negative; want 0 or more", shares)
	}
}

func (v *validator) lendable(path string, percent int32) {
	if percent < 0 || percent > 100 {
		v.fail(path, "%d is out of range; want 0 to 100", percent)
	}
}

func (v *validator) queuing(path string, q *Queuing) {
	if q.QueueLengthLimit < 1 {
		v.fail(path+".queueLengthLimit", "%d is not positive", q.QueueLengthLimit)
	}
	if q.Queues < 1 || q.Queues > maxQueues {
		v.fail(path+".queues", "%d is out of range; want 1 to %d", q.Queues, maxQueues)
	}
	hand := fmt.Sprint(q.HandSize)
	if q.HandSize == defaultHandSize && v.absent(path+".handSize") {
		hand = "the default " + hand
	}
	switch {
	case q.HandSize < 1:
		v.fail(path+".handSize", "%s is not positive", hand)
	case q.Queues < 1 || q.Queues > maxQueues:
		// The error about queues is enough: the size of a hand is compared with their number.
	case q.HandSize > q.Queues:
		v.fail(path+".handSize", "%s exceeds queues (%d)", hand, q.Queues)
	default:
		if bits := dealer.EntropyBits(int(q.Queues), int(q.HandSize)); bits > dealer.MaxEntropyBits {
			v.fail(path+".handSize", "%s out of %d queues needs %d bits of a flow's hash; want at most %d",
				hand, q.Queues, bits, dealer.MaxEntropyBits)
		}
	}
}
