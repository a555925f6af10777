package change

import (
	"slices"

	"apfsim/core/request"
	"apfsim/sim/api"
)

const (
	orphanFinalizer     = "orphan"
	foregroundFinalizer = "foregroundDeletion"
	defaultGraceSeconds = 30 // of pods
)

// BeforeDelete finds out whether an object is given time to end, and sets until when in the new state
// (pkg/registry/rest/delete.go, BeforeDelete). The period is kept for the next call, as upstream.
func (w *Write) BeforeDelete(nowNs int64, live *api.Object) (graceful, isPending, ok bool) {
	if !w.Holds(live) {
		return false, false, false
	}
	if w.GraceGiven && w.GraceSeconds < 0 {
		w.GraceSeconds = 1
	}
	if !w.Strategy.Graceful {
		return false, false, true
	}
	if live.Deleting() {
		if live.GraceSeconds == 0 {
			return false, false, true
		}
		if !w.GraceGiven {
			w.GraceSeconds, w.GraceGiven = live.GraceSeconds, true
			return false, true, true
		}
		if w.GraceSeconds >= live.GraceSeconds {
			return false, true, true
		}
		seconds := w.GraceSeconds
		untilNs := live.DeletionNs - live.GraceSeconds*1e9 + seconds*1e9
		if untilNs < nowNs {
			untilNs = nowNs
			if seconds != 0 {
				seconds = 1
			}
		}
		w.Next.DeletionNs, w.Next.GraceSeconds = untilNs, seconds
		return true, false, true
	}
	w.GraceSeconds, w.GraceGiven = w.podGrace(live), true
	w.Next.DeletionNs, w.Next.GraceSeconds = nowNs+w.GraceSeconds*1e9, w.GraceSeconds
	return true, false, true
}

// podGrace returns how long a pod may take to end (pkg/registry/core/pod/strategy.go of k8s.io/kubernetes,
// CheckGracefulDelete).
func (w *Write) podGrace(pod *api.Object) int64 {
	seconds := int64(defaultGraceSeconds)
	if w.GraceGiven {
		seconds = w.GraceSeconds
	} else if v := request.ParseVersion(pod.Fields[graceField]); v.Given && v.Word == "" {
		seconds = v.N
	}
	phase := pod.Fields[phaseField]
	if pod.Fields[NodeField] == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	if seconds < 0 {
		return 1
	}
	return seconds
}

// collectorFinalizers returns the finalizers of an object with those by which the garbage collector learns
// what to do with its dependents.
func (w *Write) collectorFinalizers(live *api.Object) []string {
	o := w.Options
	if w.Strategy.Events {
		return live.Finalizers
	}
	orphan, foreground := slices.Contains(live.Finalizers, orphanFinalizer), slices.Contains(live.Finalizers, foregroundFinalizer)
	switch {
	case o.OrphanGiven:
		orphan, foreground = o.OrphanDependents, false
	case o.Propagation != "":
		orphan, foreground = o.Propagation == "Orphan", o.Propagation == "Foreground"
	}
	finalizers := slices.DeleteFunc(slices.Clone(live.Finalizers), func(f string) bool {
		return f == orphanFinalizer || f == foregroundFinalizer
	})
	if orphan {
		finalizers = append(finalizers, orphanFinalizer)
	}
	if foreground {
		finalizers = append(finalizers, foregroundFinalizer)
	}
	return finalizers
}

func sameFinalizers(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(f string) bool { return !slices.Contains(b, f) })
}

// changeForDeletion marks an object as being deleted (updateForGracefulDeletionAndFinalizers).
func (w *Write) changeForDeletion(nowNs int64, live *api.Object) Outcome {
	w.Next = *live
	graceful, isPending, ok := w.BeforeDelete(nowNs, live)
	if !ok {
		w.Answer.Refuse(api.Conflict)
		return Failed
	}
	if isPending {
		return IsDeleting
	}
	if f := w.collectorFinalizers(live); !sameFinalizers(f, live.Finalizers) {
		w.Next.Finalizers = f
	}
	w.Finalizes = len(w.Next.Finalizers) > 0
	if graceful {
		return Computed
	}
	if !w.Finalizes {
		return DeleteNow
	}
	if !live.Deleting() || live.DeletionNs > nowNs {
		w.Next.DeletionNs = nowNs
	}
	w.Next.GraceSeconds = 0
	return Computed
}

// Marks says whether a deletion of an object begins by marking it in an update, given whether it is graceful.
func (w *Write) Marks(live *api.Object, graceful bool) bool {
	return graceful || len(live.Finalizers) > 0 || !sameFinalizers(w.collectorFinalizers(live), live.Finalizers)
}
