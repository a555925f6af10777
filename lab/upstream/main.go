// Command upstream runs scenarios with the flow control of k8s.io/apiserver instead of core: that of a release, of a
// checkout, or of a branch.
//
//	go run ./lab/upstream run SCENARIO... --apiserver PATH|VERSION [-o DIR] [--replications N] [--requests]
//
// It builds lab/conformance/engine with that code, which takes minutes the first time, and runs it. It must be started in
// a folder of apfsim's source.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

const usage = `usage: go run ./lab/upstream run SCENARIO... --apiserver PATH|VERSION [-o DIR] [--replications N] [--requests]

PATH is a checkout of k8s.io/apiserver or of kubernetes; VERSION is one of k8s.io/apiserver, such as v0.37.2. The results
are those of 'apfsim run', and 'apfsim compare' reads them.
`

// errUsage makes an error be followed by the usage.
var errUsage = errors.New("")

func main() {
	if slices.ContainsFunc(os.Args[1:], func(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }) {
		fmt.Print(usage)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(1, exit.ExitCode()))
	case err != nil:
		fmt.Fprintf(os.Stderr, "upstream: %v\n", err)
		if errors.Is(err, errUsage) {
			fmt.Fprint(os.Stderr, usage)
		}
		os.Exit(2)
	}
}

// run builds the engine and gives it the arguments, except the one that says with what code.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "run" {
		return fmt.Errorf("the only command is run%w", errUsage)
	}
	code, rest, err := split(args[1:])
	if err != nil {
		return err
	}
	root, err := sources()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "upstream")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	lab := filepath.Join(root, "lab", "conformance")
	program, revision, err := build(ctx, lab, folder, code)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, append([]string{"-test.run", "^TestProgram$", "-test.timeout", "0", "-revision", revision, "--"}, rest...)...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command.Run()
}

// split takes --apiserver and its value out of the arguments.
func split(args []string) (code string, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		switch value, joined := strings.CutPrefix(args[i], "--apiserver="); {
		case joined:
			code = value
		case args[i] == "--apiserver" && i+1 < len(args):
			i++
			code = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	if code == "" {
		return "", nil, fmt.Errorf("--apiserver: is missing; want a checkout or a version of k8s.io/apiserver%w", errUsage)
	}
	return code, rest, nil
}

// sources returns the folder of apfsim's source.
func sources() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	name, dir, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !ok || name != "apfsim" {
		return "", errors.New("is not started in apfsim's source")
	}
	return dir, nil
}

var version = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// build builds the engine in a folder, with a module file that replaces the modules of Kubernetes. The revision names
// the code.
func build(ctx context.Context, lab, folder, code string) (program, revision string, err error) {
	mod := filepath.Join(folder, "go.mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(lab, name))
		if err != nil {
			return "", "", err
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return "", "", err
		}
	}
	var edits []string
	switch info, statErr := os.Stat(code); {
	case statErr == nil && info.IsDir():
		edits, revision, err = checkout(code)
	case version.MatchString(code):
		revision = "k8s.io/apiserver " + code
		for _, m := range []string{"api", "apimachinery", "apiserver", "client-go", "component-base"} {
			edits = append(edits, "-require=k8s.io/"+m+"@"+code)
		}
	default:
		err = fmt.Errorf("--apiserver: %q is neither a folder nor a version such as v0.37.2", code)
	}
	if err != nil {
		return "", "", err
	}
	program = filepath.Join(folder, "engine.test")
	for _, args := range [][]string{
		append(append([]string{"mod", "edit"}, edits...), mod),
		{"test", "-c", "-vet=off", "-mod=mod", "-modfile=" + mod, "-o", program, "./engine"},
	} {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir = lab
		if out, err := command.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("cannot build with %s (v0.37.0 or later is needed): %v\n%s", revision, err, out)
		}
	}
	return program, revision, nil
}

// checkout returns the replacements for a folder, and names its code.
func checkout(folder string) (edits []string, revision string, err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, "", err
	}
	if staging := filepath.Join(folder, "staging", "src", "k8s.io"); exists(staging) {
		modules, err := filepath.Glob(filepath.Join(staging, "*", "go.mod"))
		if err != nil {
			return nil, "", err
		}
		slices.Sort(modules)
		for _, m := range modules {
			dir := filepath.Dir(m)
			edits = append(edits, "-replace=k8s.io/"+filepath.Base(dir)+"="+dir)
		}
		return edits, "kubernetes" + head(folder), nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !strings.Contains(string(text), "module k8s.io/apiserver\n") {
		return nil, "", fmt.Errorf("--apiserver: %s is neither a checkout of k8s.io/apiserver nor of kubernetes", folder)
	}
	return []string{"-replace=k8s.io/apiserver=" + folder}, "k8s.io/apiserver" + head(folder), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// head names the commit of a checkout. A folder that is no checkout, or has been changed, is named by a hash of its Go files.
func head(folder string) string {
	out, err := exec.Command("git", "-C", folder, "rev-parse", "--show-prefix").Output()
	if err == nil && strings.TrimSpace(string(out)) == "" { // it is no part of another repository
		out, err = exec.Command("git", "-C", folder, "describe", "--always", "--tags", "--dirty").Output()
		if name := strings.TrimSpace(string(out)); err == nil && !strings.HasSuffix(name, "-dirty") {
			return " " + name
		}
	}
	hash := sha256.New()
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", strings.TrimPrefix(path, folder), len(text), text)
		return err
	})
	if err != nil {
		return " of " + filepath.Base(folder)
	}
	return fmt.Sprintf(" of %s (%x)", filepath.Base(folder), hash.Sum(nil)[:4])
}
