package quantity

import (
	"apfsim/document"
	"apfsim/sim/random"
)

// Distribution is a distribution of durations: a duration alone, which is constant, or an
// object with one of the kinds. The zero value, with a nil Distribution, is one not given.
type Distribution struct{ random.Distribution }

// IsSet reports whether the scenario says anything about the distribution.
func (dist Distribution) IsSet() bool { return dist.Distribution != nil }

// constant returns the distribution that is always t.
func Constant(t Duration) Distribution {
	c, err := random.NewConstant(int64(t))
	if err != nil {
		panic("quantity: a duration is out of bounds: " + err.Error())
	}
	return Distribution{c}
}

// DistributionKinds is a [Distribution] as it is in a file: one of the fields is set.
type DistributionKinds struct {
	Constant    *Duration        `json:"constant,omitempty" jsonschema_description:"Always the same; a duration alone means the same."`
	Uniform     *uniformKind     `json:"uniform,omitempty" jsonschema_description:"All values from min to max are equally likely."`
	Exponential *exponentialKind `json:"exponential,omitempty" jsonschema_description:"Distributed like the time between the events of a Poisson process."`
	Lognormal   *lognormalKind   `json:"lognormal,omitempty" jsonschema_description:"By mean and 99th percentile, with 1 < p99/mean <= 14.97, or by mean and sigma."`
	Gamma       *shapedKind      `json:"gamma,omitempty" jsonschema_description:"Coefficient of variation 1/sqrt(shape)."`
	Weibull     *shapedKind      `json:"weibull,omitempty" jsonschema_description:"shape from 0.1; 1 is exponential, less is heavier-tailed."`
	Pareto      *shapedKind      `json:"pareto,omitempty" jsonschema_description:"Type I, shape above 1; its least value is mean·(shape-1)/shape."`
	Empirical   *empiricalKind   `json:"empirical,omitempty" jsonschema_description:"One of the values, with a probability in proportion to its weight."`
}

type uniformKind struct {
	Min Duration `json:"min" document:"required"`
	Max Duration `json:"max" document:"required"`
}

type exponentialKind struct {
	Mean Duration `json:"mean" document:"required"`
}

type lognormalKind struct {
	Mean  Duration  `json:"mean" document:"required"`
	P99   *Duration `json:"p99,omitempty" jsonschema_description:"99th percentile."`
	Sigma *float64  `json:"sigma,omitempty" jsonschema:"exclusiveMinimum=0,maximum=10" jsonschema_description:"Standard deviation of the logarithm."`
}

type shapedKind struct {
	Mean  Duration `json:"mean" document:"required"`
	Shape float64  `json:"shape" document:"required" jsonschema:"exclusiveMinimum=0"`
}

type empiricalKind struct {
	Values  []Duration `json:"values" document:"required" jsonschema:"minItems=1"`
	Weights []float64  `json:"weights,omitempty" jsonschema_description:"One for each value; without them, all values are equally likely."`
}

var kindNames = document.FieldNames[DistributionKinds]()

// UnmarshalDocument implements document.Unmarshaler.
func (dist *Distribution) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	before := len(d.Errors)
	if n.Kind != document.Object {
		var t Duration
		if n.Kind == document.List || n.Kind == document.Bool {
			d.Fail(n, path, "is %v; want a duration or a distribution, as {exponential: {mean: 5ms}}", n.Kind)
		} else {
			d.Decode(n, path, &t)
		}
		*dist = Constant(t)
		return
	}
	var k DistributionKinds
	d.DecodeOneOf(n, path, kindNames, &k)
	// A wrong distribution is not reported as missing as well.
	*dist = Constant(0)
	if len(d.Errors) > before {
		return
	}
	var made random.Distribution
	var err error
	var kind string
	switch {
	case k.Constant != nil:
		kind = "constant"
		made, err = random.NewConstant(int64(*k.Constant))
	case k.Uniform != nil:
		kind = "uniform"
		made, err = random.NewUniform(int64(k.Uniform.Min), int64(k.Uniform.Max))
	case k.Exponential != nil:
		kind = "exponential"
		made, err = random.NewExponential(float64(k.Exponential.Mean))
	case k.Lognormal != nil:
		kind = "lognormal"
		l := k.Lognormal
		switch {
		case (l.P99 == nil) == (l.Sigma == nil):
			d.Fail(n.Get(kind), document.Join(path, kind), "want either p99 or sigma with the mean")
			return
		case l.P99 != nil:
			made, err = random.NewLognormalP99(float64(l.Mean), float64(*l.P99))
		default:
			made, err = random.NewLognormal(float64(l.Mean), *l.Sigma)
		}
	case k.Gamma != nil:
		kind = "gamma"
		made, err = random.NewGamma(float64(k.Gamma.Mean), k.Gamma.Shape)
	case k.Weibull != nil:
		kind = "weibull"
		made, err = random.NewWeibull(float64(k.Weibull.Mean), k.Weibull.Shape)
	case k.Pareto != nil:
		kind = "pareto"
		made, err = random.NewPareto(float64(k.Pareto.Mean), k.Pareto.Shape)
	case k.Empirical != nil:
		kind = "empirical"
		values := make([]int64, len(k.Empirical.Values))
		for i, value := range k.Empirical.Values {
			values[i] = int64(value)
		}
		made, err = random.NewEmpirical(values, k.Empirical.Weights)
	}
	if err != nil {
		d.Fail(n.Get(kind), document.Join(path, kind), "%v", err)
		return
	}
	dist.Distribution = made
}
