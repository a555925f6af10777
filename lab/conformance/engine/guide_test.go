package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The guide's change of k8s.io/apiserver mends a panic and changes nothing else.
func TestGuide(t *testing.T) {
	if !*library {
		t.Skip("make engine runs it: it builds the program twice")
	}
	text, err := os.ReadFile("../../../docs/guides/try-your-change.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## With a branch of Kubernetes")
	clone := filepath.Join(t.TempDir(), "apfsim")
	if out, err := exec.Command("git", "clone", "-q", "../../..", clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var printed []string
	for _, block := range regexp.MustCompile("(?ms)^```(yaml|bash)\n(.*?)^```").FindAllStringSubmatch(section, -1) {
		if block[1] == "yaml" {
			if err := os.WriteFile(filepath.Join(clone, "fewer-queues.yaml"), []byte(block[2]), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			command := exec.Command("bash", "-c", line)
			command.Dir = clone
			out, err := command.CombinedOutput()
			if panics := strings.Contains(line, "fewer-queues.yaml --apiserver v0.37.2"); panics != (err != nil) || panics && !strings.Contains(string(out), "panic: runtime error") {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			printed = append(printed, string(out))
		}
	}
	if len(printed) != 6 {
		t.Fatalf("the guide has %d commands, want 6", len(printed))
	}
	fingerprints := regexp.MustCompile("fingerprint [0-9a-f]{16}")
	base, head := fingerprints.FindAllString(printed[4], -1), fingerprints.FindAllString(printed[5], -1)
	if len(base) != 5 || !slices.Equal(base, head) {
		t.Errorf("the fingerprints are %q and %q", base, head)
	}
}
