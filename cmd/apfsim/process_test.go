package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is apfsim run as a program of its own, in a folder of its own.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
}

func newProcess(t *testing.T, dir, program string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), program, args...)}
	p.Dir, p.Stdout, p.Stderr = dir, &p.out, &p.err
	return p
}

// wait runs the process to its end, or waits for it, and returns its exit status.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	run := p.Run
	if p.Process != nil {
		run = p.Wait
	}
	var exit *exec.ExitError
	if err := run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// until waits for a condition that another process brings about, however long that takes.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	t.Logf("waiting until %s", what) // it is printed if the tests take longer than they may
	for !holds() {
		time.Sleep(time.Millisecond) // for the other process
	}
}

// regular returns the files below dir.
func regular(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone while we looked
		}
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const smallScenario = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 5s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods}
    execution: 1ms
    arrivals: {poisson: {rate: 100/s}}
  thresholds:
    arrived: ["count > 1"]
`

func folderWithScenario(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte(smallScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// folderWithShards is that, and the two shards of a sweep over it.
func folderWithShards(t *testing.T) string {
	t.Helper()
	dir := folderWithScenario(t)
	for _, shard := range []string{"0", "1"} {
		p := newProcess(t, dir, "apfsim", "sweep", "small.yaml", "--over", "spec.workload[w].clients=1,2", "--shard", shard+"/2", "-o", "shards/"+shard)
		if status := p.wait(t); status != statusDone {
			t.Fatal(p.err.String())
		}
	}
	return dir
}

func noWindows(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such signals and files")
	}
}

// In the middle of a run that would take minutes, with the request log growing, the user
// has had enough: what was there before stands, and nothing else.
func TestInterruptedRunLeavesNothingBehind(t *testing.T) {
	noWindows(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "out", "elephants-and-mice")
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(folder, "requests.jsonl")
		if err := os.WriteFile(log, []byte("the last run's\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		p := newProcess(t, dir, "apfsim", "run", "elephants-and-mice", "--set", "spec.duration=100h", "-o", "out", "--requests")
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the new log grows beside the old one", func() bool {
			for _, path := range regular(t, folder) {
				if info, err := os.Stat(path); err == nil && path != log && info.Size() > 1<<16 {
					return true
				}
			}
			return false
		})
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if status := p.wait(t); status != statusFailed {
			t.Errorf("%v: exit status %d, want %d", signal, status, statusFailed)
		}
		if !strings.Contains(p.err.String(), "apfsim: elephants-and-mice: interrupted after ") {
			t.Errorf("%v: nothing about an interruption: %s", signal, p.err.String())
		}
		if left := regular(t, dir); len(left) != 1 || left[0] != log {
			t.Errorf("%v: left behind: %q", signal, left)
		}
		if text, _ := os.ReadFile(log); string(text) != "the last run's\n" {
			t.Errorf("%v: the log of the last run is now %.100q", signal, text)
		}
	}
}

// Input that never ends is read until the user interrupts the command.
func TestInterruptedReadingLeavesNothingBehind(t *testing.T) {
	noWindows(t)
	const event = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"%d","stage":"ResponseComplete","requestURI":"/api/v1/pods","verb":"list",` +
		`"user":{"username":"u"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},` +
		`"requestReceivedTimestamp":"2026-10-02T09:30:01.000000Z","stageTimestamp":"2026-10-02T09:30:01.100000Z"}` + "\n"
	for name, c := range map[string]struct{ text, command string }{
		"zeros":            {"\x00", "import - -o made/for/it"},
		"empty lines":      {"\n", "import - -o made/for/it"},
		"lines of no log":  {"x\n", "import - -o made/for/it"},
		"audit events":     {event, "import - -o made/for/it"},
		"requests of fits": {`{"arrivalNs":0,"user":"u","verb":"get","resource":"pods","executionNs":1}` + "\n", "import --fit /dev/stdin -o made/for/it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := &endless{text: c.text, far: make(chan struct{})}
			p := newProcess(t, dir, "apfsim", strings.Fields(c.command)...)
			p.Stdin = in
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			<-in.far
			p.Process.Signal(os.Interrupt)
			if status := p.wait(t); status != statusFailed || p.err.String() != "apfsim: interrupted; nothing was written\n" {
				t.Errorf("exit status %d: %s", status, p.err.String())
			}
			if _, err := os.Stat(filepath.Join(dir, "made")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("its folder is still there")
			}
		})
	}
}

// endless is input that repeats a text. far is closed when a process has read much of it.
type endless struct {
	text string
	read int
	far  chan struct{}
}

// Read implements io.Reader. It returns whole texts.
func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, strings.Repeat(e.text, max(1, len(b)/len(e.text))))
	const much = 8 << 20 // more than pipes hold
	if e.read < much && e.read+n >= much {
		close(e.far)
	}
	e.read += n
	return n, nil
}

// Who interrupts when all is done but for a reader that takes its time has all that was asked for.
func TestInterruptionAfterTheRuns(t *testing.T) {
	dir := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	var out strings.Builder
	cmd := newRun()
	cmd.SetOut(readerWith{&out, interrupt})
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"elephants-and-mice", "--format", "json", "--junit", filepath.Join(dir, "junit.xml"), "-o", dir})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Error(err)
	}
	if want, err := os.ReadFile(filepath.Join(dir, "elephants-and-mice", "summary.json")); err != nil || string(want) != out.String() {
		t.Errorf("%v: %d bytes are read, want %d", err, out.Len(), len(want))
	}
	if _, err := os.Stat(filepath.Join(dir, "junit.xml")); err != nil {
		t.Error(err)
	}
}

// readerWith does something when it is given something to read.
type readerWith struct {
	io.Writer
	before func()
}

func (r readerWith) Write(b []byte) (int, error) {
	r.before()
	return r.Writer.Write(b)
}

// An interrupted run takes away the folders that it has made as well.
func TestInterruptedRunLeavesNoFolder(t *testing.T) {
	noWindows(t)
	for _, flags := range [][]string{{"--requests"}, nil, {"--replications", "2"}} {
		dir := folderWithScenario(t)
		p := newProcess(t, dir, "apfsim", append(strings.Fields("run small.yaml --set spec.duration=10000h -q -o made/for/it"), flags...)...)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the folder is there", func() bool {
			_, err := os.Stat(filepath.Join(dir, "made", "for", "it"))
			return err == nil
		})
		p.Process.Signal(os.Interrupt)
		if status := p.wait(t); status != statusFailed {
			t.Errorf("%v: exit status %d: %s", flags, status, p.err.String())
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: its folder is still there", flags)
		}
	}
}

// Runs that are too short to notice a signal by themselves end by it all the same.
func TestInterruptionBetweenShortRuns(t *testing.T) {
	noWindows(t)
	dir := folderWithScenario(t)
	p := newProcess(t, dir, "apfsim", "run", "small.yaml", "--replications", "100000", "-o", "out", "-q")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(dir, "out", "small-seed-1")
	until(t, "the first run is over", func() bool { return len(regular(t, first)) > 5 })
	p.Process.Signal(os.Interrupt)
	if status := p.wait(t); status != statusFailed || !strings.Contains(p.err.String(), "interrupted") {
		t.Errorf("exit status %d: %s", status, p.err.String())
	}
	for _, path := range regular(t, dir) {
		if strings.HasPrefix(filepath.Base(path), ".") {
			t.Errorf("left behind: %s", path)
		}
	}
}

// The commands that write much, and what they leave when nobody reads it.
var writers = [][]string{
	{"run", "small.yaml"},
	{"run", "small.yaml", "--format", "json"},
	{"run", "small.yaml", "--format", "yaml", "--replications", "3"},
	{"run", "small.yaml", "--replications", "3"},
	{"compare", "small.yaml", "small.yaml", "--replications", "2", "--all"},
	{"sweep", "small.yaml", "--over", "spec.workload[w].clients=1,2", "-o", "swept"},
	{"sweep", "merge", "shards/0", "shards/1", "-o", "merged"},
	{"collisions"},
	{"collisions", "--format", "json"},
	{"collisions", "--format", "csv"},
	{"collisions", "--format", "text"},
	{"explain", "--user", "u", "--resource", "pods"},
	{"explain", "--user", "u", "--resource", "pods", "--format", "json"},
	{"config", "seats"},
	{"config", "seats", "--format", "json"},
	{"config", "defaults"},
	{"scenarios", "list"},
	{"scenarios", "show", "borrowing"},
	{"schema"},
	{"version"},
	{"completion", "bash"},
	{"run", "--help"},
	{"help"},
}

func TestPipeThatClosesEarlyIsNoError(t *testing.T) {
	noWindows(t)
	dir := folderWithShards(t)
	whereResultsAre := regexp.MustCompile(`^(apfsim: wrote the results of small to \S+\n)?$`)
	for _, args := range writers {
		p := newProcess(t, dir, "apfsim", args...)
		p.Stdout = closedPipe(t)
		if status := p.wait(t); status != statusDone || !whereResultsAre.Match(p.err.Bytes()) {
			t.Errorf("apfsim %s: exit status %d, stderr %q", strings.Join(args, " "), status, p.err.String())
		}
	}
}

// closedPipe returns the writing end of a pipe that nobody reads.
func closedPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// The commands that write files: below OUT, all kinds there are but JUnit's, which tells of a
// failure as well.
var fileWriters = []string{
	"run small.yaml -o OUT --requests --dump-at 1s --openmetrics OUT/metrics.om --events OUT/events.json --events-window 1s:2s",
	"run small.yaml -o OUT --replications 3",
	"compare small.yaml small.yaml --set-head spec.workload[0].clients=2 --replications 3 -o OUT --bench OUT",
	"sweep small.yaml --over spec.workload[w].clients=1,2 --replications 2 -o OUT",
	"sweep merge shards/0 shards/1 -o OUT",
	"collisions --chart OUT/table.svg",
}

// writeFiles returns the process of one of the commands, not yet begun, that writes to out.
func writeFiles(t *testing.T, dir, line, out string) *process {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, out), 0o777); err != nil {
		t.Fatal(err)
	}
	return newProcess(t, dir, "apfsim", strings.Fields(strings.ReplaceAll(line, "OUT", out))...)
}

// Nobody reads what is printed: the files are whole nevertheless, and so is the verdict.
func TestClosedPipeKeepsFilesAndVerdict(t *testing.T) {
	noWindows(t)
	dir := folderWithShards(t)
	for i, line := range fileWriters {
		heard, unheard := fmt.Sprintf("heard-%d", i), fmt.Sprintf("unheard-%d", i)
		p := writeFiles(t, dir, line, heard)
		if status := p.wait(t); status != statusDone {
			t.Fatal(p.err.String())
		}
		p = writeFiles(t, dir, line, unheard)
		p.Stdout = closedPipe(t)
		if status := p.wait(t); status != statusDone {
			t.Errorf("%s: exit status %d: %s", line, status, p.err.String())
		}
		sameFolders(t, filepath.Join(dir, unheard), filepath.Join(dir, heard))
	}
	for _, args := range [][]string{
		{"run", "small.yaml", "--set", `spec.thresholds={arrived: ["count < 1"]}`},
		{"compare", "small.yaml", "--set-head", "spec.workload[0].clients=2", "--replications", "3", "--fail-on", "arrived > +5%"},
	} {
		strict := newProcess(t, dir, "apfsim", args...)
		strict.Stdout = closedPipe(t)
		if status := strict.wait(t); status != statusThreshold {
			t.Errorf("%s: exit status %d, want %d", args[0], status, statusThreshold)
		}
	}
}

func TestFullDeviceIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	dir := folderWithShards(t)
	for _, args := range writers {
		p := newProcess(t, dir, "apfsim", args...)
		p.Stdout = full
		if status := p.wait(t); status != statusFailed || !strings.Contains(p.err.String(), "no space left on device") {
			t.Errorf("apfsim %s: exit status %d, stderr %q", strings.Join(args, " "), status, p.err.String())
		}
	}
}

// On a disk with room for some of the files only, each is whole or not there, and of one run there
// is none.
func TestFullDisk(t *testing.T) {
	dir := folderWithShards(t)
	for i, line := range fileWriters {
		whole := fmt.Sprintf("whole-%d", i)
		p := writeFiles(t, dir, line, whole)
		if status := p.wait(t); status != statusDone {
			t.Fatal(p.err.String())
		}
		const page = 4096 // a disk in memory has as many, and each file its own
		pages := int64(0)
		for _, path := range regular(t, filepath.Join(dir, whole)) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			pages += (info.Size() + page - 1) / page
		}
		for quarters := range int64(4) {
			name := fmt.Sprintf("disk-%d-%d", i, quarters)
			disk := smallDisk(t, dir, name, max(1, quarters*pages/4)*page)
			p := writeFiles(t, dir, line, name)
			if status := p.wait(t); status != statusFailed || !strings.Contains(p.err.String(), "no space left on device") {
				t.Errorf("%s: exit status %d, stderr %q", line, status, p.err.String())
			}
			if p.out.Len() > 0 {
				t.Errorf("%s: printed in spite of the failure: %.100q", line, p.out.String())
			}
			if left := regular(t, disk); i == 0 && len(left) > 0 {
				t.Errorf("%s: of a run that failed there is %q", line, left)
			}
			for _, path := range regular(t, disk) {
				name, _ := filepath.Rel(disk, path)
				x, _ := os.ReadFile(path)
				if y, err := os.ReadFile(filepath.Join(dir, whole, name)); err != nil || !bytes.Equal(x, y) {
					t.Errorf("%s: %s is not whole", line, name)
				}
			}
		}
	}
}

// smallDisk is a folder with room for so many bytes.
func smallDisk(t *testing.T, dir, name string, bytes int64) string {
	t.Helper()
	disk := filepath.Join(dir, name)
	if err := os.Mkdir(disk, 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", bytes), "none", disk).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %v, %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", disk).Run() })
	return disk
}

// What cannot be written to is found out before the run, however long that would be.
func TestFolderThatCannotBeWritten(t *testing.T) {
	dir := folderWithScenario(t)
	if err := os.Mkdir(filepath.Join(dir, "fixed"), 0o555); err != nil {
		t.Fatal(err)
	}
	folders := []string{strings.Repeat("long", 100)}
	if os.Geteuid() > 0 { // root may write anywhere
		folders = append(folders, "fixed", "fixed/results")
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		folders = append(folders, "/proc/results", "/proc")
		p := newProcess(t, dir, "apfsim", strings.Fields("run small.yaml --set spec.duration=10000h --openmetrics /proc/metrics.om")...)
		if status := p.wait(t); status != statusFailed || !strings.HasPrefix(p.err.String(), "apfsim: --openmetrics: /proc/metrics.om: cannot write to the folder /proc: ") {
			t.Errorf("a file in /proc: exit status %d, stderr %q", status, p.err.String())
		}
	}
	for _, folder := range folders {
		for _, line := range []string{
			"run small.yaml --set spec.duration=10000h --out",
			"compare small.yaml small.yaml --set spec.duration=10000h --out",
			"compare small.yaml small.yaml --set spec.duration=10000h --bench",
			"sweep small.yaml --set spec.duration=10000h --over spec.workload[w].clients=1,2 --out",
		} {
			args := append(strings.Fields(line), folder)
			p := newProcess(t, dir, "apfsim", args...)
			if status := p.wait(t); status != statusFailed || !strings.HasPrefix(p.err.String(), "apfsim: "+args[len(args)-2]+": ") {
				t.Errorf("%s: exit status %d, stderr %q", args, status, p.err.String())
			}
			if strings.Contains(p.err.String(), ".apfsim-") {
				t.Errorf("%s: nobody has named such a file: %q", args, p.err.String())
			}
			if p.out.Len() > 0 {
				t.Errorf("%s: stdout %q", args, p.out.String())
			}
		}
	}
}
