package advice

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/workload"
)

// QuestionInput describes a request as the user of a command line does, in the terms of kubectl.
type QuestionInput struct {
	Arguments []string               // VERB RESOURCE [NAME], VERB TYPE/NAME, VERB PATH, or none
	Given     func(flag string) bool // reports whether a flag, such as "user", is given

	Sender   workload.Identity // who sends the request
	As       string            // the user to impersonate; "" for none
	AsGroups []string          // the groups to impersonate
	Request  workload.Request  // without Resource and Group
	Resource string            // RESOURCE[.VERSION][.GROUP][/SUBRESOURCE]
	Stored   estimate.Stats    // the stored objects of the resource; 0 if unknown
	Watchers int               // number of clients that watch all objects of the resource
}

// ParseQuestion returns the request that the input describes, as the server would read it. Notes of the
// question say what was added or interpreted. The error has all mistakes of the input, each with its
// flag or argument. Parse changes the input.
func ParseQuestion(in *QuestionInput) (*Question, error) {
	p := &parser{QuestionInput: in}
	p.arguments(in.Arguments)
	p.sender()
	p.question.Stored, p.question.Watchers = in.Stored, in.Watchers
	asked, q := &in.Request, &p.question
	byPath := asked.Path != "" && in.Resource == ""
	if byPath {
		p.path()
	} else {
		p.kind()
	}
	as := in.Sender
	if in.As != "" {
		as.User = in.As
	}
	for _, m := range workload.CheckRequest(&as, asked) {
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
		return nil, p.mistakes.Err()
	}
	q.Attributes, q.Query = asked.Attributes(&as, 0)
	if byPath {
		if err := p.readURL(); err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}
	} else if p.version != "" {
		q.Attributes.Path = strings.Replace(q.Attributes.Path, "/v1", "/"+p.version, 1)
	}
	p.groups(&as)
	return q, nil
}

// parser makes a question of an input.
type parser struct {
	*QuestionInput
	question Question
	mistakes document.Errors
	verb     string // as given
	version  string // of the API, as given
}

func (p *parser) fail(flag, format string, args ...any) {
	p.mistakes.Add(document.Position{}, flag, format, args...)
}

func (p *parser) note(format string, args ...any) {
	p.question.Notes = append(p.question.Notes, fmt.Sprintf(format, args...))
}

// arguments reads VERB RESOURCE [NAME]. RESOURCE can also be TYPE/NAME or a path.
func (p *parser) arguments(args []string) {
	for i, flags := range [][]string{{"verb"}, {"resource", "path"}, {"name"}} {
		for _, flag := range flags {
			if i < len(args) && p.Given(flag) {
				p.fail("--"+flag, "is also given as the argument %q; use one of the two", args[i])
			}
		}
	}
	if len(args) == 1 {
		p.fail(fmt.Sprintf("%q", args[0]), "want VERB RESOURCE, such as list pods")
	}
	if len(args) > 0 {
		p.Request.Verb = args[0]
	}
	if len(args) > 1 {
		if strings.HasPrefix(args[1], "/") {
			p.Request.Path = args[1]
		} else {
			p.Resource = args[1]
			if kind, name, ok := strings.Cut(args[1], "/"); ok && len(args) == 2 && p.Request.Name == "" && !request.IsSubresource(name) {
				p.Resource, p.Request.Name = kind, name
			}
		}
	}
	if len(args) > 2 {
		p.Request.Name = args[2]
	}
	p.verb = p.Request.Verb
}

// sender checks that the flags describe one user.
func (p *parser) sender() {
	var given []string
	for _, name := range []string{"user", "as", "service-account", "node", "anonymous"} {
		if p.Given(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		p.fail(strings.Join(given, ", "), "use only one of them")
	}
	if p.As == "" && p.AsGroups != nil {
		p.fail("--as-group", "needs --as; with --user, use --group")
	}
	if p.As != "" && p.Sender.Groups != nil {
		p.fail("--group", "needs --user; with --as, use --as-group")
	}
}

// translate reports a mistake in a field of a scenario's request as one in the flag for that field.
func (p *parser) translate(m document.Error) {
	switch m.Path {
	case "request.as":
		p.fail("--user", "is missing or empty; want one of --user, --as, --service-account, --node, --anonymous")
	case "request.as.groups":
		if p.As == "" {
			p.fail("--group", "needs --user; the other flags imply the groups")
		}
	case "request.as.serviceAccount":
		p.fail("--service-account", "%s", m.Message)
	case "request.as.user":
		if p.As != "" {
			p.fail("--as", "%s", m.Message)
			break
		}
		p.fail("--user", "%s", m.Message)
	case "request.group":
		p.fail("--resource", "%s", m.Message)
	default: // for example, request.verb is --verb
		p.fail("--"+m.Path[strings.LastIndex(m.Path, ".")+1:], "%s", m.Message)
	}
}

// path splits the URL into path and query, and replaces a verb by its HTTP method.
func (p *parser) path() {
	r := &p.Request
	path, query, err := request.SplitURI(r.Path)
	if err != nil {
		p.fail("--path", "%q: %v", document.Abridge(path), err)
		return
	}
	if query != "" {
		if r.Query != "" {
			p.fail("--query", "is also in --path, after the question mark; use one of the two")
		}
		r.Query = query
	}
	r.Path = path
	if method := request.Method(strings.ToLower(r.Verb)); method != "" {
		r.Verb = strings.ToLower(method)
	}
}

// readURL parses the path as the server does, and adds a note if the result differs from the input.
func (p *parser) readURL() error {
	read, err := request.ReadURL(request.Method(p.Request.Verb), p.Request.Path, p.Request.Query)
	if err != nil {
		return err
	}
	asked := strings.ToLower(p.verb)
	if asked == "watch" && read.Verb == "list" {
		read.Verb = "watch" // the same as watch=true
	}
	if read.IsResource() {
		p.note("the path is that of a resource; %s %s has the verb %s", request.Method(p.Request.Verb), p.Request.Path, read.Verb)
	} else if request.OfCollection(asked) {
		p.note("the path is not that of a resource; its verb is the HTTP method, %s", read.Verb)
	}
	a := &p.question.Attributes
	*a = classify.For(a.User, a.Groups, read)
	return nil
}

// kind parses --resource as kubectl does, and completes the request as the server would read it.
func (p *parser) kind() {
	r := &p.Request
	asked := request.ParseResource(p.Resource)
	r.Resource, r.Group, p.version = asked.Name, asked.Group, asked.Version
	if asked.Subresource != "" {
		if r.Subresource != "" && r.Subresource != asked.Subresource {
			p.fail("--subresource", "%q differs from the subresource of --resource %s", r.Subresource, p.Resource)
		}
		r.Subresource = asked.Subresource
	}
	if r.Resource == "" {
		return
	}
	builtin := request.FindResource(asked.Name, asked.Group)
	if builtin == nil {
		p.unknown()
	} else {
		r.Resource, r.Group = builtin.Name, builtin.Group
		read, given := fullName(r.Resource, r.Group), fullName(asked.Name, asked.Group)
		switch {
		case read != given:
			p.note("the resource %q is interpreted as %s", given, read)
		case p.version != "":
			p.note("the resource is interpreted as %s; FlowSchemas do not distinguish API versions", read)
		}
		if r.Subresource != "" && !request.IsSubresource(r.Subresource) {
			p.note("%q is not a subresource of Kubernetes itself", r.Subresource)
		}
	}
	switch {
	case r.Subresource != "" && r.Name == "":
		p.note("a request for %s/%s needs the name of an object; none is given", r.Resource, r.Subresource)
	case r.Name == "" && r.Verb == "get":
		r.Verb = "list"
		p.note("a get without a name is a list")
	case r.Name == "" && r.Verb == "delete":
		r.Verb = "deletecollection"
		p.note("a delete without a name is a deletecollection")
	}
	r.Namespace = (&request.Info{Verb: r.Verb, APIGroup: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}).URLNamespace()
	switch {
	case builtin == nil:
	case builtin.Cluster && r.Namespace != "" && r.Resource != "namespaces":
		p.note("%s are not namespaced; the namespace %q is ignored", r.Resource, r.Namespace)
		r.Namespace = ""
	case !builtin.Cluster && r.Namespace == "" && !slices.Contains([]string{"list", "watch"}, r.Verb):
		p.note("%s %s needs a namespace on a real server; none is given (-n)", r.Verb, r.Resource)
	}
}

// unknown adds a note that the resource is not one of Kubernetes itself.
func (p *parser) unknown() {
	r := &p.Request
	switch {
	case r.Group == "":
		p.note("%q is not a resource of Kubernetes itself%s; for a custom resource, add its group, such as %s.example.com",
			r.Resource, document.Suggest(r.Resource, request.ResourceNames()), r.Resource)
	case request.BuiltinGroup(r.Group):
		p.note("%q is not a resource of the API group %s%s", r.Resource, r.Group, document.Suggest(r.Resource, request.ResourceNames()))
	}
}

func fullName(resource, group string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// groups adds the groups that follow from the user's name.
func (p *parser) groups(as *workload.Identity) {
	a, given := &p.question.Attributes, as.Groups
	if p.As != "" {
		given = p.AsGroups
		a.Groups = classify.ImpersonatedGroups(p.As, given)
		_, _, isServiceAccount := classify.SplitServiceAccount(p.As)
		switch {
		case isServiceAccount && len(given) > 0:
			p.note("a service account that is impersonated with groups has only those groups")
		case strings.HasPrefix(p.As, "system:node:") && !slices.Contains(a.Groups, classify.Nodes):
			p.note("impersonation does not add a node to the group %s; use --node", classify.Nodes)
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
