package main

import (
	"fmt"
	"io"
	"time"

	"apfsim/sim/scenario"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far a run is: the time simulated, events per second,
// and the time left. Runs that are over within a second show nothing.
type progress struct {
	bar       *progressbar.ProgressBar // nil when nothing is to be shown
	total     time.Duration
	simulated time.Duration
	began     time.Time
	shown     time.Time
}

func newProgress(w io.Writer, sc *scenario.Scenario, flags *runFlags) *progress {
	p := &progress{total: time.Duration(sc.Spec.Duration), began: time.Now()}
	if columns, ok := terminalWidth(w); ok && columns > 0 && !flags.quiet {
		p.bar = progressbar.NewOptions64(int64(p.total),
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(sc.Metadata.Name),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetWidth(20),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// update is the run's sim.Progress.
func (p *progress) update(nowNs int64, events uint64) {
	p.simulated = time.Duration(nowNs)
	if p.bar == nil {
		return
	}
	now := time.Now()
	elapsed := now.Sub(p.began)
	if elapsed < time.Second || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = now
	left := time.Duration(float64(elapsed) * (float64(p.total)/float64(nowNs) - 1))
	p.bar.Describe(fmt.Sprintf("%s of %s, %.1f M events/s, %s left", p.simulated.Round(100*time.Millisecond), p.total,
		float64(events)/elapsed.Seconds()/1e6, left.Round(time.Second)))
	p.bar.Set64(nowNs)
}

// finish removes the display.
func (p *progress) finish() {
	if p.bar != nil && !p.shown.IsZero() {
		p.bar.Finish()
	}
}
