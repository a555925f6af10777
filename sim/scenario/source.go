package scenario

import (
	"maps"
	"regexp"
	"slices"

	"apfsim/document"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// Source is the publication that a scenario reproduces.
type Source struct {
	URL  string `json:"url" also:"link" document:"required" jsonschema:"pattern=^https?://" jsonschema_description:"Where it can be read."`
	Date string `json:"date" document:"required" jsonschema:"pattern=^[0-9]{4}(-[0-9][0-9])?(-[0-9][0-9])?$" jsonschema_description:"When it was published, as far as known: a year, a month (2017-06) or a day (2017-06-23)."`
	Read string `json:"read" document:"required" jsonschema:"enum=full,enum=part" jsonschema_description:"How much of it was read: full, or part, so that what was not read may correct it."`
}

// Figure is a published number, and the statistic that reproduces it.
type Figure struct {
	Name      string   `json:"name" document:"required" jsonschema_description:"What the number is of."`
	Published *float64 `json:"published" also:"value" document:"required" jsonschema_description:"The published number, in the unit."`
	Unit      string   `json:"unit,omitempty" jsonschema_description:"Its unit: ns, µs, ms, s, min or h of a duration, B, kB to TB or KiB to TiB of bytes, % of a share; any word, or none, of another number."`
	Low       *float64 `json:"low" document:"required" jsonschema_description:"The least number that is fair to expect of a simulation."`
	High      *float64 `json:"high" document:"required" jsonschema_description:"The greatest number that is fair to expect of a simulation."`
	Statistic string   `json:"statistic" document:"required" jsonschema_description:"STATISTIC [/ STATISTIC], each with SCENARIO: before it if it is that of another scenario, in a file of that name beside this one or in the library."`
	// Calibrated figures judge nothing.
	Calibrated bool `json:"calibrated,omitempty" jsonschema_description:"A parameter of the scenario was chosen so that the number comes out. The calibration says which."`

	// Quotient is the statistic, parsed, and Factor the size of the unit, by which its value is divided.
	Quotient metric.Quotient `json:"-"`
	Factor   float64         `json:"-"`
}

// Inside says whether a simulated number is one that is fair to expect. NaN is not.
func (f *Figure) Inside(simulated float64) bool { return simulated >= *f.Low && simulated <= *f.High }

var dateText = regexp.MustCompile(`^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$`)
var urlText = regexp.MustCompile(`^https?://[^\s/]+\S*$`)

// source checks where the scenario comes from, and the figures that it reproduces.
func (c *checker) source(complete bool) {
	m := &c.scenario.Metadata
	if s := m.Source; s != nil {
		if !c.Failed("metadata.source.url") && s.URL != "" && !urlText.MatchString(s.URL) {
			c.Fail("metadata.source.url", "%q: want a URL, as https://github.com/kubernetes/kubernetes/issues/47899", document.Abridge(s.URL))
		}
		if !c.Failed("metadata.source.date") && s.Date != "" && !dateText.MatchString(s.Date) {
			c.Fail("metadata.source.date", "%q: want a year, a month or a day, as 2017, 2017-06 or 2017-06-23", document.Abridge(s.Date))
		}
	} else if len(m.Figures) > 0 {
		c.Fail("metadata.figures", "needs metadata.source, which says who published them")
	}
	names := map[string]int{}
	for i := range m.Figures {
		f, path := &m.Figures[i], document.Index("metadata.figures", i)
		if first, found := names[f.Name]; found && f.Name != "" {
			c.Fail(path+".name", "duplicate name %q (first used by figure %d)", document.Abridge(f.Name), first)
		}
		names[f.Name] = i
		if f.Low != nil && f.High != nil && *f.Low > *f.High {
			c.Fail(path+".low", "%v is more than high, %v", *f.Low, *f.High)
		}
		c.statistic(f, path, complete)
		if f.Calibrated && len(m.Calibration) == 0 {
			c.Fail(path+".calibrated", "needs metadata.calibration, which says which field was chosen so that the number comes out")
		}
	}
}

// statistic parses the statistic of a figure and checks what can be known of it without other scenarios.
func (c *checker) statistic(f *Figure, path string, complete bool) {
	if f.Statistic == "" { // the decoder reports one that is missing
		return
	}
	var err error
	if f.Quotient, err = metric.ParseQuotient(f.Statistic); err != nil {
		c.Fail(path+".statistic", "%v", err)
		return
	}
	if f.Factor, err = f.Quotient.InUnit(f.Unit); err != nil {
		c.Fail(path+".unit", "%v", err)
	}
	for _, o := range f.Quotient.Operands() {
		if o.Scenario == "" {
			for _, problem := range o.Name.Check(c.scenario.tagValues(complete)) {
				c.Fail(path+".statistic", "%s: %s", o.Name, problem)
			}
		}
	}
}

// CheckName returns what is wrong with the name of a statistic for runs of the scenario: workloads, levels and others that
// do not exist.
func (s *Scenario) CheckName(name *metric.Name) []string { return name.Check(s.tagValues(true)) }

// Unknowns are distributions of the values of fields, by the path of the field as it is for assignments.
type Unknowns map[string]quantity.Unknown

// Paths returns the paths in alphabetical order.
func (u Unknowns) Paths() []string { return slices.Sorted(maps.Keys(u)) }

// ForRun returns the scenario as one of several runs has it: with a seed, and with values that are drawn for the seed in the
// fields whose values are unknown. Each field has a random stream of its own, so that scenarios with the same unknown field
// draw the same value, whatever else they have. An only run has the values of the scenario itself. The error is about values
// that the fields cannot have.
func (s *Scenario) ForRun(seed uint64, runs int) (*Scenario, error) {
	if runs == 1 || len(s.Metadata.Unknowns) == 0 {
		own := *s
		own.Spec.Seed = seed
		return &own, nil
	}
	values := make([]string, 0, len(s.Metadata.Unknowns))
	for _, path := range s.Metadata.Unknowns.Paths() {
		var stream random.Stream
		stream.Open(seed, "unknowns", 0, path)
		u := s.Metadata.Unknowns[path]
		values = append(values, u.Draw(&stream.Rand))
	}
	own, errors := s.Reread(values)
	if err := errors.Err(); err != nil {
		return nil, err
	}
	own.Metadata.Name = s.Metadata.Name
	own.Spec.Seed, own.Spec.Replications, own.Spec.Warmup = seed, s.Spec.Replications, s.Spec.Warmup
	return own, nil
}

// CheckEnds returns what is wrong with the scenario where the fields with unknown values have the ends of their ranges, or
// each of their listed values. A scenario without unknown fields has no such errors.
func (s *Scenario) CheckEnds() (errors document.Errors) {
	most := 0
	for _, u := range s.Metadata.Unknowns {
		most = max(most, len(u.Bounds()))
	}
	for i := range most {
		values := make([]string, 0, len(s.Metadata.Unknowns))
		for _, path := range s.Metadata.Unknowns.Paths() {
			u := s.Metadata.Unknowns[path]
			ends := u.Bounds()
			values = append(values, ends[min(i, len(ends)-1)])
		}
		_, wrong := s.Reread(values)
		errors = append(errors, wrong...)
	}
	return errors
}
