package trial

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/certificate"
	"apfsim/lab/live/observed"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/sender"
	"apfsim/lab/live/webhook"
)

var live = flag.Bool("live", false, "build kube-apiserver, and run it under a Prometheus")

// repository is the folder of the repository.
var repository = filepath.Join("..", "..", "..")

// diagnosis is what the test reads of apfsim diagnose --format json.
type diagnosis struct {
	From, To string
	Verdict  struct {
		Status, Sentence string
		Causes           []struct {
			Kind, Level, Sentence string
			Or                    []string
		}
	}
	Schemas []struct {
		FlowSchema, PriorityLevel string
		Rejected                  map[string]float64
	}
}

// A Prometheus scrapes a kube-apiserver while one FlowSchema asks for three times the seats of its level. The diagnosis says which,
// why and when, from the HTTP API and from the blocks on the disk.
func TestDiagnoseByPrometheus(t *testing.T) {
	if !*live {
		t.Skip("needs -live: it builds kube-apiserver, which takes 7 minutes the first time, and loads it for 2 minutes")
	}
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: %v", program, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	binaries, err := apiserver.Build(ctx, repository, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	apfsim := filepath.Join(dir, "apfsim")
	output(t, exec.Command("go", "build", "-C", repository, "-o", apfsim, "./cmd/apfsim"))
	url, began, counted := overloaded(ctx, t, binaries, dir)
	wanted := func(how string, args ...string) {
		text := output(t, exec.Command(apfsim, append([]string{"diagnose"}, args...)...))
		t.Logf("%s:\n%s", how, text)
		var d diagnosis
		if err := json.Unmarshal([]byte(output(t, exec.Command(apfsim, append([]string{"diagnose", "--format", "json"}, args...)...))), &d); err != nil {
			t.Fatal(err)
		}
		v := d.Verdict
		if v.Status != "harm" || !strings.Contains(v.Sentence, "of shared were rejected between") || !strings.Contains(v.Sentence, "queue-full") {
			t.Errorf("%s: got %s %q, want harm at the level shared, its time and its reason", how, v.Status, v.Sentence)
		}
		if len(v.Causes) != 1 || v.Causes[0].Kind != "demand" || v.Causes[0].Level != "shared" || slices.Contains(v.Causes[0].Or, "execution") {
			t.Errorf("%s: got the causes %+v, want the demand at shared, and not that executions became slower", how, v.Causes)
		}
		for _, s := range d.Schemas {
			want := 0
			if s.FlowSchema == "batch" {
				want = counted[observed.Count{Level: "shared", Reason: outcome.QueueFull}]
			}
			if n := s.Rejected["queue-full"]; int(n) != want || len(s.Rejected) > 1 {
				t.Errorf("%s: got %v rejections of %s, want %d", how, s.Rejected, s.FlowSchema, want)
			}
		}
	}
	wanted("by the HTTP API", "--prometheus", url, "--from", began.UTC().Format(time.RFC3339))
	answer, err := http.Post(url+"/api/v1/admin/tsdb/snapshot", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var snapshot struct{ Data struct{ Name string } }
	if err := json.NewDecoder(answer.Body).Decode(&snapshot); err != nil || snapshot.Data.Name == "" {
		t.Fatalf("no snapshot: %v", err)
	}
	dump, blocks := filepath.Join(dir, "dump.txt"), filepath.Join(dir, "data", "snapshots", snapshot.Data.Name)
	if err := os.Mkdir(filepath.Join(blocks, "wal"), 0o755); err != nil { // promtool wants one, and a snapshot has only blocks
		t.Fatal(err)
	}
	text := output(t, exec.Command("promtool", "tsdb", "dump", blocks))
	if err := os.WriteFile(dump, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("the dump has %d MB", len(text)>>20)
	wanted("by promtool tsdb dump", dump)
}

// loaded is a server that is ready for the requests of the case one-schema.
type loaded struct {
	server   *apiserver.Server
	options  apiserver.Options
	admin    *admin
	requests []sender.Request
	duration time.Duration
}

// prepared starts a server with further users and arguments. It ends with the test.
func prepared(ctx context.Context, t *testing.T, binaries *apiserver.Binaries, dir string, more []apiserver.User, arguments ...string) *loaded {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join("..", "cases", "one-schema.yaml")
	sc, err := outcome.Load(file)
	check(err)
	trial := &Trial{}
	trial.Prediction, err = outcome.Simulate(ctx, sc, filepath.Join(dir, "requests.jsonl"))
	check(err)
	pair, err := certificate.Loopback()
	check(err)
	hook, err := webhook.Start(pair)
	check(err)
	t.Cleanup(func() { hook.Close() })
	options := serverOptions(sc, append(users(trial.Prediction.Requests), more...))
	options.Arguments = arguments
	server, err := apiserver.Start(ctx, binaries, options)
	check(err)
	t.Cleanup(func() { check(server.Stop()) })
	a := &admin{server, server.Client(apiserver.Administrator)}
	check(a.prepare(ctx, file, trial.Prediction.Requests, hook))
	requests, _ := trial.requests(server, "one-schema-")
	return &loaded{server, options, a, requests, time.Duration(sc.Spec.Duration)}
}

// overloaded starts a server and a Prometheus that scrapes it, and sends the requests of the case one-schema. It returns the address of
// the Prometheus, when that began, and what the server counted. All ends with the test.
func overloaded(ctx context.Context, t *testing.T, binaries *apiserver.Binaries, dir string) (url string, began time.Time, counted map[observed.Count]int) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l := prepared(ctx, t, binaries, dir, nil)
	url = prometheus(ctx, t, dir, l.server)
	before, err := l.admin.scrape(ctx)
	check(err)
	began = time.Now()
	sender.Send(ctx, began.Add(time.Second), l.requests)
	check(sleepUntil(ctx, began.Add(l.duration)))
	after, err := l.admin.scrape(ctx)
	check(err)
	counted, err = observed.Difference(before, after)
	check(err)
	check(sleepUntil(ctx, time.Now().Add(2*scrapeInterval)))
	check(l.server.Running())
	return url, began, counted
}

const scrapeInterval = 5 * time.Second

// prometheus starts a Prometheus that scrapes a server, and returns its address when it is ready. It ends with the test.
func prometheus(ctx context.Context, t *testing.T, dir string, server *apiserver.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf(`global: {scrape_interval: %v}
scrape_configs:
- job_name: apiserver
  scheme: https
  authorization: {credentials: %s}
  tls_config: {insecure_skip_verify: true}
  static_configs: [{targets: [%q]}]
`, scrapeInterval, apiserver.Administrator.Token(), strings.TrimPrefix(server.URL, "https://"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "prometheus.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--web.enable-admin-api")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for begin := time.Now(); ; {
		if answer, err := http.Get("http://" + address + "/-/ready"); err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		if time.Since(begin) > time.Minute {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("Prometheus is not ready:\n%s", text)
		}
		if err := sleepUntil(ctx, time.Now().Add(200*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
}

// output returns what a program prints.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	text, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%s: %v\n%s", cmd, err, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
