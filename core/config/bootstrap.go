package config

// The objects below are those of k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap v0.37, in
// the same order.

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

// Mandatory returns the objects that every server has: the FlowSchemas and the levels exempt
// and catch-all. Every call makes new objects, which the caller may change.
func Mandatory() Objects {
	return Objects{
		FlowSchemas: []*FlowSchema{
			flowSchema(Exempt, Exempt, 1, "", everything(groups(masters)...)),
			flowSchema(CatchAll, CatchAll, 10000, ByUser, everything(groups(unauthenticated, authenticated)...)),
		},
		PriorityLevels: []*PriorityLevel{
			{Name: CatchAll, Spec: PriorityLevelSpec{Type: TypeLimited, Limited: &LimitedSpec{
				NominalConcurrencyShares: new(int32(5)),
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

// Suggested returns the objects that a new server of Kubernetes 1.37 creates: the mandatory
// objects, then the suggested ones. Every call makes new objects, which the caller may change.
func Suggested() Objects {
	suggested := Objects{
		FlowSchemas: []*FlowSchema{
			flowSchema("system-nodes", "system", 500, ByUser, everything(groups(nodes)...)),
			flowSchema("system-node-high", "node-high", 400, ByUser, PolicyRulesWithSubjects{
				Subjects: groups(nodes),
				ResourceRules: []ResourceRule{
					{Verbs: all(), APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"},
						ClusterScope: true, Namespaces: all()},
					leases(Wildcard),
				},
			}),
			flowSchema("probes", Exempt, 2, "", PolicyRulesWithSubjects{
				Subjects: groups(unauthenticated, authenticated),
				NonResourceRules: []NonResourceRule{{Verbs: []string{"get"},
					NonResourceURLs: []string{"/healthz", "/readyz", "/livez"}}},
			}),
			flowSchema("system-leader-election", "leader-election", 100, ByUser, PolicyRulesWithSubjects{
				Subjects:      []Subject{user(controllerManager), user(scheduler), systemServiceAccounts()},
				ResourceRules: []ResourceRule{leases("get", "create", "update")},
			}),
			flowSchema("kube-controller-manager", "workload-high", 800, ByNamespace, everything(user(controllerManager))),
			flowSchema("kube-scheduler", "workload-high", 800, ByNamespace, everything(user(scheduler))),
			flowSchema("kube-system-service-accounts", "workload-high", 900, ByNamespace, everything(systemServiceAccounts())),
			flowSchema("service-accounts", "workload-low", 9000, ByUser, everything(groups(serviceAccounts)...)),
			flowSchema("global-default", "global-default", 9900, ByUser, everything(groups(unauthenticated, authenticated)...)),
		},
		PriorityLevels: []*PriorityLevel{
			queueLevel("system", 30, 33, 64, 6),
			queueLevel("node-high", 40, 25, 64, 6),
			queueLevel("leader-election", 10, 0, 16, 4),
			queueLevel("workload-high", 40, 50, 128, 6),
			queueLevel("workload-low", 100, 90, 128, 6),
			queueLevel("global-default", 20, 50, 128, 6),
		},
	}
	return Merge(Mandatory(), suggested)
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

func systemServiceAccounts() Subject {
	return Subject{Kind: SubjectServiceAccount, ServiceAccount: &ServiceAccountSubject{systemNamespace, Wildcard}}
}
