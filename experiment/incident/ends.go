package incident

// ending is when something ends.
type ending struct {
	atNs int64
	end  func()
}

// ends is a heap of endings.
type ends []ending

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].atNs < h[j].atNs }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(ending)) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
