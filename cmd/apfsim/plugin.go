package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/core/rules"
	"apfsim/experiment/evidence"
	"apfsim/internal/input"
	"apfsim/sim/scenario/loader"
)

// pluginProgram is the name under which kubectl finds the program as its plugin: kubectl apf runs kubectl-apf.
const pluginProgram = "kubectl-apf"

// isPlugin says whether the program is called as the plugin of kubectl, by the path with which it was started.
func isPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginProgram
}

// newPlugin returns the commands of the plugin: those about the objects of a cluster. Where apfsim takes files of
// flow-control objects and none is given, kubectl reads those of the current context.
func newPlugin() *cobra.Command {
	var context kubectl
	root := &cobra.Command{
		Use:         pluginProgram,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl apf"},
		Short:       "Explain and check the flow control of a cluster",
		Long: `kubectl apf is apfsim as a plugin of kubectl. Without files of flow-control objects, a command reads
the FlowSchemas and PriorityLevelConfigurations of the current context, and the release of its
servers, with kubectl. It changes nothing in the cluster.`,
		Example: `  kubectl apf explain list pods --as system:serviceaccount:ops:backup
  kubectl apf config lint
  kubectl apf diagnose audit.log`,
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newCollect(&context), newConfig(), newDiagnose(&context), newExplain(), newTop(&context), newUpgrade(), newVersion(), newWho(&context))
	finish(root)
	f := root.PersistentFlags()
	f.StringVar(&context.context, "context", "", "`NAME` of the context of the kubeconfig that is used instead of the current one")
	f.StringVar(&context.kubeconfig, "kubeconfig", "", "`FILE` with the kubeconfig, as for kubectl")
	for path, release := range map[string]string{
		"explain": "version", "config validate": "version", "config lint": "version",
		"config seats": "version", "config diff": "from", "upgrade": "from",
	} {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			panic("the plugin has no command " + path)
		}
		context.serve(cmd, release)
	}
	examplesOfPlugin(root)
	return root
}

// examplesOfPlugin lets the examples of a command and its subcommands say how they are called here.
func examplesOfPlugin(cmd *cobra.Command) {
	cmd.Example = strings.ReplaceAll(cmd.Example, "  apfsim ", "  kubectl apf ")
	for _, sub := range cmd.Commands() {
		examplesOfPlugin(sub)
	}
}

// kubectl says of which cluster kubectl reads.
type kubectl struct{ context, kubeconfig string }

// serve makes a command read the objects of the cluster if neither arguments nor --config name files of them. If it does, and
// no flag says otherwise, the flag called release is that of the servers.
func (k *kubectl) serve(cmd *cobra.Command, release string) {
	run := cmd.RunE
	ofFlag := cmd.Flags().Lookup("config") != nil // otherwise the files are the arguments
	if !ofFlag {
		cmd.Args = nil
		cmd.Use = strings.Replace(cmd.Use, " FILE...", " [FILE...]", 1)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := len(args) > 0
		if ofFlag {
			given = cmd.Flags().Changed("config")
		}
		if list, err := cmd.Flags().GetBool("rules"); given || err == nil && list {
			return run(cmd, args)
		}
		if err := k.read(cmd, release); err != nil {
			return err
		}
		if !ofFlag {
			return run(cmd, []string{loader.Stdin})
		}
		if err := cmd.Flags().Set("config", loader.Stdin); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// read makes loader.Stdin the objects of the cluster, and sets the flag for the release to that of the servers.
func (k *kubectl) read(cmd *cobra.Command, release string) error {
	if err := k.setRelease(cmd, release); err != nil {
		return err
	}
	text, err := k.objects(cmd.Context(), cmd)
	if err != nil {
		return fmt.Errorf("%w; the command also reads files, see '%s --help'", err, cmd.CommandPath())
	}
	loader.ReplaceStdin("the output of kubectl", text)
	return nil
}

// objects returns the flow-control objects of the cluster.
func (k *kubectl) objects(ctx context.Context, cmd *cobra.Command) ([]byte, error) {
	return k.output(ctx, cmd, "get", "flowschemas,prioritylevelconfigurations", "-o", "yaml")
}

// asker asks the servers of the cluster.
func (k *kubectl) asker(ctx context.Context, cmd *cobra.Command) evidence.Asker {
	return func(path string) ([]byte, error) {
		if path == "" {
			return k.objects(ctx, cmd)
		}
		return k.output(ctx, cmd, "get", "--raw", path)
	}
}

// mostOutput bounds what is read of an answer of kubectl.
const mostOutput = 256 << 20

// setRelease sets the flag for the release to that of the servers, unless a flag says it.
func (k *kubectl) setRelease(cmd *cobra.Command, flag string) error {
	for _, other := range []string{flag, "from", "metrics"} {
		if cmd.Flags().Changed(other) && (other != "metrics" || cmd.Name() == "diagnose") {
			return nil
		}
	}
	text, err := k.output(cmd.Context(), cmd, "version", "-o", "json")
	if err != nil {
		return fmt.Errorf("%w; the command also reads files, see '%s --help'", err, cmd.CommandPath())
	}
	var answer struct {
		ServerVersion struct{ GitVersion string }
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.ServerVersion.GitVersion == "" {
		return fmt.Errorf("kubectl version -o json does not say the release of the servers; use --%s", flag)
	}
	named := rules.Canonical(answer.ServerVersion.GitVersion)
	if _, err := rules.For(named); err != nil {
		named = rules.Default().Version
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: warning: the servers are of %s, which is not supported; the answer is for %s\n",
			answer.ServerVersion.GitVersion, named)
	}
	return cmd.Flags().Set(flag, named)
}

// output runs kubectl and returns what it prints. Its messages go to those of the command.
func (k *kubectl) output(ctx context.Context, cmd *cobra.Command, args ...string) ([]byte, error) {
	if k.context != "" {
		args = append(args, "--context="+k.context)
	}
	if k.kubeconfig != "" {
		args = append(args, "--kubeconfig="+k.kubeconfig)
	}
	call := exec.CommandContext(ctx, "kubectl", args...)
	var answer bounded
	call.Stdout, call.Stderr = &answer, cmd.ErrOrStderr()
	err := call.Run()
	out := answer.Bytes()
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// bounded keeps what is written to it, up to mostOutput.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostOutput {
		return 0, &input.TooLong{Most: mostOutput}
	}
	return b.Buffer.Write(p)
}
