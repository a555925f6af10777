package queueset

import "math"

// never is the virtual finish of a queue in which nothing waits.
const never = virtual(math.MaxUint64)

// heads holds for each queue the virtual finish of its oldest request, the R at which the request
// would finish, and finds the least of them. It is a binary tree whose leaves are the queues and
// in which every node holds the least of its two children.
type heads struct {
	leaves int // a power of 2, at least the number of queues
	least  []virtual
}

// reset makes room for a number of queues that are all empty.
func (h *heads) reset(queues int) {
	h.leaves = 1
	for h.leaves < queues {
		h.leaves *= 2
	}
	h.least = make([]virtual, 2*h.leaves)
	for i := range h.least {
		h.least[i] = never
	}
}

func (h *heads) set(queue int, finish virtual) {
	at := h.leaves + queue
	if h.least[at] == finish {
		return // in most cases the queue was empty, and is
	}
	h.least[at] = finish
	for at > 1 {
		finish = min(finish, h.least[at^1])
		at /= 2
		if h.least[at] == finish {
			return
		}
		h.least[at] = finish
	}
}

// first returns the queue with the least virtual finish; of several, the first from the given one
// on, cyclically. Not all queues may be empty.
func (h *heads) first(from int) int {
	leaf, only := h.under(1)
	if only {
		return leaf - h.leaves
	}
	at := 1
	if from < h.leaves {
		at = h.leaves + from
	}
	for h.least[at] != h.least[1] {
		// Go on to the next subtree on the right; after the last one, to the whole tree.
		for at&(at+1) != 0 && at%2 == 1 {
			at /= 2
		}
		if at&(at+1) == 0 {
			at = 1
		} else {
			at++
		}
	}
	leaf, _ = h.under(at)
	return leaf - h.leaves
}

// under returns the first leaf below a node that has the least virtual finish of all, and whether
// it is the only one below the node. There must be one.
func (h *heads) under(at int) (leaf int, only bool) {
	least := h.least[1]
	only = true
	for at < h.leaves {
		at *= 2
		if h.least[at] != least {
			at++
		} else if h.least[at+1] == least {
			only = false
		}
	}
	return at, only
}
