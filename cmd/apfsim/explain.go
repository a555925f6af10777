package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

func newExplain() *cobra.Command {
	var (
		flags configFlags
		files []string
		added []string
		input advice.QuestionInput
		all   bool
	)
	cmd := &cobra.Command{
		Use:   "explain [VERB RESOURCE [NAME]]",
		Short: "Explain how flow control handles one request",
		Long: `Explain how flow control handles one request: its FlowSchema and priority level, its flow with
hash and hand, and its seats; then the FlowSchemas that do not match for a single reason, and the
request as the server reads it. With --all, also all FlowSchemas, each with the reason why it
matches or not.

The request is a verb and a resource as in kubectl (pods, po, Deployment, deployments.apps,
deployments.v1.apps, deployments/scale), or a path, which is parsed as the server does:
GET /api/v1/namespaces/foo/pods is a list of pods in namespace foo.

The user is given by --user, --service-account, --node or --anonymous for an authenticated
request, or by --as and --as-group for impersonation, as in kubectl. Groups that follow from the
name of the user are added and marked as implied.`,
		Example: `  apfsim explain list pods --as system:serviceaccount:ops:backup
  apfsim explain --service-account default/app --verb list --resource pods --objects 150000 --average-bytes 2000
  apfsim explain --config cluster.yaml --node node-1 --verb update --resource leases.coordination.k8s.io --namespace kube-node-lease --name node-1
  apfsim explain --user jane --path '/api/v1/namespaces/foo/pods?watch=true'
  apfsim explain --anonymous --path /healthz --version 1.20.6`,
		Args: count(0, 3, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			input.Arguments, input.Given = args, cmd.Flags().Changed
			question, err := advice.ParseQuestion(&input)
			if err != nil {
				return invalid(err)
			}
			limit, err := flags.serverLimit()
			if err != nil {
				return err
			}
			release, err := flags.release(cmd)
			if err != nil {
				return err
			}
			loaded, err := flags.load(cmd, release, slices.Concat(files, added))
			if err != nil {
				return err
			}
			explanation, err := advice.Explain(release, loaded.Objects, limit, *question)
			if err != nil {
				return invalid(fmt.Errorf("--query %q: %w", question.Query, err))
			}
			return render.Write(cmd.OutOrStdout(), report.ExplanationDocument(explanation, all), flags.format, format.TextOptions{})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&files, "config", nil, "`FILE` of flow-control objects, a folder of them, or - for standard input; may be repeated")
	f.StringArrayVar(&added, "add-config", nil, "`FILE` of flow-control objects that are added after those of --config; one of the same kind and name takes the place of theirs; may be repeated")
	flags.addVersion(cmd)
	flags.addGates(cmd)
	flags.addBase(cmd)
	flags.addServer(cmd)
	addInput(cmd, &input)
	f.BoolVar(&all, "all", false, "also list all FlowSchemas in matching order, each with the reason why it matches or not")
	return cmd
}

// addInput adds the flags that describe a request.
func addInput(cmd *cobra.Command, in *advice.QuestionInput) {
	f := cmd.Flags()
	f.StringVar(&in.Sender.User, "user", "", "`NAME` of the user who sends the request")
	f.StringArrayVar(&in.Sender.Groups, "group", nil, "with --user, `NAME` of a group in addition to those that the user's name implies; may be repeated")
	f.StringVar(&in.As, "as", "", "`NAME` of the user to impersonate, as in kubectl")
	f.StringArrayVar(&in.AsGroups, "as-group", nil, "with --as, `NAME` of a group to impersonate; may be repeated")
	f.StringVar(&in.Sender.ServiceAccount, "service-account", "", "`NAMESPACE/NAME` of the service account that sends the request")
	f.StringVar(&in.Sender.Node, "node", "", "`NAME` of the node whose kubelet sends the request")
	f.BoolVar(&in.Sender.Anonymous, "anonymous", false, "the request is not authenticated")
	f.StringVar(&in.Request.Verb, "verb", "get", "`VERB`: get, list, watch, create, update, patch, delete, deletecollection; with --path also an HTTP method")
	f.StringVar(&in.Resource, "resource", "", "`RESOURCE`[.VERSION][.GROUP][/SUBRESOURCE], as in kubectl")
	f.StringVar(&in.Request.Subresource, "subresource", "", "`NAME` of the subresource, such as status or log")
	f.StringVarP(&in.Request.Namespace, "namespace", "n", "", "`NAME` of the object's namespace; empty for all namespaces")
	f.StringVar(&in.Request.Name, "name", "", "`NAME` of the object")
	f.StringVar(&in.Request.Path, "path", "", "instead of --resource: `PATH` of the URL, with or without a query")
	f.StringVar(&in.Request.Query, "query", "", "`QUERY` of the URL, such as limit=500&resourceVersion=0")
	f.Int64Var(&in.Stored.Objects, "objects", 0, "number `N` of stored objects of the resource; 0 if unknown")
	f.Int64Var(&in.Stored.AverageBytes, "average-bytes", 0, "average size of these objects in bytes, `N`; 0 if unknown")
	f.IntVar(&in.Watchers, "watchers", 0, "number `N` of clients that watch all objects of the resource")
}
