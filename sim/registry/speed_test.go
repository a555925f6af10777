package registry

import (
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
)

// The cost of requests, without a server around them.
func BenchmarkRequests(b *testing.B) {
	requests := map[string]apiRequest{
		"get":   {verb: "get", path: "default/a"},
		"cache": {verb: "get", path: "default/a", query: "resourceVersion=0"},
		"list":  {verb: "list", path: "default/", query: "resourceVersion=0"},
		"patch": {verb: "patch", path: "default/a"},
	}
	for _, name := range []string{"get", "cache", "list", "patch"} {
		q := requests[name]
		b.Run(name, func(b *testing.B) {
			t := newBenchFor(b, settings{readNs: millisecond, writeNs: 4 * millisecond, lagNs: millisecond})
			t.must(201, post(configmaps, "default", "a"))
			t.run(second)
			options, err := request.ParseOptions(q.verb, q.query)
			if err != nil {
				b.Fatal(err)
			}
			call := &api.Call{Options: options, Body: &api.Body{}}
			c := &client{}
			b.ReportAllocs()
			for b.Loop() {
				op := t.NewOperation()
				op.Verb, op.Resource, op.Namespace, op.Name, op.Call, op.Request = q.verb, configmaps, "default", "", call, c
				if q.verb != "list" {
					op.Name = "a"
				}
				c.answers = 0
				call.Body.Stamp++ // nobody has the last one any more
				t.Begin(t.queue.NowNs(), op)
				for c.answers == 0 {
					slot, _ := t.queue.Next()
					t.alarms.Ring(t.queue.NowNs(), slot)
				}
				if c.answer.Status != 200 {
					b.Fatal(describe(&c.answer))
				}
			}
		})
	}
}
