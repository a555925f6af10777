package workload

import (
	"strconv"
	"strings"

	"apfsim/core/request"
	"apfsim/sim/random"
)

// informer is a behaviour that is one reflector.
type informer struct {
	Reflector
	chance random.Stream
}

// Machine returns what keeps a copy of some objects. Nobody needs the objects, so that it only counts them.
func (s *Informer) Machine(c Client) Machine {
	i := &informer{}
	c.Stream(&i.chance, "reflector")
	settings := Selected(c, &s.Selection)
	settings.WatchList = s.Start == WatchList
	settings.NoBookmarks = !s.Bookmarks
	settings.SinceLastUse = s.Backoff == SinceLastUse
	settings.PerEvent = s.PerEvent
	switch s.Limit {
	case DefaultPageSize:
	case 0:
		settings.PageSize = -1
	default:
		settings.PageSize = s.Limit
	}
	i.Reflector = *NewReflector(settings, c, &i.chance, nil)
	return i
}

// Selected returns the settings of a reflector of what a scenario selects, with the client's index in the
// place of {i}. A selection of one object by its name has this name, as its requests do (k8s.io/apiserver,
// endpoints/request/requestinfo.go).
func Selected(c Client, s *Selection) ReflectorSettings {
	settings := ReflectorSettings{
		Group:         s.Group,
		Resource:      s.Resource,
		Namespace:     Expand(c, s.Namespace),
		LabelSelector: Expand(c, s.LabelSelector),
		FieldSelector: Expand(c, s.FieldSelector),
	}
	selection := request.Options{FieldSelector: settings.FieldSelector, LabelSelector: settings.LabelSelector}
	settings.Name = selection.ObjectName()
	if s.Matches != nil {
		settings.Matches = *s.Matches
	}
	return settings
}

// Expand puts the client's index in the place of {i}.
func Expand(c Client, s string) string {
	if !strings.Contains(s, "{i}") {
		return s
	}
	return strings.ReplaceAll(s, "{i}", strconv.Itoa(c.Index()))
}

func (s *Informer) resources() []string { return []string{ResourceName(s.Group, s.Resource)} }
