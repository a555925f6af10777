// Schema writes sim/scenario/schema.json, the JSON Schema of scenario documents. It derives it from the Go types that decode
// them, and knows what their tags do not say.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"

	"github.com/invopop/jsonschema"
)

type schema = jsonschema.Schema

func main() {
	text, err := generate()
	if err == nil {
		err = os.WriteFile("../../sim/scenario/schema.json", text, 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

// generate returns the schema.
func generate() ([]byte, error) {
	known, used := definitions(), jsonschema.Definitions{}
	mapper := func(t reflect.Type) *schema {
		if t.Name() == "scalar" { // of quantity.UnknownKinds
			return &schema{OneOf: []*schema{{Type: "string"}, {Type: "number"}}, Description: "A value as the field has it."}
		}
		if known[t.Name()] == nil {
			return nil
		}
		used[t.Name()] = known[t.Name()]
		return reference(t.Name())
	}
	kinds := func(of any) *schema {
		s := (&jsonschema.Reflector{DoNotReference: true, Anonymous: true, Mapper: mapper}).Reflect(of)
		s.Version = ""
		return oneField(s, "")
	}
	known["Distribution"] = &schema{OneOf: []*schema{reference("Duration"), kinds(quantity.DistributionKinds{})},
		Description: "A distribution of durations: a duration alone, which is constant, or one of the kinds."}
	known["Unknown"] = kinds(quantity.UnknownKinds{})
	known["Unknown"].Description = "The distribution of a value that is not known."

	s := (&jsonschema.Reflector{Mapper: mapper}).Reflect(scenario.Scenario{})
	s.ID, s.Title = "", "apfsim scenario"
	complete(s.Definitions)
	maps.Copy(s.Definitions, used)
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// definitions returns, by their names, the types that decode themselves from something else than their fields.
func definitions() map[string]*schema {
	duration := []*schema{
		{Type: "string", Pattern: `^\+?([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$|^0$`},
		{Const: 0},
	}
	span := &schema{OneOf: duration, Description: "A time span, such as 500ms, 60s or 1h30m."}

	var gates []property
	for _, gate := range rules.Gates() {
		gates = append(gates, property{gate, &schema{Type: "boolean"}})
	}

	releases := rules.Versions()
	oldest, newest := releases[0], releases[len(releases)-1]
	each := schema{Type: "string", Pattern: `^v?1\.[1-9][0-9]*(\.(0|[1-9][0-9]*))?([-+].*)?$`, Description: fmt.Sprintf(
		"Release of the servers: a minor release from %s to %s, which stands for its newest patch release, or a patch release; also as kubectl prints it, such as v1.33.4-gke.100.", oldest, newest)}
	version := each
	version.Default, version.Examples = rules.Default().Version, []any{rules.Default().Version, oldest}

	var metrics []string
	for _, m := range metric.All() {
		metrics = append(metrics, m.Name)
	}
	expression := &schema{Type: "string", Pattern: `(<|<=|>|>=|==|!=)`}
	threshold := with(&schema{Type: "object", Required: []string{"threshold"}, AdditionalProperties: jsonschema.FalseSchema},
		property{"threshold", expression}, property{"over", span},
		property{"kind", &schema{Type: "string", Enum: []any{metric.Goal, metric.Expect}, Default: metric.Goal,
			Description: "goal: what is wanted of the server; expect: what the scenario shows, which may be harm."}})

	return map[string]*schema{
		"AdjustmentPhase": {OneOf: append([]*schema{{Const: "random"}}, duration...), Default: "0s",
			Description: "When the limits of the priority levels are adjusted: so long after the server's start, and then every 10s; at least 0s and less than 10s. Or random: drawn for each server and each seed."},
		"Bytes": {OneOf: []*schema{{Type: "string", Pattern: `^ *\+?([0-9]+\.?[0-9]*|\.[0-9]+) *(k|M|G|T|Ki|Mi|Gi|Ti)?B?$`}, {Type: "integer", Minimum: "0"}},
			Description: "A number of bytes, such as 512MiB or 16GiB."},
		"Duration": span,
		"FeatureGates": with(&schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema,
			Description: "--feature-gates, those on which flow control depends; each must exist in the release and not be locked."}, gates...),
		"InlineObjects": {Type: "array", Items: with(&schema{Type: "object", Required: []string{"apiVersion", "kind"}},
			property{"apiVersion", &schema{Type: "string"}},
			property{"kind", &schema{Type: "string", Enum: []any{"FlowSchema", "PriorityLevelConfiguration", "List", "FlowSchemaList", "PriorityLevelConfigurationList"}}}),
			Description: "FlowSchemas and PriorityLevelConfigurations, as in a file; they replace those of the same name."},
		"Instant": {Type: "string", Format: "date-time", Description: "A time of day on a date, such as 2026-11-22T14:03:00Z."},
		"Rate": {Type: "string", Pattern: `^ *[+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? */ *[smh] *$`,
			Description: "Events per second, minute or hour, such as 100/s, 5/m or 10/h."},
		"Thresholds": {Type: "object", PropertyNames: &schema{Pattern: `^\s*(` + strings.Join(slices.Compact(metrics), "|") + `)\s*(\{.*\})?\s*$`},
			AdditionalProperties: &schema{Type: "array", MinItems: one, Items: &schema{OneOf: []*schema{expression, threshold}}},
			Description: "What must hold when the run ends: metric{tag:value}: [expressions], such as \"wait{workload:mice}\": [\"p(99) < 100ms\"]. " +
				"An object {threshold: expression, over: 10s} must hold in every window of that length; with kind: expect it says what the scenario shows, and not what is wanted."},
		"Versions": {OneOf: []*schema{&version, {Type: "array", Items: &each, MinItems: one}}, Default: version.Default,
			Description: "Release of all servers, or a list with one for each."},
		"Warmup": {OneOf: []*schema{reference("Duration"), {Const: "auto"}}, Description: "A time span, such as 500ms, 60s or 1h30m, or auto."},
		"WatchCache": {OneOf: []*schema{{Type: "boolean"}, {Type: "array", Items: &schema{Type: "string"}}}, Default: true,
			Description: "Whether the servers have watch caches; or a list of the resources without one, such as configmaps or deployments.apps. Events never have one."},
	}
}

// complete adds to types with fields what no tag of a field says.
func complete(defs jsonschema.Definitions) {
	oneField(defs["Arrivals"], "When a client sends its requests: one of the processes. Rates are per client, but for total.")
	oneField(defs["SteadyArrivals"], "The rate of each client, or in total that of all of them.")
	oneField(defs["Behaviour"], "What the clients do, in the place of request and arrivals: one of the behaviours.")

	orNamed(defs["Conflict"], "", "None", "None", "Default", "Backoff")
	orNamed(defs["Costs"], "What serving a request takes of a server's processor time; Default, or the costs that differ.", "Default", "Default")
	orNamed(defs["Probes"], "How the kubelets of the servers probe and restart them: Kubeadm for the probes that kubeadm gives to a server of the release of the first server, "+
		"or the probes; without it, only events and startup.restartAfter start a server again.", nil, "Kubeadm")
	orNamed(defs["Queue"], "", "Default", "Default")
	orNamed(defs["Retry"], "What a client does after a request that has failed: None gives up; ClientGo sends it again after Retry-After, or a second after the connection broke if it only reads, up to 10 times; or the parameters.",
		"None", "None", "ClientGo")

	event, identity, workload := defs["Event"], defs["Identity"], defs["Workload"]
	for field := event.Properties.Oldest().Next(); field != nil; field = field.Next() { // all but the first, at
		event.OneOf = append(event.OneOf, &schema{Required: []string{field.Key}})
	}
	identity.OneOf = oneOf("user", "serviceAccount", "node", "anonymous")
	identity.DependentRequired = map[string][]string{"groups": {"user"}}
	identity.Properties.Value("anonymous").Const = true
	defs["Request"].OneOf, defs["WeightedRequest"].OneOf = oneOf("resource", "path"), oneOf("resource", "path")
	workload.If = with(&schema{Required: []string{"arrivals"}}, property{"arrivals", &schema{Required: []string{"trace"}}})
	workload.Then = &schema{Not: &schema{AnyOf: oneOf("as", "request", "requests", "execution")}}
	workload.Else = &schema{Required: []string{"as"}, OneOf: []*schema{
		{Required: []string{"request", "arrivals"}}, {Required: []string{"requests", "arrivals"}}, {Required: []string{"behaviour"}}}}
}

var one = new(uint64(1))

func reference(name string) *schema { return &schema{Ref: "#/$defs/" + name} }

type property struct {
	name string
	of   *schema
}

// with adds properties to a schema.
func with(s *schema, properties ...property) *schema {
	s.Properties = jsonschema.NewProperties()
	for _, p := range properties {
		s.Properties.Set(p.name, p.of)
	}
	return s
}

// oneField says that an object has exactly one of its fields.
func oneField(s *schema, description string) *schema {
	s.MinProperties, s.MaxProperties, s.Description = one, one, description
	return s
}

// oneOf returns a schema for each of the fields: an object that has it.
func oneOf(fields ...string) (all []*schema) {
	for _, f := range fields {
		all = append(all, &schema{Required: []string{f}})
	}
	return all
}

// orNamed lets an object be one of some names, too.
func orNamed(s *schema, description string, byDefault any, names ...any) {
	object := *s
	*s = schema{OneOf: []*schema{{Type: "string", Enum: names}, &object}, Description: description, Default: byDefault}
}
