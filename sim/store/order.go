package store

import "sort"

// blockLength is the most entries of a block of an order. The cost of an insertion is the search, of which
// the length of the whole order is the logarithm, and moving half a block.
const blockLength = 128

// order is entries in the order of their keys, which are unique. They are in blocks, none of which is empty,
// so that an insertion moves few of them, and their ranks are known nearly as easily as in one slice.
type order struct {
	blocks [][]*entry
	length int
}

// position is a place in an order. The one behind the last entry has the number of blocks for its block.
type position struct{ block, index int }

// seek returns the position of the first entry whose key is not less than a key.
func (o *order) seek(key string) position {
	// The block before the first one that begins at the key or behind it may have the key, too.
	block := sort.Search(len(o.blocks), func(i int) bool { return o.blocks[i][0].key >= key })
	if block == 0 {
		return position{}
	}
	before := o.blocks[block-1]
	index := sort.Search(len(before), func(i int) bool { return before[i].key >= key })
	if index == len(before) {
		return position{block: block}
	}
	return position{block - 1, index}
}

// entryAt returns the entry at a position, nil behind the last one.
func (o *order) entryAt(p position) *entry {
	if p.block == len(o.blocks) {
		return nil
	}
	return o.blocks[p.block][p.index]
}

// next returns the position behind one that has an entry.
func (o *order) next(p position) position {
	p.index++
	if p.index == len(o.blocks[p.block]) {
		p = position{block: p.block + 1}
	}
	return p
}

// rank returns how many entries come before a position.
func (o *order) rank(p position) int {
	n := p.index
	for _, block := range o.blocks[:p.block] {
		n += len(block)
	}
	return n
}

// insert adds an entry whose key is new.
func (o *order) insert(e *entry) {
	o.length++
	if len(o.blocks) == 0 {
		o.blocks = append(o.blocks, append(make([]*entry, 0, 8), e))
		return
	}
	p := o.seek(e.key)
	if p.index == 0 && p.block > 0 { // between two blocks: at the end of the first one
		p.block--
		p.index = len(o.blocks[p.block])
	}
	block := o.blocks[p.block]
	if len(block) == blockLength {
		half := append(make([]*entry, 0, blockLength), block[blockLength/2:]...)
		clear(block[blockLength/2:])
		o.blocks[p.block] = block[:blockLength/2]
		o.blocks = append(o.blocks, nil)
		copy(o.blocks[p.block+2:], o.blocks[p.block+1:])
		o.blocks[p.block+1] = half
		if p.index > blockLength/2 {
			p = position{p.block + 1, p.index - blockLength/2}
		}
		block = o.blocks[p.block]
	}
	block = append(block, nil)
	copy(block[p.index+1:], block[p.index:])
	block[p.index] = e
	o.blocks[p.block] = block
}

// remove removes the entry of a key, which must exist.
func (o *order) remove(key string) {
	p := o.seek(key)
	block := o.blocks[p.block]
	copy(block[p.index:], block[p.index+1:])
	block[len(block)-1] = nil
	o.blocks[p.block] = block[:len(block)-1]
	if len(block) == 1 {
		o.blocks = append(o.blocks[:p.block], o.blocks[p.block+1:]...)
	}
	o.length--
}

// between returns how many entries there are from a key on and before an end, "" for none.
func (o *order) between(from, end string) int {
	n := o.length
	if end != "" {
		n = o.rank(o.seek(end))
	}
	if from == "" {
		return n
	}
	return max(0, n-o.rank(o.seek(from)))
}
