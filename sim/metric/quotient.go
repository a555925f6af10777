package metric

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"apfsim/document"
)

// Quotient is a number that runs yield: a statistic, or one divided by another.
type Quotient struct {
	Dividend Operand
	Divisor  *Operand // nil: the number is the dividend
}

// Operand is a statistic of the runs of a scenario.
type Operand struct {
	Scenario string // the name of another scenario; "": that which the quotient is of
	Name     Name
}

var ofScenario = regexp.MustCompile(`^\s*([a-z0-9]([-a-z0-9]*[a-z0-9])?)\s*:(.*)$`)

// ParseQuotient parses STATISTIC [/ STATISTIC], where each statistic is one that [ParseName] parses, with the name of
// another scenario and a colon before it if it is that of another one:
//
//	listTime{workload:agents}.p(50) / without-cache:listTime{workload:agents}.p(50)
func ParseQuotient(text string) (Quotient, error) {
	dividend, divisor, divided := cutSlash(text)
	var q Quotient
	var err error
	if q.Dividend, err = parseOperand(dividend); err != nil || !divided {
		return q, err
	}
	q.Divisor = new(Operand)
	*q.Divisor, err = parseOperand(divisor)
	return q, err
}

// cutSlash cuts a text at the first slash outside of braces: values of tags may have slashes, braces and quotes.
func cutSlash(text string) (before, after string, found bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == '/' && depth <= 0:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

func parseOperand(text string) (o Operand, err error) {
	if parts := ofScenario.FindStringSubmatch(text); parts != nil {
		o.Scenario, text = parts[1], parts[3]
	}
	o.Name, err = ParseName(strings.TrimSpace(text))
	return o, err
}

// String returns the quotient as ParseQuotient reads it.
func (q Quotient) String() string {
	if q.Divisor == nil {
		return q.Dividend.String()
	}
	return q.Dividend.String() + " / " + q.Divisor.String()
}

// String returns the operand as ParseQuotient reads it.
func (o Operand) String() string {
	if o.Scenario == "" {
		return o.Name.String()
	}
	return o.Scenario + ":" + o.Name.String()
}

// Operands returns the one or two statistics of the quotient.
func (q *Quotient) Operands() []*Operand {
	if q.Divisor == nil {
		return []*Operand{&q.Dividend}
	}
	return []*Operand{&q.Dividend, q.Divisor}
}

// Check returns what is wrong with the name for a run: tags and values that do not exist.
func (n *Name) Check(run *Run) (all []string) {
	t := Threshold{Metric: n.Metric, Tags: n.Tags, Stat: n.Stat}
	m, called := entryOf(n.Metric, n.Stat)
	t.checkMetric(m, called, run, func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) })
	return all
}

// dimension is what a number measures.
type dimension int

const (
	plain dimension = iota // a number of things, or none
	duration
	bytes
	other
)

func (n *Name) dimension() dimension {
	switch n.Unit {
	case Nanoseconds, CoreSeconds:
		return duration
	case Bytes:
		return bytes
	}
	return plain
}

// dimension returns that of the number. That of a statistic divided by a number of things is that of the statistic.
func (q *Quotient) dimension() dimension {
	d := q.Dividend.Name.dimension()
	switch {
	case q.Divisor == nil, q.Divisor.Name.dimension() == plain:
		return d
	case q.Divisor.Name.dimension() == d:
		return plain
	}
	return other
}

var (
	durationUnits = map[string]float64{"ns": 1, "µs": float64(time.Microsecond), "ms": float64(time.Millisecond), "s": float64(time.Second), "min": float64(time.Minute), "h": float64(time.Hour)}
	bytesUnits    = map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
)

// InUnit returns how many nanoseconds, bytes or things one of the unit is, by which the number is divided. The error says
// which units the number can have.
func (q *Quotient) InUnit(unit string) (float64, error) {
	var factor float64
	var known bool
	switch q.dimension() {
	case duration:
		if factor, known = durationUnits[unit]; !known {
			return 0, fmt.Errorf("%q: want ns, µs, ms, s, min or h, because %s is a duration", document.Abridge(unit), q)
		}
	case bytes:
		if factor, known = bytesUnits[unit]; !known {
			return 0, fmt.Errorf("%q: want B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, because %s is a number of bytes", document.Abridge(unit), q)
		}
	case other:
		return 0, fmt.Errorf("%s divides numbers of different kinds; want two durations, two numbers of bytes, or a divisor that is a number of things", q)
	default:
		if _, time := durationUnits[unit]; time {
			return 0, fmt.Errorf("%q is a unit of time, and %s is none", unit, q)
		}
		if _, size := bytesUnits[unit]; size {
			return 0, fmt.Errorf("%q is a unit of bytes, and %s is not a number of bytes", unit, q)
		}
		factor = 1
		if unit == "%" {
			factor = 0.01
		}
	}
	return factor, nil
}

// Value returns the number in a unit whose factor InUnit has returned. It is NaN if the divisor is 0.
func (q *Quotient) Value(factor, dividend, divisor float64) float64 {
	dividend = q.Dividend.Name.inBase(dividend)
	switch {
	case q.Divisor == nil:
		return dividend / factor
	case divisor == 0:
		return math.NaN()
	}
	return dividend / q.Divisor.Name.inBase(divisor) / factor
}

// inBase returns a value of the statistic in nanoseconds if it is a duration, and otherwise unchanged.
func (n *Name) inBase(value float64) float64 {
	if n.Unit == CoreSeconds {
		return value * 1e9
	}
	return value
}
