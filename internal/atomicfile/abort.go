package atomicfile

import (
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
	folders []string // outer folders first
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

// beganFolders adds folders to those that Abort removes.
func beganFolders(dirs []string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.folders = append(unfinished.folders, dirs...)
}

// endedFolders removes folders from those that Abort removes.
func endedFolders(dirs []string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.folders = slices.DeleteFunc(unfinished.folders, func(dir string) bool { return slices.Contains(dirs, dir) })
}

// removeUnused removes the folders that are empty, inner ones first, and in which no set is about to make one.
func removeUnused(dirs []string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	for _, dir := range slices.Backward(dirs) {
		within := dir + string(filepath.Separator)
		if !slices.ContainsFunc(unfinished.folders, func(other string) bool { return other == dir || strings.HasPrefix(other, within) }) {
			os.Remove(dir) // fails if the folder is not empty
		}
	}
}
