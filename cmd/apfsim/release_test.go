//go:build linux

package main

import (
	"bytes"
	"fmt"
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

// buildContext returns a copy of what .dockerignore leaves of the repository: it ignores all but
// what lines with an exclamation mark name.
func buildContext(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	everything := false
	for _, line := range splitLines(text) {
		name, kept := strings.CutPrefix(line, "!")
		switch {
		case line == "*":
			everything = true
		case kept:
			copyTo(t, dir, name)
		case line != "" && !strings.HasPrefix(line, "#"):
			t.Fatalf(".dockerignore: %q: this test knows * and !NAME", line)
		}
	}
	if !everything {
		t.Fatal(".dockerignore: not all is ignored but what is named")
	}
	return dir
}

// copyTo copies a file or folder of the repository.
func copyTo(t *testing.T, dir, name string) {
	t.Helper()
	from := filepath.Join("../..", name)
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(filepath.Join(dir, name), os.DirFS(from))
	} else if err == nil {
		var text []byte
		if text, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// inFolder runs a shell command, which may take as long as a compiler does.
func inFolder(t *testing.T, dir, command string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// instruction is one of a Dockerfile.
type instruction struct{ name, arguments string }

func dockerfile(t *testing.T) (all []instruction) {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range splitLines(text) {
		if name, arguments, ok := strings.Cut(line, " "); ok && name != "#" {
			all = append(all, instruction{name, arguments})
		}
	}
	return all
}

// What the Dockerfile says, without docker: its commands build in what .dockerignore leaves, and
// what it copies into the image runs with nothing else around it, as the user it names.
// Then the archives of make release, for this platform, are whole and always the same.
func TestImageAndRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("this builds the program anew")
	}
	for _, program := range []string{"make", "go", "sha256sum", "gzip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	source, image := buildContext(t), t.TempDir()
	work := filepath.Join(image, "work")
	var user uint32
	for _, in := range dockerfile(t) {
		switch fields := strings.Fields(in.arguments); in.name {
		case "RUN":
			inFolder(t, source, in.arguments, "VERSION=v9.8.7", "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH)
		case "COPY":
			if from, ok := strings.CutPrefix(in.arguments, "--from=build /src/"); ok {
				from, to, _ := strings.Cut(from, " ")
				inFolder(t, source, fmt.Sprintf("cp -R %q %q", from, filepath.Join(image, to)))
			}
		case "USER":
			if _, err := fmt.Sscanf(fields[0], "%d:", &user); err != nil || user == 0 {
				t.Errorf("Dockerfile: USER %s: want somebody who is not root, by number", fields[0])
			}
		}
	}
	if err := os.Mkdir(work, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(work, 0o777)
	inImage := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/apfsim", args...)
		cmd.Dir, cmd.Env = "/work", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("in the image, apfsim %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if os.Geteuid() == 0 {
		os.Chmod(filepath.Dir(image), 0o755)
		os.Chmod(image, 0o755)
		if got := inImage("version"); got != "apfsim v9.8.7 (Kubernetes 1.37)\n" {
			t.Errorf("in the image: %s", got)
		}
		inImage("run", "borrowing", "-o", "results", "--requests")
		if got := len(regular(t, filepath.Join(work, "results", "borrowing"))); got < 5 {
			t.Errorf("in the image a run has written %d files", got)
		}
	} else {
		t.Log("not run in the image: only root can change the root folder")
	}

	copyTo(t, source, "README.md")
	release := fmt.Sprintf("make release VERSION=v9.8.7 PLATFORMS=linux/%s", runtime.GOARCH)
	archive := fmt.Sprintf("apfsim_v9.8.7_linux_%s", runtime.GOARCH)
	var sums [2][]byte
	for i := range sums {
		began := time.Now()
		inFolder(t, source, release, "SOURCE_DATE_EPOCH=1234567890")
		t.Logf("make release took %v", time.Since(began).Round(time.Second))
		sums[i], _ = os.ReadFile(filepath.Join(source, "dist", "SHA256SUMS"))
	}
	if !bytes.Equal(sums[0], sums[1]) || !regexp.MustCompile(`^[0-9a-f]{64}  `+regexp.QuoteMeta(archive)+`\.tar\.gz\n$`).Match(sums[0]) {
		t.Errorf("the same release twice:\n%s\n%s", sums[0], sums[1])
	}
	inFolder(t, filepath.Join(source, "dist"), "sha256sum -c SHA256SUMS && tar -xzf "+archive+".tar.gz")
	unpacked := filepath.Join(source, "dist", archive)
	out, err := exec.Command(filepath.Join(unpacked, "apfsim"), "version").Output()
	if err != nil || string(out) != "apfsim v9.8.7 (Kubernetes 1.37)\n" {
		t.Errorf("the released program: %v: %s", err, out)
	}
	for _, name := range []string{"README.md", "man/apfsim-run.1", "completions/apfsim.zsh", "licenses/LICENSE",
		"licenses/go/LICENSE", "licenses/github.com/spf13/cobra/LICENSE.txt", "licenses/uplot/LICENSE"} {
		if info, err := os.Stat(filepath.Join(unpacked, name)); err != nil || info.Size() == 0 {
			t.Errorf("the archive has no %s: %v", name, err)
		}
	}
}

// The image is built with the Go that the module wants.
func TestDockerfileHasTheGoOfTheModule(t *testing.T) {
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if from := dockerfile(t)[0].arguments; want == nil || !strings.Contains(from, fmt.Sprintf(" golang:%s ", want[1])) {
		t.Errorf("Dockerfile: FROM %s: go.mod wants Go %s", from, want)
	}
}
