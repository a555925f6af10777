package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/document"
)

// WhatIf changes rules of flow control as has been proposed upstream, and no release does, see [rules.WhatIf]. What is not
// given is as in the release.
type WhatIf struct {
	QueueWaitShare   float64            `json:"queueWaitShare,omitempty" also:"waitShare,queueWait" jsonschema:"exclusiveMinimum=0,maximum=1" message:"{value}: want {want}, such as 0.75 for three quarters" jsonschema_description:"Share of the time from the receipt of a request to its deadline for which it waits in a queue at most (kubernetes#129985); without it 0.25. From 1.28.5 on."`
	BorrowingWeights map[string]float64 `json:"borrowingWeights,omitempty" also:"borrowing,weights,weight" jsonschema_description:"Weights of priority levels, by name, by which they are preferred when seats are borrowed (kubernetes#128087); a level without one has weight 1. From 1.26 on."`
}

// mostWeight bounds the weights of levels.
const mostWeight = 10_000

// set changes the rules of a release. What the release does not have is not changed.
func (w *WhatIf) set(r *rules.Rules) {
	if w == nil {
		return
	}
	if hasWaitShare(r) {
		r.WhatIf.QueueWaitShare = w.QueueWaitShare
	}
	if len(w.BorrowingWeights) > 0 && lends(r) {
		r.WhatIf.BorrowingWeights = rules.NewWeights(w.BorrowingWeights)
	}
}

func hasWaitShare(r *rules.Rules) bool { return !r.LazyWaitLimit }

func lends(r *rules.Rules) bool { return r.Lending }

// Differences returns the changes that are not the rules of one of some releases, such as "queueWaitShare 0.75 instead of 0.25".
func (w *WhatIf) Differences(releases []*rules.Rules) (all []string) {
	if w == nil {
		return nil
	}
	if w.QueueWaitShare > 0 && w.QueueWaitShare != rules.ReleasedWaitShare && slices.ContainsFunc(releases, hasWaitShare) {
		all = append(all, fmt.Sprintf("queueWaitShare %s instead of %s", share(w.QueueWaitShare), share(rules.ReleasedWaitShare)))
	}
	if len(w.BorrowingWeights) > 0 && slices.ContainsFunc(releases, lends) {
		text := "borrowingWeights"
		for i, level := range slices.Sorted(maps.Keys(w.BorrowingWeights)) {
			if i > 0 {
				text += " and"
			}
			text += " " + level + " " + share(w.BorrowingWeights[level])
		}
		all = append(all, text)
	}
	return all
}

// Check checks the changes at path. The releases are those that the servers have at some time, and the levels those that
// can have a weight; nil if they are not known.
func (w *WhatIf) Check(to *document.Checker, path string, releases []*rules.Rules, levels []string) {
	if len(releases) > 0 && w.QueueWaitShare > 0 && !slices.ContainsFunc(releases, hasWaitShare) {
		to.Fail(path+".queueWaitShare", "has no effect in the releases of the servers: each request has a wait limit by its deadline from 1.28.5 on")
	}
	if len(releases) > 0 && len(w.BorrowingWeights) > 0 && !slices.ContainsFunc(releases, lends) {
		to.Fail(path+".borrowingWeights", "has no effect in the releases of the servers: levels borrow seats from %s on", rules.Since(lends))
		return
	}
	for level, weight := range w.BorrowingWeights { // in any order, as errors are sorted by position
		at := document.Join(path+".borrowingWeights", level)
		if !(weight > 0 && weight <= mostWeight) {
			to.Fail(at, "%v: want more than 0 and at most %d; a level without a weight has 1", weight, mostWeight)
		}
		if levels != nil && !slices.Contains(levels, level) {
			to.Fail(at, "there is no priority level with a limit of this name%s; it can be one of %s", document.Suggest(level, levels), strings.Join(levels, ", "))
		}
	}
}
