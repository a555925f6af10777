package apiserver

import (
	"crypto/tls"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"strings"

	"apfsim/live/guard"
)

// User is someone who can authenticate at the server.
type User struct {
	Name   string
	Groups []string
}

// Administrator may prepare and observe the server: the group is exempt from flow control.
var Administrator = User{Name: "administrator", Groups: []string{"system:masters"}}

// Token returns the bearer token of the user.
func (u User) Token() string { return "token-of-" + u.Name }

// WriteTokens writes users as the file that --token-auth-file wants: a line for each of them with
// token, name, ID and groups.
func WriteTokens(w io.Writer, users []User) error {
	out := csv.NewWriter(w)
	seen := map[string]string{}
	for _, u := range users {
		groups := strings.Join(u.Groups, ",")
		if known, ok := seen[u.Name]; ok {
			if known != groups {
				return fmt.Errorf("user %q has the groups %q and %q; a user can have only one list of groups", u.Name, known, groups)
			}
			continue
		}
		seen[u.Name] = groups
		if err := out.Write([]string{u.Token(), u.Name, u.Name, groups}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Client returns a client that authenticates as the user, over connections of its own with HTTP/2. It sends
// requests to this server only, and the writes among them last.
func (s *Server) Client(u User) *http.Client {
	address, err := guard.Server(s.URL)
	if err != nil {
		panic("apiserver: the address of the server " + err.Error())
	}
	return &http.Client{Transport: &bearer{token: u.Token(), next: &guard.Transport{Server: address, Writes: true, Next: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: s.certificate.Pool(), MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}}}
}

// bearer adds a token to each request.
type bearer struct {
	token string
	next  *guard.Transport
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client do the same.
func (b *bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }
