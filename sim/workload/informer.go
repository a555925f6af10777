package workload

import (
	"apfsim/core/request"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Informer keeps a copy of some objects (k8s.io/client-go, tools/cache/reflector.go).
type Informer struct {
	Selection
	Start     string                `json:"start,omitempty" jsonschema:"enum=List,enum=WatchList,default=WatchList" jsonschema_description:"List: a list and then a watch. WatchList: a watch that begins with the objects, as client-go does since 1.35."`
	Bookmarks bool                  `json:"bookmarks,omitempty" jsonschema:"default=true" jsonschema_description:"Whether the watches ask for bookmarks."`
	Limit     int64                 `json:"limit,omitempty" jsonschema:"default=500,minimum=0" jsonschema_description:"Page size of lists."`
	Backoff   string                `json:"backoff,omitempty" jsonschema:"enum=SinceReset,enum=SinceLastUse,default=SinceReset" jsonschema_description:"When the back-off starts over: SinceReset, 2m after it last started over, as client-go since 1.36; SinceLastUse, 2m after its last use, as before."`
	PerEvent  quantity.Distribution `json:"perEvent,omitempty" jsonschema_description:"How long the client takes to read one event; without it, no time."`
}

// The values of Informer.Backoff.
const (
	SinceReset   = "SinceReset"
	SinceLastUse = "SinceLastUse"
)

func (s *Informer) check(c *checker, path string) { c.selection(path, &s.Selection) }

func (s *Informer) resources() []string { return []string{request.JoinResource(s.Group, s.Resource)} }

// Machine returns what keeps a copy of some objects. Nobody needs the objects, so that it only counts them.
func (s *Informer) Machine(c Client) Machine {
	i := &informer{}
	c.Stream(&i.chance, "reflector")
	settings := selected(c, &s.Selection)
	settings.WatchList = s.Start == WatchList
	settings.NoBookmarks = !s.Bookmarks
	settings.SinceLastUse = s.Backoff == SinceLastUse
	settings.PerEvent = s.PerEvent
	switch s.Limit {
	case defaultPageSize:
	case 0:
		settings.PageSize = -1
	default:
		settings.PageSize = s.Limit
	}
	i.Reflector = *NewReflector(settings, c, &i.chance, nil)
	return i
}

// informer is a behaviour that is one reflector.
type informer struct {
	Reflector
	chance random.Stream
}
