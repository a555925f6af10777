package incident

import (
	"slices"

	"apfsim/reports/result"
	"apfsim/sim/trace/requests"
)

// mostClients bounds the memory for clients.
const mostClients = 200_000

// client identifies a sender in an httplog, which does not contain the user.
type client struct{ server, sourceIP, userAgent string }

// identity is who a client is.
type identity struct {
	user      string
	groups    []string
	ambiguous bool // the client sends requests of several users
}

// clients are the users that the audit log shows behind addresses and user agents. An httplog does
// not have the user of a request.
type clients struct{ known map[client]*identity }

// learn remembers the user behind an address and a user agent, if the logs have it.
func (c *clients) learn(q *requests.Request) {
	if q.User == "" || q.SourceIP == "" {
		return
	}
	from := client{q.Server, q.SourceIP, q.UserAgent}
	switch known := c.known[from]; {
	case known == nil:
		if c.known == nil {
			c.known = map[client]*identity{}
		}
		if len(c.known) < mostClients {
			c.known[from] = &identity{user: q.User, groups: slices.Clone(q.Groups)}
		}
	case known.user != q.User:
		known.ambiguous = true
	}
}

// identify gives a request without a user the only user that its client has, and reports whether
// there is one. Otherwise the client itself becomes the user, so that its requests are a flow of
// their own.
func (c *clients) identify(q *requests.Request) bool {
	known := c.known[client{q.Server, q.SourceIP, q.UserAgent}]
	if known == nil || known.ambiguous {
		q.User, q.Groups = result.UnknownUser+q.UserAgent+"@"+q.SourceIP, append(q.Groups[:0], "system:authenticated")
		return false
	}
	q.User, q.Groups = known.user, append(q.Groups[:0], known.groups...) // a copy: the memory is used for the next request
	return true
}
