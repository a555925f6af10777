package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// standInKubectl is what the plugin needs of kubectl: it runs the plugin, and prints the objects and the release of a cluster,
// which are the files objects.yaml and version.json of the working directory, and what the server answers to get --raw, which are
// files with the last names of the paths. The metrics are those of the file next, from the second time on. It says on stderr what it is asked for.
func standInKubectl() {
	file := map[string]string{"get": "objects.yaml", "version": "version.json"}
	switch {
	case len(os.Args) > 1 && os.Args[1] == "apf":
		plugin := exec.Command("kubectl-apf", os.Args[2:]...)
		plugin.Stdin, plugin.Stdout, plugin.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := plugin.Run(); plugin.ProcessState == nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(plugin.ProcessState.ExitCode())
	case len(os.Args) > 1 && file[os.Args[1]] != "":
		fmt.Fprintln(os.Stderr, "kubectl", strings.Join(os.Args[1:], " "))
		name := file[os.Args[1]]
		if len(os.Args) > 3 && os.Args[2] == "--raw" {
			name, _, _ = strings.Cut(path.Base(os.Args[3]), "?")
		}
		text, err := os.ReadFile(name)
		if name == "metrics" {
			os.Rename("next", name)
			os.Rename("then", "next")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "The connection to the server localhost:8080 was refused")
			os.Exit(1)
		}
		os.Stdout.Write(text)
	default:
		fmt.Fprintf(os.Stderr, "kubectl %q is not known here\n", os.Args[1:])
		os.Exit(1)
	}
}

func TestPluginIsKnownByItsName(t *testing.T) {
	for program, want := range map[string]bool{
		"kubectl-apf": true, "/usr/bin/kubectl-apf": true, "kubectl-apf.exe": true,
		"apfsim": false, "/opt/kubectl-apf/apfsim": false, "kubectl-apf2": false,
	} {
		if got := isPlugin(program); got != want {
			t.Errorf("%s: %v, want %v", program, got, want)
		}
	}
}
