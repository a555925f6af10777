package judgement

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"apfsim/core/config"
	"apfsim/experiment/incident"
	"apfsim/lab/incidentlogs"
	"apfsim/reports/advice"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// form is what there is of the logs of a server.
type form struct {
	name           string
	audit, httplog bool
	seconds        bool // the audit log has whole seconds
	third          bool // only the lines of the middle third of the time
}

var forms = []form{
	{name: "both logs", audit: true, httplog: true},
	{name: "audit log", audit: true},
	{name: "httplog", httplog: true},
	{name: "whole seconds", audit: true, seconds: true},
	{name: "middle third", audit: true, httplog: true, third: true},
}

// logOf is the log of a case in a form, and what it shows to those who know the truth.
type logOf struct {
	files    []string
	shows    []result.Status   // of which any is right
	rejected bool              // there is harm by rejections, which each log shows
	of       map[string]string // workloads, by users
	harmed   []string          // workloads of which requests were not served that were not limited
}

// writeLog writes the log of the first server of a case.
func writeLog(t *testing.T, dir string, sc *scenario.Scenario, lines []incidentlogs.Line, f form) (l logOf) {
	t.Helper()
	fromNs, toNs := int64(sc.Spec.Warmup.Duration), int64(sc.Spec.Duration)
	if f.third {
		fromNs, toNs = fromNs+(toNs-fromNs)/3, toNs-(toNs-fromNs)/3
	}
	logs := incidentlogs.Logs{Start: time.Date(2026, time.November, 22, 14, 3, 0, 0, time.UTC), Seconds: f.seconds}
	var in []*incidentlogs.Line
	for i := range lines {
		if n := &lines[i]; n.Server == 0 && n.Logged() && n.EndNs() >= fromNs && n.EndNs() <= toNs {
			in = append(in, n)
		}
	}
	slices.SortStableFunc(in, func(a, b *incidentlogs.Line) int { return cmp.Compare(a.EndNs(), b.EndNs()) })
	for i, n := range in {
		logs.Write(n, fmt.Sprint("r-", i))
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if f.audit {
		write("audit.log", logs.Audit.Bytes())
		l.files = append(l.files, filepath.Join(dir, "audit.log"))
	}
	if f.httplog {
		write("kube-apiserver.log", logs.Server.Bytes())
		l.files = append(l.files, filepath.Join(dir, "kube-apiserver.log"))
	}
	l.read(sc.Metadata.Truth, f, in)
	return l
}

// read finds out what lines show. Without users, it is unknown who was limited.
func (l *logOf) read(truth *scenario.Truth, f form, in []*incidentlogs.Line) {
	type counts struct {
		sent, notServed int
		waits           []int64
	}
	l.of = map[string]string{}
	of, all := map[[2]string]*counts{}, map[string]*counts{}
	for _, n := range in {
		l.of[n.User] = n.Workload
		for _, c := range []**counts{at(of, [2]string{n.Workload, n.User}), at(all, n.Workload)} {
			if *c == nil {
				*c = &counts{}
			}
			if (*c).sent++; n.Status == 429 || n.Status >= 500 {
				(*c).notServed++
			} else {
				(*c).waits = append((*c).waits, n.WaitNs)
			}
		}
	}
	least, most := result.OK, result.OK
	take := func(s *result.Status, now result.Status, workload string) {
		if slices.Contains(truth.Limited, workload) && now == result.Harm && (f.audit || s == &least) {
			now = result.Warning
		}
		if now.Worse(*s) {
			*s = now
		}
	}
	statusOf := func(c *counts, factor float64) result.Status {
		p99 := 0.0
		if slices.Sort(c.waits); len(c.waits) >= 100 {
			p99 = float64(c.waits[int(math.Ceil(0.99*float64(len(c.waits))))-1]) / 1e9
		}
		switch share := float64(c.notServed) / float64(c.sent); {
		case c.notServed >= 3 && share*factor >= 0.001, p99*factor >= 1:
			return result.Harm
		case c.notServed > 0, p99*factor >= 0.1:
			return result.Warning
		}
		return result.OK
	}
	for workload, c := range all {
		take(&least, statusOf(c, 0.5), workload) // near the limits, either is right
		take(&most, statusOf(c, 2), workload)
		if !slices.Contains(truth.Limited, workload) && c.notServed >= 3 {
			l.harmed = append(l.harmed, workload)
			l.rejected = l.rejected || c.notServed*500 >= c.sent
		}
	}
	for key, c := range of {
		take(&most, statusOf(c, 2), key[0])
		if n := len(c.waits); n > 0 && c.waits[n-1] >= 5e9/2 {
			take(&most, result.Harm, key[0]) // it may have starved
		}
	}
	for _, s := range []result.Status{result.OK, result.Warning, result.Harm} {
		if !least.Worse(s) && !s.Worse(most) {
			l.shows = append(l.shows, s)
		}
	}
}

func at[K comparable, V any](m map[K]*V, key K) **V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return &v
}

// diagnoseLog diagnoses a log of a case.
func diagnoseLog(t *testing.T, dir string, sc *scenario.Scenario, l *logOf) *incident.Diagnosis {
	t.Helper()
	rules, err := sc.Spec.Servers.Rules()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := json.Marshal(sc.Objects.Manifest(rules))
	if err != nil {
		t.Fatal(err)
	}
	var metrics strings.Builder
	fmt.Fprintf(&metrics, "# TYPE apiserver_flowcontrol_nominal_limit_seats gauge\n")
	for _, level := range advice.DivideSeats(rules, sc.Objects, sc.Spec.Servers.MaxRequestsInflight+sc.Spec.Servers.MaxMutatingRequestsInflight).Levels {
		if level.Response != config.TypeExempt {
			fmt.Fprintf(&metrics, "apiserver_flowcontrol_nominal_limit_seats{priority_level=%q} %d\n", level.Name, level.Nominal)
		}
	}
	for name, text := range map[string]string{"cluster.yaml": string(objects), "metrics.txt": metrics.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := requests.Sources(l.files, nil, logfile.Options{Reference: time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := incident.ReadSettings(nil, rules.Version, []string{filepath.Join(dir, "cluster.yaml")}, filepath.Join(dir, "metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := incident.Diagnose(context.Background(), incident.Options{Sources: sources, Settings: settings}, "")
	if err != nil {
		t.Fatal(sc.Metadata.Name, err)
	}
	return d
}

// compareLog returns in which respects the verdict on a log is wrong. A log that does not show harm may leave it open.
func compareLog(truth *scenario.Truth, f form, l *logOf, v *result.Overall) (wrong []mistake) {
	add := func(respect, got string, want []string) {
		wrong = append(wrong, mistake{respect, got, strings.Join(want, ", ")})
	}
	if !slices.Contains(l.shows, v.Status) && (v.Status != result.Unknown || l.rejected) {
		want := []string{}
		for _, s := range l.shows {
			want = append(want, string(s))
		}
		add(byStatus, fmt.Sprintf("%s (%s)", v.Status, v.Sentence), want)
	}
	if f.audit { // an httplog alone has no users
		missing := slices.Clone(l.harmed)
		for i := range v.Harmed {
			h := &v.Harmed[i]
			_, user, _ := strings.Cut(h.Flow, "/")
			workload := l.of[user]
			missing = slices.DeleteFunc(missing, func(n string) bool { return n == workload })
			switch {
			case workload == "" || hardlyWaited(h):
			case h.Role == result.WasLimited && !slices.Contains(truth.Limited, workload):
				add(byLimited, h.Name, truth.Limited)
			case h.Role == result.Victim && slices.Contains(truth.Limited, workload) && h.NotServed.Rejected > 0 && !f.seconds: // who waited may have got its share
				add(byVictims, h.Name, l.harmed)
			}
		}
		if len(missing) > 0 && len(wrong) == 0 {
			add(byVictims, "without "+strings.Join(missing, ", "), l.harmed)
		}
	}
	return append(wrong, wrongAdvice(truth, v)...)
}

// The verdict on the logs of each case says what is true of it, as far as they show it.
func TestJudgementOfLogs(t *testing.T) {
	all, _ := chosen(t)
	if *seeds == 0 {
		all = all[:0:0]
		for _, sc := range cases(t) {
			if slices.Contains([]string{"elephants-among-mice", "slow-webhook", "burst-behind-own-limit"}, sc.Metadata.Name) {
				all = append(all, sc)
			}
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "form\tcases\tright\tleft open\t\n")
	right, open := make([]int, len(forms)), make([]int, len(forms))
	for _, sc := range all {
		run, err := incidentlogs.Run(sc)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range forms {
			dir := t.TempDir()
			l := writeLog(t, dir, sc, run, f)
			d := diagnoseLog(t, dir, sc, &l)
			wrong := compareLog(sc.Metadata.Truth, f, &l, d.Verdict)
			if d.Verdict.Status == result.Unknown {
				open[i]++
			}
			if len(wrong) == 0 {
				right[i]++
			}
			for _, m := range wrong[:min(2, len(wrong))] {
				t.Logf("%s/%s, %s: %s: %s; want %s (%s)", sc.Metadata.Truth.Class, sc.Metadata.Name, f.name, m.respect, m.got, m.want, strings.Join(d.WhyNotTrusted, "; "))
			}
		}
	}
	for i, f := range forms {
		fmt.Fprintf(w, "%s\t%d\t%d (%.1f %%)\t%d\t\n", f.name, len(all), right[i], 100*float64(right[i])/float64(len(all)), open[i])
		if float64(right[i]) < enough*float64(len(all)) {
			t.Errorf("%s: %d of %d are judged right; want %.0f %%", f.name, right[i], len(all), 100*enough)
		}
	}
	w.Flush()
	t.Logf("\n%s", b.String())
}
