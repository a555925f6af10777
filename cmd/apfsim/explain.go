package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"apfsim/reports"
	"apfsim/sim/scenario"

	"github.com/spf13/cobra"
)

func newExplain() *cobra.Command {
	var (
		flags    configFlags
		files    []string
		as       scenario.Identity
		request  scenario.Request
		resource string
		question reports.Question
		all      bool
	)
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Follow one request through flow control",
		Long: `Follow one request through flow control: every FlowSchema tried and why it did or did not
match, the priority level, the flow, its hash and hand, and the seats that it takes.`,
		Example: `  apfsim explain --service-account default/app --verb list --resource pods --objects 150000 --average-bytes 2000
  apfsim explain --config cluster.yaml --node node-1 --verb update --resource leases.coordination.k8s.io --namespace kube-node-lease
  apfsim explain --anonymous --verb get --path /healthz`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Resource, request.Group, _ = strings.Cut(resource, ".")
			if mistakes := scenario.CheckRequest(&as, &request); len(mistakes) > 0 {
				return invalid(mistakes)
			}
			if question.Stored.Objects < 0 || question.Stored.AverageBytes < 0 || question.Watchers < 0 || question.Watchers > 10_000_000 {
				return invalid(errors.New("--objects, --average-bytes and --watchers: want no negative numbers, and at most 10000000 watchers"))
			}
			limit, err := flags.serverLimit()
			if err != nil {
				return err
			}
			objects, err := flags.load(cmd, files)
			if err != nil {
				return err
			}
			question.Attributes, question.Query = request.Attributes(&as, 0)
			explanation, err := reports.Explain(objects, limit, question)
			if err != nil {
				return invalid(fmt.Errorf("--query %q: %w", question.Query, err))
			}
			if flags.json {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(explanation)
			}
			return explanation.WriteText(cmd.OutOrStdout(), all)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&files, "config", nil, "`FILE` of flow-control objects; may be repeated")
	flags.addBase(cmd)
	flags.addServer(cmd)
	f.StringVar(&as.User, "user", "", "who asks: a user")
	f.StringArrayVar(&as.Groups, "group", nil, "with --user, a group of the user's; may be repeated")
	f.StringVar(&as.ServiceAccount, "service-account", "", "who asks: `NAMESPACE/NAME`")
	f.StringVar(&as.Node, "node", "", "who asks: the kubelet of a node")
	f.BoolVar(&as.Anonymous, "anonymous", false, "who asks: nobody in particular")
	f.StringVar(&request.Verb, "verb", "get", "get, list, watch, create, update, patch, delete, deletecollection")
	f.StringVar(&resource, "resource", "", "`RESOURCE` or RESOURCE.GROUP")
	f.StringVar(&request.Subresource, "subresource", "", "as status or log")
	f.StringVar(&request.Namespace, "namespace", "", "of the object")
	f.StringVar(&request.Name, "name", "", "of the object")
	f.StringVar(&request.Path, "path", "", "in place of --resource: the path of a request for none")
	f.StringVar(&request.Query, "query", "", "what follows the question mark, as limit=500&resourceVersion=0")
	f.Int64Var(&question.Stored.Objects, "objects", 0, "how many objects of the resource are stored; 0 for unknown")
	f.Int64Var(&question.Stored.AverageBytes, "average-bytes", 0, "the average size of one; 0 for unknown")
	f.IntVar(&question.Watchers, "watchers", 0, "how many watch all objects of the resource")
	f.BoolVar(&all, "all", false, "also show the FlowSchemas after the one that matched")
	return cmd
}
