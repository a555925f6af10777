package tune

import (
	"testing"
	"time"
)

// What is proposed is in proportion to the candidates that are left, and bounded.
func TestMoreInProportion(t *testing.T) {
	for _, c := range []struct {
		all, decided int
		late         bool
		want         string
	}{
		{100, 0, true, ""},               // nothing says how long they take
		{137, 1, true, "--time 2m20s"},   // 137 s
		{4, 3, true, "--time 2s"},        // twice at least
		{4000, 1, true, ""},              // more than an hour
		{30, 10, false, "--budget 6000"}, // three times
		{100_000, 10, false, ""},         // too many
	} {
		s := &search{Options: &Options{Time: time.Second, Budget: 2000}, late: c.late, results: map[*Candidate]*trials{}}
		for i := range c.all {
			s.all = append(s.all, &Candidate{})
			if i < c.decided {
				s.results[s.all[i]] = &trials{Decision: Rejected}
			}
		}
		if got := s.more(); got != c.want {
			t.Errorf("%d of %d: got %q, want %q", c.decided, c.all, got, c.want)
		}
	}
}
