package guard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Transport passes requests on to the next transport, which should be the one that opens connections: it
// then sees them with all that is sent, credentials included. It refuses those that may not be sent to the
// server, with an error that wraps [ErrRefused].
type Transport struct {
	Server *url.URL // the only one; see [Server]
	Writes bool     // whether writes are meant to last
	Next   http.RoundTripper
}

// ErrRefused is wrapped by the errors of requests that a Transport does not pass on.
var ErrRefused = errors.New("the request was not sent")

// Server reads the address of a server. Its error does not contain the address, which may have a password.
func Server(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("is not the address of a server; want https://HOST:PORT")
	case u.User != nil:
		return nil, errors.New("has a user or a password; want an address without, and the credentials under users")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(address, "#"):
		return nil, errors.New("has a query or a fragment; want https://HOST:PORT")
	}
	u.Host = strings.TrimSuffix(u.Host, ":") // an empty port, which net/http also removes
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	if u.Path != "" {
		if err := checkSegments(u, strings.Split(u.Path[1:], "/")); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.Check(r); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return t.Next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client do the same.
func (t *Transport) CloseIdleConnections() {
	if next, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// Check returns why a request may not be sent; nil if it may.
func (t *Transport) Check(r *http.Request) error {
	u := r.URL
	if u == nil || u.Scheme != t.Server.Scheme || u.Host != t.Server.Host || r.Host != "" && r.Host != t.Server.Host {
		return fmt.Errorf("it is for another host than %s", t.Server.Host)
	}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		if name == "upgrade" || name == "connection" || strings.HasPrefix(name, "sec-websocket") || strings.HasPrefix(name, "x-http-method") {
			return fmt.Errorf("its header %s: %s would make it another request", name, strings.Join(values, ", "))
		}
	}
	relative := *u
	relative.Scheme, relative.Host = "", ""
	if base := t.Server.Path; base != "" {
		if !strings.HasPrefix(u.Path, base+"/") || !strings.HasPrefix(u.EscapedPath(), t.Server.EscapedPath()+"/") {
			return fmt.Errorf("its path is not under %s", base)
		}
		relative.Path, relative.RawPath = u.Path[len(base):], u.EscapedPath()[len(t.Server.EscapedPath()):]
	}
	understood, err := Read(r.Method, &relative)
	if err != nil {
		return err
	}
	// A server takes the options of a deletion from its body, if it has one, and then not from the query.
	if r.Method == http.MethodDelete && !t.Writes && (r.ContentLength != 0 || r.Body != nil && r.Body != http.NoBody) {
		return fmt.Errorf("%s has a body, which takes the place of dryRun=All", understood)
	}
	return understood.Refused(t.Writes)
}
