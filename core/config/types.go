// Package config reads the two kinds of object that configure API Priority and Fairness,
// FlowSchema and PriorityLevelConfiguration: it decodes them strictly, fills in the defaults
// and validates them. It also has the mandatory and the suggested objects of Kubernetes 1.37
// (k8s.io/api/flowcontrol/v1; k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap).
package config

// Names of the mandatory objects. A server always has a FlowSchema and a priority level of
// each name.
const (
	Exempt   = "exempt"
	CatchAll = "catch-all"
)

// Types of a priority level, and of its response to a request for which no seat is free.
const (
	TypeExempt  = "Exempt"
	TypeLimited = "Limited"

	ResponseQueue  = "Queue"
	ResponseReject = "Reject"
)

// Types of distinguisher method. Without a method, all requests of a FlowSchema are one flow.
const (
	ByUser      = "ByUser"
	ByNamespace = "ByNamespace"
)

// Kinds of subject.
const (
	SubjectUser           = "User"
	SubjectGroup          = "Group"
	SubjectServiceAccount = "ServiceAccount"
)

// Wildcard matches everything if it is the only item of a list.
const Wildcard = "*"

// FlowSchema assigns the requests that it matches to flows of a priority level.
type FlowSchema struct {
	Name   string
	Spec   FlowSchemaSpec
	Origin *Origin `json:"-"` // where the object was read; nil for a built-in object
}

// FlowSchemaSpec is the spec of a FlowSchema.
type FlowSchemaSpec struct {
	PriorityLevelConfiguration PriorityLevelReference    `json:"priorityLevelConfiguration" document:"required"`
	MatchingPrecedence         int32                     `json:"matchingPrecedence"` // 1 to 10000; the lowest is tried first
	DistinguisherMethod        *DistinguisherMethod      `json:"distinguisherMethod,omitempty"`
	Rules                      []PolicyRulesWithSubjects `json:"rules,omitempty"`
}

// PriorityLevelReference names a priority level.
type PriorityLevelReference struct {
	Name string `json:"name" document:"required"`
}

// DistinguisherMethod says by which attribute of a request the FlowSchema divides its
// requests into flows: ByUser or ByNamespace.
type DistinguisherMethod struct {
	Type string `json:"type" document:"required"`
}

// PolicyRulesWithSubjects matches a request if at least one subject matches its user and at
// least one rule matches the request itself: one of ResourceRules if the request is for a
// resource, one of NonResourceRules otherwise.
type PolicyRulesWithSubjects struct {
	Subjects         []Subject         `json:"subjects"`
	ResourceRules    []ResourceRule    `json:"resourceRules,omitempty"`
	NonResourceRules []NonResourceRule `json:"nonResourceRules,omitempty"`
}

// Subject matches the user of a request. Exactly one of User, Group and ServiceAccount is
// set, the one that Kind names.
type Subject struct {
	Kind           string                 `json:"kind" document:"required"`
	User           *UserSubject           `json:"user,omitempty"`
	Group          *GroupSubject          `json:"group,omitempty"`
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty"`
}

// UserSubject matches the user with this name, or every user if the name is "*".
type UserSubject struct {
	Name string `json:"name" document:"required"`
}

// GroupSubject matches the members of the group with this name, or every user if the name is "*".
type GroupSubject struct {
	Name string `json:"name" document:"required"`
}

// ServiceAccountSubject matches one service account, or all those of the namespace if the name is "*".
type ServiceAccountSubject struct {
	Namespace string `json:"namespace" document:"required"`
	Name      string `json:"name" document:"required"`
}

// ResourceRule matches a request for a resource if its verb, API group and resource are in
// the lists, and either its namespace is in Namespaces or it has no namespace and
// ClusterScope is true.
type ResourceRule struct {
	Verbs        []string `json:"verbs"`
	APIGroups    []string `json:"apiGroups"`
	Resources    []string `json:"resources"` // resource or resource/subresource
	ClusterScope bool     `json:"clusterScope,omitempty"`
	Namespaces   []string `json:"namespaces,omitempty"`
}

// NonResourceRule matches a request that is not for a resource, by its verb and path.
type NonResourceRule struct {
	Verbs           []string `json:"verbs"`
	NonResourceURLs []string `json:"nonResourceURLs"`
}

// PriorityLevel is a PriorityLevelConfiguration: it says how many seats the requests of the
// level may occupy at the same time, and whether further requests are queued or rejected.
type PriorityLevel struct {
	Name   string
	Spec   PriorityLevelSpec
	Origin *Origin `json:"-"` // where the object was read; nil for a built-in object
}

// PriorityLevelSpec is the spec of a PriorityLevelConfiguration. Exactly one of Limited and
// Exempt is set, the one that Type names.
type PriorityLevelSpec struct {
	Type    string       `json:"type" document:"required"`
	Limited *LimitedSpec `json:"limited,omitempty"`
	Exempt  *ExemptSpec  `json:"exempt,omitempty"`
}

// LimitedSpec configures a level that limits its requests. Invariant: once the defaults are
// filled in, no pointer is nil except BorrowingLimitPercent, where nil means no limit.
type LimitedSpec struct {
	NominalConcurrencyShares *int32        `json:"nominalConcurrencyShares,omitempty"`
	LendablePercent          *int32        `json:"lendablePercent,omitempty"`
	BorrowingLimitPercent    *int32        `json:"borrowingLimitPercent,omitempty"`
	LimitResponse            LimitResponse `json:"limitResponse" document:"required"`
}

// ExemptSpec configures the exempt level.
type ExemptSpec struct {
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares,omitempty"`
	LendablePercent          *int32 `json:"lendablePercent,omitempty"`
}

// LimitResponse says whether a request for which no seat is free is queued or rejected.
type LimitResponse struct {
	Type    string   `json:"type" document:"required"`
	Queuing *Queuing `json:"queuing,omitempty"`
}

// Queuing configures the queues of a level. As in the API, 0 means the default until the
// defaults are filled in.
type Queuing struct {
	Queues           int32 `json:"queues,omitempty"`
	HandSize         int32 `json:"handSize,omitempty"`
	QueueLengthLimit int32 `json:"queueLengthLimit,omitempty"` // requests waiting in one queue
}

// Shares returns the nominal concurrency shares of a level, or 0 if it has none.
func (s *PriorityLevelSpec) Shares() int32 {
	switch {
	case s.Limited != nil && s.Limited.NominalConcurrencyShares != nil:
		return *s.Limited.NominalConcurrencyShares
	case s.Exempt != nil && s.Exempt.NominalConcurrencyShares != nil:
		return *s.Exempt.NominalConcurrencyShares
	}
	return 0
}

// LendablePercent returns how many percent of its nominal seats a level may lend.
func (s *PriorityLevelSpec) LendablePercent() int32 {
	switch {
	case s.Limited != nil && s.Limited.LendablePercent != nil:
		return *s.Limited.LendablePercent
	case s.Exempt != nil && s.Exempt.LendablePercent != nil:
		return *s.Exempt.LendablePercent
	}
	return 0
}

// BorrowingLimitPercent returns how many seats a level may borrow, in percent of its nominal
// seats. If bounded is false, there is no such limit.
func (s *PriorityLevelSpec) BorrowingLimitPercent() (percent int32, bounded bool) {
	if s.Limited != nil && s.Limited.BorrowingLimitPercent != nil {
		return *s.Limited.BorrowingLimitPercent, true
	}
	return 0, false
}

// Queuing returns the configuration of a level's queues, or nil if it has no queues.
func (s *PriorityLevelSpec) Queuing() *Queuing {
	if s.Limited != nil && s.Limited.LimitResponse.Type == ResponseQueue {
		return s.Limited.LimitResponse.Queuing
	}
	return nil
}

// Objects is a configuration: the flow-control objects of a server. Names are unique among
// the objects of one kind.
type Objects struct {
	FlowSchemas    []*FlowSchema
	PriorityLevels []*PriorityLevel
}
