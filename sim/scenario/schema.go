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
