package atomicfile

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
)

// machine identifies the processes among which a number stands for one process: those of a machine since it was started and, on
// Linux, of a container.
var machine = sync.OnceValue(func() string {
	h := fnv.New32a()
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	container, _ := os.Readlink("/proc/self/ns/pid")
	fmt.Fprint(h, name, boot, container)
	return fmt.Sprintf("%08x", h.Sum32())
})

// ofProcess matches the name of a temporary file, with the machine and the process that writes it.
var ofProcess = regexp.MustCompile(`^\..+\.[0-9a-f]{16}-([0-9a-f]{8})-(\d+)\.apfsim-tmp$`)

// looked are the folders in which the process has looked for abandoned files.
var looked sync.Map

// removeAbandoned removes the temporary files in a folder whose processes have ended, such as those that were killed. A file of
// another machine, or whose number another process has now, stays. What a killed commit has put aside (.apfsim-old) stays, too: it
// may be the only copy.
func removeAbandoned(dir string) {
	if _, again := looked.LoadOrStore(dir, true); again {
		return
	}
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, entry := range entries {
		m := ofProcess.FindStringSubmatch(entry.Name())
		if m == nil || m[1] != machine() || !entry.Type().IsRegular() {
			continue
		}
		if id, err := strconv.Atoi(m[2]); err == nil && !runs(id) {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// runs reports whether a process may run.
func runs(id int) bool {
	p, err := os.FindProcess(id)
	if err != nil { // on Windows
		return false
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
