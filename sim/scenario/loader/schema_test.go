package loader

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/server"
)

// schemaChecker knows as much of JSON Schema as the scenario's schema uses, and refuses
// what it does not know.
type schemaChecker struct {
	t    *testing.T
	defs map[string]any
}

func newSchemaChecker(t *testing.T) (*schemaChecker, map[string]any) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal([]byte(scenario.Schema), &root); err != nil {
		t.Fatal(err)
	}
	return &schemaChecker{t, root["$defs"].(map[string]any)}, root
}

// check returns why the value does not conform, "" when it does.
func (c *schemaChecker) check(schema any, n *document.Node, path string) string {
	if schema == true {
		return ""
	}
	if schema == false {
		return path + " is not allowed"
	}
	s := schema.(map[string]any)
	count := func(schemas any) (ok int, last string) {
		for _, one := range schemas.([]any) {
			if problem := c.check(one, n, path); problem == "" {
				ok++
			} else {
				last = problem
			}
		}
		return ok, last
	}
	fields := map[string]*document.Node{}
	for _, f := range n.Fields {
		fields[f.Name] = f.Value
	}
	number := func() (f float64) { fmt.Sscan(n.Text, &f); return f }
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		problem := ""
		switch v := s[keyword]; keyword {
		case "$schema", "$defs", "title", "description", "default", "examples":
		case "$ref":
			problem = c.check(c.defs[strings.TrimPrefix(v.(string), "#/$defs/")], n, path)
		case "type":
			kinds := map[string]document.Kind{"object": document.Object, "array": document.List, "string": document.String,
				"boolean": document.Bool, "number": document.Number, "integer": document.Number}
			if n.Kind != kinds[v.(string)] || v == "integer" && strings.ContainsAny(n.Text, ".eE") {
				problem = fmt.Sprintf("%s is %v, not %v", path, n.Kind, v)
			}
		case "properties":
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				if sub, ok := v.(map[string]any)[name]; ok && problem == "" {
					problem = c.check(sub, fields[name], path+"."+name)
				}
			}
		case "additionalProperties":
			known, _ := s["properties"].(map[string]any)
			for name, value := range fields {
				if _, ok := known[name]; !ok {
					problem = c.check(v, value, path+"."+name)
				}
			}
		case "propertyNames":
			for name := range fields {
				problem += c.check(v, &document.Node{Kind: document.String, Text: name}, path+"."+name)
			}
		case "required":
			for _, name := range v.([]any) {
				if n.Kind == document.Object && fields[name.(string)] == nil {
					problem = path + " lacks " + name.(string)
				}
			}
		case "dependentRequired":
			for name, others := range v.(map[string]any) {
				for _, other := range others.([]any) {
					if fields[name] != nil && fields[other.(string)] == nil {
						problem = path + " lacks " + other.(string)
					}
				}
			}
		case "items":
			for i, item := range n.Items {
				problem += c.check(v, item, fmt.Sprintf("%s[%d]", path, i))
			}
		case "enum":
			if !slices.ContainsFunc(v.([]any), func(one any) bool { return fmt.Sprint(one) == n.Text }) {
				problem = fmt.Sprintf("%s: %s is none of %v", path, n.Text, v)
			}
		case "const":
			if fmt.Sprint(v) != n.Text {
				problem = fmt.Sprintf("%s: %s is not %v", path, n.Text, v)
			}
		case "pattern":
			if n.Kind == document.String && !regexp.MustCompile(v.(string)).MatchString(n.Text) {
				problem = fmt.Sprintf("%s: %s does not match %v", path, n.Text, v)
			}
		case "minLength", "maxLength":
			if length := float64(utf8.RuneCountInString(n.Text)); n.Kind == document.String &&
				(keyword == "minLength" && length < v.(float64) || keyword == "maxLength" && length > v.(float64)) {
				problem = path + " is too short or long"
			}
		case "minimum", "maximum", "exclusiveMinimum":
			if f := number(); n.Kind == document.Number && (keyword == "minimum" && f < v.(float64) ||
				keyword == "maximum" && f > v.(float64) || keyword == "exclusiveMinimum" && f <= v.(float64)) {
				problem = path + " is out of bounds"
			}
		case "minItems":
			if n.Kind == document.List && len(n.Items) < int(v.(float64)) {
				problem = path + " has too few items"
			}
		case "minProperties", "maxProperties":
			if size := float64(len(fields)); n.Kind == document.Object &&
				(keyword == "minProperties" && size < v.(float64) || keyword == "maxProperties" && size > v.(float64)) {
				problem = path + " has too few or many fields"
			}
		case "oneOf":
			if ok, last := count(v); ok != 1 {
				problem = fmt.Sprintf("%s: %d alternatives match, not one; %s", path, ok, last)
			}
		case "anyOf":
			if ok, last := count(v); ok == 0 {
				problem = last
			}
		case "not":
			if c.check(v, n, path) == "" {
				problem = path + " is what it must not be"
			}
		case "if":
			branch := s["else"]
			if c.check(v, n, path) == "" {
				branch = s["then"]
			}
			problem = c.check(branch, n, path)
		case "then", "else":
		default:
			c.t.Fatalf("%s: the schema uses %s, which the test does not know", path, keyword)
		}
		if problem != "" {
			return problem
		}
	}
	return ""
}

// conforms returns why the first document of text does not conform, "" when it does.
func (c *schemaChecker) conforms(schema any, text string) string {
	docs, mistakes := yaml.Parse("", []byte(text))
	if len(docs) == 0 {
		c.t.Fatal(mistakes)
	}
	return c.check(schema, docs[0].Root, "")
}

// writes is a workload that writes, without the end of its behaviour.
const writes = "as: {user: a}\nbehaviour: {writer: {resource: configmaps, every: 1s, "

func TestSchemaTakesScenarios(t *testing.T) {
	c, root := newSchemaChecker(t)
	texts := map[string]string{
		"the documentation's": exampleScenario,
		"the smallest":        withSpec(""),
		"a trace":             withWorkload("arrivals: {trace: {file: t}}"),
		"much of it": withWorkload("as: {user: a, groups: [b]}\nrequests:\n- {verb: get, path: /healthz, weight: 0.5, execution: 0}\n" +
			"- {verb: watch, resource: pods, watch: {duration: 5m}}\nexecution: {empirical: {values: [1ms, 2ms], weights: [1, 2]}}\n" +
			"arrivals: {ramping: {stages: [{duration: 1m, rate: 5/m}]}}\nretry: {backoff: {initial: 1s}}\nrateLimit: {qps: 5, burst: 10}"),
		"inline objects": withSpec("config:\n    objects:\n    - " + strings.ReplaceAll(strings.TrimSpace(batchLevel), "\n", "\n      ")),
		"windows":        withSpec("thresholds: {wait: [max < 1s, {threshold: max < 1s, over: 10s}]}"),
		"a release":      withSpec("servers: {kubernetesVersion: \"1.20\"}"),
		"a source":       sourced,
		"a patch":        withSpec("servers: {kubernetesVersion: 1.26.8}"),
		"feature gates":  withSpec("servers: {featureGates: {WatchList: false}}"),
		"a phase":        withSpec("servers: {adjustmentPhase: 3s}"),
		"no phase":       withSpec("servers: {adjustmentPhase: 0}"),
		"a random phase": withSpec("servers: {adjustmentPhase: random}"),
		"auto":           withSpec("warmup: auto"),
		"no conflicts":   withWorkload(writes + "retryOnConflict: None}}"),
		"conflicts":      withWorkload(writes + "retryOnConflict: Backoff}}"),
		"some conflicts": withWorkload(writes + "retryOnConflict: {steps: 3, duration: 20ms}}}"),
		"ClientGo":       withWorkload(asks + "execution: 1ms\nretry: ClientGo\narrivals: {closed: {}}"),
	}
	library, err := filepath.Glob("../../../scenarios/*.yaml")
	if err != nil || len(library) == 0 {
		t.Fatal("no scenarios: ", err)
	}
	for _, name := range library {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		if problem := c.conforms(root, text); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// The schema names the oldest and the newest release.
func TestSchemaOfAVersion(t *testing.T) {
	c, _ := newSchemaChecker(t)
	text, usual := fmt.Sprint(c.defs["Versions"]), rules.Default().Version
	for _, want := range []string{"default:" + usual, "examples:[" + usual + " 1.18]", "from 1.18 to " + rules.Latest().Version + ","} {
		if !strings.Contains(text, want) {
			t.Errorf("the schema of a version does not say %q; run make schema: %s", want, text)
		}
	}
}

func TestSchemaRefusesWhatLoadRefuses(t *testing.T) {
	c, root := newSchemaChecker(t)
	const takes = "execution: 1ms\n"
	const arrives = "arrivals: {poisson: {rate: 1/s}}\n"
	for name, text := range map[string]string{
		"an unknown field":       withSpec("sed: 1"),
		"another version":        strings.Replace(withSpec(""), "v1alpha1", "v1", 1),
		"a number as duration":   withSpec("warmup: 5"),
		"a misspelt auto":        withSpec("warmup: Auto"),
		"auto as duration":       strings.Replace(withSpec(""), "duration: 60s", "duration: auto", 1),
		"another flow control":   withSpec("servers: {flowControl: Some}"),
		"a phase without unit":   withSpec("servers: {adjustmentPhase: 3}"),
		"a phase misspelt":       withSpec("servers: {adjustmentPhase: Random}"),
		"no release":             withSpec("servers: {kubernetesVersion: x1.26}"),
		"an unknown gate":        withSpec("servers: {featureGates: {WatchLists: false}}"),
		"a gate half open":       withSpec("servers: {featureGates: {WatchList: half}}"),
		"too many replicas":      withSpec("servers: {replicas: 101}"),
		"no name":                strings.Replace(withSpec(""), "{name: smallest}", "{}", 1),
		"a name with capitals":   strings.Replace(withSpec(""), "smallest", "Small", 1),
		"two processes":          withWorkload(asks + takes + "arrivals: {poisson: {rate: 1/s}, closed: {}}"),
		"no process":             withWorkload(asks + takes + "arrivals: {}"),
		"a rate without unit":    withWorkload(asks + takes + "arrivals: {poisson: {rate: 100}}"),
		"two distributions":      withWorkload(asks + arrives + "execution: {constant: 1s, exponential: {mean: 1s}}"),
		"no request":             withWorkload("as: {user: a}\n" + takes + arrives),
		"nobody":                 withWorkload("request: {verb: get, path: /version}\n" + takes + arrives),
		"two identities":         withWorkload("as: {user: a, node: b}\nrequest: {verb: get, path: /version}\n" + takes + arrives),
		"groups of a node":       withWorkload("as: {node: b, groups: [c]}\nrequest: {verb: get, path: /version}\n" + takes + arrives),
		"anonymous: false":       withWorkload("as: {anonymous: false}\nrequest: {verb: get, path: /version}\n" + takes + arrives),
		"resource and path":      withWorkload("as: {user: a}\nrequest: {verb: get, path: /version, resource: pods}\n" + takes + arrives),
		"a trace with identity":  withWorkload("as: {user: a}\narrivals: {trace: {file: t}}"),
		"an unknown retry":       withWorkload(asks + takes + arrives + "retry: Sometimes"),
		"an unknown conflict":    withWorkload(writes + "retryOnConflict: Never}}"),
		"a threshold on nothing": withSpec("thresholds: {wiat: [max < 1s]}"),
		"a threshold by itself":  withSpec("thresholds: {wait: max < 1s}"),
		"windows without unit":   withSpec("thresholds: {wait: [{threshold: max < 1s, over: 10}]}"),
		"windows of nothing":     withSpec("thresholds: {wait: [{over: 10s}]}"),
		"windows misspelt":       withSpec("thresholds: {wait: [{threshold: max < 1s, ovr: 10s}]}"),
	} {
		if c.conforms(root, text) == "" {
			t.Errorf("%s conforms to the schema", name)
		}
		if _, mistakes := Load(files("s.yaml", text), "s.yaml", Options{}); len(mistakes) == 0 {
			t.Errorf("%s loads", name)
		}
	}
}

// The schema takes a field for required when its tag lacks omitempty, the decoder when it
// is tagged so: both must say the same.
func TestTagsAgreeOnWhatIsRequired(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), "apfsim/sim/") {
			return
		}
		seen[typ] = true
		for _, f := range reflect.VisibleFields(typ) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			if required := strings.HasPrefix(f.Tag.Get("document"), "required"); required == (options == "omitempty") {
				t.Errorf("%v.%s: the tags disagree", typ, f.Name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[scenario.Scenario]())
	if len(seen) < 20 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

// What a tag says of a field holds when a document is decoded: a field that is left out has the default, and a value
// that is out of bounds or not among those of an enumeration is an error.
func TestDecodingHonoursEveryTag(t *testing.T) {
	checked := map[string]int{}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || !strings.HasPrefix(typ.PkgPath(), "apfsim/sim/") {
			return
		}
		seen[typ] = true
		for _, f := range reflect.VisibleFields(typ) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				for _, tag := range strings.Split(f.Tag.Get("jsonschema")+","+f.Tag.Get("document"), ",") {
					keyword, value, _ := strings.Cut(tag, "=")
					if !f.Type.AssignableTo(reflect.TypeFor[bool]()) || keyword != "enum" { // anonymous: true is for editors
						checkTag(t, typ, f, name, keyword, value)
						checked[keyword]++
					}
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[scenario.Scenario]())
	for keyword, least := range map[string]int{"default": 70, "enum": 40, "minimum": 25, "exclusiveMinimum": 15, "maximum": 40} {
		if checked[keyword] < least {
			t.Errorf("%d tags with %s were checked, want %d or more", checked[keyword], keyword, least)
		}
	}
}

// The bounds of options of the command line are those of the fields whose place the options take.
func TestOptionsHaveTheBoundsOfFields(t *testing.T) {
	for _, bound := range []struct {
		field string
		most  int
	}{{"replications", scenario.MostReplications}, {"servers.replicas", server.MostReplicas}} {
		for beyond := range 2 {
			set := assign.New("--set", []string{fmt.Sprintf("spec.%s=%d", bound.field, bound.most+beyond)})
			if _, mistakes := Load(files("s.yaml", withSpec("")), "s.yaml", Options{Set: set}); len(mistakes) != beyond {
				t.Errorf("%s=%d: %v", bound.field, bound.most+beyond, mistakes)
			}
		}
	}
}

// checkTag checks that decoding honours one keyword of the tag of a field.
func checkTag(t *testing.T, typ reflect.Type, f reflect.StructField, name, keyword, value string) {
	t.Helper()
	// decode returns the field of a value of the type that has the field only, or nothing.
	decode := func(given *document.Node) (field reflect.Value, failed bool) {
		n := &document.Node{Kind: document.Object}
		if given != nil {
			n.Fields = []document.Field{{Name: name, Value: given}}
		}
		into := reflect.New(typ)
		var d document.Decoder // that required fields are missing does not matter
		d.Decode(n, "", into.Interface())
		return reflect.Indirect(into.Elem().FieldByIndex(f.Index)), slices.ContainsFunc(d.Errors, func(e document.Error) bool {
			return document.Within(e.Path, name) && e.Message != "is missing"
		})
	}
	// node returns a value of the field's type, moved by a step if it is a number.
	node := func(text string, step float64) *document.Node {
		if rate, is := strings.CutSuffix(text, "/s"); is {
			x, _ := strconv.ParseFloat(rate, 64)
			return &document.Node{Kind: document.String, Text: fmt.Sprintf("%g/s", x+step)}
		}
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return &document.Node{Kind: document.Number, Text: strconv.FormatFloat(x+step, 'f', -1, 64)}
		}
		if d, err := time.ParseDuration(text); err == nil {
			text = (d + time.Duration(step*1e9)).String()
		}
		return &document.Node{Kind: document.String, Text: text}
	}
	refused := func(n *document.Node, want bool) {
		if _, failed := decode(n); failed != want {
			t.Errorf("%v.%s: %s=%s: that %s is refused is %v", typ, f.Name, keyword, value, n.Text, failed)
		}
	}
	switch keyword {
	case "default":
		given := node(value, 0)
		if value == "true" {
			given.Kind = document.Bool
		}
		want, failed := decode(given)
		if got, _ := decode(nil); failed || !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%v.%s: the default is %v, the tag says %s", typ, f.Name, got, value)
		}
	case "enum":
		one, another := node(value, 0), node(value+"x", 0)
		if f.Type.Kind() == reflect.Slice {
			one = &document.Node{Kind: document.List, Items: []*document.Node{one}}
			another = &document.Node{Kind: document.List, Items: []*document.Node{another}}
		}
		refused(one, false)
		refused(another, true)
	case "minimum":
		refused(node(value, 0), false)
		refused(node(value, -1), true)
	case "exclusiveMinimum":
		refused(node(value, 0), true)
		refused(node(value, 1e-9), false)
	case "maximum":
		refused(node(value, 0), false)
		refused(node(value, 1), true)
	case "", "required", "pattern", "minLength", "maxLength", "minItems": // code checks them
	default:
		t.Errorf("%v.%s: nobody reads the keyword %s", typ, f.Name, keyword)
	}
}
