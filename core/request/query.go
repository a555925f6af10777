package request

import (
	"net/url"
	"strings"
)

// ParseQuery returns the values of the parameters of a query, without the question mark. The error says that the
// text is not in URL encoding.
func ParseQuery(query string) (url.Values, error) { return url.ParseQuery(query) }

// EditQuery returns a query in which each parameter has the value that edit returns for it, without those for
// which keep is false. Names and values are as they are written, in URL encoding, and the parameters keep their
// order, so that a query in which nothing is edited stays the same text.
func EditQuery(query string, edit func(name, value string) (edited string, keep bool)) string {
	if query == "" {
		return ""
	}
	parameters := strings.Split(query, "&")
	kept := parameters[:0]
	for _, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		edited, keep := edit(name, value)
		if !keep {
			continue
		}
		if edited != value {
			p = name + "=" + edited
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, "&")
}

// WithParameter returns a query in which a parameter has this value only, and the others have theirs.
func WithParameter(query, name, value string) string {
	query = EditQuery(query, func(written, value string) (string, bool) {
		decoded, err := url.QueryUnescape(written)
		return value, written+value != "" && (err != nil || decoded != name)
	})
	if query != "" {
		query += "&"
	}
	return query + name + "=" + url.QueryEscape(value)
}
