package scenario

import (
	"encoding/json"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema (draft 2020-12) of a scenario document. It is what an
// editor can know: Load checks more.
func Schema() ([]byte, error) {
	s := new(jsonschema.Reflector).Reflect(Scenario{})
	s.ID = ""
	s.Title = "apfsim scenario"
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

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
	s.Else = &jsonschema.Schema{Required: []string{"as"}, OneOf: requireOneOf("request", "requests")}
}

// JSONSchema describes the type.
func (InlineObjects) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set("apiVersion", &jsonschema.Schema{Type: "string"})
	properties.Set("kind", &jsonschema.Schema{Type: "string", Enum: []any{
		"FlowSchema", "PriorityLevelConfiguration", "List", "FlowSchemaList", "PriorityLevelConfigurationList"}})
	return &jsonschema.Schema{
		Type: "array",
		Items: &jsonschema.Schema{
			Type:       "object",
			Properties: properties,
			Required:   []string{"apiVersion", "kind"},
		},
		Description: "FlowSchemas and PriorityLevelConfigurations, as in a file; they replace those of the same name.",
	}
}
