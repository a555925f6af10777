package apicalls

import (
	"slices"
	"strconv"

	"apfsim/core/request"
	"apfsim/sim/trace"
)

// answered is what references to a call stand for.
type answered struct {
	version int64
	uid     string
	next    string // the continue token
}

// known are the answers so far, by the IDs of their calls.
type known map[int64]answered

// version replaces a reference in a place for a resourceVersion. What is none is returned as it is. One to a call that
// was answered without a version, or not at all, is empty, as in a replay; so are those below.
func (k known) version(text string) string {
	id, more, ok := trace.Reference(text)
	if !ok {
		return text
	}
	if k[id].version == 0 {
		return ""
	}
	return strconv.FormatInt(k[id].version+more, 10)
}

func (k known) uid(text string) string {
	if id, _, ok := trace.Reference(text); ok {
		return k[id].uid
	}
	return text
}

func (k known) token(text string) string {
	if id, _, ok := trace.Reference(text); ok {
		return k[id].next
	}
	return text
}

// query replaces the references in a query.
func (k known) query(query string) string {
	return request.EditQuery(query, func(name, value string) (string, bool) {
		switch name {
		case "resourceVersion":
			value = k.version(value)
		case "continue":
			value = k.token(value)
		case "uid":
			value = k.uid(value)
		}
		return value, true
	})
}

// References returns the IDs of the calls that a call refers to, in ascending order.
func (c *Call) References() []int64 {
	places := []string{c.BodyResourceVersion, c.BodyUID}
	if c.Preconditions != nil {
		places = append(places, c.Preconditions.ResourceVersion, c.Preconditions.UID)
	}
	request.EditQuery(c.Query, func(_, value string) (string, bool) {
		places = append(places, value)
		return value, true
	})
	var ids []int64
	for _, p := range places {
		if id, _, ok := trace.Reference(p); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
