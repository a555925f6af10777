package format

// Progress reports that done of all parts of a long computation are done. It may be nil.
type Progress func(done, all int)

// Report calls p unless it is nil.
func (p Progress) Report(done, all int) {
	if p != nil {
		p(done, all)
	}
}
