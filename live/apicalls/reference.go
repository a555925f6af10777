package apicalls

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reference is @ID or @ID+N.
var reference = regexp.MustCompile(`^@([0-9]+)(?:\+([0-9]+))?$`)

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
	id, more, ok := parse(text)
	if !ok {
		return text
	}
	if k[id].version == 0 {
		return ""
	}
	return strconv.FormatInt(k[id].version+more, 10)
}

func (k known) uid(text string) string {
	if id, _, ok := parse(text); ok {
		return k[id].uid
	}
	return text
}

func (k known) token(text string) string {
	if id, _, ok := parse(text); ok {
		return k[id].next
	}
	return text
}

// parse splits a reference.
func parse(text string) (id, more int64, ok bool) {
	found := reference.FindStringSubmatch(text)
	if found == nil {
		return 0, 0, false
	}
	id, err := strconv.ParseInt(found[1], 10, 64)
	if err == nil && found[2] != "" {
		more, err = strconv.ParseInt(found[2], 10, 64)
	}
	return id, more, err == nil
}

// query replaces the references in a query.
func (k known) query(query string) string {
	if query == "" {
		return ""
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		replaced := value
		switch name {
		case "resourceVersion":
			replaced = k.version(value)
		case "continue":
			replaced = k.token(value)
		case "uid":
			replaced = k.uid(value)
		}
		if replaced != value {
			parts[i] = name + "=" + replaced
		}
	}
	return strings.Join(parts, "&")
}

// References returns the IDs of the calls that a call refers to, in ascending order.
func (c *Call) References() []int64 {
	places := []string{c.BodyResourceVersion, c.BodyUID}
	if c.Preconditions != nil {
		places = append(places, c.Preconditions.ResourceVersion, c.Preconditions.UID)
	}
	for part := range strings.SplitSeq(c.Query, "&") {
		_, value, _ := strings.Cut(part, "=")
		places = append(places, value)
	}
	var ids []int64
	for _, p := range places {
		if id, _, ok := parse(p); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
