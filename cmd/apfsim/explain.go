package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"apfsim/reports/explain"
	"apfsim/reports/format"
)

func newExplain() *cobra.Command {
	var (
		flags configFlags
		files []string
		asked requestFlags
		all   bool
	)
	cmd := &cobra.Command{
		Use:   "explain [VERB RESOURCE [NAME]]",
		Short: "Follow one request through flow control",
		Long: `Follow one request through flow control: the FlowSchema and the priority level that it goes
to, the flow, its hash and hand, and the seats that it takes; then the FlowSchemas that it
missed for one reason alone, and the request as the server sees it. With --all, every
FlowSchema and why it matches or not.

The request is a verb and a resource as kubectl knows them (pods, po, Deployment,
deployments.apps, deployments.v1.apps, deployments/scale), or a path, which is read as the
server reads it: GET /api/v1/namespaces/foo/pods is a list of pods in namespace foo.

The user is known by --user, --service-account, --node or --anonymous, as if authenticated so,
or by --as and --as-group, as kubectl impersonates. Groups that follow from the user's name are
added and marked as implied.`,
		Example: `  apfsim explain list pods --as system:serviceaccount:ops:backup
  apfsim explain --service-account default/app --verb list --resource pods --objects 150000 --average-bytes 2000
  apfsim explain --config cluster.yaml --node node-1 --verb update --resource leases.coordination.k8s.io --namespace kube-node-lease --name node-1
  apfsim explain --user jane --path '/api/v1/namespaces/foo/pods?watch=true'
  apfsim explain --anonymous --path /healthz`,
		Args: count(0, 3, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := asked.parse(cmd, args)
			if err != nil {
				return err
			}
			limit, err := flags.serverLimit()
			if err != nil {
				return err
			}
			loaded, err := flags.load(cmd, files)
			if err != nil {
				return err
			}
			explanation, err := explain.Explain(loaded.Objects, limit, *question)
			if err != nil {
				return invalid(fmt.Errorf("--query %q: %w", question.Query, err))
			}
			if flags.format == "json" {
				return format.WriteJSON(cmd.OutOrStdout(), explanation)
			}
			return explanation.WriteText(cmd.OutOrStdout(), all)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&files, "config", nil, "`FILE` of flow-control objects, a folder of them, or - for standard input; may be repeated")
	flags.addBase(cmd)
	flags.addServer(cmd)
	asked.add(cmd)
	f.BoolVar(&all, "all", false, "also show every FlowSchema, in the order they are tried, and why it matches or not")
	return cmd
}
