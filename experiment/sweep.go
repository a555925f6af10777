package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"apfsim/experiment/output"
	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/sim/scenario"
)

// Shard is a part of a sweep: the runs whose number is Index modulo Of. Neighbouring points take a similar time,
// so they are distributed over the shards.
type Shard struct{ Index, Of int }

// Runs returns the number of runs of the shard.
func (p Shard) Runs(s *report.Sweep) int { return (s.Runs() - p.Index + p.Of - 1) / p.Of }

// Remaining is the runs of a shard that have not been made yet.
type Remaining struct {
	Done     int                  // number of runs that have been made
	AtPoints []*scenario.Scenario // scenarios of the points, with the number of remaining runs as replications

	grid *Grid
	dir  string
	runs []int // numbers of the remaining runs
}

// Remaining returns the runs of a shard whose files are not in the folder of the sweep.
func (g *Grid) Remaining(dir string, part Shard, progress format.Progress) (*Remaining, error) {
	s, remaining := g.Sweep, &Remaining{grid: g, dir: dir}
	for run := part.Index; run < s.Runs(); run += part.Of {
		progress(run, s.Runs())
		_, err := output.ReadSweepRun(s, dir, run)
		switch {
		case err == nil:
			remaining.Done++
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		point, _ := s.PointOf(run)
		if n := len(remaining.runs); n == 0 || remaining.runs[n-1]/s.Replications != point {
			sc := *g.Points[point]
			sc.Spec.Replications = 0
			remaining.AtPoints = append(remaining.AtPoints, &sc)
		}
		remaining.AtPoints[len(remaining.AtPoints)-1].Spec.Replications++
		remaining.runs = append(remaining.runs, run)
	}
	return remaining, nil
}

// Run makes the runs and writes the results of each to the folder. If it fails, Done includes the runs that have
// been written.
func (r *Remaining) Run(ctx context.Context, progress Progress) error {
	if err := r.chooseWarmups(ctx, progress); err != nil {
		return err
	}
	runs := newInOrder(ctx, runtime.GOMAXPROCS(0), len(r.runs), func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, r.simulate(ctx, r.runs[i], progress)
	})
	defer runs.stop()
	for range r.runs {
		if _, err := runs.next(); err != nil {
			runs.stop()
			for _, run := range r.runs {
				if _, err := output.ReadSweepRun(r.grid.Sweep, r.dir, run); err == nil {
					r.Done++
				}
			}
			return err
		}
	}
	r.Done += len(r.runs)
	return nil
}

// chooseWarmups chooses the warm-up of each point that has remaining runs. It does not depend on which they are.
func (r *Remaining) chooseWarmups(ctx context.Context, progress Progress) error {
	var points []*scenario.Scenario
	last := -1
	for _, run := range r.runs {
		if point, _ := r.grid.Sweep.PointOf(run); point != last {
			last = point
			sc := r.grid.Points[point]
			sc.Spec.Seed = r.grid.Sweep.Seed
			points = append(points, sc)
		}
	}
	return ChooseWarmups(ctx, points, progress)
}

// simulate makes one run and writes its results.
func (r *Remaining) simulate(ctx context.Context, run int, progress Progress) error {
	s := r.grid.Sweep
	point, seed := s.PointOf(run)
	own, err := r.grid.Points[point].ForRun(seed, s.Replications)
	if err != nil {
		return err
	}
	own.Metadata.Name = fmt.Sprintf("%s (%s, seed %d)", s.Scenario, s.Describe(point), seed)
	result, err := simulate(ctx, own, Outputs{EveryFlow: s.Flows}, progress)
	if err != nil {
		return err
	}
	return output.WriteSweepRun(s, r.dir, run, result.Summary, result.Parts)
}
