package estimate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"apfsim/core/rules"
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

// startsWithList reports whether a watch is estimated as one that begins by sending all existing
// objects. It does so if it asks for initial events, and also if it does not name the version after
// which it starts, which not all releases count.
func (o *options) startsWithList(r *rules.Rules) bool {
	switch r.WatchLists {
	case rules.AskedWatchLists:
		return o.sendInitialEvents
	case rules.AllWatchLists:
		return o.sendInitialEvents || o.version == "" || o.version == "0"
	}
	return false
}

// servedFromCache reports whether the watch cache serves a list, as the estimate sees it. It assumes
// an etcd that reports the progress of watches (3.4.31, 3.5.13 or later), by which the server knows
// that the cache is current, and a cache without snapshots of old versions
// (k8s.io/apiserver/pkg/storage/cacher/delegator, and shouldListFromStorage in the releases before
// it).
func (o *options) servedFromCache(r *rules.Rules) bool {
	const exact, notOlderThan = "Exact", "NotOlderThan"
	if r.CacheReads == rules.CacheByDelegation && o.versionMatch == notOlderThan {
		return true
	}
	if o.version == "" && !r.CacheUnversioned || o.continues && !r.PagesIgnored {
		return false
	}
	isPage := o.limit > 0 && !r.PagesIgnored
	isKnown := o.versionMatch == "" || o.versionMatch == notOlderThan
	switch r.CacheReads {
	case rules.CacheUnpaged:
		return o.versionMatch != exact && (!isPage || o.version == "0")
	case rules.CacheUnpagedKnown:
		return isKnown && (!isPage || o.version == "0")
	}
	// A page of a version other than 0 asks for exactly this version, unless it says otherwise.
	asksExact := isPage && o.versionMatch == "" && o.version != "" && o.version != "0"
	return isKnown && !asksExact
}

// selects reports whether there is a selector.
func (o *options) selects() bool { return o.fields != "" || o.labels != "" }
