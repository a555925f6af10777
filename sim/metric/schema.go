package metric

import (
	"strings"

	"apfsim/sim/quantity"

	"github.com/invopop/jsonschema"
)

// JSONSchema describes the type.
func (Thresholds) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	return &jsonschema.Schema{
		Type:          "object",
		PropertyNames: &jsonschema.Schema{Pattern: `^\s*(` + strings.Join(names(), "|") + `)\s*(\{.*\})?\s*$`},
		AdditionalProperties: &jsonschema.Schema{
			Type:     "array",
			MinItems: &one,
			Items:    &jsonschema.Schema{OneOf: []*jsonschema.Schema{expressionSchema, windowedSchema()}},
		},
		Description: "What must hold when the run ends: metric{tag:value}: [expressions], such as \"wait{workload:mice}\": [\"p(99) < 100ms\"]. " +
			"An object {threshold: expression, over: 10s} must hold in every window of that length.",
	}
}

var expressionSchema = &jsonschema.Schema{Type: "string", Pattern: `(<|<=|>|>=|==|!=)`}

// windowedSchema describes an expression that must hold in every window.
func windowedSchema() *jsonschema.Schema {
	fields := jsonschema.NewProperties()
	fields.Set("threshold", expressionSchema)
	fields.Set("over", quantity.Duration(0).JSONSchema())
	return &jsonschema.Schema{Type: "object", Properties: fields, Required: []string{"threshold"},
		AdditionalProperties: jsonschema.FalseSchema}
}
