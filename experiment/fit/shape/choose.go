package shape

import (
	"fmt"
	"math"

	yamlv3 "go.yaml.in/yaml/v3"

	"apfsim/document/yaml"
	"apfsim/sim/workload"
)

// How processes are compared with the counts of first attempts.
const (
	trials       = 39      // arrivals of a process that are drawn
	mostDrawn    = 20e6    // requests of all trials of a process
	fewestTrials = 5       // however many requests there are
	acceptable   = 0.25    // part of the length of an interval by which a statistic may be outside
	leastDrawn   = 20      // requests that have statistics
	trialName    = "trial" // of the workload, from which the streams of random numbers are derived
)

// choose returns the first of some processes, each of which is simpler than the next, whose arrivals have the dispersions,
// the largest second and the autocorrelations of the recorded first attempts; or if none has, the one that is nearest.
func (o *Observations) choose(all []Arrivals) Arrivals {
	if len(all) == 1 || o.First < leastDrawn {
		return all[0]
	}
	best, least := 0, math.Inf(1)
	for i := range all {
		distance := o.distance(&all[i])
		if distance <= acceptable {
			return all[i]
		}
		if distance < least {
			best, least = i, distance
		}
	}
	return all[best]
}

// distance returns by how much the statistics of the recorded counts are outside the range of those of a process, as a
// part of this range and as the most of all statistics.
func (o *Observations) distance(a *Arrivals) (most float64) {
	n := min(trials, max(fewestTrials, int(mostDrawn/float64(o.First))))
	low, high := make([]float64, len(statistics)), make([]float64, len(statistics))
	for trial := range n {
		c := o.draw(a, uint64(trial+1))
		for i, statistic := range statistics {
			x, _ := statistic(c)
			if trial == 0 {
				low[i], high[i] = x, x
			}
			low[i], high[i] = min(low[i], x), max(high[i], x)
		}
	}
	for i, statistic := range statistics {
		x, ok := statistic(o.counts)
		if !ok {
			continue
		}
		margin := 0.01 + 0.01*math.Abs(x)
		most = max(most, max(low[i]-x, x-high[i])/(high[i]-low[i]+margin))
	}
	return most
}

// statistics are those of the counts that are compared.
var statistics = func() (all []func(*Counts) (float64, bool)) {
	for i := range Windows {
		all = append(all, func(c *Counts) (float64, bool) { return c.Dispersion(i) })
	}
	all = append(all, func(c *Counts) (float64, bool) { n, ok := c.Largest(); return float64(n), ok })
	for i := range Lags {
		all = append(all, func(c *Counts) (float64, bool) { return c.Autocorrelation(i) })
	}
	return all
}()

// draw returns the counts of arrivals that the process has with a seed. As they are counted client by client, and not in
// their order, they are counted in the shortest of the windows first, of which all others consist.
func (o *Observations) draw(a *Arrivals, seed uint64) *Counts {
	process := a.process()
	endNs := a.EndNs
	if endNs == 0 {
		endNs = o.durationNs
	}
	short := Windows[0]
	begin := windowOffsetNs % short // of the second of the short windows
	counts := make([]int64, o.durationNs/short+2)
	for i := range o.Clients {
		for ns := range workload.ArrivalTimes(process, seed, trialName, i, endNs-a.StartNs) {
			counts[(a.StartNs+ns-begin+short)/short]++
		}
	}
	c := NewCounts(0, o.durationNs)
	for i, n := range counts {
		if n > 0 {
			c.addMany(max(0, begin+int64(i-1)*short), n)
		}
	}
	return c
}

// process returns the arrivals as a run has them.
func (a *Arrivals) process() *workload.Arrivals {
	text, err := yamlv3.Marshal(ValueNode(a.Value))
	if err != nil {
		panic(fmt.Sprintf("shape: arrivals that are not YAML: %v", err))
	}
	var into workload.Arrivals
	if wrong := yaml.Decode("arrivals", text, &into); len(wrong) > 0 {
		panic(fmt.Sprintf("shape: %s: %v", text, wrong))
	}
	return &into
}
