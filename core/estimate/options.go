package estimate

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// options are what the URL query of a list or a watch says about its cost
// (k8s.io/apimachinery/pkg/apis/meta/v1, ListOptions).
type options struct {
	limit                int64
	continues            bool // a continue token is given
	version              string
	versionMatch         string
	fields, labels       string // the selectors
	watch                bool
	sendInitialEvents    bool
	invalid              bool // a number that is none
	selectorsUnreadable  bool
	exactName, exactNode requirement
}

// requirement is the value that a field selector requires a field to be equal to.
type requirement struct {
	value string
	given bool
}

// parseOptions reads a URL query. Its error is that the text is no URL query; what is
// wrong with the values is noted in the options. Of a repeated parameter the first counts,
// and unknown ones do not matter.
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
	o.selectorsUnreadable = !ok || !isLabelSelector(o.labels)
	o.exactName, o.exactNode = requirements["metadata.name"], requirements["spec.nodeName"]
	return o, nil
}

// isTrue reads a parameter that is there as a boolean: anything but 0 and false is true,
// even the empty text.
func isTrue(s string) bool { return s != "0" && !strings.EqualFold(s, "false") }

// unreadable reports whether the server cannot read the options as a whole, which keeps
// it from seeing anything in the selectors.
func (o *options) unreadable() bool { return o.invalid || o.selectorsUnreadable }

// objectName returns the name that the field selector asks for, "" when it asks for none
// that an object could have.
func (o *options) objectName() string {
	name := o.exactName.value
	if o.unreadable() || name == "." || name == ".." || strings.ContainsAny(name, "/%") {
		return ""
	}
	return name
}

// mattersToMutations reports whether a watch of resource counts for the mutations of it.
// Watches of the pods of one node are found by an index and cost the others nothing.
func (o *options) mattersToMutations(resource string) bool {
	return resource != "pods" || o.unreadable() || o.exactNode.value == ""
}

// startsWithList reports whether a watch first sends all that there is: because it asks
// for that, or because it does not say from which version on it wants the changes.
func (o *options) startsWithList() bool {
	return o.sendInitialEvents || o.version == "" || o.version == "0"
}

// servedFromCache reports whether a list is, on a server whose etcd can tell how far its
// watch cache has got (3.4.31, 3.5.13 or later) and whose cache keeps no old versions
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

// selects reports whether a selector is given.
func (o *options) selects() bool { return o.fields != "" || o.labels != "" }
