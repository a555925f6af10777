package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func (p Page) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", p.Revision)
	if p.Counted > 0 {
		fmt.Fprintf(&b, " %d counted", p.Counted)
	}
	for _, o := range p.Objects {
		fmt.Fprintf(&b, " %s@%d", o.Key(), o.Version)
	}
	if p.More {
		fmt.Fprintf(&b, " +%d from %q", p.Remaining, p.Next)
	}
	return b.String()
}

func (w *world) expectPage(t *testing.T, revision int64, r *Resource, namespace, start string, limit int64, want string) {
	t.Helper()
	p, err := r.Page(revision, namespace, start, limit, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != want {
		t.Errorf("page of %q from %q: %s, want %s", namespace, start, got, want)
	}
}

// A client lists pods by twos. Between the pages a pod is deleted, one is changed and one is created, and the
// list stays at its revision. The order is that of the keys in etcd, in which the slash takes part.
func TestPages(t *testing.T) {
	w := newWorld(Settings{})
	r := w.Resource(pods)
	for i, name := range []string{"b/2", "a/x", "a-b/1", "b/1", "b/3", "a/y"} { // revisions 2 to 7
		namespace, name, _ := strings.Cut(name, "/")
		put(t, int64(i), r, object(namespace, name))
	}
	w.expectPage(t, 0, r, "", "", 2, `7: a-b/1@4 a/x@3 +4 from "a/x\x00"`)
	r.Delete(10, "b", "1", 5)
	put(t, 11, r, object("b", "2"))
	put(t, 12, r, object("b", "0"))
	w.expectPage(t, 7, r, "", "a/x\x00", 2, `7: a/y@7 b/1@5 +2 from "b/1\x00"`)
	w.expectPage(t, 7, r, "", "b/1\x00", 2, `7: b/2@2 b/3@6`)
	w.expectPage(t, 0, r, "", "b/1\x00", 2, `10: b/2@9 b/3@6`)
	w.expectPage(t, 9, r, "", "a/y", 0, `9: a/y@7 b/2@9 b/3@6`)

	// In a namespace, the start keys have no namespace.
	w.expectPage(t, 0, r, "b", "", 2, `10: b/0@10 b/2@9 +1 from "2\x00"`)
	w.expectPage(t, 0, r, "b", "2\x00", 2, `10: b/3@6`)
	w.expectPage(t, 7, r, "b", "", 2, `7: b/1@5 b/2@2 +1 from "2\x00"`)
	w.expectPage(t, 8, r, "b", "", 2, `8: b/2@2 b/3@6`)
	w.expectPage(t, 0, r, "a", "", 0, `10: a/x@3 a/y@7`)
	w.expectPage(t, 0, r, "c", "", 5, `10:`)
	w.expectPage(t, 2, r, "", "", 5, `2: b/2@2`)
	w.expectPage(t, 1, r, "", "", 5, `1:`)
}

// Objects that are only counted come first, and pages may end among them. One is adopted in between.
func TestPagesOfCounted(t *testing.T) {
	w := newWorld(Settings{}, Count{pods, 7, 100})
	r := w.Resource(pods)
	put(t, 1, r, object("a", "x"))
	put(t, 2, r, object("a", "y"))
	w.expectPage(t, 0, r, "", "", 0, `3: 7 counted a/x@2 a/y@3`)
	w.expectPage(t, 0, r, "", "", 3, `3: 3 counted +6 from "\x003"`)
	w.expectPage(t, 0, r, "", "\x003", 4, `3: 4 counted +2 from "\x007"`)
	w.expectPage(t, 0, r, "", "\x007", 1, `3: a/x@2 +1 from "a/x\x00"`)
	w.expectPage(t, 0, r, "", "\x003", 5, `3: 4 counted a/x@2 +1 from "a/x\x00"`)
	w.expectPage(t, 0, r, "", "a/x\x00", 5, `3: a/y@3`)

	r.Adopt(3, "b", "z")
	w.expectPage(t, 0, r, "", "\x003", 4, `3: 3 counted a/x@2 +2 from "a/x\x00"`)
	put(t, 4, r, object("b", "z"))
	w.expectPage(t, 3, r, "", "\x007", 0, `3: a/x@2 a/y@3 b/z@1`)
	w.expectPage(t, 0, r, "", "\x007", 0, `4: a/x@2 a/y@3 b/z@4`)

	// The caller says how many of them are in a namespace, which is not more than there are.
	for matches, want := range map[int64]string{0: "4: a/x@2 a/y@3", 2: "4: 2 counted a/x@2 a/y@3", 9: "4: 6 counted a/x@2 a/y@3"} {
		p, err := r.Page(0, "a", "", 0, matches)
		if got := p.String(); err != nil || got != want {
			t.Errorf("%d matches: %s, %v; want %s", matches, got, err, want)
		}
	}
}

// A continue token is the same text as a kube-apiserver's, and what is not one is refused.
func TestTokens(t *testing.T) {
	// {"v":"meta.k8s.io/v1","rv":135,"start":"x-478tf\u0000"}
	const upstream = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTM1LCJzdGFydCI6IngtNDc4dGZcdTAwMDAifQ"
	if got := EncodeToken(135, "x-478tf\x00"); got != upstream {
		t.Errorf("token %s, want %s", got, upstream)
	}
	for _, c := range []struct {
		revision int64
		start    string
	}{{135, "x-478tf\x00"}, {-1, "default/a\x00"}, {7, countedPrefix + "500"}, {1 << 60, "ü"}} {
		revision, start, err := DecodeToken(EncodeToken(c.revision, c.start))
		if err != nil || revision != c.revision || start != c.start {
			t.Errorf("token of %d %q became %d %q, %v", c.revision, c.start, revision, start, err)
		}
	}
	for _, text := range []string{"", "?", upstream + "=", "bm90IEpTT04",
		EncodeToken(0, "a"), EncodeToken(1, ""), EncodeToken(1, "../secrets/"), EncodeToken(1, "a//b"),
		"eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6MTM1LCJzdGFydCI6ImEifQ", // meta.k8s.io/v2
	} {
		if revision, start, err := DecodeToken(text); !errors.Is(err, errToken) {
			t.Errorf("token %q became %d %q, %v; want errToken", text, revision, start, err)
		}
	}
}

// A namespace that is the beginning of another one's name has its own objects only.
func TestNamespaces(t *testing.T) {
	w := newWorld(Settings{})
	r := w.Resource(pods)
	for _, namespace := range []string{"a", "a-b", "a.b", "a0", "ab", "b"} {
		put(t, 1, r, object(namespace, "x"))
	}
	for _, namespace := range []string{"a", "a-b", "a.b", "a0", "ab", "b"} {
		p, err := r.Page(0, namespace, "", 0, 0)
		if err != nil || len(p.Objects) != 1 || p.Objects[0] != r.Get(namespace, "x") {
			t.Errorf("namespace %s: %v, %v", namespace, p, err)
		}
	}
}

// What is kept of old revisions is bounded: there are as many views as were used last, one for all revisions
// between two changes, and a compaction drops those that can no longer be read.
func TestViews(t *testing.T) {
	w := newWorld(Settings{})
	r := w.Resource(pods)
	for i := range int64(20) { // pods at revisions 2, 4, …, 40
		put(t, i, r, object("a", "x"))
		put(t, i, w.Resource(nodes), object("", "n"))
	}
	w.expectPage(t, 40, r, "", "", 0, "40: a/x@40")
	if len(r.views) != 0 {
		t.Errorf("%d views after a page at the latest revision, want none", len(r.views))
	}
	for revision := int64(2); revision < 40; revision++ {
		w.expectPage(t, revision, r, "", "", 0, fmt.Sprintf("%d: a/x@%d", revision, revision&^1))
	}
	var kept []int64
	for _, v := range r.views {
		kept = append(kept, v.revision)
	}
	if want := []int64{25, 27, 29, 31, 33, 35, 37, 39}; !slices.Equal(kept, want) {
		t.Errorf("views of %d, want %d", kept, want)
	}
	w.compact(30)
	if len(r.views) != 5 || r.views[0].revision != 31 {
		t.Errorf("%d views after the compaction to 30, want those of 31 to 39", len(r.views))
	}
	w.expectPage(t, 30, r, "", "", 0, "30: a/x@30")
}
