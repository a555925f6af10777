package store

import (
	"iter"
	"sort"

	"apfsim/sim/api"
)

// pageLength is the number of events that a history allocates together.
const pageLength = 128

// history is the events of a resource since the last compaction, in the order of their versions. Events that
// an expiring lease makes share one. They are in pages, whose events never move.
type history struct {
	pages   [][]api.Event
	dropped int // of the events of the first page
}

// len returns the number of events.
func (h *history) len() int {
	n := len(h.pages)
	if n == 0 {
		return 0
	}
	return (n-1)*pageLength + len(h.pages[n-1]) - h.dropped
}

// eventAt returns the event of an index, from 0 for the oldest.
func (h *history) eventAt(i int) *api.Event {
	i += h.dropped
	return &h.pages[i/pageLength][i%pageLength]
}

// add adds the newest event.
func (h *history) add(event api.Event) *api.Event {
	last := len(h.pages) - 1
	if last < 0 || len(h.pages[last]) == pageLength {
		h.pages = append(h.pages, make([]api.Event, 0, pageLength))
		last++
	}
	h.pages[last] = append(h.pages[last], event)
	page := h.pages[last]
	return &page[len(page)-1]
}

// after returns the index of the first event whose version is greater than a version.
func (h *history) after(version int64) int {
	n := h.len()
	if n == 0 || h.eventAt(n-1).Version <= version {
		return n
	}
	return sort.Search(n, func(i int) bool { return h.eventAt(i).Version > version })
}

// dropBefore drops the events whose version is less than a version.
func (h *history) dropBefore(version int64) {
	drop := h.after(version-1) + h.dropped
	pages := drop / pageLength
	kept := copy(h.pages, h.pages[pages:])
	clear(h.pages[kept:])
	h.pages = h.pages[:kept]
	h.dropped = drop % pageLength
}

// Since returns the events after a version, in their order; ok is false if some of them have been compacted.
// Events that are committed while the sequence is walked belong to it; the history must not be compacted then.
func (r *Resource) Since(version int64) (events iter.Seq[*api.Event], ok bool) {
	// etcd refuses to watch from a revision before that of the compaction; a server watches from the one
	// after the version (etcd server/storage/mvcc/watcher_group.go).
	if version+1 < r.store.compacted {
		return nil, false
	}
	return func(yield func(*api.Event) bool) {
		for i := r.history.after(version); i < r.history.len(); i++ {
			if !yield(r.history.eventAt(i)) {
				return
			}
		}
	}, true
}
