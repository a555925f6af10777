package config

import (
	"slices"
	"testing"

	"apfsim/core/rules"
)

// The order of the objects does not matter, and every change of one does.
func TestDigest(t *testing.T) {
	suggested := func() Objects { return Suggested(rules.Latest()) }
	same := suggested()
	slices.Reverse(same.FlowSchemas)
	slices.Reverse(same.PriorityLevels)
	want := suggested().Digest()
	if got := same.Digest(); got != want || len(want) != 16 {
		t.Errorf("in another order, the digest is %q, want %q", got, want)
	}
	for what, change := range map[string]func(*Objects){
		"a precedence":        func(o *Objects) { o.FlowSchemas[0].Spec.MatchingPrecedence++ },
		"the level of one":    func(o *Objects) { o.FlowSchemas[0].Spec.PriorityLevelConfiguration.Name += "x" },
		"the name of one":     func(o *Objects) { o.FlowSchemas[0].Name += "x" },
		"one less":            func(o *Objects) { o.FlowSchemas = o.FlowSchemas[1:] },
		"the shares of one":   func(o *Objects) { *limited(o).NominalConcurrencyShares++ },
		"the queues of one":   func(o *Objects) { limited(o).LimitResponse.Queuing.Queues++ },
		"a level less":        func(o *Objects) { o.PriorityLevels = o.PriorityLevels[1:] },
		"the name of a level": func(o *Objects) { o.PriorityLevels[0].Name += "x" },
	} {
		changed := suggested()
		change(&changed)
		if changed.Digest() == want {
			t.Errorf("%s: the digest is the same", what)
		}
	}
}

// limited returns the specification of the first level with queues.
func limited(o *Objects) *LimitedSpec {
	for _, l := range o.PriorityLevels {
		if l.Spec.Limited != nil && l.Spec.Limited.LimitResponse.Queuing != nil {
			return l.Spec.Limited
		}
	}
	panic("no level has queues")
}
