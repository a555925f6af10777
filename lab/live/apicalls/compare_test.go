package apicalls

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A create, a deletion that makes two revisions, and a list, at a server with other writers and in a store without.
var (
	someCalls = []Call{
		{ID: 1, Verb: "create", Resource: "pods"},
		{ID: 2, ArrivalNs: 1, Verb: "delete", Resource: "pods"},
		{ID: 3, ArrivalNs: 2, Verb: "list", Resource: "pods"},
	}
	someLive = []Answer{
		{ID: 1, Status: 201, ResourceVersion: pointer(number(70)), UID: "u-1", Wrote: true, Revisions: []int64{70}},
		{ID: 2, Status: 200, ResourceVersion: pointer(number(75)), UID: "u-1", Wrote: true, Revisions: []int64{73, 75}},
		{ID: 3, Status: 200, ResourceVersion: pointer(number(79)), Items: pointer(int64(0))},
	}
	someSimulated = []Answer{
		{ID: 1, Status: 201, ResourceVersion: pointer(number(2)), UID: "9", Wrote: true},
		{ID: 2, Status: 200, ResourceVersion: pointer(number(4)), UID: "9", Wrote: true},
		{ID: 3, Status: 200, ResourceVersion: pointer(number(4)), Items: pointer(int64(0))},
	}
)

// Both sides count the writes of the sequence: 70 and 2 are the first one, 79 and 4 come after the third one.
func TestRelative(t *testing.T) {
	live := Relative(someLive)
	simulated := RelativeTo(someCalls, live, someSimulated)
	for i, want := range []number{1, 3, 3} {
		if *live[i].ResourceVersion != want || *simulated[i].ResourceVersion != want {
			t.Errorf("call %d: versions %d and %d, want %d", i+1, *live[i].ResourceVersion, *simulated[i].ResourceVersion, want)
		}
	}
	if live[1].UID != "1" || simulated[1].UID != "1" || !slices.Equal(live[1].Revisions, []int64{2, 3}) {
		t.Errorf("got %v and %v", &live[1], &simulated[1])
	}
	before := RelativeTo(someCalls, live, []Answer{someSimulated[0], {ID: 2, ResourceVersion: pointer(number(1))}})
	if *before[1].ResourceVersion != 0 {
		t.Errorf("a version before the first write is %d", *before[1].ResourceVersion)
	}
	if *someLive[0].ResourceVersion != 70 {
		t.Error("the answers of the server have been changed")
	}
}

// After a gap with compactions, the next object that both have written counts anew: 20 is the second write, and what
// came before it is no later than the first one.
func TestRelativeWithCompactions(t *testing.T) {
	calls := []Call{{ID: 1}, {ID: 2, ArrivalNs: int64(LongGap)}, {ID: 3, ArrivalNs: int64(LongGap) + 1}}
	live := []Answer{
		{ID: 1, ResourceVersion: pointer(number(1)), Wrote: true, Revisions: []int64{1}},
		{ID: 2, ResourceVersion: pointer(number(1))},
		{ID: 3, ResourceVersion: pointer(number(2)), Wrote: true, Revisions: []int64{2}},
	}
	simulated := RelativeTo(calls, live, []Answer{
		{ID: 1, ResourceVersion: pointer(number(5)), Wrote: true},
		{ID: 2, ResourceVersion: pointer(number(9))},
		{ID: 3, ResourceVersion: pointer(number(20)), Wrote: true},
	})
	if found, _, err := Compare(calls, live, simulated); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// A difference in any field is found, and only there.
func TestCompare(t *testing.T) {
	live := Relative(someLive)
	for field, change := range map[string]func(a *Answer){
		"":                  func(*Answer) {},
		"status":            func(a *Answer) { a.Status = 409 },
		"statusReason":      func(a *Answer) { a.StatusReason = "Conflict" },
		"resourceVersion":   func(a *Answer) { a.ResourceVersion = pointer(number(2)) },
		"items":             func(a *Answer) { a.Items = pointer(int64(1)) },
		"continue":          func(a *Answer) { a.Continue = "c" },
		"retryAfterSeconds": func(a *Answer) { a.RetryAfterSeconds = 1 },
		"wrote":             func(a *Answer) { a.Wrote = true },
		"uid":               func(a *Answer) { a.UID = "2" },
		"events":            func(a *Answer) { a.Events = []Event{{Type: "ADDED", Name: "x", Version: 1}} },
	} {
		simulated := RelativeTo(someCalls, live, someSimulated)
		change(&simulated[2])
		found, compared, err := Compare(someCalls, live, simulated)
		if err != nil || compared != 3 {
			t.Fatalf("%s: %d compared, %v", field, compared, err)
		}
		if field == "" {
			if len(found) > 0 {
				t.Errorf("equal answers differ: %s", &found[0])
			}
			continue
		}
		if len(found) != 1 || found[0].Calls[0].ID != 3 || !slices.Equal(found[0].Fields, []string{field}) {
			t.Errorf("%s: got %v", field, found)
		} else if text := found[0].String(); !strings.Contains(text, "call 3 list") || !strings.Contains(text, "differs in "+field) {
			t.Errorf("%s: printed as\n%s", field, text)
		}
	}
	if _, _, err := Compare(someCalls, live, someSimulated[:2]); err == nil {
		t.Error("a missing answer is no error")
	}
	if _, _, err := Compare(someCalls, live, slices.Concat(someSimulated[1:], someSimulated[:1])); err == nil {
		t.Error("answers of other calls are no error")
	}
}

// Of calls that were sent together, another one may succeed.
func TestCompareTogether(t *testing.T) {
	calls := []Call{{ID: 1, Verb: "create"}, {ID: 2, Verb: "create"}}
	exists := Answer{Status: 409, StatusReason: "AlreadyExists"}
	created := Answer{Status: 201, ResourceVersion: pointer(number(1))}
	with := func(id int64, a Answer, wrote bool, revisions ...int64) Answer {
		a.ID, a.Wrote, a.Revisions = id, wrote, revisions
		return a
	}
	live := []Answer{with(1, exists, true, 1), with(2, created, false)}
	for want, simulated := range map[string][]Answer{
		"":      {with(1, created, true), with(2, exists, false)},
		"wrote": {with(1, created, true), with(2, exists, true)},
		"status,statusReason,resourceVersion,wrote": {with(1, created, true), with(2, created, true)},
	} {
		found, compared, err := Compare(calls, live, simulated)
		if err != nil || compared != 2 {
			t.Fatal(compared, err)
		}
		got := ""
		if len(found) > 0 {
			got = strings.Join(found[0].Fields, ",")
		}
		if got != want {
			t.Errorf("got differences in %q, want %q", got, want)
		}
	}
}

// A sequence whose call 40 differs because of call 7, which refers to call 3, shrinks to these three.
func TestShrink(t *testing.T) {
	var calls []Call
	for id := int64(1); id <= 60; id++ {
		calls = append(calls, Call{ID: id, ArrivalNs: id, Resource: []string{"pods", "leases"}[id%2]})
	}
	calls[6].BodyResourceVersion, calls[6].Resource = "@3", "pods"
	runs := 0
	difference := Difference{Calls: calls[39:40], Fields: []string{"status"}}
	shortest, found := Shrink(calls, &difference, func(some []Call) []Difference {
		runs++
		ids := map[int64]bool{}
		for i := range some {
			for _, id := range some[i].References() {
				if !ids[id] {
					t.Errorf("call %d refers to %d, which is not there", some[i].ID, id)
				}
			}
			ids[some[i].ID] = true
		}
		if ids[7] && ids[40] {
			return []Difference{{Calls: some[:1], Fields: []string{"items"}}, {Calls: some[len(some)-1:], Fields: difference.Fields}}
		}
		return nil
	})
	var ids []int64
	for i := range shortest {
		ids = append(ids, shortest[i].ID)
	}
	if !slices.Equal(ids, []int64{3, 7, 40}) || found == nil || found.Calls[0].ID != 40 || runs > 60 {
		t.Errorf("got calls %v after %d runs", ids, runs)
	}
	if shortest[2].ArrivalNs-shortest[0].ArrivalNs != 2 {
		t.Errorf("the calls are at %d and %d", shortest[0].ArrivalNs, shortest[2].ArrivalNs)
	}
	if same, found := Shrink(calls, &difference, func([]Call) []Difference { return nil }); found != nil || !reflect.DeepEqual(same, calls) {
		t.Error("a sequence that does not differ again has been shortened")
	}
}
