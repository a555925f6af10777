package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// changing is held for reading while files or folders are created, renamed or removed, and for writing from
// Abort on.
var changing sync.RWMutex

// unfinished are the temporary files and the folders that the process would have to remove if it ended now.
var unfinished struct {
	sync.Mutex
	files   map[string]bool
	folders []string // those that the process has created; outer folders first
	used    []string // those that sets use, once for each set
}

// Abort removes the temporary files that the process is writing, and the folders that it has created for them
// and that are empty. A commit that has begun is completed first. From then on, no file can be created or
// committed: callers wait forever. It is for a process that ends without waiting for those who write.
func Abort() {
	changing.Lock() // and never unlocked
	unfinished.Lock()
	defer unfinished.Unlock()
	for name := range unfinished.files {
		os.Remove(name)
	}
	for _, dir := range slices.Backward(unfinished.folders) {
		os.Remove(dir) // fails if the folder is not empty
	}
}

// began adds a temporary file to those that Abort removes.
func began(name string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.files == nil {
		unfinished.files = map[string]bool{}
	}
	unfinished.files[name] = true
}

// ended removes a temporary file from those that Abort removes.
func ended(name string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.files, name)
}

// makeFolder creates a folder that a set is about to use, and the folders around it.
func makeFolder(dir string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	slices.Reverse(missing)
	unfinished.folders = append(unfinished.folders, missing...)
	unfinished.used = append(unfinished.used, dir)
	return os.MkdirAll(dir, 0o777)
}

// endedFolders ends the use of folders by a set. With keep, they remain. Otherwise those are removed that the
// process has created, that are empty, and that no other set uses.
func endedFolders(dirs []string, keep bool) {
	unfinished.Lock()
	defer unfinished.Unlock()
	for _, dir := range dirs {
		if i := slices.Index(unfinished.used, dir); i >= 0 {
			unfinished.used = slices.Delete(unfinished.used, i, i+1)
		}
	}
	for i, made := range slices.Backward(unfinished.folders) {
		holds := func(dir string) bool {
			return dir == made || strings.HasPrefix(dir, made+string(filepath.Separator))
		}
		if !slices.ContainsFunc(dirs, holds) || !keep && slices.ContainsFunc(unfinished.used, holds) {
			continue
		}
		unfinished.folders = slices.Delete(unfinished.folders, i, i+1)
		if !keep {
			os.Remove(made) // fails if the folder is not empty
		}
	}
}
