package alerts

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"apfsim/reports/record"
)

var realTime = flag.Bool("prometheus", false, "let a Prometheus scrape a run and evaluate the rules, in real time")

// ownRule is pending before it fires. It joins the group of our rules.
const ownRule = `  - {alert: RejectedFor30s, for: 30s, expr: 'sum by (priority_level) (increase(apiserver_flowcontrol_rejected_requests_total[1m])) > 0'}
`

const config = `global: {scrape_interval: 5s, evaluation_interval: 5s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: %s, honor_labels: true, static_configs: [{targets: [%q], labels: {instance: %q}}]}]`

const stepMs = 5000 // between two scrapes, and between two evaluations

// A Prometheus that scrapes a run in real time fires the same alerts as apfsim alerts. Each begins and ends within 10 seconds: its
// evaluations are up to an interval after a scrape, and a scrape may be late. When they are between the same scrapes as ours, the values
// are the same, and 1e-9 is for sums that are rounded in another order.
func TestPrometheusAgrees(t *testing.T) {
	if _, err := exec.LookPath("prometheus"); err != nil || !*realTime {
		t.Skip("needs -prometheus, because it takes five minutes, and the program prometheus")
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, options := t.TempDir(), Options{Scrape: stepMs * time.Millisecond, Evaluate: stepMs * time.Millisecond}
	own, err := os.ReadFile(integrations + "rules.yaml")
	check(err)
	check(os.WriteFile(filepath.Join(dir, "rules.yaml"), append(own, ownRule...), 0o666))
	groups, _ := readRules(t, filepath.Join(dir, "rules.yaml"))
	of, data := run(t, groups, "testdata/short-overload.yaml", options)
	length := time.Duration(of.DurationNs)
	texts := make([]strings.Builder, length/options.Scrape+1)
	ofRules := func(name string) bool { return name == "ALERTS" || strings.Contains(name, ":") }
	for name, all := range data.byName {
		for _, s := range all {
			for i := 0; i < len(s.atMs) && name != "up" && !ofRules(name); i++ {
				fmt.Fprintf(&texts[(s.atMs[i]-of.startMs)/stepMs], "%s%s %v\n", name, s.labels.DropReserved(func(name string) bool { return name == model.MetricNameLabel }), s.values[i])
			}
		}
	}
	ctx, end := context.WithTimeout(context.Background(), length+2*time.Minute)
	begin := sync.OnceValue(time.Now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i := int(time.Since(begin()).Round(options.Scrape) / options.Scrape)
		if i > len(texts) {
			end()
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, texts[min(i, len(texts)-1)].String())
	}))
	defer server.Close()
	free := httptest.NewServer(nil) // for its address
	free.Close()
	up, file := data.byName["up"][0].labels, filepath.Join(dir, "prometheus.yml")
	check(os.WriteFile(file, fmt.Appendf(nil, config, up.Get("job"), strings.TrimPrefix(server.URL, "http://"), up.Get("instance")), 0o666))
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+strings.TrimPrefix(free.URL, "http://"))
	check(cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	if <-ctx.Done(); ctx.Err() != context.Canceled {
		t.Fatal("Prometheus has not scraped the run to its end")
	}
	var answer struct{ Data struct{ Result model.Matrix } }
	r, err := http.PostForm(free.URL+"/api/v1/query", map[string][]string{"query": {`{__name__=~"up|ALERTS|.*:.*"}[1h]`}})
	check(err)
	defer r.Body.Close()
	check(json.NewDecoder(r.Body).Decode(&answer))
	stored := newDatabase()
	for _, s := range answer.Data.Result {
		of, err := parser.ParseMetric(s.Metric.String())
		check(err)
		for _, v := range s.Values {
			stored.add(of, int64(v.Timestamp), float64(v.Value))
		}
	}
	scrapes, lateMs := stored.byName["up"][0].atMs, int64(0)
	for _, at := range scrapes {
		lateMs = max(lateMs, min((at-scrapes[0])%stepMs, stepMs-(at-scrapes[0])%stepMs))
	}
	made := slices.Concat(slices.Collect(maps.Values(data.byName))...)
	made = slices.DeleteFunc(made, func(s *series) bool {
		return !ofRules(s.labels.Get(model.MetricNameLabel)) || len(byEvaluation(s, of.startMs)) == 0
	})
	slices.SortFunc(made, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	if n := strings.Count(answer.Data.Result.String(), "alertstate="); n != 4 || len(made)+1 != len(answer.Data.Result) {
		t.Errorf("Prometheus has %d series with up, and %d states of alerts, want %d and 4", len(answer.Data.Result), n, len(made)+1)
	}
	for _, s := range made {
		got, want := byEvaluation(stored.series(s.labels), scrapes[0]), byEvaluation(s, of.startMs)
		if len(got) == 0 {
			t.Fatalf("Prometheus has no %s", s.labels)
		}
		compared, apart := 0, 0.0
		for k, x := range got {
			if y, there := want[k]; there {
				compared++
				apart = max(apart, math.Abs(x-y))
			}
		}
		a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))
		delayMs := (stored.series(s.labels).atMs[0] - scrapes[0]) % stepMs // from a scrape to an evaluation
		from, to := int64(a[0]-b[0])*stepMs+delayMs, int64(a[len(a)-1]-b[len(b)-1])*stepMs+delayMs
		print := t.Logf
		if lateMs < min(delayMs, stepMs-delayMs) && !(apart <= 1e-9) || compared < max(len(a), len(b))-4 ||
			strings.Contains(s.labels.String(), "alertstate") && (max(from, -from, to, -to) > 2*stepMs || b[len(b)-1] >= len(texts)-1) {
			print = t.Errorf
		}
		print("%s: from %d s to %d s, and in Prometheus %d and %d ms later, want %d at most; %d of %d values at most %.2g apart, want 1e-9",
			s.labels, b[0]*stepMs/1000, (b[len(b)-1]+1)*stepMs/1000, from, to, 2*stepMs, compared, len(b), apart)
	}
	t.Logf("%d scrapes, at most %d ms from their time", len(scrapes), lateMs)
}

// byEvaluation returns the values of a series that a rule has made, by the number of the evaluation.
func byEvaluation(s *series, beginMs int64) map[int]float64 {
	values := map[int]float64{}
	for i, at := range s.atMs {
		if math.Float64bits(s.values[i]) != math.Float64bits(record.Stale) {
			values[int((at-beginMs)/stepMs)] = s.values[i]
		}
	}
	return values
}
