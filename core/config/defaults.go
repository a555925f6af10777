package config

// The defaults that a server fills in for absent fields (k8s.io/kubernetes/pkg/apis/flowcontrol/v1).
const (
	defaultMatchingPrecedence = 1000
	defaultShares             = 30
	defaultQueues             = 64
	defaultHandSize           = 8
	defaultQueueLengthLimit   = 50
)

// setDefaults fills in the defaults of absent fields. It replaces an empty list by nil, so
// that specs which mean the same are equal.
func (s *FlowSchemaSpec) setDefaults() {
	setDefault(&s.MatchingPrecedence, defaultMatchingPrecedence)
	dropEmpty(&s.Rules)
	for i := range s.Rules {
		dropEmpty(&s.Rules[i].ResourceRules)
		dropEmpty(&s.Rules[i].NonResourceRules)
		for j := range s.Rules[i].ResourceRules {
			dropEmpty(&s.Rules[i].ResourceRules[j].Namespaces)
		}
	}
}

// setDefaults fills in the defaults of absent fields.
func (s *PriorityLevelSpec) setDefaults() {
	if s.Type == TypeExempt && s.Exempt == nil {
		s.Exempt = &ExemptSpec{}
	}
	if s.Exempt != nil {
		setDefaultPointer(&s.Exempt.NominalConcurrencyShares, 0)
		setDefaultPointer(&s.Exempt.LendablePercent, 0)
	}
	if s.Limited == nil {
		return
	}
	setDefaultPointer(&s.Limited.NominalConcurrencyShares, defaultShares)
	setDefaultPointer(&s.Limited.LendablePercent, 0)
	if q := s.Limited.LimitResponse.Queuing; q != nil {
		setDefault(&q.Queues, defaultQueues)
		setDefault(&q.HandSize, defaultHandSize)
		setDefault(&q.QueueLengthLimit, defaultQueueLengthLimit)
	}
}

func setDefault(field *int32, value int32) {
	if *field == 0 {
		*field = value
	}
}

func setDefaultPointer(field **int32, value int32) {
	if *field == nil {
		*field = &value
	}
}

func dropEmpty[T any](list *[]T) {
	if len(*list) == 0 {
		*list = nil
	}
}
