package workloadtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/workload"
)

// Script is the list of the replies of a server to the lists and watches of a reflector, one for each
// request, in the order in which they are sent. Further requests are never answered. Another client can be
// given the same script, and the requests of both compared.
//
// A script is written as lines. A # begins a comment. These lines come first, in any order:
//
//	start List            or WatchList
//	backoff SinceReset    or SinceLastUse
//	until 3m              when the test ends
//
// Then come the replies, of which "20 * " before one is short for writing it 20 times:
//
//	refused                       the connection is refused
//	status 504 too-large          a Status; too-large adds the cause of a version from the future
//	list 100 a@90 b@95            a list of version 100 with two objects; continue=token if there are more
//	watch 1s ADDED c@101, 2s end  a watch: how long after what came before, and what: an event with its
//	                              object and version, BOOKMARK 105, INITIAL-END 105, ERROR 410, or end
type Script struct {
	WatchList, SinceLastUse bool
	UntilNs                 int64
	Replies                 []Reply
}

// Reply is the reply to one request.
type Reply struct {
	Answer *api.Answer // nil for a watch that begins
	Watch  []Step
}

// Step is one step of a watch.
type Step struct {
	AfterNs int64      // after the step before
	Event   *api.Event // nil for the end of the watch
}

// ParseScript reads a script.
func ParseScript(text string) (s Script, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := s.parseLine(line); err != nil {
			return s, fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
	}
	return s, nil
}

func (s *Script) parseLine(line string) error {
	word, remaining, _ := strings.Cut(line, " ")
	switch word {
	case "start":
		s.WatchList = remaining == "WatchList"
		return nil
	case "backoff":
		s.SinceLastUse = remaining == "SinceLastUse"
		return nil
	case "until":
		d, err := time.ParseDuration(remaining)
		s.UntilNs = int64(d)
		return err
	}
	times := 1
	if n, reply, ok := strings.Cut(line, " * "); ok {
		var err error
		if times, err = strconv.Atoi(n); err != nil {
			return err
		}
		word, remaining, _ = strings.Cut(reply, " ")
	}
	r, err := parseReply(word, remaining)
	for range times {
		s.Replies = append(s.Replies, r)
	}
	return err
}

func parseReply(word, remaining string) (r Reply, err error) {
	fields := strings.Fields(remaining)
	switch {
	case word == "refused":
		r.Answer = &api.Answer{Failure: api.FailedToConnect}
	case word == "status" && len(fields) > 0:
		r.Answer = &api.Answer{Items: -1}
		if r.Answer.Status, err = strconv.Atoi(fields[0]); err != nil {
			return r, err
		}
		if len(fields) > 1 && fields[1] == "too-large" {
			r.Answer.Causes = []api.Cause{{Reason: "ResourceVersionTooLarge"}}
		}
	case word == "list" && len(fields) > 0:
		r.Answer = &api.Answer{Status: 200, Items: 0}
		if r.Answer.Version, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
			return r, err
		}
		for _, f := range fields[1:] {
			if token, ok := strings.CutPrefix(f, "continue="); ok {
				r.Answer.Continue = token
				continue
			}
			o, err := parseObject(f)
			if err != nil {
				return r, err
			}
			r.Answer.Objects = append(r.Answer.Objects, o)
			r.Answer.Items++
		}
	case word == "watch":
		for step := range strings.SplitSeq(remaining, ",") {
			if strings.TrimSpace(step) == "" {
				continue
			}
			st, err := parseStep(strings.Fields(step))
			if err != nil {
				return r, err
			}
			r.Watch = append(r.Watch, st)
		}
	default:
		return r, fmt.Errorf("no such reply")
	}
	return r, nil
}

func parseStep(fields []string) (st Step, err error) {
	after, err := time.ParseDuration(fields[0])
	st.AfterNs = int64(after)
	if err != nil || len(fields) == 2 && fields[1] == "end" {
		return st, err
	}
	if len(fields) != 3 {
		return st, fmt.Errorf("want a duration, an event and its object or version")
	}
	e := &api.Event{}
	st.Event = e
	switch fields[1] {
	case "ADDED", "MODIFIED", "DELETED":
		e.Type = map[string]api.EventType{"ADDED": api.Added, "MODIFIED": api.Modified, "DELETED": api.Deleted}[fields[1]]
		if e.Object, err = parseObject(fields[2]); err == nil {
			e.Version = e.Object.Version
		}
	case "BOOKMARK", "INITIAL-END":
		e.Type, e.InitialEnd = api.Bookmark, fields[1] == "INITIAL-END"
		e.Version, err = strconv.ParseInt(fields[2], 10, 64)
	case "ERROR":
		r, err := parseReply("status", fields[2])
		e.Type, e.Failure = api.Error, r.Answer
		return st, err
	default:
		return st, fmt.Errorf("no such event")
	}
	return st, err
}

func parseObject(s string) (*api.Object, error) {
	name, version, ok := strings.Cut(s, "@")
	v, err := strconv.ParseInt(version, 10, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("%q is not name@version", s)
	}
	return &api.Object{Namespace: "default", Name: name, Version: v, DeletionNs: -1}, nil
}

// Serve makes a client answer by the script.
func (s *Script) Serve(c *Client) {
	replies := s.Replies
	c.Serve = func(nowNs int64, r *workload.APIRequest) {
		if len(replies) > 0 {
			reply := replies[0]
			replies = replies[1:]
			reply.Play(c, nowNs, r)
		}
	}
}

// Play answers a request that a client has just sent.
func (reply Reply) Play(c *Client, nowNs int64, r *workload.APIRequest) {
	if reply.Answer != nil {
		c.Answer(nowNs, r.Token, reply.Answer)
		return
	}
	for _, st := range reply.Watch {
		nowNs += st.AfterNs
		if st.Event == nil {
			c.Answer(nowNs, r.Token, &api.Answer{Status: 200, Items: -1})
			continue
		}
		e := *st.Event
		e.AtNs = nowNs
		c.Event(nowNs, r.Token, &e)
	}
}
