package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/experiment/incident"
	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// requestCounts are what APIRequestCount objects of OpenShift count in 24 hours (openshift/api, apiserver/v1): requests by node, which
// are those of its API server, and the users with the most requests of each node, hour and resource.
type requestCounts struct {
	resources int
	total     int64 // of all users
	byHour    [24]int64
	byNode    map[string]int64
	byUser    map[counted]*userCount
}

type counted struct{ user, agent string }

type userCount struct {
	counted
	requests int64
	byVerb   map[string]int64
	byWhat   map[string]int64 // resource.version.group
}

// readRequestCounts reads one object or a list of them.
func readRequestCounts(e *evidence, s *incident.Source, text []byte) error {
	docs, errs := yaml.Parse(s.File, text)
	if e.counts == nil {
		e.counts = &requestCounts{byNode: map[string]int64{}, byUser: map[counted]*userCount{}}
	}
	before := e.counts.resources
	for i := range docs {
		e.counts.object(s.File, docs[i].Root, &errs)
	}
	if len(errs) == 0 && e.counts.resources == before {
		return fmt.Errorf("has no APIRequestCount with a status")
	}
	return errs.Err()
}

// object adds an object or the items of a list.
func (c *requestCounts) object(file string, n *document.Node, errs *document.Errors) {
	for _, item := range items(n) {
		c.object(file, item, errs)
	}
	status := n.Get("status")
	if textOf(n.Get("kind")) != "APIRequestCount" || status == nil {
		return
	}
	what := textOf(n.Get("metadata").Get("name"))
	c.resources++
	hours := status.Get("last24h")
	if hours == nil || len(hours.Items) == 0 { // only a part of the object
		if now := status.Get("currentHour"); now != nil {
			c.hour(file, what, -1, now, errs)
		}
		return
	}
	for i, hour := range hours.Items {
		c.hour(file, what, i, hour, errs)
	}
}

// hour adds what an hour counts. The hours of a day are in the order of the time of day, in UTC.
func (c *requestCounts) hour(file, what string, index int, hour *document.Node, errs *document.Errors) {
	number := func(n *document.Node) int64 {
		v := n.Get("requestCount")
		if v == nil {
			return 0
		}
		count, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil || count < 0 || count > mostDumped {
			if len(*errs) < mostDumpErrors {
				errs.Add(document.Position{File: file, Line: v.Line, Column: v.Column}, "requestCount", "%q is not a number of requests; want an integer of 0 or more", document.Abridge(v.Text))
			}
			return 0
		}
		return count
	}
	list := func(n *document.Node, name string) []*document.Node {
		if v := n.Get(name); v != nil {
			return v.Items
		}
		return nil
	}
	n := number(hour)
	c.total += n
	if index >= 0 && index < len(c.byHour) {
		c.byHour[index] += n
	}
	for _, node := range list(hour, "byNode") {
		c.byNode[textOf(node.Get("nodeName"))] += number(node)
		for _, user := range list(node, "byUser") {
			k := counted{textOf(user.Get("username")), textOf(user.Get("userAgent"))}
			u := c.byUser[k]
			if u == nil {
				u = &userCount{counted: k, byVerb: map[string]int64{}, byWhat: map[string]int64{}}
				c.byUser[k] = u
			}
			sent := number(user)
			u.requests += sent
			u.byWhat[what] += sent
			for _, verb := range list(user, "byVerb") {
				u.byVerb[textOf(verb.Get("verb"))] += number(verb)
			}
		}
	}
}

// users returns who asked, the most requests first.
func (c *requestCounts) users() []*userCount {
	all := slices.Collect(maps.Values(c.byUser))
	slices.SortFunc(all, func(a, b *userCount) int {
		return cmp.Or(-cmp.Compare(a.requests, b.requests), cmp.Compare(a.user, b.user), cmp.Compare(a.agent, b.agent))
	})
	return all
}

// most returns the name with the highest count.
func most(by map[string]int64) (name string, n int64) {
	for _, key := range slices.Sorted(maps.Keys(by)) {
		if by[key] > n {
			name, n = key, by[key]
		}
	}
	return name, n
}

// concludeRequestCounts adds who asked most.
func concludeRequestCounts(e *evidence) {
	c := e.counts
	if c == nil {
		return
	}
	users := c.users()
	f := Finding{Status: result.Unknown, Sentence: fmt.Sprintf("The APIRequestCounts name no user among %s of 24 hours", result.RequestCount(c.total))}
	if len(users) > 0 && users[0].requests > 0 {
		u := users[0]
		what, n := most(u.byWhat)
		f.Sentence = fmt.Sprintf("Who asked most in 24 hours: %s, with %s of %s (%s of them for %s); whether any were rejected is not counted", u.user,
			format.Whole(u.requests), result.RequestCount(c.total), format.Percent(float64(n)/float64(u.requests)), what)
	}
	e.findings = append(e.findings, f)
	for _, u := range users[:min(len(users), mostUsers)] {
		e.clients = append(e.clients, &incident.LoggedClient{User: u.user, Name: u.user, Sent: u.requests, Served: 0, ByReason: map[string]int64{}, Hand: []int{}, SharedQueuesWith: []string{}})
	}
	number := func(n int64) report.Cell {
		return report.Cell{Text: format.Whole(n), Value: float64(n), Number: true}
	}
	named := func(by map[string]int64) report.Cell {
		name, n := most(by)
		if n == 0 {
			return report.Cell{Text: "–"}
		}
		return report.Word(name + " (" + format.Whole(n) + ")")
	}
	columns := report.Definition[userCount]{
		{Column: report.Column{Title: "User", Short: "user", Left: true}, Cell: func(u *userCount) report.Cell { return report.Word(u.user) }},
		{Column: report.Column{Title: "Requests", Short: "requests"}, Cell: func(u *userCount) report.Cell { return number(u.requests) }},
		{Column: report.Column{Title: "Mostly for", Short: "mostly for", Left: true}, Cell: func(u *userCount) report.Cell { return named(u.byWhat) }},
		{Column: report.Column{Title: "Mostly", Short: "mostly", Left: true}, Cell: func(u *userCount) report.Cell { return named(u.byVerb) }},
		{Column: report.Column{Title: "User agent", Short: "user agent", Left: true}, Cell: func(u *userCount) report.Cell { return report.Word(u.agent) }},
	}
	t := &report.Table{Name: "users", Title: "Who asked most in 24 hours", Caption: "Users with the most requests in APIRequestCount", Columns: columns.Columns(), First: flowsShown}
	for _, u := range users[:min(len(users), mostUsers)] {
		t.Rows = append(t.Rows, columns.Row(u))
	}
	e.add("users", t)
	nodes := report.TextTable("Requests by API server, and in the busiest hour", "node or hour", "requests", "per second")
	nodes.Name = "nodes"
	hour, busiest := 0, int64(0)
	for i, n := range c.byHour {
		if n > busiest {
			hour, busiest = i, n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.byNode)) {
		nodes.AddTexts(name, format.Whole(c.byNode[name]), format.Number(float64(c.byNode[name])/86400))
	}
	if busiest > 0 {
		nodes.AddTexts(fmt.Sprintf("busiest hour, %02d:00 UTC", hour), format.Whole(busiest), format.Number(float64(busiest)/3600))
	}
	e.add("nodes", nodes)
	e.cannot("APIRequestCount has only the users with the most requests of each hour, node and resource, so that the others asked for more than is shown. It says who asked most, not who caused what.")
}

// mostUsers is how many users a diagnosis has.
const mostUsers = 100
