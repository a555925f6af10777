package quantity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"apfsim/document"
)

// Unknown is the distribution of a field's value that is not known: of a number, a duration or a number of bytes, as the
// field has it. Values are written in the field's own notation, because what the field is, only its decoder knows.
type Unknown struct {
	least, most scalar // of a range
	logarithmic bool   // whether the logarithm is uniform, and not the value
	values      []string
	weights     []float64 // one for each of the values; nil: all are equally likely
}

// UnknownKinds is an [Unknown] as it is in a file: one of the fields is set.
type UnknownKinds struct {
	Uniform    *rangeKind  `json:"uniform,omitempty" jsonschema_description:"All values from min to max are equally likely; whole numbers if min and max are."`
	LogUniform *rangeKind  `json:"logUniform,omitempty" jsonschema_description:"The logarithm of the value is uniform: as many values are from 1 to 10 as from 10 to 100."`
	Empirical  *valuesKind `json:"empirical,omitempty" jsonschema_description:"One of the values, with a probability in proportion to its weight."`
}

type rangeKind struct {
	Min scalar `json:"min" document:"required"`
	Max scalar `json:"max" document:"required"`
}

type valuesKind struct {
	Values  []scalar  `json:"values" document:"required" jsonschema:"minItems=1"`
	Weights []float64 `json:"weights,omitempty" jsonschema_description:"One for each value; without them, all values are equally likely."`
}

var unknownNames = document.FieldNames[UnknownKinds]()

// scalar is a value without parts, and its size if it is a number, a duration or a number of bytes.
type scalar struct {
	text string
	kind scalarKind
	size float64 // itself, nanoseconds or bytes
}

type scalarKind string

const (
	wholeNumber scalarKind = "a whole number"
	number      scalarKind = "a number"
	aDuration   scalarKind = "a duration"
	someBytes   scalarKind = "a number of bytes"
	someText    scalarKind = "a text"
)

// UnmarshalDocument implements document.Unmarshaler.
func (s *scalar) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; want a number, a duration or a number of bytes", n.Kind)
		return
	}
	*s = scalar{text: n.Text, kind: someText}
	if f, err := strconv.ParseFloat(n.Text, 64); err == nil && n.Kind == document.Number && !math.IsInf(f, 0) && !math.IsNaN(f) {
		s.kind, s.size = number, f
		if _, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
			s.kind = wholeNumber
		}
		return
	}
	if t, err := time.ParseDuration(n.Text); err == nil {
		s.kind, s.size = aDuration, float64(t)
		return
	}
	if b, err := ParseBytes(n.Text); err == nil {
		s.kind, s.size = someBytes, float64(b)
	}
}

// UnmarshalDocument implements document.Unmarshaler.
func (u *Unknown) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	before := len(d.Errors)
	if n.Kind != document.Object {
		d.Fail(n, path, "is %v; want a distribution, as {uniform: {min: 8, max: 64}}", n.Kind)
		return
	}
	var k UnknownKinds
	d.DecodeOneOf(n, path, unknownNames, &k)
	if len(d.Errors) > before {
		return
	}
	switch {
	case k.Uniform != nil:
		u.rangeOf(d, n.Get("uniform"), document.Join(path, "uniform"), k.Uniform)
	case k.LogUniform != nil:
		u.logarithmic = true
		u.rangeOf(d, n.Get("logUniform"), document.Join(path, "logUniform"), k.LogUniform)
		if len(d.Errors) == before && u.least.size <= 0 {
			d.Fail(n.Get("logUniform"), document.Join(path, "logUniform")+".min", "%s: want more than 0", u.least.text)
		}
	case k.Empirical != nil:
		path, n = document.Join(path, "empirical"), n.Get("empirical")
		for _, v := range k.Empirical.Values {
			u.values = append(u.values, v.text)
		}
		u.weights = k.Empirical.Weights
		switch {
		case len(u.values) == 0:
			d.Fail(n, path+".values", "is empty; want at least one")
		case u.weights != nil && len(u.weights) != len(u.values):
			d.Fail(n, path+".weights", "%d values have %d weights; want one weight for each value, or none", len(u.values), len(u.weights))
		case slices.ContainsFunc(u.weights, func(w float64) bool { return !(w > 0 && w <= 1e12) }):
			d.Fail(n, path+".weights", "want weights of more than 0 and at most 1e12")
		}
	}
}

// rangeOf sets the range, whose ends must be of one kind.
func (u *Unknown) rangeOf(d *document.Decoder, n *document.Node, path string, k *rangeKind) {
	u.least, u.most = k.Min, k.Max
	both := u.least.kind
	switch {
	case u.least.kind == someText:
		d.Fail(n.Get("min"), path+".min", "%q: want a number, a duration or a number of bytes", document.Abridge(u.least.text))
		return
	case u.most.kind == someText:
		d.Fail(n.Get("max"), path+".max", "%q: want a number, a duration or a number of bytes", document.Abridge(u.most.text))
		return
	case u.least.kind == u.most.kind:
	case (both == number || both == wholeNumber) && (u.most.kind == number || u.most.kind == wholeNumber):
		both = number
	case both == someBytes && u.most.kind == wholeNumber, both == wholeNumber && u.most.kind == someBytes:
		both = someBytes
	default:
		d.Fail(n, path, "min %s is %s and max %s is %s; want two values of one kind", u.least.text, u.least.kind, u.most.text, u.most.kind)
		return
	}
	u.least.kind, u.most.kind = both, both
	if u.least.size > u.most.size {
		d.Fail(n, path, "min %s is more than max %s", u.least.text, u.most.text)
	}
}

// Draw draws a value, in the notation of the field.
func (u *Unknown) Draw(r *rand.Rand) string {
	if u.values != nil {
		return u.values[u.draw(r)]
	}
	size := u.least.size + (u.most.size-u.least.size)*r.Float64()
	if u.logarithmic {
		size = math.Exp(math.Log(u.least.size) + (math.Log(u.most.size)-math.Log(u.least.size))*r.Float64())
	} else if u.least.kind == wholeNumber {
		size = math.Floor(u.least.size + (u.most.size-u.least.size+1)*r.Float64())
	}
	switch size = min(max(size, u.least.size), u.most.size); u.least.kind {
	case aDuration:
		return time.Duration(size).String()
	case wholeNumber, someBytes:
		return strconv.FormatFloat(math.Round(size), 'f', 0, 64)
	}
	return strconv.FormatFloat(size, 'g', 6, 64)
}

// draw returns the index of one of the values.
func (u *Unknown) draw(r *rand.Rand) int {
	if u.weights == nil {
		return r.IntN(len(u.values))
	}
	sum := 0.0
	for _, w := range u.weights {
		sum += w
	}
	at := sum * r.Float64()
	for i, w := range u.weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(u.values) - 1
}

// Bounds returns the values between which all others are, or all values of a list.
func (u *Unknown) Bounds() []string {
	if u.values != nil {
		return u.values
	}
	return []string{u.least.text, u.most.text}
}

// String says in words what the value may be.
func (u Unknown) String() string {
	switch {
	case u.values == nil && u.logarithmic:
		return fmt.Sprintf("%s to %s (logarithmic)", u.least.text, u.most.text)
	case u.values == nil:
		return fmt.Sprintf("%s to %s", u.least.text, u.most.text)
	}
	return strings.Join(u.values, " or ")
}
