package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/document"
	"apfsim/reports/explain"
	"apfsim/sim/scenario/traffic"
)

// requestFlags say which request is to be explained.
type requestFlags struct {
	sender   traffic.Identity
	as       string
	asGroups []string
	request  traffic.Request
	resource string
	question explain.Question
}

func (r *requestFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.sender.User, "user", "", "the user `NAME` who asks")
	f.StringArrayVar(&r.sender.Groups, "group", nil, "with --user, `NAME` of a group beside those that the user's name implies; may be repeated")
	f.StringVar(&r.as, "as", "", "the user `NAME` whom kubectl impersonates")
	f.StringArrayVar(&r.asGroups, "as-group", nil, "with --as, `NAME` of a group; may be repeated")
	f.StringVar(&r.sender.ServiceAccount, "service-account", "", "the service account `NAMESPACE/NAME` that asks")
	f.StringVar(&r.sender.Node, "node", "", "the kubelet of the node `NAME` asks")
	f.BoolVar(&r.sender.Anonymous, "anonymous", false, "a user who has not authenticated asks")
	f.StringVar(&r.request.Verb, "verb", "get", "`VERB`: get, list, watch, create, update, patch, delete, deletecollection; with --path an HTTP method, too")
	f.StringVar(&r.resource, "resource", "", "`RESOURCE`[.VERSION][.GROUP][/SUBRESOURCE], as kubectl understands it")
	f.StringVar(&r.request.Subresource, "subresource", "", "`NAME`, as status or log")
	f.StringVarP(&r.request.Namespace, "namespace", "n", "", "`NAME` of the object's namespace; none for all of them")
	f.StringVar(&r.request.Name, "name", "", "`NAME` of the object")
	f.StringVar(&r.request.Path, "path", "", "in place of --resource: the `PATH` of the URL, with its query or without")
	f.StringVar(&r.request.Query, "query", "", "`QUERY`: what follows the question mark, as limit=500&resourceVersion=0")
	f.Int64Var(&r.question.Stored.Objects, "objects", 0, "`N` objects of the resource are stored; 0 for unknown")
	f.Int64Var(&r.question.Stored.AverageBytes, "average-bytes", 0, "`N` bytes is the average size of one; 0 for unknown")
	f.IntVar(&r.question.Watchers, "watchers", 0, "`N` clients watch all objects of the resource")
}

// methods are the HTTP methods of verbs.
var methods = map[string]string{
	"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH",
	"delete": "DELETE", "deletecollection": "DELETE",
	"head": "HEAD", "post": "POST", "put": "PUT", "options": "OPTIONS", "connect": "CONNECT", "trace": "TRACE",
}

// parse returns what the flags and arguments ask, or all that is wrong with them.
func (r *requestFlags) parse(cmd *cobra.Command, args []string) (*explain.Question, error) {
	p := &requestParser{requestFlags: r, cmd: cmd}
	p.arguments(args)
	p.who()
	request, q := &r.request, &r.question
	byPath := request.Path != "" && r.resource == ""
	if byPath {
		p.path()
	} else {
		p.kind()
	}
	as := r.sender
	if r.as != "" {
		as.User = r.as
	}
	for _, m := range traffic.CheckRequest(&as, request) {
		p.translate(m)
	}
	for _, number := range []struct {
		flag        string
		value, most int64
	}{
		{"--objects", q.Stored.Objects, 1<<63 - 1},
		{"--average-bytes", q.Stored.AverageBytes, 1<<63 - 1},
		{"--watchers", int64(q.Watchers), 10_000_000},
	} {
		if number.value < 0 || number.value > number.most {
			p.fail(number.flag, "%d: want from 0 to %d", number.value, number.most)
		}
	}
	if len(p.mistakes) > 0 {
		return nil, invalid(p.mistakes.Err())
	}
	q.Attributes, q.Query = request.Attributes(&as, 0)
	if byPath {
		if err := p.readURL(); err != nil {
			return nil, invalid(fmt.Errorf("--path: %w", err))
		}
	} else if p.version != "" {
		q.Attributes.Path = strings.Replace(q.Attributes.Path, "/v1", "/"+p.version, 1)
	}
	p.groups(&as)
	return q, nil
}

// requestParser turns the flags and arguments into a question.
type requestParser struct {
	*requestFlags
	cmd      *cobra.Command
	mistakes document.Errors
	verb     string // as given
	version  string // of the API, as given
}

func (p *requestParser) fail(flag, format string, args ...any) {
	p.mistakes.Add(document.Position{}, flag, format, args...)
}

func (p *requestParser) note(format string, args ...any) {
	p.question.Notes = append(p.question.Notes, fmt.Sprintf(format, args...))
}

// arguments reads VERB RESOURCE [NAME], where RESOURCE may also be TYPE/NAME or a path.
func (p *requestParser) arguments(args []string) {
	for i, flags := range [][]string{{"verb"}, {"resource", "path"}, {"name"}} {
		for _, flag := range flags {
			if i < len(args) && p.cmd.Flags().Changed(flag) {
				p.fail("--"+flag, "goes in place of the argument %q: want one of the two", args[i])
			}
		}
	}
	if len(args) == 1 {
		p.fail(fmt.Sprintf("%q", args[0]), "want VERB RESOURCE, as in: list pods")
	}
	if len(args) > 0 {
		p.request.Verb = args[0]
	}
	if len(args) > 1 {
		if strings.HasPrefix(args[1], "/") {
			p.request.Path = args[1]
		} else {
			p.resource = args[1]
			if kind, name, ok := strings.Cut(args[1], "/"); ok && len(args) == 2 && p.request.Name == "" && !classify.IsSubresource(name) {
				p.resource, p.request.Name = kind, name
			}
		}
	}
	if len(args) > 2 {
		p.request.Name = args[2]
	}
	p.verb = p.request.Verb
}

// who checks that the request is one user's.
func (p *requestParser) who() {
	var who []string
	for _, name := range []string{"user", "as", "service-account", "node", "anonymous"} {
		if p.cmd.Flags().Changed(name) {
			who = append(who, "--"+name)
		}
	}
	if len(who) > 1 {
		p.fail(strings.Join(who, ", "), "want one of them")
	}
	if p.as == "" && p.asGroups != nil {
		p.fail("--as-group", "goes with --as; want --group with --user")
	}
	if p.as != "" && p.sender.Groups != nil {
		p.fail("--group", "goes with --user; want --as-group with --as")
	}
}

// translate reports a mistake in a request of a scenario as one in the flags.
func (p *requestParser) translate(m document.Error) {
	switch m.Path {
	case "request.as":
		p.fail("--user", "is missing or empty; want one of --user, --as, --service-account, --node, --anonymous")
	case "request.as.groups":
		if p.as == "" {
			p.fail("--group", "goes with --user alone; the others imply their groups")
		}
	case "request.as.serviceAccount":
		p.fail("--service-account", "%s", m.Message)
	case "request.as.user":
		if p.as != "" {
			p.fail("--as", "%s", m.Message)
			break
		}
		p.fail("--user", "%s", m.Message)
	case "request.group":
		p.fail("--resource", "%s", m.Message)
	default: // request.verb is --verb
		p.fail("--"+m.Path[strings.LastIndex(m.Path, ".")+1:], "%s", m.Message)
	}
}

// path takes the URL apart and the verb for what sends it: a method.
func (p *requestParser) path() {
	r := &p.request
	if path, query, ok := strings.Cut(r.Path, "?"); ok {
		if r.Query != "" {
			p.fail("--query", "goes in place of what follows the question mark of --path: want one of the two")
		}
		r.Path, r.Query = path, query
	}
	path, err := url.PathUnescape(r.Path)
	if err != nil {
		p.fail("--path", "%q: %v", document.Abridge(r.Path), err)
		return
	}
	r.Path = path
	if method := methods[strings.ToLower(r.Verb)]; method != "" {
		r.Verb = strings.ToLower(method)
	}
}

// readURL reads the path as the server does, and says so where that is not as it was asked.
func (p *requestParser) readURL() error {
	user, groups := p.question.Attributes.User, p.question.Attributes.Groups
	a, err := estimate.ReadURL(methods[p.request.Verb], p.request.Path, p.request.Query)
	if err != nil {
		return err
	}
	asked := strings.ToLower(p.verb)
	if asked == "watch" && a.Verb == "list" {
		a.Verb = "watch" // as with watch=true
	}
	if a.IsResource() {
		p.note("the path is that of a resource: %s %s is read as verb %s", methods[p.request.Verb], p.request.Path, a.Verb)
	} else if asked == "list" || asked == "watch" || asked == "deletecollection" {
		p.note("the path is not that of a resource: its verb is the HTTP method, %s", a.Verb)
	}
	a.User, a.Groups = user, groups
	p.question.Attributes = a
	return nil
}

// kind reads --resource as kubectl does, and completes the request as the server would read it.
func (p *requestParser) kind() {
	r := &p.request
	asked := classify.ParseResource(p.resource)
	r.Resource, r.Group, p.version = asked.Name, asked.Group, asked.Version
	if asked.Subresource != "" {
		if r.Subresource != "" && r.Subresource != asked.Subresource {
			p.fail("--subresource", "%q is not that of --resource %s", r.Subresource, p.resource)
		}
		r.Subresource = asked.Subresource
	}
	if r.Resource == "" {
		return
	}
	builtin := classify.FindResource(asked.Name, asked.Group)
	if builtin == nil {
		p.unknown()
	} else {
		r.Resource, r.Group = builtin.Name, builtin.Group
		read, given := fullName(r.Resource, r.Group), fullName(asked.Name, asked.Group)
		switch {
		case read != given:
			p.note("the resource %q is read as %s", given, read)
		case p.version != "":
			p.note("the resource is read as %s; FlowSchemas do not tell API versions apart", read)
		}
		if r.Subresource != "" && !classify.IsSubresource(r.Subresource) {
			p.note("%q is no subresource of Kubernetes itself", r.Subresource)
		}
	}
	switch {
	case r.Subresource != "" && r.Name == "":
		p.note("a request for %s/%s has the name of an object; none is given", r.Resource, r.Subresource)
	case r.Name == "" && r.Verb == "get":
		r.Verb = "list"
		p.note("a get without a name is a list")
	case r.Name == "" && r.Verb == "delete":
		r.Verb = "deletecollection"
		p.note("a delete without a name is a deletecollection")
	}
	switch {
	case r.Group == "" && r.Resource == "namespaces" && r.Name != "":
		r.Namespace = r.Name // as the server reads /api/v1/namespaces/NAME
	case builtin == nil:
	case builtin.Cluster && r.Namespace != "" && r.Resource != "namespaces":
		p.note("%s belong to no namespace; %q is ignored", r.Resource, r.Namespace)
		r.Namespace = ""
	case !builtin.Cluster && r.Namespace == "" && !slices.Contains([]string{"list", "watch"}, r.Verb):
		p.note("%s %s needs a namespace on a real server; none is given (-n)", r.Verb, r.Resource)
	}
}

// unknown notes that Kubernetes itself has no such resource.
func (p *requestParser) unknown() {
	r := &p.request
	switch {
	case r.Group == "":
		p.note("%q is no resource of Kubernetes itself%s; a custom resource is given with its group, as %s.example.com",
			r.Resource, classify.SuggestResource(r.Resource), r.Resource)
	case classify.BuiltinGroup(r.Group):
		p.note("%q is no resource of the API group %s%s", r.Resource, r.Group, classify.SuggestResource(r.Resource))
	}
}

func fullName(resource, group string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// groups gives the user the groups that the name implies.
func (p *requestParser) groups(as *traffic.Identity) {
	a, given := &p.question.Attributes, as.Groups
	if p.as != "" {
		given = p.asGroups
		a.Groups = classify.ImpersonatedGroups(p.as, given)
		_, _, isServiceAccount := classify.SplitServiceAccount(p.as)
		switch {
		case isServiceAccount && len(given) > 0:
			p.note("a service account that is impersonated with groups has those groups alone")
		case strings.HasPrefix(p.as, "system:node:") && !slices.Contains(a.Groups, classify.Nodes):
			p.note("impersonation alone does not make a node a member of %s; --node does", classify.Nodes)
		}
	}
	for _, g := range a.Groups {
		if !slices.Contains(given, g) {
			p.question.ImpliedGroups = append(p.question.ImpliedGroups, g)
		}
	}
	if _, _, ok := classify.SplitServiceAccount(a.User); !ok && strings.HasPrefix(a.User, "system:serviceaccount:") {
		p.note("%q is not the user name of a service account, which is system:serviceaccount:NAMESPACE:NAME", a.User)
	}
	if slices.Contains([]string{"system:masters", classify.Nodes, classify.ServiceAccounts, classify.Authenticated, classify.Unauthenticated}, a.User) {
		p.note("%q is the name of a group, not of a user", a.User)
	}
}
