package apicalls

import "slices"

// Shrink looks for a part of a sequence in which a call still differs. differs replays a sequence and returns its
// differences. found is the difference of the shortest sequence, nil if no shorter one differs.
func Shrink(calls []Call, difference *Difference, differs func([]Call) []Difference) (shortest []Call, found *Difference) {
	shortest = calls
	last := difference.Calls[0].ID
	end := slices.IndexFunc(calls, func(c Call) bool { return c.ID == last })
	for end+1 < len(calls) && calls[end+1].ArrivalNs == calls[end].ArrivalNs {
		end++
	}
	try := func(candidate []Call) bool {
		if len(candidate) == 0 || len(candidate) >= len(shortest) {
			return false
		}
		candidate = closeUp(calls, candidate)
		all := differs(candidate)
		// Without other calls the same call may differ for another reason.
		i := slices.IndexFunc(all, func(d Difference) bool { return d.Calls[0].ID == last && slices.Equal(d.Fields, difference.Fields) })
		if i < 0 {
			return false
		}
		shortest, found = candidate, &all[i]
		return true
	}
	// First the calls about one object or its collection, then all before the difference.
	target := &calls[end]
	related := slices.DeleteFunc(slices.Clone(calls[:end+1]), func(c Call) bool {
		return c.Resource != target.Resource || c.APIGroup != target.APIGroup
	})
	if !try(closed(calls, related)) {
		try(slices.Clone(calls[:end+1]))
	}
	for part := len(shortest) / 2; part >= 1; {
		removed := false
		for at := 0; at < len(shortest); {
			remaining := slices.Delete(slices.Clone(shortest), at, min(at+part, len(shortest)))
			if try(withoutDependents(remaining)) {
				removed = true
			} else {
				at += part
			}
		}
		if !removed || part > 1 {
			if part == 1 {
				break
			}
			part /= 2
		}
	}
	return shortest, found
}

// closeUp moves calls together by the time of those that were removed between them, so that no gap arises.
func closeUp(all, some []Call) []Call {
	moved := make([]Call, 0, len(some))
	nowNs, kept := int64(0), map[int64]bool{}
	for i := range some {
		kept[some[i].ID] = true
	}
	last, first := int64(0), true // the original time of the last group that was kept
	for i := range all {
		c := all[i]
		if !kept[c.ID] {
			continue
		}
		if !first && c.ArrivalNs != last {
			next := slices.IndexFunc(all, func(c Call) bool { return c.ArrivalNs > last })
			nowNs += all[next].ArrivalNs - last
		}
		last, first = c.ArrivalNs, false
		c.ArrivalNs = nowNs
		moved = append(moved, c)
	}
	return moved
}

// closed adds the calls that some of them refer to.
func closed(calls, some []Call) []Call {
	wanted := map[int64]bool{}
	for i := range some {
		wanted[some[i].ID] = true
	}
	for i := len(calls) - 1; i >= 0; i-- { // references go back
		if wanted[calls[i].ID] {
			for _, id := range calls[i].References() {
				wanted[id] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return !wanted[c.ID] })
}

// withoutDependents removes the calls that refer to one that is not there.
func withoutDependents(calls []Call) []Call {
	there := map[int64]bool{}
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool {
		for _, id := range c.References() {
			if !there[id] {
				return true
			}
		}
		there[c.ID] = true
		return false
	})
}
