package maintain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"

	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
	"apfsim/sim/store"
)

// pair is a store of etcd and a simulated one that get the same writes. The simulated one compacts every 10 s; the other
// follows it.
type pair struct {
	t      *testing.T
	real   mvcc.WatchableKV
	queue  clock.Queue[int32]
	alarms *clock.Alarms
	ours   *store.Store
}

const compactionNs = 10_000_000_000

func newPair(t *testing.T) *pair {
	p := &pair{t: t}
	b := backend.NewDefaultBackend(zap.NewNop(), filepath.Join(t.TempDir(), "db"))
	p.real = mvcc.New(zap.NewNop(), b, &lease.FakeLessor{}, mvcc.StoreConfig{})
	t.Cleanup(func() {
		p.real.Close()
		b.Close()
	})
	p.alarms = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle { return p.queue.Schedule(atNs, 1, slot) }, p.queue.Cancel)
	p.ours = store.New(p.alarms, store.Settings{CompactionInterval: compactionNs, EventTTL: quantity.Duration(100e9)}, 1, nil)
	return p
}

// nothing happens when it rings.
type nothing struct{}

func (nothing) Ring(int64) {}

// run lets time pass in the simulated store.
func (p *pair) run(untilNs int64) {
	p.alarms.Set(untilNs, nothing{})
	for {
		if next, ok := p.queue.NextNs(); !ok || next > untilNs {
			return
		}
		slot, _ := p.queue.Next()
		p.alarms.Ring(p.queue.NowNs(), slot)
	}
}

// put writes an object at both.
func (p *pair) put(resource api.Resource, namespace, name string) {
	p.real.Put([]byte(keyOf(resource, namespace)+name), []byte("x"), lease.NoLease)
	r := p.ours.Resource(resource)
	version := int64(0)
	if old := r.Get(namespace, name); old != nil {
		version = old.Version
	}
	if _, ok := r.Put(p.queue.NowNs(), &api.Object{Namespace: namespace, Name: name, DeletionNs: -1, Bytes: 1}, version); !ok {
		p.t.Fatal("a put failed")
	}
	p.same()
}

// delete deletes an object at both.
func (p *pair) delete(resource api.Resource, namespace, name string) {
	p.real.DeleteRange([]byte(keyOf(resource, namespace)+name), nil)
	r := p.ours.Resource(resource)
	if _, ok := r.Delete(p.queue.NowNs(), namespace, name, r.Get(namespace, name).Version); !ok {
		p.t.Fatal("a deletion failed")
	}
	p.same()
}

// same fails unless both are at the same revision.
func (p *pair) same() {
	if p.real.Rev() != p.ours.Revision() {
		p.t.Fatalf("etcd is at revision %d, the simulated store at %d", p.real.Rev(), p.ours.Revision())
	}
}

func keyOf(resource api.Resource, namespace string) string {
	if namespace == "" {
		return "/" + resource.Name + "/"
	}
	return "/" + resource.Name + "/" + namespace + "/"
}

// watched is a watch of both.
type watched struct {
	t      *testing.T
	stream mvcc.WatchStream
	real   []string // batches
	ours   []string
	over   bool // of ours
}

// batch describes a batch of events.
func batch(first, last int64, n int) string {
	return fmt.Sprintf("%d events, %d to %d", n, first, last)
}

// Behind implements store.Watching.
func (w *watched) Behind(_ int64, events []*api.Event, _ int64, inSync bool) {
	if n := len(events); n > 0 {
		w.ours = append(w.ours, batch(events[0].Version, events[n-1].Version, n))
	}
	w.over = w.over || inSync
}

// Compacted implements store.Watching.
func (w *watched) Compacted(int64) { w.ours, w.over = append(w.ours, "compacted"), true }

// watch begins a watch of both after a version.
func (p *pair) watch(resource api.Resource, namespace string, version int64) *watched {
	w := p.watchReal(resource, namespace, version)
	w.begin(p, resource, namespace, version)
	return w
}

// begin begins the watch of the simulated store.
func (w *watched) begin(p *pair, resource api.Resource, namespace string, version int64) {
	w.over = p.ours.Resource(resource).Watch(p.queue.NowNs(), namespace, "", version, w) == nil
}

// watchReal begins the watch of etcd.
func (p *pair) watchReal(resource api.Resource, namespace string, version int64) *watched {
	w := &watched{t: p.t, stream: p.real.NewWatchStream()}
	p.t.Cleanup(w.stream.Close)
	key := []byte(keyOf(resource, namespace))
	if _, err := w.stream.Watch(context.Background(), mvcc.WatchID(clientv3.AutoWatchID), key, []byte(clientv3.GetPrefixRangeEnd(string(key))), version+1); err != nil {
		p.t.Fatal(err)
	}
	return w
}

// receive waits for the next batch of etcd.
func (w *watched) receive() {
	var r mvcc.WatchResponse
	select {
	case r = <-w.stream.Chan():
	case <-time.After(time.Minute):
		w.t.Fatalf("etcd has sent %q, and nothing more; the simulated store has sent %q", w.real, w.ours)
	}
	if r.CompactRevision != 0 {
		w.real = append(w.real, "compacted")
		return
	}
	w.real = append(w.real, batch(r.Events[0].Kv.ModRevision, r.Events[len(r.Events)-1].Kv.ModRevision, len(r.Events)))
}

// compare lets the simulated store come to the end of the watches, and etcd to as many batches.
func (p *pair) compare(watches []*watched) {
	p.t.Helper()
	p.run(p.queue.NowNs() + compactionNs/2)
	for i, w := range watches {
		for len(w.real) < len(w.ours) {
			w.receive()
		}
		if !w.over || !slices.Equal(w.real, w.ours) {
			p.t.Errorf("watch %d gets %q of etcd, and %q of the simulated store", i, w.real, w.ours)
		}
	}
}

var (
	configMaps = api.Resource{Name: "configmaps"}
	secrets    = api.Resource{Name: "secrets"}
	events     = api.Resource{Name: "events"}
)

// history writes n revisions by chance, of two resources and two namespaces.
func (p *pair) history(random *rand.Rand, n int) {
	for range n {
		resource := []api.Resource{configMaps, secrets}[random.IntN(2)]
		namespace, name := []string{"a", "b"}[random.IntN(2)], fmt.Sprint(random.IntN(50))
		if p.ours.Resource(resource).Get(namespace, name) != nil && random.IntN(4) == 0 {
			p.delete(resource, namespace, name)
		} else {
			p.put(resource, namespace, name)
		}
	}
}

// A watch from an old revision gets the events of its own keys in batches of as many revisions as etcd has for it.
func TestWatchesCatchUpLikeEtcd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	p := newPair(t)
	p.history(random, 6000)
	var watches []*watched
	for range 30 {
		resource := []api.Resource{configMaps, secrets}[random.IntN(2)]
		watches = append(watches, p.watch(resource, []string{"", "a", "b"}[random.IntN(3)], 1+random.Int64N(6000)))
	}
	p.compare(watches)
}

// Events of one revision, as an expiring lease makes them, count as one.
func TestWatchesCountRevisionsLikeEtcd(t *testing.T) {
	p := newPair(t)
	for i := range 900 {
		p.put(events, "a", fmt.Sprint(i))
	}
	p.run(106e9) // they have shared a lease of 105 s
	key := []byte(keyOf(events, ""))
	p.real.DeleteRange(key, []byte(clientv3.GetPrefixRangeEnd(string(key))))
	p.same()
	for i := range 200 {
		p.put(events, "a", fmt.Sprint(i))
	}
	watches := []*watched{p.watch(events, "", 1), p.watch(events, "a", 500)}
	p.compare(watches)
	if want := batch(2, 1001, 900+900+99); watches[0].ours[0] != want {
		t.Errorf("the first batch is %s, want %s", watches[0].ours[0], want)
	}
}

// beforeCompaction writes revisions at both until the simulated store is a moment before it compacts, and returns the revision to
// which it will.
func (p *pair) beforeCompaction(random *rand.Rand, n int) (revision int64) {
	p.ours.NewCompactor().Start(0)
	p.history(random, n)
	p.run(compactionNs)
	p.mark()
	p.same()
	revision = p.ours.Revision()
	p.history(random, n)
	return revision
}

// mark writes the key of those who compact in etcd, as a compactor of the simulated store does.
func (p *pair) mark() { p.real.Put([]byte("compact_rev_key"), []byte("x"), lease.NoLease) }

func (p *pair) compact(revision int64) {
	p.mark()
	if _, err := p.real.Compact(traceutil.TODO(), revision); err != nil {
		p.t.Fatal(err)
	}
}

// A watch begins at the revision of the compaction, or ends.
func TestWatchesBeginAfterACompactionLikeEtcd(t *testing.T) {
	p := newPair(t)
	compacted := p.beforeCompaction(rand.New(rand.NewPCG(2, 2)), 3000)
	p.run(2*compactionNs + 1)
	p.compact(compacted)
	p.same()
	if p.ours.Compacted() != compacted {
		t.Fatalf("the simulated store is compacted to %d, want %d", p.ours.Compacted(), compacted)
	}
	var watches []*watched
	for start := compacted - 3; start < compacted+3; start++ {
		watches = append(watches, p.watch(configMaps, "", start), p.watch(secrets, "b", start))
	}
	p.compare(watches)
	if watches[2].ours[0] != "compacted" || watches[4].ours[0] == "compacted" {
		t.Errorf("a watch from 2 revisions before the compaction gets %q, and from 1 before it %q", watches[2].ours, watches[4].ours)
	}
}

// A watch that is behind when etcd is compacted ends, after as many batches as it had got before.
func TestWatchesEndAtACompactionLikeEtcd(t *testing.T) {
	const behind = 12_000 // about half of them are of the resource
	p := newPair(t)
	compacted := p.beforeCompaction(rand.New(rand.NewPCG(3, 3)), behind)
	far, inTime := p.watchReal(configMaps, "", 1), p.watchReal(configMaps, "", compacted-1)
	far.receive()
	p.compact(compacted)
	for far.real[len(far.real)-1] != "compacted" {
		far.receive()
	}
	// In the simulated store, the watch begins as many rounds before the compaction; the last is at the moment of it.
	rounds := int64(len(far.real) - 1)
	p.run(2*compactionNs - (rounds-1)*100_000_000 - 50_000_000)
	far.begin(p, configMaps, "", 1)
	inTime.begin(p, configMaps, "", compacted-1)
	p.compare([]*watched{far, inTime})
}
