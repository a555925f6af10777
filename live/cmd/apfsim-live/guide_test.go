package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The commands of the guide work, and print what it says. Three dots stand for any lines, and the address is that of
// the cluster.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/load-a-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	f := startFake(t)
	kubeconfig, err := os.ReadFile(f.kubeconfig(t, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile(`(?s)\$ cat > load.yaml <<'EOF'\n(.*?)\nEOF\n`).FindSubmatch(guide)
	if file == nil {
		t.Fatal("the guide has no load.yaml")
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string][]byte{"load.yaml": file[1], "kind.kubeconfig": kubeconfig} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	documents["/api/v1"] = strings.Replace(documents["/api/v1"], `{"name": "pods",`, `{"name": "namespaces", "kind": "Namespace"}, {"name": "pods",`, 1)
	commands := regexp.MustCompile(`(?m)^\$ apfsim-live (.*)\n((?:[^$\x60].*\n|\n)*)`).FindAllSubmatch(guide, -1)
	if len(commands) != 3 {
		t.Fatalf("the guide has %d commands, want 3", len(commands))
	}
	words := regexp.MustCompile(`'[^']*'|[^ ]+`)
	for i, c := range commands {
		args := words.FindAllString(string(c[1]), -1)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		want := statusInvalid // without --yes
		if strings.Contains(string(c[1]), "--yes") {
			args, want = append(args, "--max-requests", "40"), statusDone // not for as long as the guide says
		}
		s := call(t, t.Context(), args...)
		s.want(t, want)
		remaining := strings.ReplaceAll(s.stdout, f.URL, "https://127.0.0.1:6443")
		for line := range strings.Lines(string(c[2])) {
			if line == "...\n" {
				continue
			}
			_, after, found := strings.Cut(remaining, line)
			if !found {
				t.Errorf("command %d: %q is not printed, or not in this order:\n%s", i+1, line, s.stdout)
			}
			remaining = after
		}
	}
}
