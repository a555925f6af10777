package lint

// Rule is one thing that is looked for.
type Rule struct {
	ID       string
	Severity Severity
	Finds    string // what is wrong, and why it matters
	Bad      string // an example that it finds
	Good     string // one like it that it does not
	Remedy   string
}

// Rules returns all rules, by severity, the gravest first, and name.
func Rules() []Rule {
	return []Rule{
		{"api-group-form", Error, "An item of `apiGroups` is not the name of a group, so it matches no request.",
			"`apiGroups: [apps/v1]`, `[core]`, `[v1]`", "`apiGroups: [apps]`, `[\"\"]`", "Name the group without a version; the core group is `\"\"`."},
		{"dangling", Error, "A FlowSchema refers to a priority level that does not exist; the server ignores it.",
			"`priorityLevelConfiguration: {name: workload-lo}`", "`{name: workload-low}`", "Correct the name, or add the level."},
		{"edit-undone", Error, "From 1.22 on, a server puts a suggested object back unless the annotation `apf.kubernetes.io/autoupdate-spec` is `\"false\"`, and deletes an object of another name that has it as `\"true\"`. A file without the annotation leaves that of the object in the cluster, which is `\"true\"`; an exported object of generation 2 or more without it is left alone.",
			"`workload-low` with 200 shares and no annotation", "the same with `autoupdate-spec: \"false\"`", "Set the annotation to `\"false\"`, or remove it from an object of your own."},
		{"invalid", Error, "The server refuses the object: a verb that does not exist, a changed mandatory object, a hand larger than the number of queues, and all else that `apfsim config validate` finds. The exit status is 2.",
			"`verbs: [read]`; `catch-all` with 50 shares", "`verbs: [get]`; `exempt` with 10 shares", "Correct the field."},
		{"never-served", Error, "A level with queues has no shares and may borrow nothing: all its requests wait until they time out. (A level that rejects executes one request at a time even then.)",
			"`nominalConcurrencyShares: 0`, `borrowingLimitPercent: 100`", "the same with 10 shares", "Give it shares, or leave the borrowing limit out."},
		{"non-resource-verb", Error, "The verb of a request that is not for a resource is its HTTP method in lower case; `list`, `watch`, `create`, `update`, `deletecollection` and `proxy` match none.",
			"`nonResourceURLs: [/metrics]`, `verbs: [list]`", "`verbs: [get]`", "Use `get`, `delete`, `patch` or `\"*\"`."},
		{"resource-form", Error, "An item of `resources` is not the name of a resource: singular, not in lower case, with a group, or with a wildcard beside a subresource. It matches no request.",
			"`resources: [Pods]`, `[pod]`, `[deployments.apps]`, `[pods/*]`", "`resources: [pods, pods/status]`", "Use the plural in lower case, as `kubectl api-resources` prints it."},
		{"resource-not-in-group", Error, "None of the `apiGroups` has the resource. Found for Kubernetes' own groups, to which nobody can add resources.",
			"`apiGroups: [\"\"]`, `resources: [deployments]`", "`apiGroups: [apps]`, `resources: [deployments]`", "Add the resource's group."},
		{"resource-path", Error, "An item of `nonResourceURLs` is the path of resources, or has a query. It matches no request.",
			"`nonResourceURLs: [/api/v1/pods]`", "`nonResourceURLs: [/api/v1]`", "Use `resourceRules`, or remove the query."},
		{"scope", Error, "The scope of a rule excludes all its resources: `clusterScope: false` for cluster-scoped ones, or no namespaces for single objects of namespaced ones.",
			"`resources: [nodes]`, `namespaces: [\"*\"]`", "`resources: [nodes]`, `clusterScope: true`", "Set `clusterScope: true`, or add `namespaces`."},
		{"subject-form", Error, "The name of a subject belongs to another kind of subject, or is incomplete, so it matches nobody.",
			"`User system:serviceaccount:ops`, `User system:nodes`, `Group system:anonymous`", "`User system:serviceaccount:ops:bot`, `Group system:nodes`", "Use the right kind, or the whole name."},
		{"version-not-served", Error, "The Kubernetes release that `--kubernetes-version` names does not serve the object's `apiVersion`.",
			"`v1beta2` with `--kubernetes-version 1.32`", "`v1beta2` with `--kubernetes-version 1.28`", "Use a version that it serves."},

		{"bypasses", Warning, "A rule names requests that flow control does not see: the verb `proxy`, the subresources `attach`, `exec`, `log`, `portforward` and `proxy`, and `/debug/pprof/`.",
			"`resources: [pods/exec]`", "`resources: [pods/eviction]`", "Remove the item."},
		{"catch-all-used", Warning, "A FlowSchema of one's own uses the level `catch-all`, which has few seats and no queue; with a scenario: requests arrive there.",
			"`priorityLevelConfiguration: {name: catch-all}`", "`{name: global-default}`", "Use another level; add a FlowSchema for what arrives there."},
		{"cluster-wide-list", Warning, "A list or watch over all namespaces has no namespace. A rule with `namespaces: [\"*\"]` and without `clusterScope: true` misses it, and it goes to another level. Found when the rule names `list` or `watch`, or all verbs of all resources.",
			"`verbs: [list, watch]`, `namespaces: [\"*\"]`", "the same with `clusterScope: true`", "Set `clusterScope: true`."},
		{"colliding-hands", Warning, "One flow that fills all its queues blocks another with a probability of more than 1 %. Not found for a level of one flow.",
			"`queues: 8`, `handSize: 7`", "`queues: 64`, `handSize: 6`", "More queues, or a smaller hand; see `apfsim collisions`."},
		{"exempt-lists", Warning, "A FlowSchema of one's own sends lists to the level `exempt`: nothing bounds how many run at once.",
			"`{name: exempt}` with `verbs: [get, list]`", "`{name: exempt}` with `verbs: [get]`", "Send lists to a level with a limit."},
		{"exempt-many", Warning, "A FlowSchema of one's own exempts everyone, all who have or have not authenticated, all nodes, or all service accounts (of the cluster or a namespace) from limits. Paths such as `/healthz` are no matter.",
			"`{name: exempt}` for `Group system:authenticated`", "`{name: exempt}` for `User admin`", "Exempt single users, or use a level with a limit."},
		{"few-seats", Warning, "The shares of a level come to 0 or 1 seat at `--max-requests-inflight` and `--max-mutating-requests-inflight`.",
			"`nominalConcurrencyShares: 0`", "`nominalConcurrencyShares: 10`", "More shares."},
		{"lends-too-much", Warning, "Lending may leave a level less than it needs until the next adjustment, which is up to 10 s away. With a scenario: less than its mean demand there. Without: less than 5 % of its seats (a note).",
			"`lendablePercent: 100`", "`lendablePercent: 50`", "A lower `lendablePercent`."},
		{"long-queues", Warning, "The queues of a level hold more requests than its nominal seats serve within the wait limit of 15 s, each at the mean execution time of the scenario. Without a scenario, 100 ms is assumed, which is long for a mean (a note).",
			"`queues: 512`, `queueLengthLimit: 500`", "`queues: 64`, `queueLengthLimit: 50`", "Shorter or fewer queues."},
		{"namespaces-missing", Warning, "A rule with `clusterScope: true` and no namespaces matches only requests without a namespace; those in namespaces go to another level. Found for all resources and for Kubernetes' own namespaced ones.",
			"`resources: [\"*\"]`, `clusterScope: true`", "the same with `namespaces: [\"*\"]`", "Add `namespaces: [\"*\"]`."},
		{"no-rules", Warning, "A FlowSchema has no rules and matches no request.", "`rules: []`", "one rule", "Add rules, or remove it."},
		{"seat-cap", Warning, "From 1.25 on, a request takes at most max(1, min(⌈0.15·nominal⌉, ⌊nominal/handSize⌋)) seats. Where that is 1 and lists come, a list of everything counts as little as a get.",
			"10 nominal seats, `handSize: 8`, a FlowSchema with `list`", "10 nominal seats, `handSize: 5`", "More shares, or a smaller `handSize`."},
		{"shadowed", Warning, "All that a FlowSchema matches goes to earlier ones, by precedence and then by name. Proved from the rules; every user is in `system:authenticated` or in `system:unauthenticated`, and a service account in its groups. Also said of an object that leaves nothing to a suggested one.",
			"`User alice` at 9950, after `global-default`", "`User alice` at 9000", "A lower `matchingPrecedence`, or remove it."},
		{"shadowed-part", Warning, "A subject or a rule of a FlowSchema has no effect, as `shadowed`, while others have; its requests go to another level.",
			"`ServiceAccount kube-system/dns` beside others, at 1000", "the same at 850", "Remove the part, or a lower `matchingPrecedence`."},
		{"unreferenced-level", Warning, "No FlowSchema refers to a level, yet its shares take seats from the others.",
			"a level alone", "a level and a FlowSchema that names it", "Refer to it, or remove it."},

		{"distinguisher-ignored", Note, "`distinguisherMethod` has no effect: the level has no queues or just one, or `ByNamespace` stands where no request has a namespace.",
			"`type: ByUser` with a level that rejects", "`type: ByUser` with a level of 64 queues", "Remove it, or use `ByUser`."},
		{"overlap", Note, "An earlier FlowSchema takes part of what a FlowSchema matches to another level: an example is shown, and it really goes there. Often meant so.",
			"`User alice` for all at 1000, `Group system:authenticated` for leases at 500", "`User alice` at 400", "Nothing, if it is meant so."},
		{"wide-lists", Note, "With `--metrics`, from 1.34 on: the widest list of all objects of a resource that a FlowSchema matches is wider than a request may be at its level, or takes more than half of the seats that the level keeps when it has lent the rest.",
			"2 000 000 bytes of `configmaps`, and a cap of 2 seats", "the same and a cap of 37", "More shares, a smaller hand, less lending."},
	}
}

// ruleOf returns the rule of that id, which must exist.
func ruleOf(id string) Rule {
	for _, r := range Rules() {
		if r.ID == id {
			return r
		}
	}
	panic("lint: no rule is called " + id)
}

// IDs returns the ids of all rules.
func IDs() (ids []string) {
	for _, r := range Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}
