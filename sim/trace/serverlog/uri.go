package serverlog

import (
	"net/url"
	"strings"
)

// SplitURI splits the URI of a request, as an HTTP request has it in its first line, into the decoded path
// and the encoded query.
func SplitURI(uri string) (path, query string) {
	path, query, _ = strings.Cut(uri, "?")
	if _, remaining, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") { // of a proxy: http://host/path
		path = "/"
		if i := strings.IndexByte(remaining, '/'); i >= 0 {
			path = remaining[i:]
		}
	}
	if strings.IndexByte(path, '%') >= 0 {
		if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
	}
	return path, query
}
