package scenario

import (
	"math"
	"strconv"
	"strings"

	"apfsim/document"
)

// Control is a setting of a scenario that readers are invited to move, for example by a slider: a number in the file or of a
// priority level. A run does not depend on it.
type Control struct {
	Name    string  `json:"name" document:"required" jsonschema:"minLength=1" jsonschema_description:"What the setting is called."`
	Path    string  `json:"path" document:"required" jsonschema:"minLength=1" jsonschema_description:"The field, as in --set of apfsim run: spec.workload[mice].clients or level[workload-low].handSize."`
	Minimum float64 `json:"minimum" also:"min" document:"required" jsonschema_description:"The least value."`
	Maximum float64 `json:"maximum" also:"max" document:"required" jsonschema_description:"The greatest value."`
	Step    float64 `json:"step,omitempty" jsonschema:"default=1,exclusiveMinimum=0" message:"{value}: want a number {want}" jsonschema_description:"The distance between two values."`
	Unit    string  `json:"unit,omitempty" jsonschema_description:"What follows the number in the field, such as ms, or /s of a rate."`

	// Value is what the scenario says, without assignments. Package loader finds it.
	Value float64 `json:"-"`
}

// mostControls bounds the number of controls of a scenario.
const mostControls = 20

// controls checks the controls, except their paths, which package loader follows.
func (c *checker) controls() {
	all := c.scenario.Metadata.Controls
	if len(all) > mostControls {
		c.Fail("metadata.controls", "has %d items; want at most %d", len(all), mostControls)
	}
	names := map[string]bool{}
	for i := range all {
		t, path := &all[i], document.Index("metadata.controls", i)
		switch {
		case c.Failed(path):
		case names[t.Name]:
			c.Fail(path+".name", "duplicate name %q", document.Abridge(t.Name))
		case t.Minimum >= t.Maximum:
			c.Fail(path+".maximum", "%v: want more than minimum, %v", t.Maximum, t.Minimum)
		case t.Step > t.Maximum-t.Minimum:
			c.Fail(path+".step", "%v: want at most the difference between maximum and minimum, %v", t.Step, t.Maximum-t.Minimum)
		}
		names[t.Name] = true
	}
}

// Read sets the value of a control to that of its field. The problem is "" if it can be moved there.
func (t *Control) Read(field string) (problem string) {
	text, ok := strings.CutSuffix(field, t.Unit)
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case !ok || err != nil || math.IsNaN(value):
		want := "a number"
		if t.Unit != "" {
			want += " and the unit " + strconv.Quote(t.Unit)
		}
		return "has the value " + strconv.Quote(document.Abridge(field)) + "; want a field with " + want
	case value < t.Minimum || value > t.Maximum:
		return "has the value " + strconv.Quote(document.Abridge(field)) + "; want one from minimum to maximum"
	case t.Step > 0 && t.Step <= t.Maximum-t.Minimum && math.Abs(math.Remainder(value-t.Minimum, t.Step)) > 1e-6*t.Step: // a slider would move it
		return "has the value " + strconv.Quote(document.Abridge(field)) + "; want minimum plus a multiple of step, " + strconv.FormatFloat(t.Step, 'g', -1, 64)
	}
	t.Value = value
	return ""
}
