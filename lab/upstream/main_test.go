package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestArgumentsAreTakenApart(t *testing.T) {
	for _, args := range []string{"a.yaml --apiserver v0.37.2 -o out", "--apiserver=v0.37.2 a.yaml -o out"} {
		code, rest, err := split(strings.Fields(args))
		if err != nil || code != "v0.37.2" || !slices.Equal(rest, []string{"a.yaml", "-o", "out"}) {
			t.Errorf("%s: %q %q %v", args, code, rest, err)
		}
	}
	if _, _, err := split([]string{"a.yaml"}); err == nil {
		t.Error("no error without --apiserver")
	}
}

func TestCheckouts(t *testing.T) {
	module, staged, other := t.TempDir(), t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		filepath.Join(module, "go.mod"):                                          "module k8s.io/apiserver\n",
		filepath.Join(staged, "staging", "src", "k8s.io", "api", "go.mod"):       "module k8s.io/api\n",
		filepath.Join(staged, "staging", "src", "k8s.io", "apiserver", "go.mod"): "module k8s.io/apiserver\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if edits, name, err := checkout(module); err != nil || len(edits) != 1 || edits[0] != "-replace=k8s.io/apiserver="+module || !strings.HasPrefix(name, "k8s.io/apiserver of "+filepath.Base(module)+" (") {
		t.Errorf("%q %q %v", edits, name, err)
	}
	if edits, _, err := checkout(staged); err != nil || len(edits) != 2 || !strings.HasPrefix(edits[1], "-replace=k8s.io/apiserver=") {
		t.Errorf("%q %v", edits, err)
	}
	if _, _, err := checkout(other); err == nil || !strings.Contains(err.Error(), "--apiserver: "+other) {
		t.Errorf("an empty folder: %v", err)
	}
}
