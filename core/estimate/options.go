package estimate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// options are the parameters in the URL query of a list or a watch that determine its cost
// (k8s.io/apimachinery/pkg/apis/meta/v1, ListOptions).
type options struct {
	limit                int64
	continues            bool // there is a continue token
	version              string
	versionMatch         string
	fields, labels       string // the selectors
	watch                bool
	sendInitialEvents    bool
	invalid              bool // limit or timeoutSeconds is not an integer
	invalidSelectors     bool // a selector has a syntax error
	exactName, exactNode requirement
}

// requirement is the value to which a field selector requires a field to be equal.
type requirement struct {
	value string
	given bool
}

// parseOptions reads a URL query. The error says that the text is not a URL query. An invalid
// value is not an error, because it only changes the estimate; it is recorded in the options.
// The first value of a repeated parameter counts, and unknown parameters are ignored.
func parseOptions(query string) (options, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return options{}, fmt.Errorf("query: %q: %v", query, err)
	}
	o := options{
		continues:         values.Get("continue") != "",
		version:           values.Get("resourceVersion"),
		versionMatch:      values.Get("resourceVersionMatch"),
		fields:            values.Get("fieldSelector"),
		labels:            values.Get("labelSelector"),
		watch:             values.Has("watch") && isTrue(values.Get("watch")),
		sendInitialEvents: values.Has("sendInitialEvents") && isTrue(values.Get("sendInitialEvents")),
	}
	for _, name := range []string{"limit", "timeoutSeconds"} {
		if !values.Has(name) {
			continue
		}
		n, err := strconv.ParseInt(values.Get(name), 10, 64)
		if err != nil {
			o.invalid = true
		}
		if name == "limit" {
			o.limit = n
		}
	}
	requirements, ok := parseFieldSelector(o.fields)
	o.invalidSelectors = !ok || !isLabelSelector(o.labels)
	o.exactName, o.exactNode = requirements["metadata.name"], requirements["spec.nodeName"]
	return o, nil
}

// isTrue returns the value of a boolean parameter that is present. Every text except 0 and
// false is true, including the empty text.
func isTrue(s string) bool { return s != "0" && !strings.EqualFold(s, "false") }

// undecodable reports whether the server cannot decode the options as a whole. It then
// ignores the selectors too.
func (o *options) undecodable() bool { return o.invalid || o.invalidSelectors }

// objectName returns the name that the field selector requires, or "" if it requires none or
// one that no object can have.
func (o *options) objectName() string {
	name := o.exactName.value
	if o.undecodable() || name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return ""
	}
	return name
}

// countsForMutations reports whether a watch of a resource counts as a watcher in the estimate
// of its mutations. A watch of the pods of one node does not: the server finds it by an index,
// so that it adds nothing to the cost of events for other nodes.
func (o *options) countsForMutations(resource string) bool {
	return resource != "pods" || o.undecodable() || o.exactNode.value == ""
}

// startsWithList reports whether a watch begins by sending all existing objects. It does so if
// it asks for initial events, or if it does not name the version after which it starts.
func (o *options) startsWithList() bool {
	return o.sendInitialEvents || o.version == "" || o.version == "0"
}

// servedFromCache reports whether the watch cache serves a list. It assumes an etcd that
// reports the progress of watches (3.4.31, 3.5.13 or later), by which the server knows that the
// cache is current, and a cache without snapshots of old versions
// (k8s.io/apiserver/pkg/storage/cacher/delegator).
func (o *options) servedFromCache() bool {
	switch o.versionMatch {
	case "NotOlderThan":
		return true
	case "":
		exact := o.limit > 0 && o.version != "" && o.version != "0"
		return !o.continues && !exact
	}
	return false
}

// selects reports whether there is a selector.
func (o *options) selects() bool { return o.fields != "" || o.labels != "" }
