package lint

// Rule describes a kind of problem that Check finds. The texts are Markdown.
type Rule struct {
	ID       string
	Severity Severity // the highest severity of its findings
	Finds    string   // the problem; the first sentence is a summary
	Bad      string   // an example with a finding
	Good     string   // a similar example without a finding
	Remedy   string
}

// Rules returns all rules in descending order of severity, then by ID.
func Rules() []Rule {
	return []Rule{
		{"api-group-form", Error, "An item of `apiGroups` is not the name of a group, so it matches no request.",
			"`apiGroups: [apps/v1]`, `[core]`, `[v1]`", "`apiGroups: [apps]`, `[\"\"]`", "Name the group without a version; the core group is `\"\"`."},
		{"dangling", Error, "A FlowSchema refers to a priority level that does not exist, so that the server ignores the FlowSchema.",
			"`priorityLevelConfiguration: {name: workload-lo}`", "`{name: workload-low}`", "Correct the name, or add the level."},
		{"edit-undone", Error, "The server restores the spec of a suggested object, or deletes the object. From 1.22 on, it restores the spec unless the annotation `apf.kubernetes.io/autoupdate-spec` is `\"false\"`, and deletes an object with another name if the annotation is `\"true\"`. If a file without the annotation is applied, the object in the cluster keeps its annotation, which is `\"true\"`. An exported object of generation 2 or more without the annotation is not restored.",
			"`workload-low` with 200 shares and no annotation", "the same with `autoupdate-spec: \"false\"`", "Set the annotation to `\"false\"`, or remove it from an object of your own."},
		{"invalid", Error, "The server refuses the object. The finding is an error of `apfsim config validate`: a verb that does not exist, a changed mandatory object, a hand larger than the number of queues, and so on. The exit status is 2.",
			"`verbs: [read]`; `catch-all` with 50 shares", "`verbs: [get]`; `exempt` with 10 shares", "Correct the field."},
		{"never-served", Error, "A level with queues has no seats and may not borrow any, so that all its requests wait until they time out. (A level without queues executes one request at a time even then.)",
			"`nominalConcurrencyShares: 0`, `borrowingLimitPercent: 100`", "the same with 10 shares", "Give it shares, or remove the borrowing limit."},
		{"non-resource-verb", Error, "A non-resource rule has a verb that no such request has. The verb of a request that is not for a resource is its HTTP method in lower case, so that `list`, `watch`, `create`, `update`, `deletecollection` and `proxy` match no request.",
			"`nonResourceURLs: [/metrics]`, `verbs: [list]`", "`verbs: [get]`", "Use `get`, `delete`, `patch` or `\"*\"`."},
		{"resource-form", Error, "An item of `resources` is not the name of a resource, so it matches no request. It is in the singular, has upper-case letters, includes the group, or combines a wildcard with a subresource.",
			"`resources: [Pods]`, `[pod]`, `[deployments.apps]`, `[pods/*]`", "`resources: [pods, pods/status]`", "Use the plural in lower case, as `kubectl api-resources` prints it."},
		{"resource-not-in-group", Error, "None of the `apiGroups` has the resource. The rule knows the groups of Kubernetes to which no resources can be added.",
			"`apiGroups: [\"\"]`, `resources: [deployments]`", "`apiGroups: [apps]`, `resources: [deployments]`", "Add the resource's group."},
		{"resource-path", Error, "An item of `nonResourceURLs` is the path of resources, or has a query, so it matches no request.",
			"`nonResourceURLs: [/api/v1/pods]`", "`nonResourceURLs: [/api/v1]`", "Use `resourceRules`, or remove the query."},
		{"scope", Error, "The scope of a rule excludes all its resources: `clusterScope` is false and the resources are cluster-scoped, or there are no `namespaces` and the requests are for single objects of namespaced resources.",
			"`resources: [nodes]`, `namespaces: [\"*\"]`", "`resources: [nodes]`, `clusterScope: true`", "Set `clusterScope: true`, or add `namespaces`."},
		{"subject-form", Error, "The name of a subject is that of another kind of subject, or is incomplete, so it matches no user.",
			"`User system:serviceaccount:ops`, `User system:nodes`, `Group system:anonymous`", "`User system:serviceaccount:ops:bot`, `Group system:nodes`", "Use the right kind, or the complete name."},
		{"version-not-served", Error, "The Kubernetes release that `--version` names does not serve the object's `apiVersion`.",
			"`v1beta2` with `--version 1.32`", "`v1beta2` with `--version 1.28`", "Use a version that the release serves."},

		{"bypasses", Warning, "A rule names requests that bypass flow control: the verb `proxy`, the subresources `attach`, `exec`, `log`, `portforward` and `proxy`, and `/debug/pprof/`.",
			"`resources: [pods/exec]`", "`resources: [pods/eviction]`", "Remove the item."},
		{"catch-all-used", Warning, "A FlowSchema other than `catch-all` refers to the level `catch-all`, which has few seats and no queues; or, with a scenario, requests arrive at this level.",
			"`priorityLevelConfiguration: {name: catch-all}`", "`{name: global-default}`", "Use another level; add a FlowSchema for the requests that arrive there."},
		{"cluster-wide-list", Warning, "A rule does not match lists and watches over all namespaces, which are assigned to another level. Such requests have no namespace: `namespaces: [\"*\"]` does not match them, only `clusterScope: true` does. There is a finding if the rule names `list` or `watch`, or all verbs of all resources.",
			"`verbs: [list, watch]`, `namespaces: [\"*\"]`", "the same with `clusterScope: true`", "Set `clusterScope: true`."},
		{"colliding-hands", Warning, "A flow that fills all its queues blocks another flow with a probability of more than 1 %. A level with only one flow has no finding.",
			"`queues: 8`, `handSize: 7`", "`queues: 64`, `handSize: 6`", "Use more queues, or a smaller hand; see `apfsim collisions`."},
		{"exempt-lists", Warning, "A FlowSchema other than `exempt` assigns lists to the level `exempt`, where any number of them may be executed at the same time.",
			"`{name: exempt}` with `verbs: [get, list]`", "`{name: exempt}` with `verbs: [get]`", "Assign lists to a level with a limit."},
		{"exempt-many", Warning, "A FlowSchema other than `exempt` exempts many users from limits: all users, all authenticated or all unauthenticated users, all nodes, or all service accounts of the cluster or of a namespace. A FlowSchema only for paths such as `/healthz` has no finding.",
			"`{name: exempt}` for `Group system:authenticated`", "`{name: exempt}` for `User admin`", "Exempt single users, or use a level with a limit."},
		{"few-seats", Warning, "The shares of a level are only 0 or 1 seat, on a server with `--max-requests-inflight` and `--max-mutating-requests-inflight`.",
			"`nominalConcurrencyShares: 0`", "`nominalConcurrencyShares: 10`", "Give it more shares."},
		{"lends-too-much", Warning, "A level may lend so many seats that it has fewer than it needs until the next adjustment, up to 10 s later. With a scenario, this means fewer than its mean demand in the scenario; without one, less than 5 % of its seats (a note).",
			"`lendablePercent: 100`", "`lendablePercent: 50`", "Use a lower `lendablePercent`."},
		{"long-queues", Warning, "The queues of a level hold more requests than its nominal seats can serve within the wait limit of 15 s. The execution time is the mean of the scenario. Without a scenario, it is assumed to be 100 ms, which is longer than most means (a note).",
			"`queues: 512`, `queueLengthLimit: 500`", "`queues: 64`, `queueLengthLimit: 50`", "Use shorter or fewer queues."},
		{"namespaces-missing", Warning, "A rule does not match requests in namespaces, which are assigned to another level. With `clusterScope: true` and no `namespaces`, it matches only requests without a namespace. There is a finding if the rule is for all resources or for namespaced resources of Kubernetes.",
			"`resources: [\"*\"]`, `clusterScope: true`", "the same with `namespaces: [\"*\"]`", "Add `namespaces: [\"*\"]`."},
		{"no-rules", Warning, "A FlowSchema has no rules, so that it matches no request.", "`rules: []`", "one rule", "Add rules, or remove it."},
		{"seat-cap", Warning, "A large list occupies only 1 seat, like a get. From 1.25 on, a request occupies at most max(1, min(⌈0.15·nominal⌉, ⌊nominal/handSize⌋)) seats. There is a finding if this is 1 and a FlowSchema of the level matches lists.",
			"10 nominal seats, `handSize: 8`, a FlowSchema with `list`", "10 nominal seats, `handSize: 5`", "Use more shares, or a smaller `handSize`."},
		{"shadowed", Warning, "A FlowSchema has no effect, because earlier FlowSchemas, by precedence and then by name, match all its requests. This is proved from the rules, where every user is in `system:authenticated` or in `system:unauthenticated` and a service account is in its groups. A FlowSchema that shadows a suggested one has a finding too.",
			"`User alice` at 9950, after `global-default`", "`User alice` at 9000", "Use a lower `matchingPrecedence`, or remove it."},
		{"shadowed-part", Warning, "A subject or a rule of a FlowSchema has no effect, because earlier FlowSchemas assign all its requests to another level. Other parts of the FlowSchema have an effect.",
			"`ServiceAccount kube-system/dns` beside others, at 1000", "the same at 850", "Remove the part, or use a lower `matchingPrecedence`."},
		{"fewer-queues", Warning, "A change makes the queues of a level fewer, or takes them away. While writes of the level are in their additional latency, a running kube-apiserver may panic, or lose another queue (kubernetes#140884, in all releases from 1.24 on). `apfsim config diff` has this finding; a check of one configuration has not. `apfsim tune` proposes only more queues, and its `undo.yaml` keeps them. An upgrade changes the queues of no level from 1.24 on: the suggested levels have the same in all releases.",
			"`queues: 64`, before it 128", "`queues: 128`, before it 64", "Keep the queues, or add a level with another name and move the FlowSchemas to it."},
		{"one-flow", Warning, "A FlowSchema for a group, or for all service accounts of a namespace, has no `distinguisherMethod`, although its level has more queues than one hand. The requests of all its users are then one flow, so that one user delays all others.",
			"`Group dev` without `distinguisherMethod`, at a level of 64 queues", "the same with `type: ByUser`", "Add `distinguisherMethod: {type: ByUser}`."},
		{"takes-control-plane", Warning, "A FlowSchema takes requests of the control plane, which the suggested FlowSchemas assign to other levels: of kubelets, the scheduler, controllers, leader elections, cloud-controller-manager, kube-proxy, CoreDNS, aggregated servers, health probes, cluster administrators and the API server itself. There is a finding for each suggested FlowSchema that loses requests; requests in one namespace are enough. There is one, too, if a FlowSchema with the name of a suggested one matches less than that. It is a note if the FlowSchema names the service accounts and its level has queues. The usual reason is a subject such as `system:authenticated`, `system:serviceaccounts` or `*`.",
			"`Group system:authenticated` for all at 100", "the same at 9500", "Name only the users, namespaces and resources that it is meant for, or use a higher `matchingPrecedence`."},
		{"unreferenced-level", Warning, "No FlowSchema refers to a level, although its shares reduce the seats of the other levels.",
			"a level alone", "a level and a FlowSchema that refers to it", "Refer to it, or remove it."},

		{"distinguisher-ignored", Note, "`distinguisherMethod` has no effect: the level has fewer than two queues, or the method is `ByNamespace` and no matched request has a namespace.",
			"`type: ByUser` with a level that rejects", "`type: ByUser` with a level of 64 queues", "Remove it, or use `ByUser`."},
		{"overlap", Note, "An earlier FlowSchema assigns some requests that a FlowSchema matches to another level. The message has an example, which was classified. This is often intended.",
			"`User alice` for all at 1000, `Group system:authenticated` for leases at 500", "`User alice` at 400", "None, if this is intended."},
		{"takes-nothing-of", Note, "A FlowSchema is for `system:authenticated` or for everyone, which includes service accounts, but earlier FlowSchemas assign all their requests to another level. Of equal precedences, names decide.",
			"`visibility` for `Group system:authenticated` at 9000, after `service-accounts`", "the same at 8999", "None, if it is meant for other users; otherwise, use a lower `matchingPrecedence`."},
		{"wide-lists", Note, "A list needs more seats than a request of its level may occupy, or more than half of the seats that the level cannot lend. The list is the largest one of all objects of a resource that a FlowSchema matches. There are findings only with `--metrics`, and from 1.34 on.",
			"`configmaps` of 2 000 000 bytes, and a cap of 2 seats", "the same with a cap of 37", "Use more shares, a smaller hand, or a lower `lendablePercent`."},
	}
}

// ruleOf returns the rule with this ID. It panics if there is none.
func ruleOf(id string) Rule {
	for _, r := range Rules() {
		if r.ID == id {
			return r
		}
	}
	panic("lint: no rule has the ID " + id)
}

// IDs returns the IDs of all rules.
func IDs() (ids []string) {
	for _, r := range Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}
