// Package config holds the two kinds of object that configure API Priority and Fairness:
// it decodes them strictly, fills in defaults, validates them, and knows the mandatory
// and suggested ones (k8s.io/api/flowcontrol/v1; k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap).
package config

// Names of the objects that a server always has.
const (
	Exempt   = "exempt"
	CatchAll = "catch-all"
)

// Types of a priority level, and of its response to a request that finds no free seat.
const (
	TypeExempt  = "Exempt"
	TypeLimited = "Limited"

	ResponseQueue  = "Queue"
	ResponseReject = "Reject"
)

// Ways to tell the flows of a FlowSchema apart; the empty one makes a single flow.
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

// Wildcard matches everything in a list that it is the only item of.
const Wildcard = "*"

// FlowSchema assigns the requests that it matches to flows of a priority level.
type FlowSchema struct {
	Name   string
	Spec   FlowSchemaSpec
	Origin *Origin `json:"-"` // nil for an object that was not read
}

// FlowSchemaSpec is the spec of a FlowSchema.
type FlowSchemaSpec struct {
	PriorityLevelConfiguration PriorityLevelReference    `json:"priorityLevelConfiguration" document:"required"`
	MatchingPrecedence         int32                     `json:"matchingPrecedence"` // 1 to 10000, the least is tried first
	DistinguisherMethod        *DistinguisherMethod      `json:"distinguisherMethod,omitempty"`
	Rules                      []PolicyRulesWithSubjects `json:"rules,omitempty"`
}

// PriorityLevelReference names a priority level.
type PriorityLevelReference struct {
	Name string `json:"name" document:"required"`
}

// DistinguisherMethod says what tells the flows of a FlowSchema apart: ByUser or ByNamespace.
type DistinguisherMethod struct {
	Type string `json:"type" document:"required"`
}

// PolicyRulesWithSubjects matches a request when one subject does and one resource rule
// (for a resource request) or one non-resource rule (for another) does.
type PolicyRulesWithSubjects struct {
	Subjects         []Subject         `json:"subjects"`
	ResourceRules    []ResourceRule    `json:"resourceRules,omitempty"`
	NonResourceRules []NonResourceRule `json:"nonResourceRules,omitempty"`
}

// Subject matches who asks. Exactly the field that belongs to Kind is set.
type Subject struct {
	Kind           string                 `json:"kind" document:"required"`
	User           *UserSubject           `json:"user,omitempty"`
	Group          *GroupSubject          `json:"group,omitempty"`
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty"`
}

// UserSubject matches a user by name, or everyone by "*".
type UserSubject struct {
	Name string `json:"name" document:"required"`
}

// GroupSubject matches the members of a group, or everyone by "*".
type GroupSubject struct {
	Name string `json:"name" document:"required"`
}

// ServiceAccountSubject matches a service account, or by the name "*" all of a namespace.
type ServiceAccountSubject struct {
	Namespace string `json:"namespace" document:"required"`
	Name      string `json:"name" document:"required"`
}

// ResourceRule matches a resource request when each of its lists does and, for a request
// without a namespace, ClusterScope is true.
type ResourceRule struct {
	Verbs        []string `json:"verbs"`
	APIGroups    []string `json:"apiGroups"`
	Resources    []string `json:"resources"` // resource or resource/subresource
	ClusterScope bool     `json:"clusterScope,omitempty"`
	Namespaces   []string `json:"namespaces,omitempty"`
}

// NonResourceRule matches a request that is not for a resource by verb and path.
type NonResourceRule struct {
	Verbs           []string `json:"verbs"`
	NonResourceURLs []string `json:"nonResourceURLs"`
}

// PriorityLevel is a PriorityLevelConfiguration: how many requests of some kind run at
// once, and what becomes of the others.
type PriorityLevel struct {
	Name   string
	Spec   PriorityLevelSpec
	Origin *Origin `json:"-"` // nil for an object that was not read
}

// PriorityLevelSpec is the spec of a PriorityLevelConfiguration. Exactly the field that
// belongs to Type is set.
type PriorityLevelSpec struct {
	Type    string       `json:"type" document:"required"`
	Limited *LimitedSpec `json:"limited,omitempty"`
	Exempt  *ExemptSpec  `json:"exempt,omitempty"`
}

// LimitedSpec configures a level that limits its requests. The pointers are nil only
// before defaulting, but for BorrowingLimitPercent, where nil means no limit.
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

// LimitResponse says what becomes of a request that finds no free seat: Queue or Reject.
type LimitResponse struct {
	Type    string   `json:"type" document:"required"`
	Queuing *Queuing `json:"queuing,omitempty"`
}

// Queuing configures the queues of a level. Zero values stand for the defaults, as in
// the API, until defaulting has replaced them.
type Queuing struct {
	Queues           int32 `json:"queues,omitempty"`
	HandSize         int32 `json:"handSize,omitempty"`
	QueueLengthLimit int32 `json:"queueLengthLimit,omitempty"` // requests waiting in one queue
}

// Shares returns the nominal concurrency shares of a level, 0 when it has none.
func (s *PriorityLevelSpec) Shares() int32 {
	switch {
	case s.Limited != nil && s.Limited.NominalConcurrencyShares != nil:
		return *s.Limited.NominalConcurrencyShares
	case s.Exempt != nil && s.Exempt.NominalConcurrencyShares != nil:
		return *s.Exempt.NominalConcurrencyShares
	}
	return 0
}

// LendablePercent returns which part of its seats a level lends, in percent.
func (s *PriorityLevelSpec) LendablePercent() int32 {
	switch {
	case s.Limited != nil && s.Limited.LendablePercent != nil:
		return *s.Limited.LendablePercent
	case s.Exempt != nil && s.Exempt.LendablePercent != nil:
		return *s.Exempt.LendablePercent
	}
	return 0
}

// BorrowingLimitPercent returns how much a level may borrow, in percent of its nominal
// limit, and whether there is such a bound at all.
func (s *PriorityLevelSpec) BorrowingLimitPercent() (percent int32, bounded bool) {
	if s.Limited != nil && s.Limited.BorrowingLimitPercent != nil {
		return *s.Limited.BorrowingLimitPercent, true
	}
	return 0, false
}

// Queuing returns the queues of a level that has them, nil for another.
func (s *PriorityLevelSpec) Queuing() *Queuing {
	if s.Limited != nil && s.Limited.LimitResponse.Type == ResponseQueue {
		return s.Limited.LimitResponse.Queuing
	}
	return nil
}

// Objects is a configuration: what a server has been given to work with.
type Objects struct {
	FlowSchemas    []*FlowSchema
	PriorityLevels []*PriorityLevel
}
