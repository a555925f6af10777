package config

import (
	"slices"

	"apfsim/core/rules"
)

// The objects below are those of k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap of each release, in
// the order of the newest one.

// Groups and users that the bootstrap objects name (k8s.io/apiserver/pkg/authentication/user).
const (
	masters           = "system:masters"
	nodes             = "system:nodes"
	authenticated     = "system:authenticated"
	unauthenticated   = "system:unauthenticated"
	serviceAccounts   = "system:serviceaccounts"
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
	systemNamespace   = "kube-system"
)

// Mandatory returns the objects that every server of a release has: the FlowSchemas and the levels
// exempt and catch-all. Every call makes new objects, which the caller may change.
func Mandatory(r *rules.Rules) Objects {
	catchAllShares := int32(1)
	if r.Objects.Suggested >= rules.WorkloadLowLarge {
		catchAllShares = 5
	}
	return Objects{
		FlowSchemas: []*FlowSchema{
			flowSchema(Exempt, Exempt, 1, "", everything(groups(masters)...)),
			flowSchema(CatchAll, CatchAll, 10000, ByUser, everything(groups(unauthenticated, authenticated)...)),
		},
		PriorityLevels: []*PriorityLevel{
			{Name: CatchAll, Spec: PriorityLevelSpec{Type: TypeLimited, Limited: &LimitedSpec{
				NominalConcurrencyShares: &catchAllShares,
				LendablePercent:          new(int32(0)),
				LimitResponse:            LimitResponse{Type: ResponseReject},
			}}},
			{Name: Exempt, Spec: PriorityLevelSpec{Type: TypeExempt, Exempt: &ExemptSpec{
				NominalConcurrencyShares: new(int32(0)),
				LendablePercent:          new(int32(0)),
			}}},
		},
	}
}

// Suggested returns the objects that a new server of a release creates: the mandatory objects, then
// the suggested ones. Every call makes new objects, which the caller may change.
func Suggested(r *rules.Rules) Objects {
	o, set := Mandatory(r), r.Objects.Suggested
	o.FlowSchemas = append(o.FlowSchemas, suggestedSchemas(set, r.ExemptProbes)...)
	workloadLow, globalDefault := int32(20), int32(100)
	if set >= rules.WorkloadLowLarge {
		workloadLow, globalDefault = 100, 20
	}
	levels := []*PriorityLevel{queueLevel("system", 30, 33, 64, 6)}
	if set >= rules.NodeHigh {
		levels = append(levels, queueLevel("node-high", 40, 25, 64, 6))
	}
	levels = append(levels,
		queueLevel("leader-election", 10, 0, 16, 4),
		queueLevel("workload-high", 40, 50, 128, 6),
		queueLevel("workload-low", workloadLow, 90, 128, 6),
		queueLevel("global-default", globalDefault, 50, 128, 6),
	)
	for _, l := range levels {
		if set < rules.LendableLevels {
			*l.Spec.Limited.LendablePercent = 0
		}
	}
	o.PriorityLevels = append(o.PriorityLevels, levels...)
	return o
}

// suggestedSchemas returns the suggested FlowSchemas of a set, without the mandatory ones.
func suggestedSchemas(set rules.Suggested, exemptProbes bool) []*FlowSchema {
	schemas := []*FlowSchema{flowSchema("system-nodes", "system", 500, ByUser, everything(groups(nodes)...))}
	if set >= rules.NodeHigh {
		schemas = append(schemas, flowSchema("system-node-high", "node-high", 400, ByUser, PolicyRulesWithSubjects{
			Subjects: groups(nodes),
			ResourceRules: []ResourceRule{
				{Verbs: all(), APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"},
					ClusterScope: true, Namespaces: all()},
				leases(Wildcard),
			},
		}))
	}
	if exemptProbes {
		schemas = append(schemas, flowSchema("probes", Exempt, 2, "", PolicyRulesWithSubjects{
			Subjects: groups(unauthenticated, authenticated),
			NonResourceRules: []NonResourceRule{{Verbs: []string{"get"},
				NonResourceURLs: []string{"/healthz", "/readyz", "/livez"}}},
		}))
	}

	electing := []ResourceRule{leases("get", "create", "update")}
	if set < rules.ElectionsByLeases {
		electing = slices.Insert(electing, 0, elections(systemNamespace, "endpoints", "configmaps"))
	}
	schemas = append(schemas, flowSchema("system-leader-election", "leader-election", 100, ByUser, PolicyRulesWithSubjects{
		Subjects:      []Subject{user(controllerManager), user(scheduler), systemServiceAccounts(Wildcard)},
		ResourceRules: electing,
	}))
	if set < rules.NoOldElections {
		schemas = append(schemas, flowSchema("workload-leader-election", "leader-election", 200, ByUser, PolicyRulesWithSubjects{
			Subjects: []Subject{systemServiceAccounts(Wildcard)},
			ResourceRules: []ResourceRule{elections(Wildcard, "endpoints", "configmaps"),
				leases("get", "create", "update")},
		}))
	}
	if set >= rules.ElectionsByLeases && set < rules.NoOldElections {
		schemas = append(schemas, flowSchema("endpoint-controller", "workload-high", 150, ByUser, PolicyRulesWithSubjects{
			Subjects: []Subject{user(controllerManager), systemServiceAccounts("endpoint-controller"),
				systemServiceAccounts("endpointslicemirroring-controller")},
			ResourceRules: []ResourceRule{elections(Wildcard, "endpoints")},
		}))
	}

	global := groups(unauthenticated, authenticated)
	if set < rules.GlobalDefaultOpen {
		global = groups(serviceAccounts)
	}
	return append(schemas,
		flowSchema("kube-controller-manager", "workload-high", 800, ByNamespace, everything(user(controllerManager))),
		flowSchema("kube-scheduler", "workload-high", 800, ByNamespace, everything(user(scheduler))),
		flowSchema("kube-system-service-accounts", "workload-high", 900, ByNamespace, everything(systemServiceAccounts(Wildcard))),
		flowSchema("service-accounts", "workload-low", 9000, ByUser, everything(groups(serviceAccounts)...)),
		flowSchema("global-default", "global-default", 9900, ByUser, everything(global...)),
	)
}

func flowSchema(name, level string, precedence int32, distinguisher string, rule PolicyRulesWithSubjects) *FlowSchema {
	s := &FlowSchema{Name: name, Spec: FlowSchemaSpec{
		PriorityLevelConfiguration: PriorityLevelReference{level},
		MatchingPrecedence:         precedence,
		Rules:                      []PolicyRulesWithSubjects{rule},
	}}
	if distinguisher != "" {
		s.Spec.DistinguisherMethod = &DistinguisherMethod{distinguisher}
	}
	return s
}

func queueLevel(name string, shares, lendablePercent, queues, handSize int32) *PriorityLevel {
	return &PriorityLevel{Name: name, Spec: PriorityLevelSpec{Type: TypeLimited, Limited: &LimitedSpec{
		NominalConcurrencyShares: &shares,
		LendablePercent:          &lendablePercent,
		LimitResponse: LimitResponse{Type: ResponseQueue,
			Queuing: &Queuing{Queues: queues, HandSize: handSize, QueueLengthLimit: defaultQueueLengthLimit}},
	}}}
}

// everything matches all requests of the subjects.
func everything(subjects ...Subject) PolicyRulesWithSubjects {
	return PolicyRulesWithSubjects{
		Subjects: subjects,
		ResourceRules: []ResourceRule{{Verbs: all(), APIGroups: all(), Resources: all(),
			ClusterScope: true, Namespaces: all()}},
		NonResourceRules: []NonResourceRule{{Verbs: all(), NonResourceURLs: all()}},
	}
}

// leases matches requests with these verbs for leases in any namespace.
func leases(verbs ...string) ResourceRule {
	return ResourceRule{Verbs: verbs, APIGroups: []string{"coordination.k8s.io"},
		Resources: []string{"leases"}, Namespaces: all()}
}

// elections matches the requests of a leader election by other resources than leases.
func elections(namespace string, resources ...string) ResourceRule {
	return ResourceRule{Verbs: []string{"get", "create", "update"}, APIGroups: []string{""}, Resources: resources,
		Namespaces: []string{namespace}}
}

func all() []string { return []string{Wildcard} }

func groups(names ...string) []Subject {
	subjects := make([]Subject, len(names))
	for i, name := range names {
		subjects[i] = Subject{Kind: SubjectGroup, Group: &GroupSubject{name}}
	}
	return subjects
}

func user(name string) Subject {
	return Subject{Kind: SubjectUser, User: &UserSubject{name}}
}

// systemServiceAccounts are the service account of this name in kube-system, or all for "*".
func systemServiceAccounts(name string) Subject {
	return Subject{Kind: SubjectServiceAccount, ServiceAccount: &ServiceAccountSubject{systemNamespace, name}}
}
