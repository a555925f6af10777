package random

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func open(seed uint64, workload string, client int, purpose string) *rand.Rand {
	s := &Stream{}
	s.Open(seed, workload, client, purpose)
	return &s.Rand
}

func draws(r *rand.Rand) [4]uint64 {
	return [4]uint64{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
}

func TestStreamDependsOnItsArguments(t *testing.T) {
	first := draws(open(1, "mice", 3, "arrivals"))
	if again := draws(open(1, "mice", 3, "arrivals")); again != first {
		t.Errorf("the same arguments gave %v, then %v", first, again)
	}
	others := map[string]*rand.Rand{
		"another seed":                open(2, "mice", 3, "arrivals"),
		"another workload":            open(1, "elephants", 3, "arrivals"),
		"another client":              open(1, "mice", 4, "arrivals"),
		"another purpose":             open(1, "mice", 3, "execution"),
		"letters moved to the left":   open(1, "micea", 3, "rrivals"),
		"workload and purpose swap":   open(1, "arrivals", 3, "mice"),
		"a workload without a name":   open(1, "", 3, "micearrivals"),
		"seed and client change role": open(3, "mice", 1, "arrivals"),
	}
	for name, r := range others {
		if got := draws(r); got == first {
			t.Errorf("%s gave the same draws", name)
		}
	}
}

// All golden files depend on the draws of the streams. This test fails first if they change.
func TestFirstDraw(t *testing.T) {
	if got, want := open(1, "mice", 0, "arrivals").Uint64(), uint64(0x1b65d2c0f2aaead8); got != want {
		t.Errorf("first draw %#x, want %#x", got, want)
	}
}

func TestStreamsOfDistinctNamesAreDistinct(t *testing.T) {
	name := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%d %q %d %q", rapid.Uint64Range(0, 3).Draw(t, "seed"),
			rapid.SampledFrom([]string{"", "a", "ab", "abc"}).Draw(t, "workload"),
			rapid.IntRange(0, 3).Draw(t, "client"),
			rapid.SampledFrom([]string{"", "c", "bc", "abc"}).Draw(t, "purpose"))
	})
	parse := func(s string) [4]uint64 {
		var seed uint64
		var workload, purpose string
		var client int
		if _, err := fmt.Sscanf(s, "%d %q %d %q", &seed, &workload, &client, &purpose); err != nil {
			t.Fatal(err)
		}
		return draws(open(seed, workload, client, purpose))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		if (a == b) != (parse(a) == parse(b)) {
			t.Fatalf("%s and %s: equal draws is %v, want %v", a, b, parse(a) == parse(b), a == b)
		}
	})
}

func must[D Distribution](d D, err error) Distribution {
	if err != nil {
		panic(err)
	}
	return d
}

const ms = float64(time.Millisecond)

// oracle is the same distribution in gonum, in nanoseconds.
type oracle interface {
	CDF(x float64) float64
	Mean() float64
	StdDev() float64
}

var continuous = []struct {
	name string
	d    Distribution
	want oracle
}{
	{"uniform 2–12 ms", must(NewUniform(2e6, 12e6)), distuv.Uniform{Min: 2 * ms, Max: 12 * ms}},
	{"exponential 5 ms", must(NewExponential(5 * ms)), distuv.Exponential{Rate: 1 / (5 * ms)}},
	{"lognormal 80 ms sigma 0.5", must(NewLognormal(80*ms, 0.5)), distuv.LogNormal{Mu: math.Log(80*ms) - 0.125, Sigma: 0.5}},
	{"gamma 5 ms shape 0.3", must(NewGamma(5*ms, 0.3)), distuv.Gamma{Alpha: 0.3, Beta: 0.3 / (5 * ms)}},
	{"gamma 5 ms shape 1", must(NewGamma(5*ms, 1)), distuv.Gamma{Alpha: 1, Beta: 1 / (5 * ms)}},
	{"gamma 5 ms shape 7.5", must(NewGamma(5*ms, 7.5)), distuv.Gamma{Alpha: 7.5, Beta: 7.5 / (5 * ms)}},
	{"weibull 5 ms shape 0.7", must(NewWeibull(5*ms, 0.7)), distuv.Weibull{K: 0.7, Lambda: 5 * ms / math.Gamma(1+1/0.7)}},
	{"weibull 5 ms shape 3", must(NewWeibull(5*ms, 3)), distuv.Weibull{K: 3, Lambda: 5 * ms / math.Gamma(1+1/3.0)}},
	{"pareto 5 ms shape 3", must(NewPareto(5*ms, 3)), distuv.Pareto{Xm: 5 * ms * 2 / 3, Alpha: 3}},
}

func TestSamplesFollowTheDistribution(t *testing.T) {
	const n = 40_000
	for _, c := range continuous {
		t.Run(c.name, func(t *testing.T) {
			r := open(1, c.name, 0, "test")
			x := make([]float64, n)
			sum := 0.0
			for i := range x {
				x[i] = float64(c.d.Sample(r))
				sum += x[i]
			}
			slices.Sort(x)
			// Kolmogorov-Smirnov test: the largest distance from the distribution function
			// exceeds 1.95/sqrt(n) with a probability of 0.001.
			distance := 0.0
			for i := range x {
				f := c.want.CDF(x[i])
				distance = max(distance, f-float64(i)/n, float64(i+1)/n-f)
			}
			if most := 1.95 / math.Sqrt(n); distance > most {
				t.Errorf("distance from the distribution function %.4f, want at most %.4f", distance, most)
			}
			if got, want := c.d.MeanNs(), c.want.Mean(); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("MeanNs %v, want %v", got, want)
			}
			if off, most := math.Abs(sum/n-c.want.Mean()), 3.5*c.want.StdDev()/math.Sqrt(n); off > most {
				t.Errorf("mean of the samples off by %.0f ns, want at most %.0f", off, most)
			}
		})
	}
}

func TestUniformReachesBothEnds(t *testing.T) {
	d := must(NewUniform(3, 5))
	r := open(1, "", 0, "")
	counts := map[int64]int{}
	for range 30_000 {
		counts[d.Sample(r)]++
	}
	for x := int64(3); x <= 5; x++ {
		if c := counts[x]; c < 9_700 || c > 10_300 {
			t.Errorf("%d was drawn %d of 30000 times, want about 10000", x, c)
		}
	}
	if len(counts) != 3 {
		t.Errorf("the values are %v, want only 3, 4 and 5", counts)
	}
}

func TestLognormalByMeanAndP99(t *testing.T) {
	d, err := NewLognormalP99(80*ms, 400*ms)
	if err != nil {
		t.Fatal(err)
	}
	want := distuv.LogNormal{Mu: d.mu, Sigma: d.sigma}
	if got := want.Quantile(0.99); math.Abs(got/(400*ms)-1) > 1e-9 {
		t.Errorf("99th percentile %v ms, want 400", got/ms)
	}
	if got := want.Mean(); math.Abs(got/(80*ms)-1) > 1e-9 {
		t.Errorf("mean %v ms, want 80", got/ms)
	}
	if d.sigma > z99 {
		t.Errorf("sigma %v is the larger root", d.sigma)
	}
}

func TestLognormalP99HasBounds(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		ok    bool
	}{{0.5, false}, {1, false}, {1.001, true}, {14.97, true}, {14.98, false}, {math.Inf(1), false}, {math.NaN(), false}} {
		if _, err := NewLognormalP99(ms, c.ratio*ms); (err == nil) != c.ok {
			t.Errorf("p99/mean %v: error %v, want one: %v", c.ratio, err, !c.ok)
		}
	}
}

func TestEmpiricalFollowsItsWeights(t *testing.T) {
	values, weights := []int64{10, 20, 30, 40}, []float64{1, 5, 0.5, 3.5}
	d := must(NewEmpirical(values, weights))
	if got, want := d.MeanNs(), (10*1+20*5+30*0.5+40*3.5)/10; math.Abs(got-want) > 1e-9 {
		t.Errorf("MeanNs %v, want %v", got, want)
	}
	const n = 100_000
	r := open(1, "", 0, "")
	counts := map[int64]float64{}
	for range n {
		counts[d.Sample(r)]++
	}
	for i, v := range values {
		p := weights[i] / 10
		if off := math.Abs(counts[v] - n*p); off > 3.5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("%d was drawn %v of %d times, want about %v", v, counts[v], n, n*p)
		}
	}
}

// In the alias table, the parts of the columns that yield a value sum to its weight.
func TestEmpiricalTableHasTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e6), 1, 50).Draw(t, "weights")
		values := make([]int64, len(weights))
		sum := 0.0
		for i, w := range weights {
			values[i] = int64(i)
			sum += w
		}
		d, err := NewEmpirical(values, weights)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, len(weights))
		for i := range d.keep {
			got[i] += min(d.keep[i], 1)
			got[d.alias[i]] += 1 - min(d.keep[i], 1)
		}
		for i, w := range weights {
			if want := w / sum * float64(len(weights)); math.Abs(got[i]-want) > 1e-9*float64(len(weights)) {
				t.Fatalf("value %d has weight %v, want %v", i, got[i], want)
			}
		}
	})
}

// All parameters that are drawn are valid, also the greatest and the least ones.
func TestSamplesStayWithinBounds(t *testing.T) {
	mean := rapid.Custom(func(t *rapid.T) float64 {
		return min(math.Pow(10, rapid.Float64Range(-3, 18.6).Draw(t, "exponent")), LongestNs)
	})
	parameter := func(least float64) *rapid.Generator[float64] { return rapid.Float64Range(least, 20) }
	ns := rapid.Int64Range(0, LongestNs)
	makers := map[string]func(t *rapid.T) (Distribution, error){
		"constant": func(t *rapid.T) (Distribution, error) { return NewConstant(ns.Draw(t, "ns")) },
		"uniform": func(t *rapid.T) (Distribution, error) {
			least := ns.Draw(t, "min")
			return NewUniform(least, rapid.Int64Range(least, LongestNs).Draw(t, "max"))
		},
		"exponential": func(t *rapid.T) (Distribution, error) { return NewExponential(mean.Draw(t, "mean")) },
		"lognormal": func(t *rapid.T) (Distribution, error) {
			return NewLognormal(mean.Draw(t, "mean"), rapid.Float64Range(1e-6, 10).Draw(t, "sigma"))
		},
		"gamma": func(t *rapid.T) (Distribution, error) {
			return NewGamma(mean.Draw(t, "mean"), parameter(1e-6).Draw(t, "shape"))
		},
		"weibull": func(t *rapid.T) (Distribution, error) {
			return NewWeibull(mean.Draw(t, "mean"), parameter(0.1).Draw(t, "shape"))
		},
		"pareto": func(t *rapid.T) (Distribution, error) {
			return NewPareto(mean.Draw(t, "mean"), parameter(1+1e-6).Draw(t, "shape"))
		},
	}
	for name, maker := range makers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				d, err := maker(t)
				if err != nil {
					t.Fatal(err)
				}
				r := open(rapid.Uint64().Draw(t, "seed"), name, 0, "")
				for range 50 {
					if x := d.Sample(r); x < 0 || x > LongestNs {
						t.Fatalf("%+v gave %d", d, x)
					}
				}
				if m := d.MeanNs(); !(m >= 0 && m <= LongestNs*1.001) {
					t.Fatalf("%+v has mean %v", d, m)
				}
			})
		})
	}
}

func TestSamplesAreAtMostLongestNs(t *testing.T) {
	d := must(NewPareto(LongestNs/2, 1.01))
	r := open(1, "", 0, "")
	longest := int64(0)
	for range 100_000 {
		longest = max(longest, d.Sample(r))
	}
	if longest != LongestNs {
		t.Errorf("longest sample %d, want %d", longest, int64(LongestNs))
	}
	if nanoseconds(math.NaN()) != 0 || nanoseconds(math.Inf(1)) != LongestNs || nanoseconds(math.Inf(-1)) != 0 {
		t.Error("NaN or an infinite number is not converted to a value within the bounds")
	}
}

func TestSamplingDoesNotAllocate(t *testing.T) {
	all := map[string]Distribution{
		"constant":  must(NewConstant(5)),
		"empirical": must(NewEmpirical([]int64{1, 2, 3}, []float64{1, 2, 3})),
	}
	for _, c := range continuous {
		all[c.name] = c.d
	}
	for name, d := range all {
		r := open(1, name, 0, "")
		if n := testing.AllocsPerRun(1000, func() { d.Sample(r) }); n != 0 {
			t.Errorf("%s: %v allocations a sample", name, n)
		}
	}
}

func TestInvalidParameters(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	refused := map[string]error{}
	note := func(name string, err error) { refused[name] = err }
	for _, bad := range []float64{0, -1, nan, inf} {
		_, err := NewExponential(bad)
		note(fmt.Sprint("exponential mean ", bad), err)
		_, err = NewLognormal(bad, 1)
		note(fmt.Sprint("lognormal mean ", bad), err)
		_, err = NewLognormalP99(bad, 1)
		note(fmt.Sprint("lognormal by p99, mean ", bad), err)
		_, err = NewLognormal(1, bad)
		note(fmt.Sprint("lognormal sigma ", bad), err)
		_, err = NewGamma(1, bad)
		note(fmt.Sprint("gamma shape ", bad), err)
		_, err = NewWeibull(1, bad)
		note(fmt.Sprint("weibull shape ", bad), err)
		_, err = NewPareto(1, bad)
		note(fmt.Sprint("pareto shape ", bad), err)
		_, err = NewEmpirical([]int64{1}, []float64{bad})
		note(fmt.Sprint("empirical weight ", bad), err)
	}
	_, err := NewPareto(1, 1)
	note("pareto of infinite mean", err)
	_, err = NewUniform(2, 1)
	note("uniform with min above max", err)
	_, err = NewUniform(-1, 1)
	note("uniform below 0", err)
	_, err = NewConstant(-1)
	note("constant below 0", err)
	_, err = NewEmpirical(nil, nil)
	note("empirical without values", err)
	_, err = NewEmpirical([]int64{-1}, nil)
	note("empirical below 0", err)
	_, err = NewEmpirical([]int64{1, 2}, []float64{1})
	note("empirical with too few weights", err)
	for name, err := range refused {
		if err == nil {
			t.Errorf("%s is not an error", name)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	for _, c := range continuous {
		b.Run(c.name, func(b *testing.B) {
			r := open(1, "", 0, "")
			b.ReportAllocs()
			for range b.N {
				c.d.Sample(r)
			}
		})
	}
}

// A scaled distribution draws the same numbers, and multiplies them.
func TestScaledDrawsTheSameNumbers(t *testing.T) {
	exponential, err := NewExponential(100)
	if err != nil {
		t.Fatal(err)
	}
	scaled := Scaled{exponential, 1.25}
	if got := scaled.MeanNs(); got != 125 {
		t.Errorf("the mean is %v ns, want 125", got)
	}
	one, other := open(1, "mice", 0, "execution"), open(1, "mice", 0, "execution")
	for range 1000 {
		x, y := exponential.Sample(one), scaled.Sample(other)
		if want := int64(math.Round(1.25 * float64(x))); y != want {
			t.Fatalf("drew %d, and %d times 1.25; want %d", x, y, want)
		}
	}
}
