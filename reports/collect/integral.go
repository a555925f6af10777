package collect

// integral is the integral of a number over time, in units of the number times nanoseconds. A change of the number costs
// one product, and time that passes costs nothing: up to now, the integral is the number times now, less each change times
// when it happened. The products may overflow, and their differences are right nevertheless.
type integral struct {
	value  int
	offset int64
}

func (i *integral) add(nowNs int64, d int) {
	i.value += d
	i.offset -= int64(d) * nowNs
}

// valueAt returns the integral from the last restart, or else from time 0, to nowNs.
func (i *integral) valueAt(nowNs int64) int64 { return int64(i.value)*nowNs + i.offset }

// restart returns the integral up to now and resets it to 0.
func (i *integral) restart(nowNs int64) int64 {
	sum := i.valueAt(nowNs)
	i.offset -= sum
	return sum
}
