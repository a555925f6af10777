package metrics

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/core/estimate"
)

// Numbers and sizes are read from the metrics of all releases.
func TestReadStore(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"apiserver_resource_objects{group=\"\",resource=\"pods\"} 4\n" +
			"apiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 2\n" +
			"apiserver_resource_objects{group=\"\",resource=\"secrets\"} -1\n" +
			"apiserver_resource_size_estimate_bytes{group=\"\",resource=\"pods\"} 8e3\n",
			"map[{ pods}:{4 2000 false} {apps deployments}:{2 0 false}]"},
		{"apiserver_storage_objects{resource=\"deployments.apps\"} 2\napiserver_storage_objects{resource=\"pods\"} 4\n",
			"map[{ pods}:{4 0 false} {apps deployments}:{2 0 false}]"},
		{"up 1\n", "has no value of apiserver_resource_objects"},
		{"<html>\n", "is not the text of /metrics"},
	} {
		store, err := ReadStore(strings.NewReader(test.text))
		got := fmt.Sprint(map[estimate.Resource]estimate.Stats(store))
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}
