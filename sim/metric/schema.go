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
			Items:    &jsonschema.Schema{OneOf: []*jsonschema.Schema{expressionSchema, objectSchema()}},
		},
		Description: "What must hold when the run ends: metric{tag:value}: [expressions], such as \"wait{workload:mice}\": [\"p(99) < 100ms\"]. " +
			"An object {threshold: expression, over: 10s} must hold in every window of that length; with kind: expect it says what the scenario shows, and not what is wanted.",
	}
}

var expressionSchema = &jsonschema.Schema{Type: "string", Pattern: `(<|<=|>|>=|==|!=)`}

// objectSchema describes an expression with what goes with it.
func objectSchema() *jsonschema.Schema {
	fields := jsonschema.NewProperties()
	fields.Set("threshold", expressionSchema)
	fields.Set("over", quantity.Duration(0).JSONSchema())
	fields.Set("kind", &jsonschema.Schema{Type: "string", Enum: []any{string(Goal), string(Expect)}, Default: string(Goal),
		Description: "goal: what is wanted of the server; expect: what the scenario shows, which may be harm."})
	return &jsonschema.Schema{Type: "object", Properties: fields, Required: []string{"threshold"},
		AdditionalProperties: jsonschema.FalseSchema}
}
