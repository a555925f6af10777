package workload

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/metric"
)

// list is the list of a reflector.
type list struct {
	pager
	asked   request.Version // by the first list of the round
	again   bool            // it is the second one of the round, because that version cannot be used
	objects []*api.Object
}

// beginList gets all objects by a list (Reflector.list). Objects that are no older than those that the copy
// has are enough, even for the first list, which any server can answer that has a cache.
func (r *Reflector) beginList(nowNs int64) {
	l := list{asked: r.relistVersion()}
	l.First = l.asked
	switch {
	case r.PageSize != 0:
		l.Limit = max(0, r.PageSize)
	case r.paged || !l.asked.Given || l.asked.Zero():
		// A list of a certain version has no limit, so that it can come from a cache.
		l.Limit = defaultPageSize
	}
	r.list = l
	r.sendPage(nowNs)
}

// relistVersion returns the version that a list asks for (relistResourceVersion): at first any, then no older
// one than that of the copy, and the latest if that cannot be used.
func (r *Reflector) relistVersion() request.Version {
	switch {
	case r.unavailable:
		return request.Version{}
	case r.version == 0:
		return request.At(0)
	}
	return request.At(r.version)
}

func (r *Reflector) sendPage(nowNs int64) {
	r.send(nowNs, listToken, r.Request("list", r.list.Options()))
}

// listAnswered is called with a page, or why there is none.
func (r *Reflector) listAnswered(nowNs int64, a *api.Answer) {
	l := &r.list
	switch {
	case a.Status == statusOK:
		more := l.Add(a)
		if r.handler != nil {
			l.objects = append(l.objects, a.Objects...)
		}
		if more {
			r.sendPage(nowNs)
			return
		}
		r.endList(nowNs)
	case !r.expired(nowNs, a):
		r.leave(nowNs, metric.AfterFailure)
	case a.Status == statusGone && l.Expire():
		l.objects = nil
		r.sendPage(nowNs)
	case l.again:
		r.unavailable = true
		r.leave(nowNs, r.reason)
	default:
		r.unavailable = true
		*l = list{asked: l.asked, again: true, pager: pager{First: r.relistVersion(), Limit: l.Limit}}
		r.sendPage(nowNs)
	}
}

// endList ends a list that has all objects, and begins to watch.
func (r *Reflector) endList(nowNs int64) {
	l := r.list
	r.list = list{}
	if l.asked.Zero() && l.Pages > 1 {
		r.paged = true
	}
	r.replace(nowNs, l.objects, l.Items)
	r.caughtUp(nowNs, l.Version)
	r.sendWatch(nowNs)
}
