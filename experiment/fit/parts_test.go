package fit

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/sim/scenario/loader"
	scripted "apfsim/sim/workload"
	"testing/fstest"
)

// fitLog fits a log with a base, and returns the scenario's workloads, too.
func fitLog(t *testing.T, log, base string) (*Fitted, []scripted.Workload) {
	t.Helper()
	o := Options{File: "log.jsonl", Name: "fitted", BaseFile: "base.yaml"}
	if base != "" {
		o.Base = []byte(base)
	}
	f, err := Fit(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	return f, loaded(t, f, nil)
}

// loaded returns the workloads of a fitted scenario, which may have other files.
func loaded(t *testing.T, f *Fitted, files fstest.MapFS) []scripted.Workload {
	t.Helper()
	all := fstest.MapFS{"s.yaml": {Data: f.Scenario}}
	for name, file := range files {
		all[name] = file
	}
	scenarios, mistakes := loader.Load(all, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatalf("%v\n%s", err, f.Scenario)
	}
	return scenarios[0].Spec.Workload
}

// gets returns lines of gets of a user at these seconds.
func gets(user, more string, seconds ...float64) string {
	var b strings.Builder
	for _, s := range seconds {
		fmt.Fprintf(&b, `{"arrivalNs":%d,"user":%q,"verb":"get","executionNs":1000000%s}`+"\n", int64(s*1e9), user, more)
	}
	return b.String()
}

// logOf returns lines in order of arrival.
func logOf(lines ...string) string {
	var all []string
	for _, l := range lines {
		all = append(all, strings.Split(strings.TrimSuffix(l, "\n"), "\n")...)
	}
	at := func(line string) (ns int64) {
		fmt.Sscanf(line, `{"arrivalNs":%d,`, &ns)
		return ns
	}
	slices.SortStableFunc(all, func(a, b string) int { return int(at(a)/1e6 - at(b)/1e6) })
	return strings.Join(all, "\n") + "\n"
}

// seconds returns n seconds, one after the other.
func seconds(n int) (all []float64) {
	for i := range n {
		all = append(all, float64(i)+0.25)
	}
	return all
}

const aPod = `,"resource":"pods","namespace":"default","name":"p"`

// Users that differ in a number are the clients of one workload, and keep their names; those that differ in a word get other
// names, if there are enough of them. A user that is much busier is not like the others.
func TestUsersThatAreAlike(t *testing.T) {
	of := func(users ...string) string {
		var lines []string
		for _, u := range users {
			lines = append(lines, gets(u, aPod, seconds(20)...))
		}
		return logOf(lines...)
	}
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"numbers":               {of("web-0", "web-1", "web-2"), []string{"web-get-pods 3 user web-{i}"}},
		"two numbers":           {of("web-0", "web-1"), []string{"web-get-pods 2 user web-{i}"}},
		"one":                   {of("web-7"), []string{"web-7-get-pods 1 user web-7"}},
		"numbers from 5":        {of("web-5", "web-6", "web-7"), []string{"web-get-pods 3 user web-{i}"}},
		"leading zeros":         {of("web-00", "web-01", "web-02"), []string{"web-get-pods 3 user web-{i}"}},
		"words of users":        {of("ann", "bob", "eve"), []string{"ann-get-pods 1 user ann", "bob-get-pods 1 user bob", "eve-get-pods 1 user eve"}},
		"nodes by number":       {of("system:node:n-0", "system:node:n-1", "system:node:n-2"), []string{"n-get-pods 3 node n-{i}"}},
		"nodes by name":         {of("system:node:east", "system:node:west", "system:node:mid"), []string{"node-get-pods 3 node node-{i}"}},
		"two nodes by name":     {of("system:node:east", "system:node:west"), []string{"east-get-pods 1 node east", "west-get-pods 1 node west"}},
		"accounts by namespace": {of("system:serviceaccount:red:app", "system:serviceaccount:blue:app", "system:serviceaccount:green:app"), []string{"namespace-app-get-pods 3 account namespace-{i}/app"}},
		"of one beginning":      {of("system:serviceaccount:shop-red:app", "system:serviceaccount:shop-blue:app", "system:serviceaccount:shop-green:app"), []string{"shop-app-get-pods 3 account shop-{i}/app"}},
		"of kube-":              {of("system:serviceaccount:kube-a:app", "system:serviceaccount:kube-b:app", "system:serviceaccount:kube-c:app"), []string{"kube-a-app-get-pods 1 account kube-a/app", "kube-b-app-get-pods 1 account kube-b/app", "kube-c-app-get-pods 1 account kube-c/app"}},
		"anonymous":             {of("system:anonymous"), []string{"anonymous-get-pods 1 anonymous"}},
		"no user":               {of(""), []string{"get-pods 1 user unknown"}},
		"a busy one": {logOf(gets("web-0", aPod, seconds(20)...), gets("web-1", aPod, seconds(20)...), gets("web-2", aPod, seconds(60)...), gets("web-2", aPod, seconds(60)...)),
			[]string{"web-2-get-pods 1 user web-2", "web-get-pods 2 user web-{i}"}},
		"other kinds of requests": {logOf(gets("web-0", aPod, seconds(20)...), gets("web-1", `,"resource":"nodes","name":"p"`, seconds(20)...)),
			[]string{"web-0-get-pods 1 user web-0", "web-1-get-nodes 1 user web-1"}},
		"in numbered namespaces": {logOf(gets("web-0", `,"resource":"pods","namespace":"t-0","name":"p"`, seconds(20)...), gets("web-1", `,"resource":"pods","namespace":"t-1","name":"p"`, seconds(20)...)),
			[]string{"web-get-pods 2 user web-{i} in t-{i}"}},
		"one user in three namespaces": {logOf(gets("u", `,"resource":"pods","namespace":"t-0","name":"p"`, seconds(20)...), gets("u", `,"resource":"pods","namespace":"t-1","name":"p"`, seconds(20)...), gets("u", `,"resource":"pods","namespace":"t-2","name":"p"`, seconds(20)...)),
			[]string{"u-get-pods 3 user u in t-{i}"}},
	} {
		f, workloads := fitLog(t, c.log, "")
		var got []string
		for _, w := range workloads {
			who := ""
			switch {
			case w.As.Anonymous:
				who = "anonymous"
			case w.As.Node != "":
				who = "node " + w.As.Node
			case w.As.ServiceAccount != "":
				who = "account " + w.As.ServiceAccount
			default:
				who = "user " + w.As.User
			}
			if ns := w.Requests[0].Namespace; ns != "default" && ns != "" {
				who += " in " + ns
			}
			got = append(got, fmt.Sprint(w.Name, " ", max(1, w.Clients), " ", who))
		}
		slices.Sort(got)
		for i, w := range f.Report.Workloads {
			if w.Least < 1 || w.Least > w.Most || w.First < w.Least*int64(w.Clients) || w.First > w.Most*int64(w.Clients) || i > 0 && w.First > f.Report.Workloads[i-1].First {
				t.Errorf("%s: %+v is not in order, or its clients have sent other numbers", name, w)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q\n%q", name, got, c.want, f.Report.Notes)
		}
	}
}

// What became of each request of a log is counted, in all and by level.
func TestStatisticsOfALog(t *testing.T) {
	log := logOf(
		gets("u", aPod+`,"priorityLevel":"low","outcome":"executed","waitNs":5000000,"workload":"w"`, 1, 2, 3),
		gets("u", aPod+`,"priorityLevel":"low","outcome":"rejected","waitNs":7000000,"workload":"w"`, 4),
		gets("u", aPod+`,"priorityLevel":"high","outcome":"waiting","workload":"w"`, 5),
		gets("u", aPod+`,"priorityLevel":"high","outcome":"executing","waitNs":9000000,"workload":"w"`, 6, 7),
		gets("u", aPod+`,"priorityLevel":"high","workload":"w"`, 8))
	f, _ := fitLog(t, log, "")
	if !f.Recorded.Outcomes || len(f.Recorded.Levels) != 2 {
		t.Errorf("%+v", f.Recorded)
	}
	var merged Tally
	for what, c := range map[string]struct {
		tally                                                  *Tally
		arrived, executed, rejected, waiting, executing, waits int64
	}{"all": {&f.Recorded.Total, 8, 3, 1, 1, 3, 5}, "low": {f.Recorded.Levels["low"], 4, 3, 1, 0, 0, 3}, "high": {f.Recorded.Levels["high"], 4, 0, 0, 1, 3, 2}} {
		l := c.tally
		if l.Arrived != c.arrived || l.Executed != c.executed || l.Rejected != c.rejected || l.Waiting != c.waiting || l.Executing != c.executing || l.Wait.N != c.waits || l.Execution.N != c.executed {
			t.Errorf("%s: %+v, %d waits, %d executions; want %+v", what, l.Counts, l.Wait.N, l.Execution.N, c)
		}
		if what != "all" {
			merged.Merge(l)
		}
	}
	if all := &f.Recorded.Total; merged.Counts != all.Counts || merged.Wait.N != all.Wait.N || merged.Wait.MostNs != 9_000_000 || merged.Execution.N != all.Execution.N || merged.Execution.MeanNs() != 1e6 {
		t.Errorf("the levels are together %+v with %d waits, want %+v with %d", merged.Counts, merged.Wait.N, all.Counts, all.Wait.N)
	}
	// Without outcomes, all were executed.
	f, _ = fitLog(t, gets("u", aPod, 1, 2, 3), "")
	if l := &f.Recorded.Total; f.Recorded.Outcomes || l.Executed != 3 || l.Executing != 0 || l.Wait.N != 0 || f.Recorded.Levels != nil {
		t.Errorf("%+v", f.Recorded)
	}
}

// A fitted scenario lasts as long as its base if that fits the requests, and otherwise as long as these.
func TestDurationOfAFit(t *testing.T) {
	for base, want := range map[string]struct {
		durationNs, warmupNs int64
		noted                bool
	}{
		"":                                  {12_778e6, 0, false},
		"spec: {duration: 15s, warmup: 2s}": {15e9, 2e9, false},
		"spec: {duration: 25s, warmup: 2s}": {25e9, 2e9, false},
		"spec: {duration: 26s, warmup: 2s}": {12_778e6, 0, true},
		"spec: {duration: 11500ms}":         {12_778e6, 0, true}, // up to the last arrival, which it would leave out
		"spec: {duration: 11s, warmup: 2s}": {12_778e6, 0, true},
	} {
		if base != "" {
			base = "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: b}\n" + base
		}
		f, _ := fitLog(t, gets("u", aPod, 1, 2, 3, 4, 5, 6, 7, 8, 11.5), base)
		if got := f.Report; got.DurationNs != want.durationNs || got.WarmupNs != want.warmupNs || (len(got.Notes) > 0) != want.noted {
			t.Errorf("%q: %d ns, warm-up %d ns, notes %q; want %+v", base, got.DurationNs, got.WarmupNs, got.Notes, want)
		}
		if text := string(f.Scenario); strings.Contains(text, "warmup") != (want.warmupNs > 0) || !strings.Contains(text, "\n  - name: u-get-pods\n") {
			t.Errorf("%q:\n%s", base, text)
		}
	}
}

// The stored objects are such that lists take the seats that they took in the log.
func TestResourcesOfLists(t *testing.T) {
	for _, seats := range []int{1, 2, 4, 10} {
		list := fmt.Sprintf(`,"resource":"deployments","apiGroup":"apps","seats":%d`, seats)
		log := strings.ReplaceAll(gets("u", list, seconds(10)...), `"get"`, `"list"`)
		f, _ := fitLog(t, log, "")
		scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: f.Scenario}}, "s.yaml", loader.Options{})
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		stored := scenarios[0].Spec.Resources
		if seats == 1 {
			if len(stored) != 0 {
				t.Errorf("lists of one seat: %+v", stored)
			}
			continue
		}
		if len(stored) != 1 || stored[0].Group != "apps" || stored[0].Resource != "deployments" {
			t.Fatalf("%d seats: %+v", seats, stored)
		}
		known := estimate.Known(estimate.Store{{Group: "apps", Name: "deployments"}: {Objects: int64(stored[0].Objects), AverageBytes: int64(stored[0].AverageBytes)}})
		s := f.fitter.inOrder[0]
		r, err := estimate.NewEstimator(rules.Latest(), known).NewRequest(&s.attributes, s.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Estimate(0).InitialSeats; got != seats || stored[0].AverageBytes != 2000 || !strings.Contains(strings.Join(f.Report.Notes, ""), "all lists take the seats") {
			t.Errorf("%+v: %d seats, want %d; %q", stored[0], got, seats, f.Report.Notes)
		}
	}
}

// The note on the stored objects is about each list of the log: also those of the last of many users, and those that take
// other seats than the first of their user.
func TestListsThatNoObjectsExplain(t *testing.T) {
	list := func(user string, seats int, at ...float64) string {
		return strings.ReplaceAll(gets(user, fmt.Sprintf(`,"resource":"deployments","apiGroup":"apps","seats":%d`, seats), at...), `"get"`, `"list"`)
	}
	var users []string
	for i := range 30 {
		seats := 4
		if i >= 25 {
			seats = 7
		}
		users = append(users, list(fmt.Sprintf("u%d", i), seats, float64(i)))
	}
	for want, log := range map[string]string{
		"25 of 30 lists take the seats": logOf(users...),
		"7 of 10 lists take the seats":  logOf(list("u", 9, 1, 2, 3), list("u", 4, 4, 5, 6, 7, 8, 9, 10)),
		"all lists take the seats":      logOf(users[:25]...),
	} {
		f, _ := fitLog(t, log, "")
		if notes := strings.Join(f.Report.Notes, "\n"); !strings.Contains(notes, want) || !strings.Contains(notes, "deployments: 158 objects of 2000 bytes") {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

// Watches that were open at the end of the log were cut off there; others end, or are opened at the start.
func TestWatchesOfALog(t *testing.T) {
	watch := func(at float64, lastsNs int64) string {
		return fmt.Sprintf(`{"arrivalNs":%d,"user":"u","verb":"watch","resource":"pods","executionNs":1000000,"watchNs":%d}`+"\n", int64(at*1e9), lastsNs)
	}
	var lines []string
	for i := range 30 {
		lines = append(lines, watch(1+float64(i), 5e9), gets("v", aPod, float64(i)))
	}
	lines = append(lines, watch(31, 29e9), watch(32, 28e9), gets("v", aPod, 60))
	f, workloads := fitLog(t, logOf(lines...), "")
	i := slices.IndexFunc(workloads, func(w scripted.Workload) bool { return w.Requests[0].Verb == "watch" })
	if notes := strings.Join(f.Report.Workloads[i].Notes, "; "); !strings.Contains(notes, "2 of 32 were still open at the end of the log") {
		t.Errorf("%q", notes)
	}
	f, _ = fitLog(t, logOf(watch(1, 59e9), watch(2, 58e9), gets("v", aPod, seconds(60)...)), "")
	for _, w := range f.Report.Workloads {
		if notes := strings.Join(w.Notes, "; "); w.Kinds[0].Request == "watch pods" && !strings.Contains(notes, "none of 2 watches ended in the log") {
			t.Errorf("%q", notes)
		}
	}
	_, workloads = fitLog(t, logOf(watch(0, 5e9), watch(0, 7e9), watch(3, 5e9), gets("v", aPod, seconds(30)...)), "")
	var names []string
	for _, w := range workloads {
		names = append(names, w.Name)
	}
	if !slices.Contains(names, "u-watch-pods-open-at-start") || !slices.Contains(names, "u-watch-pods") {
		t.Errorf("%q", names)
	}
}

// A workload that is replayed has all of its requests in a file, numbered, and nobody else's.
func TestReplayedWorkload(t *testing.T) {
	f, _ := fitLog(t, logOf(gets("ann", aPod, seconds(20)...), gets("bob", aPod, 1, 2, 30)), "")
	i := slices.IndexFunc(f.Report.Workloads, func(w Workload) bool { return w.Name == "bob-get-pods" })
	written := &file{}
	names := ""
	if err := f.Replay(map[int]string{i: "it has bursts"}, func(name string) (io.WriteCloser, error) { names += name; return written, nil }); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(written.String()), "\n")
	if names != "traces/bob-get-pods.jsonl" || len(lines) != 3 || written.closed != 1 || strings.Contains(written.String(), "ann") || !strings.Contains(lines[2], `"id":3`) || !strings.Contains(lines[2], `"arrivalNs":30000000000`) {
		t.Errorf("%s:\n%s", names, written.String())
	}
	if w := f.Report.Workloads[i]; w.Arrivals != "replayed" || !slices.Equal(w.NotFitted, []string{Bursts}) || !strings.Contains(strings.Join(w.Notes, ""), "it has bursts") {
		t.Errorf("%+v", w)
	}
	if w := f.Report.Workloads[1-i]; w.Arrivals == "replayed" || len(w.NotFitted) != 0 {
		t.Errorf("%+v", w)
	}
	workloads := loaded(t, f, fstest.MapFS{names: {Data: written.Bytes()}})
	if a := workloads[i].Arrivals.Trace; a == nil || workloads[1-i].Arrivals.Trace != nil {
		t.Errorf("%+v", workloads)
	}
	failing := io.ErrShortWrite
	if err := f.Replay(map[int]string{0: "x"}, func(string) (io.WriteCloser, error) { return nil, failing }); err != failing {
		t.Errorf("got the error %v", err)
	}
}

// file is a file in memory.
type file struct {
	bytes.Buffer
	closed int
}

func (f *file) Close() error { f.closed++; return nil }

// The names of objects are those of the clients where each client has its own.
func TestNamesOfObjects(t *testing.T) {
	for names, want := range map[[3]string]string{{"a-0", "a-1", "a-2"}: "a-{i}", {"a", "a", "a"}: "a", {"x", "y", "z"}: "x", {"a-0", "b-1", "a-2"}: "a-0"} {
		var lines []string
		for i, n := range names {
			lines = append(lines, gets(fmt.Sprint("web-", i), fmt.Sprintf(`,"resource":"pods","namespace":"default","name":%q`, n), seconds(10)...))
		}
		_, workloads := fitLog(t, logOf(lines...), "")
		if len(workloads) != 1 || workloads[0].Requests[0].Name != want {
			t.Errorf("%q: %+v, want %q", names, workloads, want)
		}
	}
}

// What is replaced is a whole word.
func TestReplaceWord(t *testing.T) {
	for _, c := range []struct{ text, word, want string }{
		{"a/b/a", "a", "X/b/X"}, {"ab a", "a", "ab X"}, {"a-b", "a", "a-b"}, {"b.a", "a", "b.a"}, {"a_", "a", "a_"}, {"9a", "a", "9a"}, {"a9", "a", "a9"},
		{"Za", "a", "Za"}, {"zaZ a", "a", "zaZ X"}, {"a", "", "a"}, {"", "a", ""}, {"a:a", "a", "X:X"}, {"0a", "a", "0a"}, {"Aa", "a", "Aa"}, {"aA", "a", "aA"}, {":", "", ":"},
	} {
		if got := replaceWord(c.text, c.word, "X"); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.word, c.text, got, c.want)
		}
	}
	for text, want := range map[string]string{"a12b345c": "345", "a": "", "": "", "7": "7", "a0": "0", "9z": "9", "/:": ""} {
		if got := lastNumber(text); got != want {
			t.Errorf("the last number in %q is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"Web {i} Front!": "web-front", "": "requests", "--": "requests", "a--b": "a-b", "é1": "1", strings.Repeat("x", 100): strings.Repeat("x", 60), "{i}": "requests", "-a-": "a", "z9": "z9", "a0": "a0"} {
		if got := ScenarioName(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	taken := map[string]bool{}
	for _, want := range []string{"a", "a-2", "a-3"} {
		if got := unique("a", taken); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for query, want := range map[string]string{"": "", "watch": "watch", "resourceVersion=77&limit=5": "resourceVersion=1&limit=5", "resourceVersion=0": "resourceVersion=0",
		"resourceVersion=": "resourceVersion=", "continue=abc": "continue=token", "continue=": "continue=", "timeoutSeconds=5&limit=2": "limit=2", "labelSelector=a%3Db%2cc": "labelSelector=a=b,c"} {
		if got := steadyQuery(query); got != want {
			t.Errorf("%q becomes %q, want %q", query, got, want)
		}
	}
}

// Workloads are joined if there are too many, and as many as there may be are not.
func TestAsManyWorkloadsAsThereMayBe(t *testing.T) {
	var lines []string
	for i, resource := range []string{"pods", "nodes", "secrets", "events"} {
		lines = append(lines, gets("u", fmt.Sprintf(`,"resource":%q,"name":"x"`, resource), seconds(8-i)...))
	}
	log := logOf(lines...)
	for most, want := range map[int]int{4: 4, 3: 4, 2: 3} { // those that are joined are one more
		f, err := Fit(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(log)), nil }, Options{File: "log.jsonl", Name: "fitted", MaxWorkloads: most})
		if err != nil {
			t.Fatal(err)
		}
		joined := 0
		for _, w := range f.Report.Workloads {
			if strings.HasPrefix(w.Name, "others-") {
				joined++
			}
		}
		if len(f.Report.Workloads) != want || joined != min(1, 4-most) || (len(f.Report.Notes) > 0) != (most < 4) {
			t.Errorf("at most %d: %d workloads, %d of them joined, %q", most, len(f.Report.Workloads), joined, f.Report.Notes)
		}
	}
}

// A log of rejected requests that are not sent again says how many may be retries, from a twentieth on.
func TestRejectionsWithoutRetries(t *testing.T) {
	for rejected, want := range map[int]bool{0: false, 1: false, 5: true} {
		log := logOf(gets("u", aPod+`,"outcome":"executed"`, seconds(95)...), gets("u", aPod+`,"outcome":"rejected"`, seconds(rejected)...))
		f, workloads := fitLog(t, log, "")
		w := f.Report.Workloads[0]
		if got := strings.Contains(strings.Join(w.Notes, ""), fmt.Sprintf("up to %d of the %d first attempts are retries", rejected, 95+rejected)); got != want || w.Rejected != int64(rejected) || !reflect.ValueOf(workloads[0].Retry).IsZero() {
			t.Errorf("%d rejected: %+v", rejected, w)
		}
	}
}

// The base can be wrong in its release, and keeps its paths if nobody says where the scenario will be.
func TestReadBase(t *testing.T) {
	if _, err := ReadBase([]byte("spec: {servers: {kubernetesVersion: \"1.99\"}}"), "base.yaml", ""); err == nil || !strings.HasPrefix(err.Error(), "base.yaml:1: spec.servers.kubernetesVersion: ") {
		t.Errorf("got the error %v", err)
	}
	for dir, want := range map[string]string{"": "a.yaml", "b": "../folder/a.yaml", "folder": "a.yaml"} {
		b, err := ReadBase([]byte("spec: {config: {files: [a.yaml]}}"), "folder/base.yaml", dir)
		if err != nil {
			t.Fatal(err)
		}
		spec := b.Document.Content[1]
		if got := spec.Content[1].Content[1].Content[0].Value; got != want {
			t.Errorf("in %q: %s, want %s", dir, got, want)
		}
	}
}

// The recorded requests are read twice, and closed each time. What is wrong in a line is said with the type that is wanted.
func TestReadingOfALog(t *testing.T) {
	source := &file{}
	opened := 0
	if _, err := Fit(func() (io.ReadCloser, error) {
		opened++
		source.Reset()
		source.WriteString(gets("u", aPod, 1, 2, 3))
		return source, nil
	}, Options{File: "log.jsonl", Name: "fitted"}); err != nil || opened != 2 || source.closed != 2 {
		t.Errorf("error %v, opened %d times, closed %d times", err, opened, source.closed)
	}
	for line, want := range map[string]string{`"seats":"x"`: "is a string; want a whole number", `"user":5`: "is a number; want a string"} {
		_, err := Fit(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("{" + line + "}\n")), nil }, Options{File: "log.jsonl"})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %s", line, err, want)
		}
	}
}

// The log of a real server has the waits of slow watches only, so that they count for nothing.
func TestWaitsOfWatchesInARealLog(t *testing.T) {
	watches := strings.ReplaceAll(gets("u", `,"resource":"pods","waitNs":7000000`, 3, 4), `"get"`, `"watch"`)
	f, _ := fitLog(t, logOf(gets("u", aPod+`,"waitNs":5000000`, 1, 2), watches), "")
	if w := &f.Recorded.Total.Wait; w.N != 2 || w.MostNs != 5_000_000 || f.Recorded.Total.Arrived != 4 {
		t.Errorf("%d waits of at most %d ns, want the two of gets", w.N, w.MostNs)
	}
}

// A log of one request can be fitted, and a kind of requests that is left out is noted, also if it is the only one.
func TestLogsOfOneRequest(t *testing.T) {
	f, workloads := fitLog(t, gets("u", aPod+`,"outcome":"executed"`, 1), "")
	if len(workloads) != 1 || f.Report.Requests != 1 || f.Report.LeftOut != 0 {
		t.Errorf("%+v, %+v", f.Report, workloads)
	}
	if notes := strings.Join(f.Report.Notes, "\n"); strings.Contains(notes, "left out") {
		t.Errorf("%q", notes)
	}
	if followed := f.fitter.inOrder[0].followed; followed.Executed != 0 || followed.Rejected != 0 {
		t.Errorf("without a rejection, requests followed one: %+v", followed)
	}
	for _, field := range []string{"clients:", "start:", "stop:", "groups:"} {
		if strings.Contains(string(f.Scenario), field) {
			t.Errorf("the scenario has %s, which says nothing:\n%s", field, f.Scenario)
		}
	}
	f, _ = fitLog(t, logOf(gets("u", aPod, 1, 2), strings.ReplaceAll(gets("u", aPod, 3), `"get"`, `"no verb"`)), "")
	if notes := strings.Join(f.Report.Notes, "\n"); f.Report.LeftOut != 1 || !strings.Contains(notes, "1 requests of 1 kinds are left out") {
		t.Errorf("%+v, %q", f.Report, notes)
	}
}

// A user has its groups in the scenario, and clients that send in a part of the log only have a start and an end.
func TestIdentityAndTimesOfAWorkload(t *testing.T) {
	var late []float64
	for _, s := range seconds(100) {
		late = append(late, 100+s/2)
	}
	_, workloads := fitLog(t, logOf(gets("u", aPod, seconds(300)...), gets("v", aPod+`,"groups":["operators","auditors"]`, late...)), "")
	i := slices.IndexFunc(workloads, func(w scripted.Workload) bool { return w.As.User == "v" })
	if i < 0 || !slices.Equal(workloads[i].As.Groups, []string{"auditors", "operators"}) {
		t.Fatalf("%+v, want v with its groups", workloads)
	}
	if w := &workloads[i]; w.Start < 95e9 || w.Start > 101e9 || w.Stop < 149e9 || w.Stop > 155e9 {
		t.Errorf("v sends from %v to %v, want from about 100 s to 150 s", w.Start, w.Stop)
	}
}

// Watches at time 0 were open when the log began, and have a workload of their own.
func TestWatchesThatWereOpen(t *testing.T) {
	watches := strings.ReplaceAll(gets("u", `,"resource":"pods"`, 0, 0, 7, 8, 9), `"get"`, `"watch"`)
	f, _ := fitLog(t, logOf(watches, gets("v", aPod, seconds(20)...)), "")
	first := map[string]int64{}
	for _, w := range f.Report.Workloads {
		first[w.Name] = w.First
	}
	if first["u-watch-pods-open-at-start"] != 2 || first["u-watch-pods"] != 3 {
		t.Errorf("%v, want two watches that were open at the start, and three later ones", first)
	}
}

// Users that differ in a word have the name of what their words have in common, if that is two characters at least; joined
// streams are one client.
func TestWordsOfGroups(t *testing.T) {
	for want, tokens := range map[string][]string{"ab-" + index: {"ab-red", "ab-blue", "ab-3"}, "namespace-" + index: {"a-red", "a-blue", "a-green"}} {
		var c class
		for _, token := range tokens {
			c.members = append(c.members, member{&stream{requests: 10}, likeness{word: token, token: token}})
		}
		all := c.workloads()
		if len(all) != 1 || all[0].word != want {
			t.Errorf("%q: %+v, want %s", tokens, all[0], want)
		}
		all[0].joined = true
		if all[0].assign(60e9); len(all[0].observed.Clients) != 1 {
			t.Errorf("%d clients of joined streams, want 1", len(all[0].observed.Clients))
		}
	}
}

// What the arrivals are not like is noted with the workload.
func TestNotesOnArrivals(t *testing.T) {
	var at []float64
	for i := range 200 {
		at = append(at, float64(i)+0.6*float64(i%2))
	}
	f, _ := fitLog(t, gets("u", aPod, at...), "")
	if notes := strings.Join(f.Report.Workloads[0].Notes, "\n"); !strings.Contains(notes, "the intervals vary less than those of a Poisson process, and more than equal ones") {
		t.Errorf("%q as %s", notes, f.Report.Workloads[0].Arrivals)
	}
}
