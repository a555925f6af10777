package evidence

import (
	"strings"
	"testing"
)

// counts are two objects of OpenShift, in the form of 'oc get apirequestcounts -o yaml'.
const counts = `apiVersion: v1
kind: List
items:
- apiVersion: apiserver.openshift.io/v1
  kind: APIRequestCount
  metadata: {name: pods.v1}
  spec: {numberOfUsersToReport: 10}
  status:
    conditions: []
    currentHour: {requestCount: 70}
    last24h:
    - requestCount: 30
      byNode:
      - nodeName: master-0
        requestCount: 30
        byUser:
        - {username: "system:serviceaccount:ci:scanner", userAgent: scanner/v1, requestCount: 20, byVerb: [{verb: list, requestCount: 15}, {verb: get, requestCount: 5}]}
    - requestCount: 70
      byNode:
      - nodeName: master-0
        requestCount: 10
      - nodeName: master-1
        requestCount: 60
        byUser:
        - {username: "system:serviceaccount:ci:scanner", userAgent: scanner/v1, requestCount: 40, byVerb: [{verb: list, requestCount: 40}]}
        - {username: "system:apiserver", userAgent: kube-apiserver/v1, requestCount: 10, byVerb: [{verb: get, requestCount: 10}]}
    requestCount: 100
- apiVersion: apiserver.openshift.io/v1
  kind: APIRequestCount
  metadata: {name: leases.v1.coordination.k8s.io}
  status:
    last24h:
    - requestCount: 100
      byNode:
      - nodeName: master-0
        requestCount: 100
        byUser: [{username: "system:node:a", userAgent: kubelet, requestCount: 50, byVerb: [{verb: update, requestCount: 50}]}]
`

// Who asked most is known, by user, node and hour; not who caused what.
func TestRequestCounts(t *testing.T) {
	d := mustDiagnose(t, "counts.yaml", counts)
	expect(t, "counts", d.said(), "unknown", "Who asked most in 24 hours: system:serviceaccount:ci:scanner, with 60 of 200 requests (100 % of them for pods.v1); whether any were rejected is not counted",
		"It says who asked most, not who caused what")
	if len(d.Clients) != 3 || d.Clients[0].Sent != 60 || d.Clients[1].User != "system:node:a" {
		t.Errorf("clients %+v", d.Clients)
	}
	var rows []string
	for _, s := range d.tables {
		for _, row := range s.Parts[0].Table.Rows {
			var cells []string
			for _, c := range row {
				cells = append(cells, c.Text)
			}
			rows = append(rows, strings.Join(cells, " "))
		}
	}
	expect(t, "tables", strings.Join(rows, "\n"), "master-0 140", "master-1 60", "busiest hour, 00:00 UTC 130", "pods.v1 (60) list (55) scanner/v1")
	one := strings.ReplaceAll(strings.Split(counts, "- apiVersion: apiserver.openshift.io/v1\n")[1], "\n  ", "\n")
	expect(t, "one object", mustDiagnose(t, "c.yaml", "apiVersion: apiserver.openshift.io/v1\n"+strings.TrimPrefix(one, "  ")).said(), "60 of 100 requests")
}

func TestWrongRequestCounts(t *testing.T) {
	_, err := diagnoseTexts("c.yaml", strings.Replace(strings.Replace(counts, "requestCount: 30\n", "requestCount: many\n", 1), "requestCount: 60\n", "requestCount: -1\n", 1))
	if err == nil {
		t.Fatal("no error")
	}
	expect(t, "errors", err.Error(), `c.yaml:12:21: requestCount: "many" is not a number of requests`, `c.yaml:23:23: requestCount: "-1" is not a number of requests`)
	_, err = diagnoseTexts("c.yaml", "kind: APIRequestCount\nmetadata: {name: pods.v1}\n")
	if err == nil || err.Error() != "c.yaml: has no APIRequestCount with a status" {
		t.Errorf("without a status: %v", err)
	}
}
