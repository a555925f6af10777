package workload

import "github.com/invopop/jsonschema"

var one = func() *uint64 { n := uint64(1); return &n }()

// requireOneOf returns a schema for each of the fields: an object that has it.
func requireOneOf(fields ...string) []*jsonschema.Schema {
	schemas := make([]*jsonschema.Schema, len(fields))
	for i, f := range fields {
		schemas[i] = &jsonschema.Schema{Required: []string{f}}
	}
	return schemas
}

// JSONSchemaExtend completes the description of the type.
func (Arrivals) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Description = "When a client sends its requests: one of the processes. Rates are per client."
	s.MinProperties, s.MaxProperties = one, one
}

// JSONSchemaExtend completes the description of the type.
func (Identity) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = requireOneOf(identityKinds...)
	s.DependentRequired = map[string][]string{"groups": {"user"}}
	if anonymous, ok := s.Properties.Get("anonymous"); ok {
		anonymous.Const = true
	}
}

// JSONSchemaExtend completes the description of the type.
func (Request) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = requireOneOf("resource", "path")
}

// JSONSchemaExtend completes the description of the type.
func (WeightedRequest) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = requireOneOf("resource", "path")
}

// JSONSchemaExtend completes the description of the type.
func (Workload) JSONSchemaExtend(s *jsonschema.Schema) {
	trace := jsonschema.NewProperties()
	trace.Set("arrivals", &jsonschema.Schema{Required: []string{"trace"}})
	s.If = &jsonschema.Schema{Properties: trace}
	s.Then = &jsonschema.Schema{Not: &jsonschema.Schema{AnyOf: requireOneOf("as", "request", "requests", "execution")}}
	requests := requireOneOf("request", "requests")
	for _, r := range requests {
		r.Required = append(r.Required, "arrivals")
	}
	s.Else = &jsonschema.Schema{Required: []string{"as"}, OneOf: append(requests, requireOneOf("behaviour")...)}
}
