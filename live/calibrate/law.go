package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat/distuv"

	"apfsim/core/classify"
	"apfsim/experiment/fit/shape"
	"apfsim/experiment/fit/sharing"
	"apfsim/reports/format"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// Capacity is what a curve says of the capacity of its server.
type Capacity struct {
	// Law is the simplest one that agrees with the curve. Its executions share nothing if the curve does not show that they do.
	sharing.Law
	Demand       time.Duration // mean, of one request alone on the server
	Identifiable bool          // whether the curve shows how requests share the server
	Reason       string        // why not; "" if it does
	Measured     int           // requests that executed at a time, at most

	// Request is the one with which it was measured; nil if there were several.
	Request *classify.Attributes

	// Intervals of 95 %. Cores has no upper bound if contention or coherency explain the curve as well.
	Cores, Contention, Coherency sharing.Interval
	// Throughput is that of Measured requests at a time in another period, as long as a step, in parts of that of the law: a server is not as fast in each.
	// Parameters that explain the same curve balance each other, so that it is known better than each of them.
	Throughput sharing.Interval
	// Scatter is how much the throughputs differ from the law, in their standard errors; 1 or more.
	Scatter float64
}

// point is one step as the law sees it.
type point struct {
	clients   int
	log, err  float64 // logarithm of the throughput per second, and its standard error
	delay     float64 // seconds between two executions of a client
	executing float64
}

const (
	confidence = 0.95
	certainty  = 0.99  // that requests share anything
	leastError = 0.002 // of a logarithm: a throughput is not known better
	saturated  = 0.9   // part of the greatest throughput from which on a step has shown what the server can do
)

// Fit fits a capacity to a curve. The error says that there is nothing to fit to.
func Fit(c *Curve) (*Capacity, error) {
	f := &fitter{}
	for _, s := range c.used() {
		p := point{clients: s.Clients, log: math.Log(s.PerSecond), err: max(leastError, s.Error/s.PerSecond), executing: float64(s.Clients)}
		if s.Execution != nil {
			p.executing = min(p.executing, s.PerSecond**s.Execution/1e9)
			p.delay = max(0, float64(s.Clients)/s.PerSecond-*s.Execution/1e9)
		}
		f.points = append(f.points, p)
		f.most = max(f.most, s.Clients)
		f.executing = max(f.executing, p.executing)
	}
	if len(f.points) == 0 {
		return nil, fmt.Errorf("no step was measured to which a capacity can be fitted: %s", c.Stopped)
	}
	capacity := f.fit()
	if x := outside(c.used()); capacity.Identifiable && x > mostOutside {
		capacity.Identifiable, capacity.Law = false, sharing.Law{Cores: math.Inf(1)}
		capacity.Reason = fmt.Sprintf("%s of what more clients add to the latency is before and after the executions: these do not say what the server can do if it, the client or the network are busy otherwise",
			format.Percent(x))
	}
	return capacity, nil
}

// mostOutside is the part of what more clients add to the latency that may be before and after the executions: more of it is in them.
const mostOutside = 0.5

// outside returns how much of what more clients add to the latency is before and after the executions; 0 if that is unknown, or if they add nothing.
func outside(steps []Step) float64 {
	mean := func(n int) (latency, execution float64) {
		same := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Clients != n })
		for _, s := range same {
			if s.Execution == nil {
				return 0, 0
			}
			latency += float64(s.Latency.MeanNs) / float64(len(same))
			execution += *s.Execution / float64(len(same))
		}
		return latency, execution
	}
	if len(steps) == 0 {
		return 0
	}
	fewest, most := math.MaxInt, 0
	for _, s := range steps {
		fewest, most = min(fewest, s.Clients), max(most, s.Clients)
	}
	alone, aloneExecution := mean(fewest)
	crowded, crowdedExecution := mean(most)
	if alone == 0 || crowded <= alone {
		return 0
	}
	return 1 - (crowdedExecution-aloneExecution)/(crowded-alone)
}

// fitter finds the laws that agree with the throughputs: by weighted least squares of their logarithms.
type fitter struct {
	points    []point
	most      int
	executing float64
}

// parameters are the logarithm of the demand in seconds, 1/c, σ and κ.
type parameters [4]float64

const (
	demand = iota
	perCore
	contention
	coherency
)

// greatest are the greatest values of 1/c, σ and κ. The least is 0, and a core for each client for 1/c.
var greatest = parameters{perCore: 1, contention: 3, coherency: 1}

func (f *fitter) law(p parameters) sharing.Law {
	l := sharing.Law{Cores: math.Inf(1), Contention: p[contention], Coherency: p[coherency]}
	if p[perCore]*float64(f.most) > 1 {
		l.Cores = 1 / p[perCore]
	}
	return l
}

// throughput returns that of a closed network: n clients, each of which is for some time outside the server, with requests of
// a mean demand, in seconds. The probability of k requests at the server is proportional to
// delay^(n-k)/(n-k)! · demand^k / Π v(j)·j, whatever the distributions (Baskett, Chandy, Muntz, Palacios 1975).
func throughput(l sharing.Law, n int, demand, delay float64) float64 {
	weight, sum, served := 1.0, 0.0, 0.0
	for k := n; k >= 0; k-- {
		sum += weight
		rate := 0.0
		if k > 0 {
			rate = l.Throughput(k) / demand
		}
		served += weight * rate
		weight *= delay / float64(n-k+1) * rate
	}
	return served / sum
}

// misfit returns the sum of the squares of the differences, in standard errors.
func (f *fitter) misfit(p parameters) (sum float64) {
	l, d := f.law(p), math.Exp(p[demand])
	for _, q := range f.points {
		x := (q.log - math.Log(throughput(l, q.clients, d, q.delay))) / q.err
		sum += x * x
	}
	return sum
}

// solve returns the parameters with the least misfit, of which some are free and the others have the values of a start.
func (f *fitter) solve(start parameters, free ...int) (best parameters, least float64) {
	at := func(x []float64) parameters {
		p := start
		p[demand] = x[0]
		for i, k := range free {
			p[k] = folded(x[i+1], greatest[k])
		}
		return p
	}
	x := []float64{start[demand]}
	for _, k := range free {
		x = append(x, start[k])
	}
	best, least = start, f.misfit(start)
	for range 2 { // the simplex may have become flat at a bound
		r, err := optimize.Minimize(optimize.Problem{Func: func(x []float64) float64 { return f.misfit(at(x)) }}, x,
			&optimize.Settings{MajorIterations: 400, Converger: &optimize.FunctionConverge{Absolute: 1e-6, Iterations: 40}}, &optimize.NelderMead{})
		if r == nil || err != nil && r.F >= least {
			break
		}
		if r.F < least {
			best, least = at(r.X), r.F
		}
		x[0] = best[demand]
		for i, k := range free {
			x[i+1] = best[k]
		}
	}
	return best, least
}

// folded returns a value between 0 and a bound: what is outside is reflected.
func folded(x, most float64) float64 {
	x = math.Mod(math.Abs(x), 2*most)
	return min(x, 2*most-x)
}

// starts returns parameters from which a search begins, with the demand of the fewest clients.
func (f *fitter) starts() (all []parameters) {
	first := slices.MinFunc(f.points, func(a, b point) int { return a.clients - b.clients })
	d := math.Log(max(1e-6, float64(first.clients)/math.Exp(first.log)-first.delay))
	for _, x := range []float64{0, 0.6, 0.15} {
		for _, c := range []float64{0, 0.05} {
			all = append(all, parameters{d, x, c, 0}, parameters{d, x, c, 0.005})
		}
	}
	return all
}

// least returns the best solution of all starts, of which the parameters that are not free are replaced by those of p.
func (f *fitter) least(p parameters, starts []parameters, free ...int) (best parameters, misfit float64) {
	misfit = math.Inf(1)
	for _, s := range starts {
		from := p
		from[demand] = s[demand]
		for _, k := range free {
			from[k] = s[k]
		}
		if q, x := f.solve(from, free...); x < misfit {
			best, misfit = q, x
		}
	}
	return best, misfit
}

func (f *fitter) fit() *Capacity {
	starts := f.starts()
	all, best := f.least(parameters{}, starts, perCore, contention, coherency)
	// With few points the scatter is itself uncertain, and Student's distribution allows for that.
	freedom := float64(len(f.points) - len(all))
	scatter, allowed, certain := 1.0, distuv.ChiSquared{K: 1}.Quantile(confidence), distuv.ChiSquared{K: 3}.Quantile(certainty)
	if freedom >= 1 {
		t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile((1 + confidence) / 2)
		scatter = max(1, best/freedom)
		allowed = t * t * scatter
		certain = 3 * distuv.F{D1: 3, D2: freedom}.Quantile(certainty) * scatter
	}
	c := &Capacity{Law: sharing.Law{Cores: math.Inf(1)}, Measured: int(math.Round(f.executing)), Scatter: math.Sqrt(scatter)}
	starts = []parameters{all, starts[0], starts[3], starts[5]} // alone, with contention and coherency, with cores
	around, _ := f.simplest(starts, all, best+allowed)
	bound := func(k int, limit float64) float64 { return f.bound(starts, around, k, limit, best+allowed) }
	c.Cores = sharing.Interval{Low: 1 / bound(perCore, 1), High: math.Inf(1)}
	if x := bound(perCore, 0); x*float64(f.most) > 1 {
		c.Cores.High = 1 / x
	}
	c.Contention = sharing.Interval{Low: bound(contention, 0), High: bound(contention, greatest[contention])}
	c.Coherency = sharing.Interval{Low: bound(coherency, 0), High: bound(coherency, greatest[coherency])}
	c.Throughput = f.another(f.throughputs(starts, around, c.Measured, best+allowed), math.Sqrt(allowed))
	nothing, alone := f.least(parameters{}, starts)
	c.Demand = time.Duration(1e9 * math.Exp(nothing[demand]))
	switch {
	case f.most < 2:
		c.Reason = "only one client was measured"
	case alone-best > allowed && alone-best <= certain:
		c.Reason = "the throughputs of the steps vary too much; longer steps make them more certain"
	case alone-best <= certain:
		c.Reason = fmt.Sprintf("the throughput grows up to %d clients as if each had a server of its own", f.most)
	default:
		c.Identifiable = true
		c.Law, c.Demand = f.law(around), time.Duration(1e9*math.Exp(around[demand]))
	}
	return c
}

// simplest returns the solution with the fewest parameters whose misfit is small enough.
func (f *fitter) simplest(starts []parameters, all parameters, most float64) (parameters, []int) {
	for _, free := range [][]int{{}, {perCore}, {contention}, {coherency}, {perCore, contention}, {perCore, coherency}, {contention, coherency}} {
		if p, x := f.least(parameters{}, starts, free...); x <= most {
			return p, free
		}
	}
	return all, []int{perCore, contention, coherency}
}

// bound returns the value of a parameter, between that of a solution and a limit, at which the least misfit over the other
// parameters reaches most; the limit if it does not.
func (f *fitter) bound(starts []parameters, around parameters, k int, limit, most float64) float64 {
	var others []int
	for _, other := range []int{perCore, contention, coherency} {
		if other != k {
			others = append(others, other)
		}
	}
	starts = append([]parameters{around}, starts...)
	agrees := func(x float64) bool {
		p := parameters{}
		p[k] = x
		_, misfit := f.least(p, starts, others...)
		return misfit <= most
	}
	inside, outside := around[k], limit
	if inside == outside || agrees(outside) {
		return outside
	}
	for range 10 {
		// Halves of the cube root come near 0, which is a bound itself.
		if middle := math.Pow((math.Cbrt(inside)+math.Cbrt(outside))/2, 3); agrees(middle) {
			inside = middle
		} else {
			outside = middle
		}
	}
	return inside
}

// throughputs returns the least and the greatest throughput of so many requests at a time, in parts of that of a solution, with which the least misfit is at
// most so much.
func (f *fitter) throughputs(starts []parameters, around parameters, executing int, most float64) sharing.Interval {
	perSecond := f.law(around).Throughput(executing) / math.Exp(around[demand])
	agrees := func(part float64) bool {
		// As if it had been measured with so many clients, and with hardly any error.
		g := &fitter{points: append(slices.Clone(f.points), point{clients: executing, log: math.Log(part * perSecond), err: leastError / 5}), most: f.most}
		moved := around
		moved[demand] -= math.Log(part)
		_, misfit := g.least(parameters{}, append([]parameters{moved}, starts...), perCore, contention, coherency)
		return misfit <= most
	}
	bound := func(limit float64) float64 {
		inside, outside := 1.0, limit
		for range 12 {
			if middle := (inside + outside) / 2; agrees(middle) {
				inside = middle
			} else {
				outside = middle
			}
		}
		return inside
	}
	return sharing.Interval{Low: bound(0), High: bound(2)}
}

// another returns the interval of the throughput of another period: of that of the curve, and of how much a step differs from it, by so many of its errors.
// The steps are those that have shown what the server can do.
func (f *fitter) another(curve sharing.Interval, errors float64) sharing.Interval {
	most := slices.MaxFunc(f.points, func(a, b point) int { return cmp.Compare(a.log, b.log) }).log
	squares, n := 0.0, 0.0
	for _, p := range f.points {
		if p.log >= most+math.Log(saturated) {
			squares += p.err * p.err
			n++
		}
	}
	step := errors * math.Sqrt(squares/n)
	return sharing.Interval{Low: math.Exp(-math.Hypot(math.Log(curve.Low), step)), High: math.Exp(math.Hypot(math.Log(curve.High), step))}
}

// String returns the capacity in a sentence, with its intervals.
func (c *Capacity) String() string {
	if !c.Identifiable {
		return fmt.Sprintf("unknown, because %s; cores at least %s, and how the server executes more requests at a time than %d is unknown",
			c.Reason, format.Digits(c.Cores.Low), c.Measured)
	}
	between := func(what string, x float64, i sharing.Interval) string {
		text := func(x float64) string {
			if math.IsInf(x, 1) {
				return "no bound"
			}
			return format.Digits(x)
		}
		return fmt.Sprintf("%s %s (95 %%: %s to %s)", what, text(x), text(i.Low), text(i.High))
	}
	text := fmt.Sprintf("%s, %s, %s, from up to %d requests at a time", between("cores", c.Law.Cores, c.Cores),
		between("contention", c.Law.Contention, c.Contention), between("coherency", c.Law.Coherency, c.Coherency), c.Measured)
	return text
}

// calibration returns with what the cores were measured; nil if there are none, or if that is not one request.
func (c *Capacity) calibration() *machine.Calibration {
	if !c.Identifiable || math.IsInf(c.Law.Cores, 1) || c.Request == nil {
		return nil
	}
	r := c.Request
	return &machine.Calibration{Verb: r.Verb, Group: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		Demand: quantity.Duration(c.Demand)}
}

// Fields returns spec.servers.capacity of a scenario. The interval is that of the throughput: of the cores, also if they have a contention or a coherency
// beside them, or else of the contention, or else of the coherency.
func (c *Capacity) Fields() string {
	var fields, intervals []string
	add := func(name string, x float64, of sharing.Interval) {
		if x == 0 || math.IsInf(x, 0) {
			return
		}
		bounds := fmt.Sprintf("low: %v", shape.Number(min(x, of.Low)))
		if !math.IsInf(of.High, 0) {
			bounds += fmt.Sprintf(", high: %v", shape.Number(max(x, of.High)))
		}
		fields = append(fields, fmt.Sprintf("%s: %v", name, shape.Number(x)))
		intervals = append(intervals, fmt.Sprintf("%s: {%s}", name, bounds))
	}
	if c.Identifiable {
		cores, contention, coherency := c.Cores, sharing.Interval{Low: c.Law.Contention, High: c.Law.Contention}, sharing.Interval{Low: c.Law.Coherency, High: c.Law.Coherency}
		// With n requests, the throughput is n / slower.
		n := float64(c.Measured)
		more := func(part float64) float64 { return n / c.Law.Throughput(c.Measured) * (1/part - 1) } // of slower
		switch {
		case !math.IsInf(c.Law.Cores, 1):
			cores = sharing.Interval{Low: c.Throughput.Low * c.Law.Cores, High: c.Throughput.High * c.Law.Cores}
		case c.Law.Contention > 0:
			contention.Low = max(0, contention.Low+more(c.Throughput.High)/(n-1))
			contention.High += more(c.Throughput.Low) / (n - 1)
		default:
			coherency.Low = max(0, coherency.Low+more(c.Throughput.High)/(n*(n-1)))
			coherency.High += more(c.Throughput.Low) / (n * (n - 1))
		}
		add("cores", c.Law.Cores, cores)
		add("contention", c.Law.Contention, contention)
		add("coherency", c.Law.Coherency, coherency)
	}
	if x := c.calibration(); x != nil {
		text := "calibrated: {"
		for _, f := range []struct{ name, value string }{{"verb", x.Verb}, {"group", x.Group}, {"resource", x.Resource}, {"subresource", x.Subresource},
			{"namespace", x.Namespace}, {"name", x.Name}} {
			if f.value != "" {
				text += f.name + ": " + f.value + ", "
			}
		}
		fields = append(fields, text+"demand: "+shape.Duration(float64(x.Demand))+"}")
	}
	fields = append(fields, fmt.Sprintf("measured: %d", max(1, c.Measured)))
	if len(intervals) > 0 {
		fields = append(fields, "interval: {"+strings.Join(intervals, ", ")+"}")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
