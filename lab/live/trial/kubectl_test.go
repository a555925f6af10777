package trial

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/balancer"
	"apfsim/lab/live/sender"
	"apfsim/lab/live/webhook"
	"apfsim/lint/metrics"

	"go.yaml.in/yaml/v3"
)

// viewer is who runs kubectl. The guide says which role that needs.
var viewer = apiserver.User{Name: "viewer"}

// guide has the role, which a test of what the guide says should not repeat.
var guide = filepath.Join(repository, "docs", "guides", "metrics.md")

// planted is in all that must not be in a bundle.
const planted = "planted-0d5f"

// A user fills the queues of a kube-apiserver. The plugin of kubectl, which may only read, says who it is and shows what the server
// counts, also behind a load balancer, and what it collects leads to the FlowSchema, the level and the user, and has no secret in it.
func TestPluginOfKubectl(t *testing.T) {
	if !*live {
		t.Skip("needs -live: it builds kube-apiserver, which takes 7 minutes the first time, and loads it for 2 minutes")
	}
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skipf("kubectl is missing: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	binaries, err := apiserver.Build(ctx, repository, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	output(t, exec.Command("go", "build", "-C", repository, "-o", filepath.Join(dir, "kubectl-apf"), "./cmd/apfsim"))
	l := prepared(ctx, t, binaries, dir, []apiserver.User{viewer}, "--authorization-mode=RBAC")
	l.allow(ctx, t)
	l.plant(ctx, t)
	second, err := l.server.StartAnother(ctx, binaries, l.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Stop() })
	front, err := balancer.Start(balancer.Options{Servers: []string{strings.TrimPrefix(l.server.URL, "https://"), strings.TrimPrefix(second.URL, "https://")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	k := &kubectl{dir: dir, server: l.server.URL}
	before := l.stored(ctx, t)

	var sending sync.WaitGroup
	loading, end := context.WithCancel(ctx)
	defer sending.Wait()
	defer end() // before the wait
	began := time.Now().Add(time.Second)
	sending.Go(func() { sender.Send(loading, began, l.requests) })
	for range 2 { // one of them is in the dump
		sending.Go(func() { l.secretive(loading, t) })
	}
	at := func(seconds int) {
		if err := sleepUntil(ctx, began.Add(time.Duration(seconds)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}

	at(35) // the importer begins at 30 s, and has filled its hand after 2 s
	text := k.apf(t, "who")
	t.Logf("kubectl apf who:\n%s", text)
	var requests, all int
	if _, sentence, found := strings.Cut(text, "importer has "); !found {
		t.Error("who does not name the importer")
	} else if _, err := fmt.Sscanf(sentence, "%d of the %d requests", &requests, &all); err != nil || requests < 100 || requests < all*8/10 {
		t.Errorf("who says that the importer has %d of %d requests that wait; want 100 or more, and 80 %%: a hand has 6 queues of 20", requests, all)
	}

	shown, counted := l.watched(ctx, t, func() string { return k.apf(t, "top", "--interval", "3s", "--times", "4") })
	t.Logf("kubectl apf top:\n%s", shown)
	bundle := filepath.Join(dir, "bundle.tar.gz")
	if text := k.run(t, "apf", "collect", "--interval", "10s", "-o", bundle); !strings.Contains(text, "wrote 7 files") || strings.Contains(text, "left out") {
		t.Errorf("collect: got %s; want 7 files", text)
	}
	if after := time.Since(began); after > 80*time.Second {
		t.Errorf("all was asked for after %v; want 80 s, at which the importer ends", after)
	}

	behind := &kubectl{dir: dir, server: "https://" + front.Address()}
	text = behind.apf(t, "top", "--interval", "1s", "--times", "2")
	if strings.Contains(text, "another server") {
		t.Errorf("top behind a load balancer shows two servers as one:\n%s", text)
	}
	two := filepath.Join(dir, "two.tar.gz")
	behind.run(t, "apf", "collect", "--interval", "1s", "-o", two)
	if text := k.apf(t, "diagnose", two, "-v"); strings.Contains(text, "different processes") {
		t.Errorf("collect behind a load balancer has taken scrapes of two servers:\n%s", text)
	}
	end()
	sending.Wait()

	l.compare(t, shown, counted)
	k.diagnosed(t, bundle)
	l.unchanged(ctx, t, before)
	searched(t, bundle)
}

// allow lets the users of the load create ConfigMaps, and gives viewer the role of the guide.
func (l *loaded) allow(ctx context.Context, t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var role map[string]any
	for _, block := range strings.Split(string(text), "```")[1:] {
		if yamlText, is := strings.CutPrefix(block, "yaml\n"); is && strings.Contains(yamlText, "kind: ClusterRole\n") {
			if err := yaml.Unmarshal([]byte(yamlText), &role); err != nil {
				t.Fatal(err)
			}
		}
	}
	if role == nil {
		t.Fatalf("%s has no ClusterRole", guide)
	}
	const group = "rbac.authorization.k8s.io"
	bind := func(role, kind, name string) map[string]any {
		return map[string]any{"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": role + "-" + name},
			"roleRef":  map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": role},
			"subjects": []any{map[string]any{"apiGroup": group, "kind": kind, "name": name}}}
	}
	writer := map[string]any{"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "writer"},
		"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"create"}}}}
	for _, o := range []map[string]any{role, writer, bind(role["metadata"].(map[string]any)["name"].(string), "User", viewer.Name),
		bind("writer", "Group", "batch"), bind("writer", "Group", "apps")} {
		collection := fmt.Sprintf("/apis/%s/v1/%ss", group, strings.ToLower(o["kind"].(string)))
		if _, _, err := l.admin.do(ctx, http.MethodPost, collection, "", o); err != nil {
			t.Fatal(err)
		}
	}
}

// plant stores secrets, and writes them into a flow-control object.
func (l *loaded) plant(ctx context.Context, t *testing.T) {
	t.Helper()
	for path, object := range map[string]map[string]any{
		"/api/v1/namespaces/live/secrets":    {"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "planted"}, "stringData": map[string]any{"password": planted}},
		"/api/v1/namespaces/live/configmaps": configMap("planted", map[string]string{"password": planted}),
		"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
			"metadata": map[string]any{"name": "unused", "annotations": map[string]any{"password": planted}, "labels": map[string]any{"password": planted}},
			"spec":     map[string]any{"matchingPrecedence": 9999, "priorityLevelConfiguration": map[string]any{"name": "catch-all"}}},
	} {
		if _, _, err := l.admin.do(ctx, http.MethodPost, path, "", object); err != nil {
			t.Fatal(err)
		}
	}
}

// secretPath is where the requests of secretive are sent. It shows that they are in a dump.
const secretPath = "/api/v1/namespaces/live/configmaps"

// secretive sends requests with secrets in the query, the headers and the body until the context ends. Each waits or executes for
// 5 s or more, so that a dump has one.
func (l *loaded) secretive(ctx context.Context, t *testing.T) {
	client := l.server.Client(apiserver.User{Name: "app-0"})
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		body, _ := json.Marshal(configMap("secretive", map[string]string{webhook.SleepKey: "5s", "password": planted}))
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.server.URL+secretPath+"?dryRun=All&fieldManager="+planted, bytes.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", "agent/"+planted)
		r.Header.Set("X-Password", planted)
		if answer, err := client.Do(r); err == nil {
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusCreated && answer.StatusCode != http.StatusTooManyRequests {
				t.Errorf("a request with secrets got status %d: %s", answer.StatusCode, text)
				return
			}
		} else if ctx.Err() == nil {
			t.Errorf("a request with secrets: %v", err)
			return
		}
		sleepUntil(ctx, time.Now().Add(100*time.Millisecond))
	}
}

// kubectl runs kubectl as viewer.
type kubectl struct{ dir, server string }

// config writes a kubeconfig, with the token of viewer and a password, and returns its name.
func (k *kubectl) config(t *testing.T) string {
	t.Helper()
	file := filepath.Join(k.dir, fmt.Sprintf("%s.kubeconfig", strings.ReplaceAll(strings.TrimPrefix(k.server, "https://"), ":", "-")))
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: live,
clusters: [{name: live, cluster: {server: %q, insecure-skip-tls-verify: true}}],
users: [{name: viewer, user: {token: %s}}, {name: other, user: {username: other, password: %s}}],
contexts: [{name: live, context: {cluster: live, user: viewer}}]}
`, k.server, viewer.Token(), planted)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start runs kubectl to its end, and returns what it prints and says.
func (k *kubectl) start(t *testing.T, args []string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("kubectl", args...)
	cmd.Env = append(os.Environ(), "PATH="+k.dir+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+k.dir, "KUBECONFIG="+k.config(t))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String(), errs.String()
}

func (k *kubectl) apf(t *testing.T, args ...string) string {
	t.Helper()
	text, _ := k.start(t, append([]string{"apf"}, args...))
	return text
}

func (k *kubectl) run(t *testing.T, args ...string) string {
	t.Helper()
	_, text := k.start(t, args)
	return text
}

// levelFigures are those of a level.
type levelFigures struct{ limit, seats, queued, rejected float64 }

// scraped is what the server counted between two times.
type scraped struct {
	asked  time.Time
	at     time.Time // of the answer
	ranS   float64   // the time of the server, which weighs its metrics
	levels map[string]levelFigures
}

// read reads a scrape of a server of 1.37.
func (c *scraped) read(text []byte) error {
	samples, err := metrics.Read(bytes.NewReader(text), metrics.FlowControl)
	if err != nil {
		return err
	}
	c.levels = map[string]levelFigures{}
	for name, add := range map[string]func(f *levelFigures, v float64){
		metrics.CurrentLimit:               func(f *levelFigures, v float64) { f.limit += v },
		metrics.ExecutingSeats:             func(f *levelFigures, v float64) { f.seats += v },
		metrics.InQueue:                    func(f *levelFigures, v float64) { f.queued += v },
		metrics.RejectedTotal:              func(f *levelFigures, v float64) { f.rejected += v },
		metrics.SeatUtilization + "_count": func(_ *levelFigures, v float64) { c.ranS = max(c.ranS, v/1e9) },
	} {
		for _, s := range samples.ByName[name] {
			f := c.levels[s.Label("priority_level")]
			add(&f, s.Value)
			c.levels[s.Label("priority_level")] = f
		}
	}
	return nil
}

// watched calls use, and scrapes the server ten times a second meanwhile.
func (l *loaded) watched(ctx context.Context, t *testing.T, use func() string) (text string, all []scraped) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for sleepUntil(ctx, time.Now().Add(100*time.Millisecond)) == nil {
			asked := time.Now()
			text, err := l.admin.scrape(ctx)
			if ctx.Err() != nil {
				return
			}
			one := scraped{asked: asked, at: time.Now()}
			if err == nil {
				err = one.read(text)
			}
			if err != nil {
				t.Error(err)
				return
			}
			all = append(all, one)
		}
	})
	text = use()
	cancel()
	watching.Wait()
	return text, all
}

// compare compares what top has shown with what the server counted. The audit log says when the scrape of each display was taken; what
// is shown must be within what was counted shortly before and after it.
func (l *loaded) compare(t *testing.T, shown string, counted []scraped) {
	t.Helper()
	if len(counted) < 20 {
		t.Fatalf("%d scrapes; want many more", len(counted))
	}
	var taken []event // those of top first
	for _, e := range l.audit(t) {
		if e.User.Username == viewer.Name && e.RequestURI == "/metrics" && e.StageTimestamp.After(counted[0].at.Add(-time.Second)) && e.StageTimestamp.Before(counted[len(counted)-1].at.Add(time.Second)) {
			taken = append(taken, e)
		}
	}
	displays := strings.Split(shown, "priority level ")[1:]
	if len(displays) == 0 || len(taken) < len(displays)+1 { // a further one is of collect
		t.Fatalf("%d displays and %d scrapes in the audit log; want one more", len(displays), len(taken))
	}
	rows, off, rates := 0, [4]float64{}, 0.0
	for i, display := range displays {
		begin, end := around(counted, taken[i])
		from, to := around(counted, taken[i+1])
		near := counted[from : to+1]
		for line := range strings.Lines(display) {
			fields := strings.Fields(line)
			if len(fields) < 5 || near[0].levels[fields[0]] == (levelFigures{}) {
				continue
			}
			rows++
			// What is allowed beyond what was counted is what comes and goes between two scrapes.
			for column, c := range map[int]struct {
				of      func(levelFigures) float64
				allowed float64
			}{1: {func(f levelFigures) float64 { return f.seats }, 1}, 2: {func(f levelFigures) float64 { return f.limit }, 0}, 3: {func(f levelFigures) float64 { return f.queued }, 5}} {
				least, most := math.Inf(1), math.Inf(-1)
				for _, n := range near {
					v := c.of(n.levels[fields[0]])
					least, most = min(least, v), max(most, v)
				}
				got, err := strconv.ParseFloat(fields[column], 64)
				if fields[column] == "–" && most == 0 { // an exempt level has no limit
					continue
				}
				if err != nil || got < least-c.allowed || got > most+c.allowed {
					t.Errorf("display %d, %s, column %d: top shows %s, the server counted %g to %g", i, fields[0], column, fields[column], least, most)
				}
				if beyond := max(least-got, got-most); beyond > 0 {
					t.Logf("display %d, %s, column %d: top shows %s, the server counted %g to %g", i, fields[0], column, fields[column], least, most)
				}
				off[column] = max(off[column], least-got, got-most)
			}
			if fields[0] == "shared" {
				// Between the scrapes of top, the server counted at least what it counted between those just within, and at
				// most what it counted between those just outside.
				grown := func(a, b int) float64 {
					return counted[b].levels["shared"].rejected - counted[a].levels["shared"].rejected
				}
				least := grown(end, from) / taken[i+1].StageTimestamp.Sub(taken[i].RequestReceivedTimestamp).Seconds()
				most := grown(begin, to) / taken[i+1].RequestReceivedTimestamp.Sub(taken[i].StageTimestamp).Seconds()
				rate, err := strconv.ParseFloat(fields[4], 64)
				if err != nil || rate < least || rate > most {
					t.Errorf("display %d: top shows %s rejections per second, the server counted %.1f to %.1f", i, fields[4], least, most)
				}
				rates += rate
			}
		}
	}
	first, _ := around(counted, taken[0])
	_, last := around(counted, taken[len(displays)])
	rate := rates / float64(len(displays))
	want := (counted[last].levels["shared"].rejected - counted[first].levels["shared"].rejected) / (counted[last].ranS - counted[first].ranS)
	t.Logf("%d rows of top: beyond what the server counted just before and after by %g seats, %g of limits and %g queued requests at most; %.1f rejections per second in the mean, the server counted %.1f",
		rows, off[1], off[2], off[3], rate, want)
	if math.Abs(rate-want) > 0.1*want {
		t.Errorf("top shows %.1f rejections per second in the mean, the server counted %.1f", rate, want)
	}
	if rows < 4*len(displays) {
		t.Errorf("%d rows were compared; want %d or more", rows, 4*len(displays))
	}
}

// around returns the last scrape that was answered before a request was received, and the first that was asked for after its answer.
func around(all []scraped, e event) (before, after int) {
	after = len(all) - 1
	for i := range all {
		if all[i].at.Before(e.RequestReceivedTimestamp) {
			before = i
		}
		if k := len(all) - 1 - i; all[k].asked.After(e.StageTimestamp) {
			after = k
		}
	}
	return before, after
}

// diagnosed checks that a bundle and its folder lead to the importer.
func (k *kubectl) diagnosed(t *testing.T, bundle string) {
	t.Helper()
	folder := filepath.Join(k.dir, "bundle")
	for name, text := range files(t, bundle) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range []string{bundle, folder} {
		text := k.apf(t, "diagnose", in)
		t.Logf("diagnose %s:\n%s", filepath.Base(in), text)
		var d diagnosis
		if err := json.Unmarshal([]byte(k.apf(t, "diagnose", "--format", "json", in)), &d); err != nil {
			t.Fatal(err)
		}
		v := d.Verdict
		if v.Status != "harm" || !strings.Contains(v.Sentence, "of shared were rejected") || !strings.Contains(v.Sentence, "queue-full") {
			t.Errorf("%s: got %s %q, want harm at the level shared, and its reason", in, v.Status, v.Sentence)
		}
		if len(v.Causes) == 0 || v.Causes[0].Level != "shared" || !strings.Contains(v.Causes[0].Sentence, "importer has ") {
			t.Errorf("%s: got the causes %+v, want the importer at shared first", in, v.Causes)
		}
		for _, s := range d.Schemas {
			if n := s.Rejected["queue-full"]; (n > 0) != (s.FlowSchema == "batch") {
				t.Errorf("%s: got %v rejections of %s; only batch had any", in, n, s.FlowSchema)
			}
		}
	}
}

// event is a line of the audit log.
type event struct {
	Stage, Verb, RequestURI, UserAgent       string
	User                                     struct{ Username string }
	RequestReceivedTimestamp, StageTimestamp time.Time
	ResponseStatus                           struct{ Code int }
}

// audit returns the answers of the first server.
func (l *loaded) audit(t *testing.T) (all []event) {
	t.Helper()
	f, err := os.Open(l.server.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Stage == "ResponseComplete" {
			all = append(all, e)
		}
	}
}

// kept are the objects whose versions a command could have changed.
var kept = []string{"/api/v1/configmaps", "/api/v1/secrets", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"}

// stored returns the versions of what is stored.
func (l *loaded) stored(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, path := range kept {
		_, text, err := l.admin.do(ctx, http.MethodGet, path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Items []struct {
				Metadata struct{ Namespace, Name, ResourceVersion string }
			}
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			versions[path+" "+o.Metadata.Namespace+" "+o.Metadata.Name] = o.Metadata.ResourceVersion
		}
	}
	return versions
}

// unchanged checks that viewer has only read, and that what is stored is as before.
func (l *loaded) unchanged(ctx context.Context, t *testing.T, before map[string]string) {
	t.Helper()
	after := l.stored(ctx, t)
	for name, version := range before {
		if after[name] != version {
			t.Errorf("%s has changed from version %s to %q", name, version, after[name])
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d objects are stored, and %d were before", len(after), len(before))
	}
	verbs, refused := map[string]int{}, 0
	for _, e := range l.audit(t) {
		if e.User.Username != viewer.Name {
			continue
		}
		verbs[e.Verb]++
		if e.ResponseStatus.Code == http.StatusForbidden {
			refused++
			t.Errorf("%s %s was refused: the role of the guide does not allow it", e.Verb, e.RequestURI)
		}
		if !strings.HasPrefix(e.UserAgent, "kubectl") {
			t.Errorf("%s %s is of %q, and not of kubectl", e.Verb, e.RequestURI, e.UserAgent)
		}
	}
	t.Logf("verbs of the plugin in the audit log: %v; %d objects are as before", verbs, len(before))
	if verbs["get"] == 0 || verbs["list"] == 0 || len(verbs) != 2 {
		t.Errorf("got the verbs %v, want get and list only", verbs)
	}
}

// files unpacks an archive.
func files(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// secretRow is the row of a request of secretive.
var secretRow = regexp.MustCompile(`app-0, +create, +` + secretPath)

// searched checks that an archive and its files have no secret.
func searched(t *testing.T, archive string) {
	t.Helper()
	all := files(t, archive)
	if !secretRow.Match(all["dump_requests.csv"]) {
		t.Errorf("the dump has no request of app-0, so that it does not show that secrets of requests are left out:\n%s", all["dump_requests.csv"])
	}
	if !bytes.Contains(all["objects.yaml"], []byte("name: unused")) {
		t.Error("the objects do not have the FlowSchema with a secret")
	}
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	all[filepath.Base(archive)] = packed
	secrets := []string{planted, base64.StdEncoding.EncodeToString([]byte(planted)), viewer.Token(), apiserver.Administrator.Token(), "token-of-", "Bearer"}
	length := 0
	for name, text := range all {
		length += len(text)
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	t.Logf("%d files, %d kB, have none of %d secrets", len(all), length>>10, len(secrets))
}
