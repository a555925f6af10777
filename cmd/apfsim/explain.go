package main

import (
	"fmt"
	"strings"

	"apfsim/core/document"
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Resource, request.Group, _ = strings.Cut(resource, ".")
			if err := checkQuestion(cmd, &as, &request, &question); err != nil {
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
			question.Attributes, question.Query = request.Attributes(&as, 0)
			explanation, err := reports.Explain(loaded.Objects, limit, question)
			if err != nil {
				return invalid(fmt.Errorf("--query %q: %w", question.Query, err))
			}
			if flags.format == "json" {
				return reports.WriteJSON(cmd.OutOrStdout(), explanation)
			}
			return explanation.WriteText(cmd.OutOrStdout(), all)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&files, "config", nil, "`FILE` of flow-control objects; may be repeated")
	flags.addBase(cmd)
	flags.addServer(cmd)
	f.StringVar(&as.User, "user", "", "who asks: the user `NAME`")
	f.StringArrayVar(&as.Groups, "group", nil, "with --user, `NAME` of a group of the user's; may be repeated")
	f.StringVar(&as.ServiceAccount, "service-account", "", "who asks: `NAMESPACE/NAME`")
	f.StringVar(&as.Node, "node", "", "who asks: the kubelet of the node `NAME`")
	f.BoolVar(&as.Anonymous, "anonymous", false, "who asks: nobody in particular")
	f.StringVar(&request.Verb, "verb", "get", "`VERB`: get, list, watch, create, update, patch, delete, deletecollection")
	f.StringVar(&resource, "resource", "", "`RESOURCE` or RESOURCE.GROUP")
	f.StringVar(&request.Subresource, "subresource", "", "`NAME`, as status or log")
	f.StringVar(&request.Namespace, "namespace", "", "`NAME` of the object's namespace")
	f.StringVar(&request.Name, "name", "", "`NAME` of the object")
	f.StringVar(&request.Path, "path", "", "in place of --resource: the `PATH` of a request for none")
	f.StringVar(&request.Query, "query", "", "`QUERY`: what follows the question mark, as limit=500&resourceVersion=0")
	f.Int64Var(&question.Stored.Objects, "objects", 0, "`N` objects of the resource are stored; 0 for unknown")
	f.Int64Var(&question.Stored.AverageBytes, "average-bytes", 0, "`N` bytes is the average size of one; 0 for unknown")
	f.IntVar(&question.Watchers, "watchers", 0, "`N` clients watch all objects of the resource")
	f.BoolVar(&all, "all", false, "also show the FlowSchemas after the one that matched")
	return cmd
}

// checkQuestion checks the flags that describe the request, all of them.
func checkQuestion(cmd *cobra.Command, as *scenario.Identity, request *scenario.Request, question *reports.Question) error {
	var mistakes document.Mistakes
	fail := func(flag, format string, args ...any) { mistakes.Add(document.Place{}, flag, format, args...) }
	var who []string
	for _, name := range []string{"user", "service-account", "node", "anonymous"} {
		if cmd.Flags().Changed(name) {
			who = append(who, "--"+name)
		}
	}
	if len(who) > 1 {
		fail(strings.Join(who, ", "), "want one of them")
	}
	for _, m := range scenario.CheckRequest(as, request) {
		switch m.Path {
		case "request.as":
			fail("--user", "is missing or empty; want one of --user, --service-account, --node, --anonymous")
		case "request.as.groups":
			fail("--group", "goes with --user alone; the others imply their groups")
		case "request.as.serviceAccount":
			fail("--service-account", "%s", m.Message)
		case "request.group":
			fail("--resource", "%s", m.Message)
		default: // request.as.user is --user, request.verb is --verb
			fail("--"+m.Path[strings.LastIndex(m.Path, ".")+1:], "%s", m.Message)
		}
	}
	for _, number := range []struct {
		flag        string
		value, most int64
	}{
		{"--objects", question.Stored.Objects, 1<<63 - 1},
		{"--average-bytes", question.Stored.AverageBytes, 1<<63 - 1},
		{"--watchers", int64(question.Watchers), 10_000_000},
	} {
		if number.value < 0 || number.value > number.most {
			fail(number.flag, "%d: want from 0 to %d", number.value, number.most)
		}
	}
	return invalid(mistakes.Err())
}
