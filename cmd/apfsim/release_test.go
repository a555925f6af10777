//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var dist = flag.String("dist", "", "a folder with a release for this machine, which is tested; make install-check gives it")

// release is a release that make has made.
type release struct {
	dir     string
	version string
	files   []string
}

// madeRelease returns the release of the flag -dist.
func madeRelease(t *testing.T) *release {
	t.Helper()
	if *dist == "" {
		t.Skip("there is no release: make install-check tests one")
	}
	dir, err := filepath.Abs(*dist)
	if err != nil {
		t.Fatal(err)
	}
	r := &release{dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`^apfsim_(.+)_linux_` + runtime.GOARCH + `\.tar\.gz$`)
	for _, e := range entries {
		r.files = append(r.files, e.Name())
		if found := ours.FindStringSubmatch(e.Name()); found != nil {
			r.version = found[1]
		}
	}
	if r.version == "" {
		t.Fatalf("%s has no archive for linux/%s: %q", dir, runtime.GOARCH, r.files)
	}
	return r
}

func (r *release) read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// archive returns the name of the archive for this machine, without its ending.
func (r *release) archive() string {
	return fmt.Sprintf("apfsim_%s_linux_%s", r.version, runtime.GOARCH)
}

// entries returns the files of an archive, by their paths.
func entries(t *testing.T, text []byte, zipped bool) map[string][]byte {
	t.Helper()
	var in io.Reader = bytes.NewReader(text)
	if zipped {
		var err error
		if in, err = gzip.NewReader(in); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string][]byte{}
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[path.Clean(header.Name)], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// SHA256SUMS has each other file of the release, and no other.
func TestReleaseHasChecksums(t *testing.T) {
	r := madeRelease(t)
	var want []string
	for _, name := range r.files {
		if name != "SHA256SUMS" {
			want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(r.read(t, name)), name))
		}
	}
	if got := splitLines(r.read(t, "SHA256SUMS")); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	a := r.archive()
	for _, name := range []string{a + ".tar.gz", a + ".deb", a + ".rpm", a + ".cdx.json", "apfsim_" + r.version + "_oci.tar", "apfsim.rb", "apf.yaml"} {
		if !slices.Contains(r.files, name) {
			t.Errorf("the release has no %s", name)
		}
	}
}

// The archive has the program with its version, and what belongs to it. The SBOM has each module that is linked into the program,
// and the script that is embedded in it.
func TestReleaseArchiveAndSBOM(t *testing.T) {
	r := madeRelease(t)
	files := entries(t, r.read(t, r.archive()+".tar.gz"), true)
	for _, name := range []string{"apfsim", "README.md", "CHANGELOG.md", "man/apfsim-run.1", "completions/apfsim.zsh", "licenses/LICENSE", "licenses/go/LICENSE",
		"licenses/github.com/spf13/cobra/LICENSE.txt", "licenses/github.com/golang/freetype/ftl.txt", "licenses/uplot/LICENSE"} {
		if len(files[r.archive()+"/"+name]) == 0 {
			t.Errorf("the archive has no %s", name)
		}
	}
	built, err := buildinfo.Read(bytes.NewReader(files[r.archive()+"/apfsim"]))
	if err != nil {
		t.Fatal(err)
	}
	var sbom struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(r.read(t, r.archive()+".cdx.json"), &sbom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range sbom.Components {
		got = append(got, c.Name+" "+c.Version)
	}
	want := []string{"std " + built.GoVersion, "uplot " + uplotVersion(t)}
	for _, m := range built.Deps {
		want = append(want, m.Path+" "+m.Version)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || sbom.Metadata.Component.Version != r.version {
		t.Errorf("the SBOM of %+v has\n%q\nwant\n%q", sbom.Metadata.Component, got, want)
	}
}

func uplotVersion(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../../reports/render/uplot/uPlot.iife.min.js")
	if err != nil {
		t.Fatal(err)
	}
	return string(regexp.MustCompile(`uPlot \(v([0-9.]+)\)`).FindSubmatch(script)[1])
}

// The program of the release runs in a root folder with nothing else in it: it prints its version, runs a scenario, imports a log
// whose times are of a time zone, and says who was hurt.
func TestReleaseRunsAlone(t *testing.T) {
	r := madeRelease(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root folder")
	}
	root := t.TempDir()
	// The folders above are of the test, and not open to others.
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	const nobody = 65532
	program := entries(t, r.read(t, r.archive()+".tar.gz"), true)[r.archive()+"/apfsim"]
	logs := map[string]string{"audit.log": "testdata/audit/audit.log", "httplog.log": "../../sim/trace/logfile/testdata/httplog-lists.log"}
	err := errors.Join(os.WriteFile(filepath.Join(root, "apfsim"), program, 0o755), os.Mkdir(filepath.Join(root, "work"), 0o777),
		os.Chown(filepath.Join(root, "work"), nobody, nobody))
	for name, file := range logs {
		text, failure := os.ReadFile(file)
		err = errors.Join(err, failure, os.WriteFile(filepath.Join(root, "work", name), text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/apfsim", args...)
		cmd.Dir, cmd.Env = "/work", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("apfsim %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if got, want := run("version"), "apfsim "+r.version+" (Kubernetes 1.37)\n"; got != want {
		t.Errorf("version: %q, want %q", got, want)
	}
	run("run", "borrowing", "-o", "results", "--requests")
	if got := len(regular(t, filepath.Join(root, "work", "results", "borrowing"))); got < 5 {
		t.Errorf("a run has written %d files", got)
	}
	run("import", "httplog.log", "--zone", "Europe/Berlin", "--year", "2026", "-o", "imported")
	if got := len(regular(t, filepath.Join(root, "work", "imported"))); got < 3 {
		t.Errorf("an import has written %d files", got)
	}
	if got := run("diagnose", "audit.log"); !strings.Contains(got, "\n") {
		t.Errorf("diagnose: %q", got)
	}
}

// The commands of each section of the guide install the release, get a first answer and uninstall it. They run in a root folder of
// their own, which is at first like that of the machine and whose changes are lost, with the programs of testdata/release
// in PATH.
func TestInstallGuide(t *testing.T) {
	r := madeRelease(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root folder")
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for section, needs := range map[string][]string{
		"Archive": nil, "Debian and Ubuntu": {"dpkg"}, "Fedora and other distributions with rpm": {"rpm"}, "Homebrew": {"ruby"},
		"krew": {"krew"}, "Container image": {"jq"}, "From source": {"make", "go"},
	} {
		t.Run(section, func(t *testing.T) {
			body, ok := sections(documents(t)[installGuide])[section]
			if !ok {
				t.Fatalf("%s has no section %s", installGuide, section)
			}
			for _, program := range append(needs, "curl", "unshare", "sha256sum") {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip(err)
				}
			}
			script := "set -eux\n"
			for _, c := range docCommands(installGuide, body) {
				script += strings.ReplaceAll(c.line, "linux_amd64", "linux_"+runtime.GOARCH) + "\n"
			}
			p := newProcess(t, t.TempDir(), "unshare", "--mount", "--propagation", "private", "bash", filepath.Join(repository, "cmd/apfsim/testdata/release/inroot"))
			p.Env = append(os.Environ(), "SCRIPT="+script, "REPOSITORY="+repository, "DIST="+r.dir, "VERSION="+r.version, "ARCH="+runtime.GOARCH,
				"URL=file://"+r.dir)
			switch status := p.wait(t); status {
			case statusDone:
			case 77:
				t.Skip("a root folder of its own is not permitted: " + strings.TrimSpace(p.err.String()))
			default:
				t.Fatalf("exit status %d\n%s\n%s", status, &p.out, &p.err)
			}
			answer := "FlowSchema     service-accounts\n"
			if section == "krew" {
				answer = "no findings in 11 FlowSchemas and 8 priority levels\n"
			}
			if !strings.Contains(p.out.String(), answer) {
				t.Errorf("the first answer is not %q:\n%s", answer, &p.out)
			}
			if _, left, _ := strings.Cut(p.out.String(), "left over:\n"); left != "" {
				t.Errorf("after the removal there are still\n%s", left)
			}
		})
	}
}
