package apicalls

import (
	"slices"
	"strconv"
)

// Relative returns answers that have the revisions which their calls have made, with versions counted in writes of the sequence: 0 before the first
// one, n from the n-th to the next. In the place of a UID is the ID of the call that was answered with it first.
func Relative(answers []Answer) []Answer {
	var revisions []int64
	for i := range answers {
		revisions = append(revisions, answers[i].Revisions...)
	}
	count := func(version int64) int64 {
		i, found := slices.BinarySearch(revisions, version)
		if found {
			i++
		}
		return int64(i)
	}
	relative := convert(answers, count)
	for i := range relative {
		made := slices.Clone(relative[i].Revisions)
		for j, r := range made {
			made[j] = count(r)
		}
		relative[i].Revisions = made
	}
	return relative
}

// RelativeTo returns answers of a request log in the same way, which does not have all revisions. live are the relative
// answers of the server to the same calls. Nothing but the sequence and compactions write to a simulated store. So
// without compactions its revisions count the writes, from the first object that both have written. With them, they do
// from each such object to the next.
func RelativeTo(calls []Call, live, simulated []Answer) []Answer {
	var revisions, counts []int64 // of objects that both have written
	for i := range simulated {
		s := &simulated[i]
		if s.Wrote && s.ResourceVersion != nil && i < len(live) && len(live[i].Revisions) == 1 && same(live[i].ResourceVersion, pointer(number(live[i].Revisions[0]))) {
			revisions, counts = append(revisions, int64(*s.ResourceVersion)), append(counts, live[i].Revisions[0])
			if compactionInterval(calls) == 0 {
				break
			}
		}
	}
	return convert(simulated, func(version int64) int64 {
		i, _ := slices.BinarySearch(revisions, version+1)
		if i == 0 {
			return 0
		}
		n := counts[i-1] + version - revisions[i-1]
		if i < len(counts) {
			n = min(n, counts[i]-1)
		}
		return n
	})
}

func pointer[T any](v T) *T { return &v }

// convert returns copies of answers with other versions, and with IDs in the place of UIDs.
func convert(answers []Answer, version func(int64) int64) []Answer {
	first := map[token]token{}
	converted := slices.Clone(answers)
	for i := range converted {
		a := &converted[i]
		if a.ResourceVersion != nil {
			v := number(version(int64(*a.ResourceVersion)))
			a.ResourceVersion = &v
		}
		if a.UID != "" {
			if first[a.UID] == "" {
				first[a.UID] = token(strconv.FormatInt(a.ID, 10))
			}
			a.UID = first[a.UID]
		}
		if a.Continue != "" {
			a.Continue = "true"
		}
		a.Events = slices.Clone(a.Events)
		for j := range a.Events {
			if e := &a.Events[j]; e.Version != 0 {
				e.Version = version(e.Version)
			}
		}
	}
	return converted
}
