package format

// Progress, unless nil, is told how much is done of something that takes long, in whatever
// units.
type Progress func(done, all int)

func (p Progress) Tell(done, all int) {
	if p != nil {
		p(done, all)
	}
}
