package apiserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Version is the release of Kubernetes whose server is built. The go.mod file in lab/live/binaries says
// the same.
const Version = "v1.37.1"

// Binaries are the programs that Start starts.
type Binaries struct {
	Etcd          string
	KubeAPIServer string
}

// Build builds the programs into a folder of bin/ in the repository, unless they are there. Their
// sources come from the Go module proxy. The first time takes 7 minutes of CPU time. log gets the output of go build.
func Build(ctx context.Context, repository string, log io.Writer) (*Binaries, error) {
	repository, err := filepath.Abs(repository) // go build runs in the folder of the module
	if err != nil {
		return nil, err
	}
	module := filepath.Join(repository, "lab", "live", "binaries")
	dir := filepath.Join(repository, "bin", "live-"+Version)
	b := &Binaries{Etcd: filepath.Join(dir, "etcd"), KubeAPIServer: filepath.Join(dir, "kube-apiserver")}
	numbers := strings.Split(strings.TrimPrefix(Version, "v"), ".")
	const variables = "k8s.io/component-base/version."
	for _, program := range []struct{ file, source string }{
		{b.Etcd, "go.etcd.io/etcd/server/v3"},
		{b.KubeAPIServer, "k8s.io/kubernetes/cmd/kube-apiserver"},
	} {
		if _, err := os.Stat(program.file); err == nil {
			continue
		}
		fmt.Fprintf(log, "building %s\n", filepath.Base(program.file))
		cmd := exec.CommandContext(ctx, "go", "build", "-p", "2", "-trimpath", "-o", program.file,
			"-ldflags", fmt.Sprintf("-X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s",
				variables, Version, variables, numbers[0], variables, numbers[1]),
			program.source)
		cmd.Dir, cmd.Stdout, cmd.Stderr = module, log, log
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s could not be built in %s: %w", program.source, module, err)
		}
	}
	return b, nil
}
