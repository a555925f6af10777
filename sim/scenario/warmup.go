package scenario

import (
	"time"

	"apfsim/document"
	"apfsim/sim/quantity"
)

// Warmup is the time at the beginning of a run that is not in its statistics: a duration, or the word auto.
type Warmup struct {
	quantity.Duration // of auto, 0 until it has been chosen
	// Auto says that the duration follows from the runs themselves. Package experiment chooses it before the first run,
	// for all runs of a scenario together.
	Auto bool
	// By is the method that has chosen the duration: "" of a given duration, and of auto until then.
	By string
	// Doubt says why the chosen duration may be wrong; "" if nothing is known against it.
	Doubt string
}

const autoWarmup = "auto"

// UnmarshalDocument implements document.Unmarshaler.
func (w *Warmup) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	const want = "want a duration such as 10s, or auto"
	*w = Warmup{}
	if n.Kind == document.String {
		if n.Text == autoWarmup {
			w.Auto = true
			return
		}
		if _, err := time.ParseDuration(n.Text); err != nil {
			d.Fail(n, path, "%q is not a duration; %s%s", document.Abridge(n.Text), want, document.Suggest(n.Text, []string{autoWarmup}))
			return
		}
	}
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; %s", n.Kind, want)
		return
	}
	w.Duration.UnmarshalDocument(d, n, path)
}

// LongestWarmup returns the longest warm-up that the runs may have: the given one, or half of the run for auto.
func (s *Spec) LongestWarmup() quantity.Duration {
	if s.Warmup.Auto && s.Warmup.By == "" {
		return s.Duration / 2
	}
	return s.Warmup.Duration
}
