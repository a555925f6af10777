package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// slurm starts a cluster of one node in a folder of its own, and returns the file that tells
// Slurm's commands of it. The cluster ends with the test.
func slurm(t *testing.T) (conf string) {
	t.Helper()
	for _, program := range []string{"slurmctld", "slurmd", "sbatch", "sinfo"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed; Debian has it in the package slurm-wlm", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("slurmd wants to be root")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	dir := t.TempDir()
	conf = filepath.Join(dir, "slurm.conf")
	text := fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
ReturnToService=2
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
`, host, dir, freePort(t), freePort(t))
	for _, folder := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, daemon := range [][]string{{"slurmctld", "-D", "-c", "-f", conf}, {"slurmd", "-D", "-N", host, "-f", conf}} {
		p := exec.Command(daemon[0], daemon[1:]...)
		log, err := os.Create(filepath.Join(dir, daemon[0]+".log"))
		if err != nil {
			t.Fatal(err)
		}
		p.Stdout, p.Stderr = log, log
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			p.Process.Signal(syscall.SIGTERM)
			p.Wait()
			log.Close()
			if t.Failed() {
				text, _ := os.ReadFile(log.Name())
				t.Logf("%s:\n%s", daemon[0], text)
			}
		})
	}
	until(t, "the node is idle", func() bool {
		info := exec.Command("sinfo", "--noheader", "--format=%T")
		info.Env = append(os.Environ(), "SLURM_CONF="+conf)
		state, _ := info.Output()
		return strings.TrimSpace(string(state)) == "idle"
	})
	return conf
}

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// The array of the documentation, on a real scheduler, comes to what one machine does.
func TestSlurmArrayOfTheDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("the scheduler takes its time")
	}
	conf := slurm(t)
	const file = "../../docs/guides/compare.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range docCommands(file, string(text)) {
		if !strings.HasPrefix(c.line, "cat > sweep.sbatch ") && !strings.HasPrefix(c.line, "sbatch ") {
			continue
		}
		p := newProcess(t, dir, "sh", "-c", c.line)
		p.Env = append(os.Environ(), "SLURM_CONF="+conf)
		if status := p.wait(t); status != statusDone {
			logs, _ := exec.Command("sh", "-c", "tail "+dir+"/*.log").CombinedOutput()
			t.Fatalf("%s: %s: exit status %d\n%s%s\n%s", c.at, c.line, status, p.out.String(), p.err.String(), logs)
		}
	}
	if shards, _ := filepath.Glob(filepath.Join(dir, "shards", "*")); len(shards) != 4 {
		t.Errorf("shards %q, want 4", shards)
	}
	script, err := os.ReadFile(filepath.Join(dir, "sweep.sbatch"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(script), "--shard ")
	if !found {
		t.Fatalf("there is no shard in %s", script)
	}
	alone := newProcess(t, t.TempDir(), "sh", "-c", before+" -o sweep")
	alone.Env = append(os.Environ(), "SLURM_CPUS_PER_TASK=2")
	if status := alone.wait(t); status != statusDone {
		t.Fatal(alone.err.String())
	}
	sameFolders(t, filepath.Join(dir, "sweep"), filepath.Join(alone.Dir, "sweep"))
}
