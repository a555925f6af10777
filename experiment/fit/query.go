package fit

import "strings"

// Steady returns a query without what differs between requests that are alike: the value of a version other
// than 0, of a continue token and of the time limit of a watch.
func SteadyQuery(query string) string {
	if query == "" || !strings.ContainsAny(query, "=%") {
		return query
	}
	query = encodedSelectors.Replace(query)
	parts := strings.Split(query, "&")
	kept := parts[:0]
	for _, p := range parts {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case name == "resourceVersion" && value != "" && value != "0":
			p = "resourceVersion=1"
		case name == "continue" && value != "":
			p = "continue=token"
		case name == "timeoutSeconds":
			continue
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, "&")
}

// encoded replaces what is written in two ways in the selectors of a query.
var encodedSelectors = strings.NewReplacer("%3D", "=", "%3d", "=", "%2C", ",", "%2c", ",")
