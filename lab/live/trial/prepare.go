package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/webhook"
	"apfsim/live/guard"

	"go.yaml.in/yaml/v3"
)

// admin prepares a server before the load.
type admin struct {
	server *apiserver.Server
	client *http.Client
}

// do sends a request and returns the status and the body of the answer. An answer without status 2xx is an
// error unless the status is in allowed.
func (a *admin) do(ctx context.Context, method, path, auditID string, object any, allowed ...int) (int, []byte, error) {
	var body io.Reader
	if object != nil {
		text, err := json.Marshal(object)
		if err != nil {
			return 0, nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, a.server.URL+path, body)
	if err != nil {
		return 0, nil, err
	}
	if object != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if auditID != "" {
		r.Header.Set("Audit-ID", auditID)
	}
	response, err := a.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := guard.ReadAll(response.Body, guard.MostAnswer)
	if err != nil {
		return 0, nil, err
	}
	if response.StatusCode/100 != 2 && !slices.Contains(allowed, response.StatusCode) {
		return 0, nil, fmt.Errorf("%s %s: status %d: %s", method, path, response.StatusCode, text)
	}
	return response.StatusCode, text, nil
}

// put creates an object of flow control or replaces it.
func (a *admin) put(ctx context.Context, collection string, object map[string]any) error {
	status, _, err := a.do(ctx, http.MethodPost, collection, "", object, http.StatusConflict)
	if err != nil || status != http.StatusConflict {
		return err
	}
	metadata := object["metadata"].(map[string]any)
	path := fmt.Sprintf("%s/%s", collection, metadata["name"])
	_, text, err := a.do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	var old struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	metadata["resourceVersion"] = old.Metadata.ResourceVersion
	_, _, err = a.do(ctx, http.MethodPut, path, "", object)
	return err
}

// caseObjects returns the flow-control objects of a case, and what it assumes to be stored.
func caseObjects(file string) (objects []map[string]any, stored []outcome.Resource, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var sc struct {
		Spec struct {
			Config    struct{ Objects []map[string]any }
			Resources []outcome.Resource
		}
	}
	if err := yaml.Unmarshal(text, &sc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return sc.Spec.Config.Objects, sc.Spec.Resources, nil
}

// filled is the namespace of the objects that a case assumes.
const filled = "big"

// objectBytes is the length of the text in each of them.
const objectBytes = 1000

// prepare creates namespaces, flow-control objects, and the objects that the case assumes, and then the webhook if there is one.
func (a *admin) prepare(ctx context.Context, file string, requests []outcome.Outcome, hook *webhook.Server) error {
	objects, stored, err := caseObjects(file)
	if err != nil {
		return err
	}
	namespaces := []string{calibration}
	for i := range requests {
		if n := requests[i].Namespace; n != "" && !slices.Contains(namespaces, n) {
			namespaces = append(namespaces, n)
		}
	}
	for _, n := range namespaces {
		object := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": n}}
		if _, _, err := a.do(ctx, http.MethodPost, "/api/v1/namespaces", "", object, http.StatusConflict); err != nil {
			return err
		}
	}
	for _, o := range objects {
		collection := fmt.Sprintf("/apis/%v/%ss", o["apiVersion"], strings.ToLower(fmt.Sprint(o["kind"])))
		if err := a.put(ctx, collection, o); err != nil {
			return err
		}
	}
	for _, r := range stored {
		if err := a.fill(ctx, r); err != nil {
			return err
		}
	}
	if hook == nil {
		return nil
	}
	_, _, err = a.do(ctx, http.MethodPost, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "", hook.Configuration())
	return err
}

// fill creates the objects of a resource, a few at a time, so that the level exempt has little demand.
func (a *admin) fill(ctx context.Context, r outcome.Resource) error {
	newObject := objectsOf[r.Resource]
	if newObject == nil || r.Group != "" {
		return fmt.Errorf("a case assumes objects of the resource %s; want configmaps or events", r.Resource)
	}
	const workers = 4
	failed := make(chan error, workers)
	for worker := range workers {
		go func() {
			var err error
			for i := worker; i < int(r.Objects) && err == nil; i += workers {
				_, _, err = a.do(ctx, http.MethodPost, "/api/v1/namespaces/"+filled+"/"+r.Resource, "", newObject(filled, fmt.Sprintf("object-%d", i)))
			}
			failed <- err
		}()
	}
	var err error
	for range workers {
		if e := <-failed; e != nil {
			err = e
		}
	}
	return err
}

// objectsOf returns a new object with a name in a namespace, by resource.
var objectsOf = map[string]func(namespace, name string) map[string]any{
	"configmaps": func(_, name string) map[string]any {
		return configMap(name, map[string]string{"text": strings.Repeat("x", objectBytes)})
	},
	"events": func(namespace, name string) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": name},
			"involvedObject": map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": name},
			"reason":         "Filled", "message": strings.Repeat("x", objectBytes),
		}
	},
}

func configMap(name string, data map[string]string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data}
}

// calibration is the namespace, and the prefix of the audit IDs, of the requests that measure how much
// longer a request executes than the webhook sleeps.
const calibration = "calibration"

// calibrate returns the median of that. The requests are those of an administrator, which no level queues.
func (a *admin) calibrate(ctx context.Context) (time.Duration, error) {
	const requests, sleep = 60, 30 * time.Millisecond
	for i := range requests {
		id := fmt.Sprintf("%s-%d", calibration, i)
		_, _, err := a.do(ctx, http.MethodPost, "/api/v1/namespaces/"+calibration+"/configmaps?dryRun=All", id,
			configMap(id, map[string]string{webhook.SleepKey: sleep.String()}))
		if err != nil {
			return 0, err
		}
	}
	logs, err := observed.ReadLogs(a.server.HTTPLog, a.server.AuditLog, calibration+"-")
	if err != nil {
		return 0, err
	}
	var over []time.Duration
	for _, e := range logs.HTTP {
		if e.ExecutionNs >= 0 {
			over = append(over, time.Duration(e.ExecutionNs)-sleep)
		}
	}
	if len(over) < requests/2 {
		return 0, fmt.Errorf("the log of kube-apiserver has %d of %d requests of the calibration", len(over), requests)
	}
	slices.Sort(over)
	return max(0, over[len(over)/2]), nil
}

// scrape returns the metrics of the server.
func (a *admin) scrape(ctx context.Context) (observed.Scrape, error) {
	_, text, err := a.do(ctx, http.MethodGet, "/metrics", "", nil)
	return text, err
}
