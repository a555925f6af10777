package watchcache

// The time budget of a cache (time_budget.go): it gains 50 ms in each second, up to 100 ms.
const (
	budgetGain   = 0.05
	mostBudgetNs = 100e6
)

// budget is the time that the dispatch of events may spend on watchers that are full. It begins at 0 when the
// cache starts.
type budget struct{ ns, lastNs int64 }

// take takes all of it.
func (b *budget) take(nowNs int64) int64 {
	taken := min(b.ns+int64(float64(nowNs-b.lastNs)*budgetGain), mostBudgetNs)
	b.ns, b.lastNs = 0, nowNs
	return taken
}

// giveBack gives back what has not been used.
func (b *budget) giveBack(unusedNs int64) { b.ns = min(b.ns+unusedNs, mostBudgetNs) }
