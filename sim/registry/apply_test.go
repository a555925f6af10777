package registry

import (
	"fmt"
	"slices"
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
)

// applyOf is an apply of the field r, nothing if the value is "".
func applyOf(manager, value string, query string) apiRequest {
	b := body("")
	b.Patch = api.ApplyPatch
	if value != "" {
		b.Fields["r"] = value
	}
	return apiRequest{verb: "patch", path: "default/a", query: "fieldManager=" + manager + query, body: b}
}

// The sequence of applies in the facts, in its order: what each is answered, the value of r afterwards, and who
// has a conflict.
func TestApplySequence(t *testing.T) {
	b := newBench(t, settings{})
	for i, test := range []struct {
		request apiRequest
		status  int
		r       string
		with    string // whom the conflict is with
	}{
		{applyOf("A", "3", ""), 201, "3", ""},
		{applyOf("B", "4", ""), 409, "3", "A"},
		{applyOf("B", "3", ""), 200, "3", ""},
		{applyOf("A", "5", ""), 409, "3", "B"},
		{putBy("C", "7"), 200, "7", ""},
		{applyOf("A", "3", ""), 409, "7", "C"},
		{applyOf("A", "", ""), 200, "7", ""},
		{applyOf("B", "9", "&force=true"), 200, "9", ""},
		{applyOf("B", "", ""), 200, "", ""},
		{applyOf("B", "1", ""), 200, "1", ""},
		{putBy("C", ""), 200, "", ""},
		{applyOf("B", "1", ""), 200, "1", ""},
	} {
		a, _ := b.do(test.request)
		var r string
		if o := b.store.Resource(configmaps).Get("default", "a"); o != nil {
			r = o.Fields["r"]
		}
		with := ""
		for _, c := range a.Causes {
			with += c.Message
			if c.Reason != "FieldManagerConflict" || c.Field != "r" {
				t.Errorf("step %d: cause %+v", i, c)
			}
		}
		want := ""
		if test.with != "" {
			want = fmt.Sprintf("conflict with %q", test.with)
		}
		if a.Status != test.status || r != test.r || with != want {
			t.Errorf("step %d: got %d, r = %q, %s; want %d, r = %q, %s", i, a.Status, r, with, test.status, test.r, want)
		}
		b.run(second)
	}
}

func putBy(manager, value string) apiRequest {
	q := put("default/a", "")
	q.query = "fieldManager=" + manager
	if value != "" {
		q.body.Fields["r"] = value
	}
	return q
}

func TestApply(t *testing.T) {
	b := newBench(t, settings{})
	b.want("PUT or apply that creates", applyOf("A", "1", ""), "201 2", "1 get, 1 txn")
	b.run(second)
	if a := b.want("no-op apply", applyOf("A", "1", ""), "200 2", "1 get"); a.Wrote {
		t.Error("an apply that changes nothing has written")
	}
	b.want("sharing is a write", applyOf("B", "1", ""), "200 3", "1 txn")
	b.run(second)
	without := applyOf("", "1", "")
	b.want("no manager", without, "422 Invalid", "")
	forced := apiRequest{verb: "patch", path: "default/a", query: "force=true", body: body("")}
	b.want("force of a merge patch", forced, "422 Invalid", "")
	old := applyOf("A", "1", "")
	old.body.Version = request.At(2)
	b.want("version that is not current", old, "409 Conflict", "1 get")
	zero := applyOf("A", "1", "")
	zero.body.Version = request.At(0)
	b.want("version 0", zero, "200 3", "1 get")
	owned := applyOf("A", "1", "")
	owned.body.OwnersGiven = true
	b.want("managedFields", owned, "400 BadRequest", "1 get")
	a, _ := b.do(applyOf("A", "2", ""))
	if a.Status != 409 || len(a.Causes) != 1 {
		t.Errorf("one conflict with B: %+v", a)
	}
	dry := applyOf("A", "2", "&force=true&dryRun=All")
	b.want("dry run", dry, "200 3", "1 get")
	missing := applyOf("A", "2", "")
	missing.path = "default/missing"
	missing.body.UID = 99
	b.want("UID of a missing object", missing, "409 Conflict", "1 get")
	// Where updates must have a version, a version 0 is refused after the conflicts of fields.
	lease := applyOf("A", "1", "")
	lease.resource = leases
	b.must(201, lease)
	b.run(second)
	lease = applyOf("B", "2", "")
	lease.resource, lease.body.Version = leases, request.At(0)
	b.want("conflict first", lease, "409 Conflict", "1 get")
	lease.query += "&force=true"
	b.want("then the version", lease, "422 Invalid", "1 get")
}

// A manager's apply and its own PUT are different owners.
func TestOwnersOfOneManager(t *testing.T) {
	b := newBench(t, settings{})
	b.must(201, applyOf("A", "1", ""))
	b.run(second)
	b.must(200, putBy("A", "2"))
	b.run(second)
	if a, _ := b.do(applyOf("A", "3", "")); a.Status != 409 {
		t.Errorf("got %d, want a conflict with the manager itself", a.Status)
	}
}

// An object without owners is not tracked by PUT and PATCH; the first apply gives its fields to
// before-first-apply.
func TestUntracked(t *testing.T) {
	b := newBench(t, settings{})
	b.must(201, post(configmaps, "default", "a", "r", "1"))
	b.run(second)
	forget := apiRequest{verb: "patch", path: "default/a", body: &api.Body{OwnsNothing: true}}
	if o := b.must(200, forget).Object; len(o.Owners) != 0 {
		t.Errorf("owners %v", o.Owners)
	}
	b.run(second)
	if o := b.must(200, putBy("C", "2")).Object; len(o.Owners) != 0 {
		t.Errorf("a PUT is tracked: %v", o.Owners)
	}
	b.run(second)
	a, _ := b.do(applyOf("A", "3", ""))
	if a.Status != 409 || len(a.Causes) != 1 || a.Causes[0].Message != `conflict with "before-first-apply"` {
		t.Errorf("got %+v", a)
	}
}

// There are at most 10 owners by update; the oldest ones are merged.
func TestAncientChanges(t *testing.T) {
	b := newBench(t, settings{})
	b.must(201, post(configmaps, "default", "a"))
	var o *api.Object
	for i := range 12 {
		b.run(2 * second)
		q := apiRequest{verb: "patch", path: "default/a", query: fmt.Sprintf("fieldManager=m%02d", i), body: body("", fmt.Sprint("f", i), "1")}
		if i == 0 { // an object without fields is not tracked
			q.body.Patch, q.query = api.ApplyPatch, "fieldManager=first"
		}
		o = b.must(200, q).Object
	}
	var names []string
	for _, owner := range o.Owners {
		names = append(names, fmt.Sprint(owner.Manager, len(owner.Fields)))
	}
	slices.Sort(names)
	want := []string{"ancient-changes2", "first1", "m031", "m041", "m051", "m061", "m071", "m081", "m091", "m101", "m111"}
	if !slices.Equal(names, want) {
		t.Errorf("owners %v, want %v", names, want)
	}
}
