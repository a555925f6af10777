package workload

import (
	"apfsim/core/request"
	"apfsim/sim/api"
)

// defaultPageSize is how many objects a page of a list has unless the caller says otherwise
// (k8s.io/client-go, tools/pager/pager.go; k8s.io/kubectl, pkg/cmd/util/helpers.go, DefaultChunkSize).
const defaultPageSize = 500

// pager is one list that is asked for page by page (k8s.io/client-go, tools/pager/pager.go).
type pager struct {
	First request.Version // that the first page asks for; the others have a token instead
	Limit int64           // of each page; 0 for the whole list at once

	Pages          int   // that have come
	Version, Items int64 // of the first page, and of all pages

	continued string
	whole     bool // a page has expired, so that the whole list is asked for at once
}

// Options returns what the next page asks for.
func (p *pager) Options() request.Options {
	switch {
	case p.continued != "":
		return request.Options{Limit: p.Limit, Continue: p.continued}
	case p.whole:
		return request.Options{Version: p.First}
	}
	return request.Options{Version: p.First, Limit: p.Limit}
}

// Add adds a page, and returns whether there are more.
func (p *pager) Add(a *api.Answer) (more bool) {
	if p.Pages == 0 || p.whole {
		p.Version, p.Items = a.Version, 0
	}
	p.Pages++
	p.Items += a.Items
	p.continued = a.Continue
	return p.continued != "" && !p.whole
}

// Expire is called when a page was answered 410. It returns whether the whole list is to be asked for, in the
// place of what has come: pages expire, a whole list does not.
func (p *pager) Expire() (again bool) {
	again = p.continued != ""
	p.whole, p.continued = again, ""
	return again
}
