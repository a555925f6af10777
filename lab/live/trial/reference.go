package trial

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"apfsim/lab/live/observed"
	"apfsim/lab/live/sender"
	"apfsim/lab/live/webhook"
)

// References are requests of an administrator during the load. They never wait, because the level exempt has no
// queues. What the log shows as their wait is the error of measurement: the time that the server needs around the
// handler, on a machine that is as busy as it is.
const (
	referencePeriod = 200 * time.Millisecond
	referenceSleep  = 30 * time.Millisecond
	referenceMark   = "reference-" // behind the prefix, in audit IDs
)

// withReferences returns the requests with references between them, in the order of their times.
func withReferences(requests []sender.Request, a *admin, prefix string, duration time.Duration) []sender.Request {
	all := slices.Clone(requests)
	for at := referencePeriod; at < duration-5*time.Second; at += referencePeriod {
		id := fmt.Sprintf("%s%s%d", prefix, referenceMark, at.Milliseconds())
		body, _ := json.Marshal(configMap(strings.ToLower(id), map[string]string{webhook.SleepKey: referenceSleep.String()}))
		all = append(all, sender.Request{AuditID: id, At: at, Client: a.client, Method: http.MethodPost,
			URL: a.server.URL + "/api/v1/namespaces/" + calibration + "/configmaps?dryRun=All", Body: body})
	}
	slices.SortStableFunc(all, func(x, y sender.Request) int { return int(x.At - y.At) })
	return all
}

// setNoise reads the waits of the references.
func (t *Trial) setNoise(logs *observed.Logs, prefix string) {
	for id, e := range logs.HTTP {
		if strings.HasPrefix(id, prefix+referenceMark) && e.ExecutionNs >= 0 {
			t.Noise = append(t.Noise, max(0, time.Duration(e.TotalNs-e.ExecutionNs)))
		}
	}
	slices.Sort(t.Noise)
}
