package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
)

// at100 returns a server whose configmap default/a has the version 100, as the cache knows, and the configmap.
func at100(t *testing.T, s settings) (*bench, *api.Object) {
	t.Helper()
	b := newBench(t, s)
	for b.store.Revision() < 98 {
		b.must(201, post(configmaps, "filler", fmt.Sprint("f-", b.store.Revision())))
	}
	b.must(201, post(configmaps, "default", "a", "x", "old"))
	a := b.must(200, put("default/a", "99", "x", "1"))
	if a.Version != 100 {
		t.Fatalf("the configmap has the version %d", a.Version)
	}
	b.run(2*s.lagNs + second)
	return b, a.Object
}

func TestConflicts(t *testing.T) {
	t.Run("C1", func(t *testing.T) {
		b, _ := at100(t, settings{})
		a := b.want("C1", put("default/a", "100", "x", "2"), "200 101", "1 txn")
		if !a.Wrote || a.Rounds != 1 {
			t.Errorf("answer %+v", a)
		}
	})
	t.Run("C2", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C2", put("default/a", "90", "x", "2"), "409 Conflict", "1 get")
	})
	// The cache lags behind by an hour, so that it has the object before another one has changed it.
	t.Run("C3", func(t *testing.T) {
		b, _ := stale(t)
		b.want("C3", put("default/a", "101", "x", "3"), "200 102", "1 get, 1 txn")
	})
	t.Run("C4", func(t *testing.T) {
		b, _ := stale(t)
		b.want("C4", put("default/a", "100", "x", "3"), "409 Conflict", "1 txn")
	})
	t.Run("C5", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C5", put("default/a", "120", "x", "2"), "409 Conflict", "1 get")
	})
	t.Run("C6", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C6", put("default/a", "", "x", "2"), "200 101", "1 txn")
		if a := b.want("C6", put("default/a", "0", "x", "3"), "200 102", "1 txn"); a.Replaced != 101 {
			t.Errorf("it has replaced version %d, want 101", a.Replaced)
		}
		for _, r := range []api.Resource{leases, widgets} {
			b.must(201, post(r, "default", "l"))
			b.want("C6", apiRequest{verb: "update", resource: r, path: "default/l", body: body("", "x", "1")}, "422 Invalid", "1 get")
			b.want("C6", apiRequest{verb: "patch", resource: r, path: "default/l", body: body("0", "x", "1")}, "422 Invalid", "1 get")
		}
	})
	t.Run("C7", func(t *testing.T) {
		b, _ := at100(t, settings{})
		a := b.want("C7", put("default/a", "100", "x", "1"), "200 100", "1 get")
		if a.Wrote || b.store.Revision() != 100 {
			t.Errorf("a revision was made: %+v", a)
		}
		b.want("no-op PATCH", apiRequest{verb: "patch", path: "default/a", body: body("", "x", "1")}, "200 100", "1 get")
	})
	t.Run("C8", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C8", put("default/b", "", "x", "1"), "404 NotFound", "1 get")
		b.want("C8", apiRequest{verb: "update", resource: leases, path: "default/b", body: body("77")}, "201 101", "1 get, 1 txn")
		b.want("C8", apiRequest{verb: "update", resource: roles, path: "default/b", body: body("")}, "201 102", "1 get, 1 txn")
		b.want("C8", apiRequest{verb: "patch", resource: leases, path: "default/c", body: body("")}, "404 NotFound", "1 get")
		b.want("C8 with UID", apiRequest{verb: "update", resource: leases, path: "default/d", body: &api.Body{UID: 5}}, "409 Conflict", "1 get")
	})
	t.Run("C9", func(t *testing.T) {
		b, o := at100(t, settings{})
		b.want("C9", apiRequest{verb: "update", path: "default/a", body: &api.Body{UID: o.UID + 1000}}, "409 Conflict", "1 get")
		b.want("C9", apiRequest{verb: "update", path: "default/a", body: &api.Body{OtherUID: true}}, "409 Conflict", "1 get")
		b.want("C9", apiRequest{verb: "update", path: "default/a", body: &api.Body{UID: o.UID}}, "200 101", "1 txn")
		b.want("PATCH", apiRequest{verb: "patch", path: "default/a", body: &api.Body{UID: o.UID + 1000}}, "422 Invalid", "1 get")
	})
	t.Run("C10", func(t *testing.T) {
		b, _ := at100(t, settings{writeNs: millisecond, readNs: millisecond})
		b.together("C10", []string{"200 101", "409 Conflict"}, put("default/a", "100", "x", "2"), put("default/a", "100", "x", "3"))
	})
	t.Run("C11", func(t *testing.T) {
		b, _ := at100(t, settings{writeNs: millisecond, readNs: millisecond})
		const k = 7
		var all []apiRequest
		var want []string
		for i := range k {
			all = append(all, apiRequest{verb: "patch", path: "default/a", body: body("", "f", fmt.Sprint(i))})
			want = append(want, fmt.Sprint("200 ", 101+i))
		}
		answers := b.together("C11", want, all...)
		if last := answers[k-1]; last.Rounds != k {
			t.Errorf("the last one took %d transactions, want %d", last.Rounds, k)
		}
	})
	t.Run("C12", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C12", apiRequest{verb: "patch", path: "default/a", body: body("90", "x", "2")}, "409 Conflict", "1 get")
		b.want("C12", apiRequest{verb: "patch", path: "default/a", body: body("100", "x", "2")}, "200 101", "1 txn")
	})
	t.Run("C13", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C13", apiRequest{verb: "patch", path: "default/a", body: &api.Body{Patch: api.JSONPatch, TestsFail: true}}, "422 Invalid", "1 get")
	})
	t.Run("C14", func(t *testing.T) {
		b, _ := at100(t, settings{})
		b.want("C14", post(configmaps, "default", "a"), "409 AlreadyExists", "1 get, 1 txn")
	})
	t.Run("C15", func(t *testing.T) {
		b, _ := at100(t, settings{})
		withVersion := post(configmaps, "default", "new")
		withVersion.body.Version = request.At(77)
		b.want("C15", withVersion, "500", "")
		withVersion.query = "dryRun=All"
		b.want("C15 dry", withVersion, "201 77", "1 get")
		withVersion.query, withVersion.body.Version = "", request.At(0)
		b.want("C15 RV 0", withVersion, "201 101", "1 txn")
		again := post(configmaps, "default", "new")
		again.query = "dryRun=All"
		b.want("dry create", again, "409 AlreadyExists", "2 get")
	})
	t.Run("C16", func(t *testing.T) {
		b, _ := at100(t, settings{})
		a := b.must(200, apiRequest{verb: "get", path: "default/a"})
		status := put("default/a", "100", "status.phase", "Ready", "x", "9")
		status.sub = "status"
		b.want("C16", status, "200 101", "1 txn")
		b.want("C16", put("default/a", text(a.Version), "x", "2"), "409 Conflict", "1 get")
		o := b.must(200, put("default/a", "", "x", "2", "status.phase", "Broken")).Object
		if o.Fields["status.phase"] != "Ready" {
			t.Errorf("a PUT of the object has changed the status: %v", o.Fields)
		}
	})
	t.Run("C17", func(t *testing.T) {
		b, _ := at100(t, settings{writeNs: millisecond, readNs: millisecond})
		clients, written := 10, 0
		for range 5 {
			v := b.must(200, apiRequest{verb: "get", path: "default/a"}).Version
			var all []apiRequest
			for i := range clients - written {
				all = append(all, put("default/a", text(v), "x", fmt.Sprint(v, "-", i)))
			}
			for _, a := range b.all(all...) {
				if a.Status == 200 {
					written++
				}
			}
		}
		if written != 5 {
			t.Errorf("C17: %d have written, want 5", written)
		}
	})
	t.Run("C18", func(t *testing.T) {
		b, _ := at100(t, settings{})
		dry := put("default/a", "90", "x", "2")
		dry.query = "dryRun=All"
		b.want("C18", dry, "409 Conflict", "1 get")
		dry = put("default/a", "100", "x", "2")
		dry.query = "dryRun=All"
		b.want("C18", dry, "200 100", "1 get")
		if b.store.Revision() != 100 {
			t.Error("C18: a revision was made")
		}
	})
}

// stale returns a server whose cache has the configmap default/a at 100, which is at 101 since.
func stale(t *testing.T) (*bench, *api.Object) {
	b, _ := at100(t, settings{lagNs: 100 * second})
	return b, b.must(200, put("default/a", "100", "x", "2")).Object
}

// all sends requests at the same time and returns their answers, in that order.
func (b *bench) all(requests ...apiRequest) []api.Answer {
	b.t.Helper()
	var clients []*client
	for _, q := range requests {
		clients = append(clients, b.send(q))
	}
	b.run(30 * second)
	var answers []api.Answer
	for i, c := range clients {
		if c.answers != 1 {
			b.t.Fatalf("request %d has %d answers", i, c.answers)
		}
		answers = append(answers, c.answer)
	}
	return answers
}

// together sends requests at the same time and checks the answers, in the order of their versions.
func (b *bench) together(row string, want []string, requests ...apiRequest) []api.Answer {
	b.t.Helper()
	answers := b.all(requests...)
	var got []string
	for i := range answers {
		got = append(got, describe(&answers[i]))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: got %v, want %v", row, got, want)
	}
	return answers
}

func TestGenerateName(t *testing.T) {
	b := newBench(t, settings{})
	q := apiRequest{verb: "create", path: "default/", body: &api.Body{GenerateName: "x-"}}
	a := b.must(201, q)
	if len(a.Object.Name) != len("x-")+5 {
		t.Errorf("the name is %q", a.Object.Name)
	}
	if second := b.must(201, q); second.Object.Name == a.Object.Name {
		t.Errorf("both names are %q", a.Object.Name)
	}
	b.want("neither", apiRequest{verb: "create", path: "default/", body: &api.Body{}}, "422 Invalid", "")
	b.want("no body", apiRequest{verb: "create", path: "default/"}, "422 Invalid", "")
}

// Requests for subresources that the store does not know are answered without it.
func TestOtherSubresources(t *testing.T) {
	b := newBench(t, settings{})
	for sub, want := range map[string]string{"exec": "101", "proxy": "200"} {
		b.want(sub, apiRequest{verb: "create", resource: pods, sub: sub, path: "default/p", body: &api.Body{}}, want, "")
	}
}

// A generated name has at most 63 characters, of which five are random: the prefix is shortened.
func TestGeneratedNamesAreNotTooLong(t *testing.T) {
	b := newBench(t, settings{})
	for prefix, length := range map[int]int{57: 62, 58: 63, 59: 63, 60: 63, 80: 63} {
		q := apiRequest{verb: "create", path: "default/", body: &api.Body{GenerateName: strings.Repeat("x", prefix)}}
		if name := b.must(201, q).Object.Name; len(name) != length || strings.Trim(name[:length-5], "x") != "" {
			t.Errorf("a prefix of %d characters becomes %q of %d, want %d", prefix, name, len(name), length)
		}
	}
}

// A name that is taken is tried again under another one: 8 times since 1.31, once before.
func TestGenerateNameTries(t *testing.T) {
	for _, test := range []struct {
		release, want, calls string
	}{{"1.37", "409 AlreadyExists RA 1", "8 get, 8 txn"}, {"1.30", "409 AlreadyExists RA 1", "1 get, 1 txn"}} {
		b := newBench(t, settings{release: test.release})
		var names []string
		for range 8 {
			names = append(names, b.generate("x-"))
		}
		b.names.Open(1, "servers", 0, "names")
		for _, name := range names {
			b.must(201, post(configmaps, "default", name))
		}
		b.want(test.release, apiRequest{verb: "create", path: "default/", body: &api.Body{GenerateName: "x-"}}, test.want, test.calls)
	}
}
