package result

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"apfsim/sim/metric"
)

// What a server has done is written in the order of the registry, with the resources behind the watches that they divide,
// and can be read again.
func TestStoredAsJSON(t *testing.T) {
	s := &Stored{
		Values:         [metric.ServerValues]int64{metric.StalenessMax: 2, metric.SlowWatchers: 5, metric.WatchEvents: 7},
		SlowWatchersOf: []ResourceCount{{"pods", 5}},
	}
	const want = `{"stalenessMeanNs":0,"stalenessMaxNs":2,"slowWatchers":5,"slowWatchersOf":[{"resource":"pods","count":5}],"watchEvents":7,`
	text, err := json.Marshal(s)
	if !strings.HasPrefix(string(text), want) || err != nil {
		t.Errorf("%s, %v; want %s...", text, err, want)
	}
	var again Stored
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(&again, s) {
		t.Errorf("%+v, %v; want %+v", again, err, s)
	}
	if err := json.Unmarshal([]byte(`{"bytesSent": "many"}`), &again); err == nil {
		t.Error("a word is no number of bytes")
	}
	if statistics := metric.ServerStatistics(); len(statistics) != int(metric.ServerValues) {
		t.Errorf("%d statistics of %d values", len(statistics), metric.ServerValues)
	}
}
