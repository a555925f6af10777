package maintain

// Contest is an object that servers of two releases change in turns: each pass of the one undoes what
// a pass of the other did.
type Contest struct {
	Kind   Kind
	Name   string
	First  *Object // after a pass of a server of the first release; nil if it does not exist then
	Second *Object // after a pass of a server of the second one
}

// Contests returns the objects that change in turns while servers of both releases maintain the store,
// which is not changed. After a pass of one release, an object is in the state of that release until
// the next pass of a server of the other one. The order is that of the writes.
func Contests(first, second *Release, s *Store) (contests []Contest) {
	s = s.Clone()
	s.Do(first.Pass(s, false)...)
	s.Do(second.Pass(s, false)...) // what is not contested is settled
	s.Do(first.Pass(s, false)...)
	for _, w := range second.Pass(s, false) {
		if w.ChangesSpec() {
			o := w.Object()
			contests = append(contests, Contest{o.Kind(), o.Name(), w.Before, w.After})
		}
	}
	return contests
}
