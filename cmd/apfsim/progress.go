package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"apfsim/experiment"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
)

// quietFor is how long work takes at least whose progress is shown. A test shows it at once.
var quietFor = time.Second

// progress shows the progress of all runs on a terminal: simulated time, events per second and time
// left. It shows nothing in the first second.
type progress struct {
	runs    int
	totalNs float64 // virtual time of all runs, which can exceed an int64
	began   time.Time

	mu          sync.Mutex
	bar         *progressbar.ProgressBar // nil if nothing is shown
	done        int                      // number of runs
	simulatedNs float64                  // of totalNs
	events      uint64
	shown       time.Time // time of the last update
	visible     bool
	paused      bool // while something else is printed
}

// runProgress is the progress of one run.
type runProgress struct {
	all       *progress
	total     time.Duration
	simulated time.Duration
	events    uint64
}

// barSteps is the resolution of the bar.
const barSteps = 1000

// newProgress returns the display for all replications of the scenarios, and for the runs that choose their warm-ups.
func newProgress(w io.Writer, loaded []*scenario.Scenario, quiet bool) *progress {
	p := &progress{began: time.Now()}
	for _, sc := range loaded {
		runs := sc.Spec.Replications + experiment.PilotRuns(sc)
		p.runs += runs
		p.totalNs += float64(sc.Spec.Duration) * float64(runs)
	}
	if hasDisplay(w, quiet) {
		p.bar = newBar(w)
	}
	return p
}

// hasDisplay reports whether progress is shown on w.
func hasDisplay(w io.Writer, quiet bool) bool {
	columns, ok := terminalWidth(w)
	return ok && columns > 0 && !quiet
}

func newBar(w io.Writer) *progressbar.ProgressBar {
	if o, ok := w.(*checkedWriter); ok {
		w = o.Writer
	}
	return progressbar.NewOptions64(barSteps,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(10),
		progressbar.OptionClearOnFinish(),
	)
}

// Begin implements experiment.Progress.
func (p *progress) Begin(total time.Duration) experiment.RunProgress {
	return &runProgress{all: p, total: total}
}

// Update implements experiment.RunProgress.
func (r *runProgress) Update(nowNs int64, events uint64) {
	p := r.all
	p.mu.Lock()
	defer p.mu.Unlock()
	p.simulatedNs += float64(nowNs - int64(r.simulated))
	p.events += events - r.events
	r.simulated, r.events = time.Duration(nowNs), events
	p.show(r)
}

// Finish implements experiment.RunProgress.
func (r *runProgress) Finish() {
	p := r.all
	p.mu.Lock()
	defer p.mu.Unlock()
	p.simulatedNs += float64(r.total - r.simulated)
	r.simulated = r.total
	p.done++
}

// show updates the display, at most ten times a second. The argument is the run that has progressed.
func (p *progress) show(latest *runProgress) {
	now := time.Now()
	elapsed := now.Sub(p.began)
	if p.bar == nil || p.paused || elapsed < quietFor || now.Sub(p.shown) < 100*time.Millisecond {
		return
	}
	share := p.simulatedNs / p.totalNs
	if share <= 0 {
		return // the time left is not known yet
	}
	p.shown, p.visible = now, true
	state := fmt.Sprintf("%d of %d runs", p.done, p.runs)
	if p.runs == 1 {
		state = fmt.Sprintf("%s of %s", latest.simulated.Round(100*time.Millisecond), latest.total)
	}
	left := time.Duration(min(float64(elapsed)*(1/share-1), 1<<62))
	p.bar.Describe(fmt.Sprintf("%s, %.1f M events/s, %s left", state, float64(p.events)/elapsed.Seconds()/1e6, left.Round(time.Second)))
	p.bar.Set64(int64(share * barSteps))
}

// pause removes the display, so that something else can be printed. The runs continue.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	if p.visible {
		p.bar.Clear()
		p.visible = false
	}
}

// resume shows the display again.
func (p *progress) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
}

// steps shows the progress of work other than simulation on a terminal, one part after another. It
// shows nothing in the first second of a part.
type steps struct {
	bar     *progressbar.ProgressBar // nil if nothing is shown
	shown   time.Time                // time of the last update
	visible bool
}

func newSteps(w io.Writer, quiet bool) *steps {
	s := &steps{}
	if hasDisplay(w, quiet) {
		s.bar = newBar(w)
	}
	return s
}

// next returns the progress function of the next part. It shows the number of units done, or only the
// time left if unit is "".
func (s *steps) next(unit string) format.Progress {
	began := time.Now()
	return func(done, all int) {
		now := time.Now()
		if s.bar == nil || now.Sub(began) < quietFor || now.Sub(s.shown) < 100*time.Millisecond || done == 0 {
			return
		}
		s.shown, s.visible = now, true
		left := time.Duration(float64(now.Sub(began)) * float64(all-done) / float64(done))
		text := fmt.Sprintf("%s left", left.Round(time.Second))
		if unit != "" {
			text = fmt.Sprintf("%d of %d %s, %s", done, all, unit, text)
		}
		s.bar.Describe(text)
		s.bar.Set64(int64(done) * barSteps / int64(all))
	}
}

// clear removes the display.
func (s *steps) clear() {
	if s.visible {
		s.bar.Clear()
		s.visible = false
	}
}
