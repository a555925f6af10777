package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder of an import has a fitted scenario or the replay; other folders are errors that say so.
func TestFoldersOfImports(t *testing.T) {
	dir := t.TempDir()
	if _, err := InFolder(dir); err == nil || !strings.Contains(err.Error(), "apfsim import") {
		t.Errorf("an empty folder: %v", err)
	}
	write := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{"scenario.yaml", "fitted/scenario.yaml"} {
		want := write(name)
		if file, err := InFolder(dir); err != nil || file != want {
			t.Errorf("with %s: %q, %v", name, file, err)
		}
	}
}
