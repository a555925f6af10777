package collect

import (
	"hash/maphash"

	"apfsim/sim/server"
)

// names finds the flows of a level by their names. It is a hash table with open addressing that only has the indices
// of the flows: a map with the names takes twenty times as much memory, and is only needed when a change of the
// configuration gives a flow another index.
type names struct {
	seed  maphash.Seed
	slots []int32 // one more than an index into the flows of the level; 0 for none. Their number is a power of 2
}

// find returns the flow with the same name as another flow, nil if there is none.
func (n *names) find(flows []*flow, identity *server.Flow) *flow {
	if len(n.slots) == 0 {
		return nil
	}
	for slot := n.first(identity); n.slots[slot] != 0; slot = (slot + 1) % len(n.slots) {
		if f := flows[n.slots[slot]-1]; f.identity.Schema.Name == identity.Schema.Name && f.identity.Distinguisher == identity.Distinguisher {
			return f
		}
	}
	return nil
}

// add adds the last of the flows, whose name must be new.
func (n *names) add(flows []*flow) {
	if 4*len(flows) > 3*len(n.slots) {
		if n.slots == nil {
			n.seed = maphash.MakeSeed()
		}
		n.slots = make([]int32, max(16, 2*len(n.slots)))
		for i := range flows[:len(flows)-1] {
			n.put(flows, i)
		}
	}
	n.put(flows, len(flows)-1)
}

func (n *names) put(flows []*flow, i int) {
	slot := n.first(flows[i].identity)
	for n.slots[slot] != 0 {
		slot = (slot + 1) % len(n.slots)
	}
	n.slots[slot] = int32(i) + 1
}

func (n *names) first(identity *server.Flow) int {
	return int((maphash.String(n.seed, identity.Schema.Name) + 31*maphash.String(n.seed, identity.Distinguisher)) % uint64(len(n.slots)))
}
