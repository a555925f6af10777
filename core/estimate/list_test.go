package estimate

import (
	"testing"

	"apfsim/core/classify"
	"apfsim/core/rules"
)

// 1 000 pods have 2 kB each.
func TestListBytes(t *testing.T) {
	e := NewEstimator(rules.Latest(), Store{{Name: "pods"}: {Objects: 1000, AverageBytes: 2000}})
	for _, c := range []struct {
		verb, resource, query string
		want                  int64
	}{
		{"list", "pods", "", 2_000_000},
		{"list", "pods", "limit=100", 200_000},
		{"list", "pods", "limit=5000", 2_000_000},
		{"list", "pods", "limit=100&resourceVersion=0", 2_000_000},
		{"list", "pods", "labelSelector=a%3Db", 2_000_000},
		{"list", "pods", "fieldSelector=metadata.name%3Dx", 2000},
		{"list", "pods", "limit=many", 0},
		{"list", "nodes", "", 0},
		{"get", "pods", "", 0},
		{"watch", "pods", "sendInitialEvents=true", 0},
	} {
		a := &classify.Attributes{User: "u", Verb: c.verb, Resource: c.resource}
		if got := e.ListBytes(a, c.query); got != c.want {
			t.Errorf("%s %s?%s has %d bytes, want %d", c.verb, c.resource, c.query, got, c.want)
		}
	}
}
