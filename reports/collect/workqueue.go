package collect

import (
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// workQueue is the depth of the queues of a workload's controllers at the ends of the intervals of the window.
type workQueue struct {
	workload int
	depths   []int64
	result.WorkQueue
}

// readQueues reads the queues of the controllers at the end of an interval.
func (c *Collector) readQueues(nowNs int64) {
	if nowNs <= c.fromNs || c.queueOf == nil {
		return
	}
	for i := range c.queues {
		q := &c.queues[i]
		depth, oldestNs := c.queueOf(nowNs, q.workload)
		q.depths = append(q.depths, int64(depth))
		q.Depth, q.OldestNs = int64(depth), oldestNs
		q.MostDeep, q.MostNs = max(q.MostDeep, q.Depth), max(q.MostNs, oldestNs)
	}
}

// leastDepth is the mean depth in the last fifth of the window below which a queue does not grow.
const leastDepth = 10

// result returns the queue, and whether it grew: by the test of Mann and Kendall, and by half from the first fifth to the last.
func (q *workQueue) result() *result.WorkQueue {
	each := len(q.depths) / batches
	if each == 0 {
		return &q.WorkQueue
	}
	means := make([]float64, batches)
	for i, depth := range q.depths[len(q.depths)-each*batches:] {
		means[i/each] += float64(depth) / float64(each)
	}
	first, last := 0.0, 0.0
	for i := range fifth {
		first, last = first+means[i]/fifth, last+means[batches-1-i]/fifth
	}
	trend := measure.MannKendall(means)
	q.Grows = last >= max(leastDepth, leastGrowth*first) && trend.Z() > growthZ
	return &q.WorkQueue
}
