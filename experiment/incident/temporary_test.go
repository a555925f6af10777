package incident

import (
	"path/filepath"
	"testing"
)

// Where the system has no folder for temporary files, they are in the working directory.
func TestTemporaryFolder(t *testing.T) {
	usual := t.TempDir()
	setTemporary(t, usual)
	if dir, err := temporaryFolder(); err != nil || filepath.Dir(dir) != usual {
		t.Errorf("%s, %v; want a folder in %s", dir, err, usual)
	}
	setTemporary(t, filepath.Join(usual, "missing"))
	t.Chdir(t.TempDir())
	if dir, err := temporaryFolder(); err != nil || filepath.Dir(dir) != "." {
		t.Errorf("%s, %v; want a folder in the working directory", dir, err)
	}
}

// setTemporary sets the folder for temporary files of the system.
func setTemporary(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
}
