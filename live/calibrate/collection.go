package calibrate

import (
	"bytes"
	"math"
	"time"

	"apfsim/lint/metrics"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// Collector is what a server in Go has counted of its garbage collections since its start (runtime/metrics). A server that does not count
// them has zeros.
type Collector struct {
	Collections float64
	Seconds     float64 // processor time of the processors that do nothing else meanwhile, a quarter of all
	Processors  float64
}

// Names of the metrics of Collector.
const (
	collectionsName = "go_gc_cycles_total_gc_cycles_total"
	collectorName   = "go_cpu_classes_gc_mark_dedicated_cpu_seconds_total"
	processorsName  = "go_sched_gomaxprocs_threads"
)

// ReadCollector reads the counters from the text of /metrics.
func ReadCollector(text []byte) (c Collector, err error) {
	samples, err := metrics.Read(bytes.NewReader(text), collectionsName, collectorName, processorsName)
	if err != nil {
		return c, err
	}
	for name, to := range map[string]*float64{collectionsName: &c.Collections, collectorName: &c.Seconds, processorsName: &c.Processors} {
		if all := samples.ByName[name]; len(all) == 1 {
			*to = all[0].Value
		}
	}
	return c, nil
}

// collectorPart is the part of the processors on which Go collects garbage (runtime/mgcpacer.go, gcBackgroundUtilization).
const collectorPart = 0.25

// Since returns how many collections there were after an earlier time, and how long one lasted, on average.
func (c Collector) Since(before Collector) (collections float64, lasts time.Duration) {
	n, seconds := c.Collections-before.Collections, c.Seconds-before.Seconds
	if n < 1 || seconds <= 0 || c.Processors < 1 {
		return 0, 0
	}
	return n, time.Duration(1e9 * seconds / n / (collectorPart * c.Processors))
}

// fewestCollections are those from which a mean is known.
const fewestCollections = 10

// saturated is the part of the greatest throughput from which on a step has shown what the server can do.
const saturated = 0.9

// collect takes the garbage collections out of a law with cores, and adds them as such: the greatest throughputs are what they leave. While
// one lasts, half of the cores are missing (package machine). It lasts the longer, the more requests there are: the bounds are those of all steps with
// as many clients as cores.
func (c *Capacity) collect(steps []Step) {
	if !c.Identifiable || math.IsInf(c.Law.Cores, 1) {
		return
	}
	var n, served, lasting float64 // collections, and ns
	shortest, longest, greatest := time.Duration(math.MaxInt64), time.Duration(0), 0.0
	for i := range steps {
		greatest = max(greatest, steps[i].PerSecond)
	}
	for i := range steps {
		s := &steps[i]
		if s.Collections == 0 || float64(s.Clients) < c.Law.Cores {
			continue
		}
		shortest, longest = min(shortest, s.Collection), max(longest, s.Collection)
		if s.PerSecond >= saturated*greatest {
			n += s.Collections
			served += float64(s.Sent) * float64(c.Demand)
			lasting += s.Collections * float64(s.Collection)
		}
	}
	missing := c.Law.Throughput(c.Measured) * lasting / (2 * served)
	if n < fewestCollections || missing >= 1 {
		return
	}
	c.Collection = &machine.Collection{Every: quantity.Duration(served / n), Lasts: quantity.Duration(lasting / n)}
	c.CollectionLasts = machine.Durations{Low: min(quantity.Duration(shortest), c.Collection.Lasts), High: max(quantity.Duration(longest), c.Collection.Lasts)}
	c.Law.Cores /= 1 - missing
	c.Cores.Low /= 1 - missing
	c.Cores.High /= 1 - missing
}
