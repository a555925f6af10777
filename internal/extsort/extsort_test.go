package extsort

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type record struct{ key, value string }

// all returns the records in the order of Each.
func all(t interface{ Fatal(...any) }, s *Sorter) (records []record) {
	err := s.Each(func(key, value []byte) error {
		records = append(records, record{string(key), string(value)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// Whatever the memory, the order is that of sorting all records at once, a second time too, and no
// file remains.
func TestOrderDoesNotDependOnMemory(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c]{0,3}`)
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record {
			return record{text.Draw(t, "key"), text.Draw(t, "value")}
		}), 0, 400).Draw(t, "records")
		s := New(dir, rapid.SampledFrom([]int{600, 3000, 1 << 20}).Draw(t, "memory"))
		for _, r := range records {
			if err := s.Add([]byte(r.key), []byte(r.value)); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(records, func(a, b record) int {
			if c := bytes.Compare([]byte(a.key), []byte(b.key)); c != 0 {
				return c
			}
			return bytes.Compare([]byte(a.value), []byte(b.value))
		})
		for range 2 {
			if got := all(t, s); !slices.Equal(got, records) {
				t.Fatalf("got %v, want %v", got, records)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Fatalf("%s remains", left[0].Name())
		}
	})
}

// With one record a run, 5000 records are merged in two levels, so that few files are open.
func TestFewFilesAreOpen(t *testing.T) {
	s := New(t.TempDir(), 0)
	defer s.Close()
	const n = 5000
	for i := range n {
		k := (i * 7919) % n
		if err := s.Add([]byte{byte(k >> 8), byte(k)}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, level := range s.levels {
			open += len(level)
		}
		if open > 2*mostRuns {
			t.Fatalf("%d runs after %d records, want at most %d", open, i+1, 2*mostRuns)
		}
	}
	records := all(t, s)
	if len(records) != n || !slices.IsSortedFunc(records, func(a, b record) int { return bytes.Compare([]byte(a.key), []byte(b.key)) }) {
		t.Errorf("%d records, want %d in order", len(records), n)
	}
}

func TestErrorsEndTheSorting(t *testing.T) {
	s := New(t.TempDir()+"/none", 0)
	defer s.Close()
	var err error
	for range 3 {
		if err = s.Add([]byte("k"), nil); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v without a folder, want one of the folder", err)
	}
	if again := s.Each(func(_, _ []byte) error { return nil }); again == nil {
		t.Error("Each returns no error after Add has")
	}

	full := New(t.TempDir(), 100)
	defer full.Close()
	for i := range 100 {
		full.Add([]byte{byte(i)}, nil)
	}
	stop := errors.New("stop")
	n := 0
	if err := full.Each(func(_, _ []byte) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("Each returns %v after %d records, want the error of the function after one", err, n)
	}
}
