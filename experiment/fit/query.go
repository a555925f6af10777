package fit

import (
	"strings"

	"apfsim/core/request"
)

// steadyQuery returns a query without what differs between requests that are alike: the value of a version other
// than 0, of a continue token and of the time limit of a watch.
func steadyQuery(query string) string {
	if query == "" || !strings.ContainsAny(query, "=%") {
		return query
	}
	query = encodedSelectors.Replace(query)
	return request.EditQuery(query, func(name, value string) (string, bool) {
		switch {
		case name == "resourceVersion" && value != "" && value != "0":
			return "1", true
		case name == "continue" && value != "":
			return "token", true
		}
		return value, name != "timeoutSeconds"
	})
}

// encodedSelectors replaces what is written in two ways in the selectors of a query.
var encodedSelectors = strings.NewReplacer("%3D", "=", "%3d", "=", "%2C", ",", "%2c", ",")
