package store

import (
	"fmt"
	"runtime"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/clock"
)

// bare returns a store whose alarms never ring, with 150 000 pods, of which some have names.
func bare(named int) (*Store, *Resource, []*api.Object) {
	alarms := clock.NewAlarms(func(int64, int32) clock.Handle { return 1 }, func(clock.Handle) {})
	s := New(alarms, Settings{}, 0, []Count{{pods, 150_000, 8000}})
	r := s.Resource(pods)
	objects := make([]*api.Object, named)
	for i := range objects {
		objects[i] = r.Adopt(0, fmt.Sprintf("namespace-%d", i%100), fmt.Sprintf("pod-%d", i*7919%named))
	}
	return s, r, objects
}

// BenchmarkPut is updates of the status of pods, each by its version. Every 600 000 commits, as many as a busy
// cluster has in 10 minutes, the first half of them is compacted.
func BenchmarkPut(b *testing.B) {
	for _, named := range []int{1000, 30_000, 150_000} {
		b.Run(fmt.Sprintf("pods=%d", named), func(b *testing.B) {
			s, r, objects := bare(named)
			at := 0
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				o := objects[at]
				stored, ok := r.Put(int64(i), o, o.Version)
				if !ok {
					b.Fatal("conflict")
				}
				objects[at] = stored
				if at++; at == named {
					at = 0
				}
				if i%300_000 == 299_999 {
					s.compact(s.revision - 300_000)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcommits/s")
		})
	}
}

// BenchmarkCreateDelete is pods that come and go among 30 000.
func BenchmarkCreateDelete(b *testing.B) {
	s, r, _ := bare(30_000)
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("new-%d", i*7919%1000)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		stored, _ := r.Put(int64(i), &api.Object{Namespace: "namespace-5", Name: names[i%1000], DeletionNs: -1}, 0)
		if _, ok := r.Delete(int64(i), stored.Namespace, stored.Name, stored.Version); !ok {
			b.Fatal("conflict")
		}
		if i%300_000 == 299_999 {
			s.compact(s.revision - 300_000)
		}
	}
	b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcommits/s")
}

// BenchmarkPages is a list of 150 000 pods in pages of 500, at the latest revision and at one that has had 15 000
// changes since.
func BenchmarkPages(b *testing.B) {
	for _, changes := range []int{0, 15_000} {
		b.Run(fmt.Sprintf("changes=%d", changes), func(b *testing.B) {
			s, r, objects := bare(150_000)
			revision := s.revision
			for i := range changes {
				o := objects[i*10]
				r.Put(0, o, o.Version)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.views = nil
				n, start := 0, ""
				for {
					p, err := r.Page(revision, "", start, 500, 0)
					if err != nil {
						b.Fatal(err)
					}
					n += len(p.Objects)
					if start = p.Next; !p.More {
						break
					}
				}
				if n != 150_000 {
					b.Fatal(n)
				}
			}
		})
	}
}

// 150 000 pods, all of which have names, and a million changes that are not compacted take less than a quarter of
// the 2 GB that a simulation may take.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("needs half a gigabyte")
	}
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	s, r, objects := bare(150_000)
	for i := range 1_000_000 {
		o := r.Get(objects[i%len(objects)].Namespace, objects[i%len(objects)].Name)
		if _, ok := r.Put(int64(i), o, o.Version); !ok {
			t.Fatal("conflict")
		}
	}
	clear(objects)
	mebibytes := (memory() - before) >> 20
	t.Logf("%d MiB", mebibytes)
	if mebibytes > 500 {
		t.Errorf("%d MiB, want at most 500", mebibytes)
	}
	runtime.KeepAlive(s)
}
