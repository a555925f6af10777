// Package guard checks each request immediately before it is sent to a cluster. It reads the request as an
// API server will, after it was built: what counts is what the server understands, and not how it is spelt. It
// refuses
//
//   - requests for another host, and the answer of a server that refers to one;
//   - requests that do not arrive as they were meant, because a part of the address ends another part;
//   - requests that connect to a pod, a node or a service, or read the inside of the server;
//   - writes that would last, unless they are meant to.
package guard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"apfsim/core/classify"
	"apfsim/core/request"
)

// Understood is what an API server understands of a request.
type Understood struct {
	request.Info
	Method string
	DryRun []string // the values of the parameter dryRun of the URL

	segments []string // of the path
}

// methods are the HTTP methods that may be sent; the value says whether it is one that writes.
var methods = map[string]bool{
	http.MethodGet: false, http.MethodHead: false, http.MethodOptions: false,
	http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true, http.MethodDelete: true,
}

// Path returns the address, relative to a server, of the path with these segments, each of which may have any
// characters.
func Path(segments ...string) *url.URL {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return &url.URL{Path: "/" + strings.Join(segments, "/"), RawPath: "/" + strings.Join(escaped, "/")}
}

// Under returns an address that is relative to a server as one of this server. The path of the server's own
// address, which is usually empty, comes before the other.
func Under(server, address *url.URL) *url.URL {
	return &url.URL{Scheme: server.Scheme, Host: server.Host, Path: server.Path + address.Path,
		RawPath: server.EscapedPath() + address.EscapedPath(), RawQuery: address.RawQuery}
}

// Read returns what a server understands of a request with this method and address, which is relative to the
// server. The error says why it may be understood in another way than it was meant.
func Read(method string, address *url.URL) (*Understood, error) {
	if _, known := methods[method]; !known {
		return nil, fmt.Errorf("%q is not an HTTP method that can be sent", method)
	}
	switch {
	case address.Scheme != "" || address.Host != "" || address.User != nil || address.Opaque != "":
		return nil, errors.New("the path names a host; want a path of the server, which begins with one slash")
	case address.Fragment != "" || address.RawFragment != "":
		return nil, errors.New(`"#" ends an address, and what follows is not sent; write %23`)
	}
	for _, part := range []string{address.EscapedPath(), address.RawQuery} {
		if i := strings.IndexFunc(part, func(r rune) bool { return r == '#' || r <= ' ' || r >= 0x7f }); i >= 0 {
			r, _ := utf8.DecodeRuneInString(part[i:])
			return nil, fmt.Errorf("%q cannot be in an address; write it in URL encoding, such as %%23 for #", r)
		}
	}
	// The server reads the address again from the text that is sent.
	again, err := url.ParseRequestURI(address.RequestURI())
	if err != nil || again.Path != address.Path || again.RawQuery != address.RawQuery || again.ForceQuery || address.ForceQuery {
		return nil, errors.New("the address does not arrive as it is meant; want a path with slashes between its parts, and a query in URL encoding")
	}
	u := &Understood{Method: method, segments: strings.Split(strings.TrimSuffix(strings.TrimPrefix(address.Path, "/"), "/"), "/")}
	if err := checkSegments(address, u.segments); err != nil {
		return nil, err
	}
	query, err := request.ParseQuery(address.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query is not in URL encoding: %w", err)
	}
	u.DryRun = query["dryRun"]
	if u.Info, err = request.ReadURL(method, address.Path, address.RawQuery); err != nil {
		return nil, err
	}
	return u, nil
}

// checkSegments returns an error if the segments of a path could be other ones for one of the programs on the way
// to the server's code, some of which clean the path or decode it another time.
func checkSegments(address *url.URL, segments []string) error {
	switch {
	case !strings.HasPrefix(address.Path, "/"):
		return errors.New("the path does not begin with a slash")
	case address.Path == "/":
		return nil
	case strings.Count(address.EscapedPath(), "/") != strings.Count(address.Path, "/"):
		return errors.New("a part of the path has a slash")
	}
	for _, s := range segments {
		switch {
		case s == "":
			return errors.New("a part of the path is empty; want one slash between two parts")
		case s == "." || s == "..":
			return fmt.Errorf("%q is a part of the path, which leads to another path", s)
		case strings.ContainsAny(s, `%\`):
			return fmt.Errorf("%q is a part of the path; no name has a percent sign or a backslash, and the path is not in URL encoding", s)
		case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
			return fmt.Errorf("%q is a part of the path; no name has a control character", s)
		}
	}
	return nil
}

// connecting are subresources that reach into a pod, a node or a service, on whose behaviour nothing here has a hold.
var connecting = []string{"exec", "attach", "portforward", "proxy"}

func connects(segment string) bool { return slices.Contains(connecting, strings.ToLower(segment)) }

// Writes reports whether the request has a method that changes objects.
func (u *Understood) Writes() bool { return methods[u.Method] }

// Refused returns why the request is not sent; nil if it is. Writes may be meant to last.
func (u *Understood) Refused(writes bool) error {
	switch {
	case strings.EqualFold(u.segments[0], "debug"):
		return u.errorf("reads the inside of the server, which is not sent")
	case u.connects():
		return u.errorf("connects to a pod, a node or a service, which is not sent")
	case writes || !u.Writes():
		return nil
	case !u.IsResource():
		return u.errorf("is a write without a resource, for which there is no dry run; use --writes if it may be carried out")
	case u.APIGroup == "" && u.Resource == "serviceaccounts" && u.Subresource == "token":
		return u.errorf("issues a token, which is valid also with a dry run; use --writes if it may be issued")
	case !slices.Equal(u.DryRun, []string{"All"}):
		return u.errorf("is a write with dryRun=%s, want dryRun=All once; use --writes if it may be carried out", strings.Join(u.DryRun, ","))
	}
	return nil
}

// connects reports whether the server connects the client to something else. Only a namespace and the name of an
// object may have such names themselves.
func (u *Understood) connects() bool {
	if !u.IsResource() {
		return slices.ContainsFunc(u.segments, connects)
	}
	segments := u.segments[2:] // after /api/VERSION
	if u.segments[0] == "apis" {
		segments = u.segments[3:]
	}
	if connects(segments[0]) {
		return true // /api/v1/proxy/RESOURCE
	}
	if segments[0] == "watch" {
		segments = segments[1:]
	}
	if segments[0] == "namespaces" && u.Resource != "namespaces" {
		segments = segments[2:]
	}
	return connects(segments[0]) || len(segments) > 2 && slices.ContainsFunc(segments[2:], connects)
}

func (u *Understood) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %s", u, fmt.Sprintf(format, args...))
}

// String returns the request in words: verb and resource, or method and path.
func (u *Understood) String() string { return Describe(u.Info) }

// Describe returns a request in words: verb and resource, or verb and path.
func Describe(a request.Info) string {
	switch {
	case !a.IsResource():
		return a.Verb + " " + a.Path
	}
	return a.Verb + " " + request.JoinSubresource(a.Resource, a.Subresource)
}

// Fits returns an error if the server understands another request than the stated one.
func (u *Understood) Fits(stated *classify.Attributes) error {
	if !stated.IsResource() && !u.IsResource() {
		return nil
	}
	name := stated.Name
	if name == "" || u.Name == "" && u.Verb == "create" { // it is in the body
		name = u.Name
	}
	namespace := stated.Namespace
	if u.APIGroup == "" && u.Resource == "namespaces" && namespace == "" {
		namespace = u.Namespace
	}
	for _, field := range []struct{ name, stated, understood string }{
		{"resource", stated.Resource, u.Resource}, {"verb", stated.Verb, u.Verb}, {"API group", stated.APIGroup, u.APIGroup},
		{"subresource", stated.Subresource, u.Subresource}, {"namespace", namespace, u.Namespace}, {"name", name, u.Name},
	} {
		if field.stated != field.understood {
			return fmt.Errorf("%s: the server reads the path %s as %s, with the %s %q and not %q",
				Describe(stated.Info()), u.Path, u, field.name, field.understood, field.stated)
		}
	}
	return nil
}
