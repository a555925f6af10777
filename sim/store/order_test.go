package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// An order is what a sorted slice is. It grows to a dozen blocks by insertions at random places, at the end and at
// the beginning, and shrinks to nothing.
func TestOrderIsASortedSlice(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	key := map[string]func(i int) string{
		"random":     func(int) string { return fmt.Sprintf("%06d", source.IntN(1e6)) },
		"ascending":  func(i int) string { return fmt.Sprintf("%06d", i) },
		"descending": func(i int) string { return fmt.Sprintf("%06d", 999_999-i) },
	}
	for _, name := range []string{"random", "ascending", "descending"} {
		t.Run(name, func(t *testing.T) {
			var o order
			var want []string
			check := func() {
				var got []string
				for p := o.seek(""); o.entryAt(p) != nil; p = o.next(p) {
					if o.rank(p) != len(got) {
						t.Fatalf("entry %d has rank %d", len(got), o.rank(p))
					}
					got = append(got, o.entryAt(p).key)
				}
				if !slices.Equal(got, want) || o.length != len(want) {
					t.Fatalf("%d entries, length %d, want %d", len(got), o.length, len(want))
				}
				for range 20 {
					from, end := key["random"](0), key["random"](0)
					i, _ := slices.BinarySearch(want, from)
					j, _ := slices.BinarySearch(want, end)
					if e := o.entryAt(o.seek(from)); i < len(want) && (e == nil || e.key != want[i]) || i == len(want) && e != nil {
						t.Fatalf("seek %s: %v, want entry %d", from, e, i)
					}
					if got := o.between(from, end); got != max(0, j-i) || o.between("", end) != j || o.between(from, "") != len(want)-i {
						t.Fatalf("%d between %s and %s, want %d", got, from, end, max(0, j-i))
					}
				}
			}
			for i := range 1500 {
				k := key[name](i)
				if at, known := slices.BinarySearchFunc(want, k, cmp.Compare[string]); !known {
					want = slices.Insert(want, at, k)
					o.insert(&entry{key: k})
				}
				if i%100 == 0 {
					check()
				}
			}
			if len(o.blocks) < 1500/blockLength {
				t.Errorf("%d blocks for 1500 entries", len(o.blocks))
			}
			for len(want) > 0 {
				i := source.IntN(len(want))
				o.remove(want[i])
				want = slices.Delete(want, i, i+1)
				if len(want)%100 == 0 {
					check()
				}
			}
			if len(o.blocks) != 0 {
				t.Errorf("%d blocks without entries", len(o.blocks))
			}
		})
	}
}
