package playground

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// Running are the arguments of the call "run".
type Running struct {
	Setting
	Recording Window `json:"recording"`
}

// Ran is the answer of the call "run".
type Ran struct {
	Name        string         `json:"name"`
	Seed        uint64         `json:"seed"`
	Fingerprint string         `json:"fingerprint"` // of the decisions, as apfsim run prints it
	Status      result.Status  `json:"status"`
	Sentence    string         `json:"sentence"`
	Workloads   []WorkloadPart `json:"workloads"`
	Page        string         `json:"page"` // the report, as apfsim run writes it
	Recording   *Recording     `json:"recording"`
}

// WorkloadPart is what the page says of a workload in its own words.
type WorkloadPart struct {
	Name     string `json:"name"`
	Arrived  int64  `json:"arrived"`
	Rejected int64  `json:"rejected"`
	WaitP99  *int64 `json:"waitP99Ns"` // of dispatched requests; null without any
}

func run(ctx context.Context, r *Running, progress Progress) (*Ran, error) {
	sc, err := r.one()
	if err != nil {
		return nil, err
	}
	if err := r.Recording.check(); err != nil {
		return nil, err
	}
	if sc.Spec.Warmup.Auto {
		return nil, errAuto
	}
	simulation := sim.New(sc)
	recording := newRecorder(r.Recording, simulation)
	simulation.Observe(recording.observer())
	measured, err := execute(ctx, simulation, progress)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(report.RunDocument(measured))
	if err != nil {
		return nil, err
	}
	s := measured.Summary
	answer := &Ran{Name: s.Name, Seed: s.Seed, Fingerprint: s.Fingerprint, Page: page, Recording: recording.result(), Workloads: []WorkloadPart{}}
	if s.Verdict != nil {
		answer.Status, answer.Sentence = s.Verdict.Status, s.Verdict.Sentence
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		part := WorkloadPart{Name: w.Name, Arrived: w.Arrived, Rejected: w.Rejected}
		if ns, _, ok := w.WaitP99Ns(); ok {
			part.WaitP99 = &ns
		}
		answer.Workloads = append(answer.Workloads, part)
	}
	return answer, nil
}

// errAuto is the error of a warm-up that follows from several runs, which a page would have to wait for.
var errAuto = errors.New("spec.warmup: auto is not supported here; use a duration such as 10s")

// execute executes a run and returns its result. The errors of a trace are document.Errors.
func execute(ctx context.Context, simulation *sim.Run, progress Progress) (*result.Result, error) {
	sc := simulation.Scenario
	durationNs := int64(sc.Spec.Duration)
	measurement := collect.Measure(simulation, result.Interval(durationNs))
	err := simulation.Execute(ctx, func(nowNs int64, _ uint64) { progress(float64(nowNs) / float64(durationNs)) })
	if err != nil {
		return nil, err
	}
	r := measurement.Result()
	judge.Verdict(r)
	return r, nil
}

// pageOf returns a document as a page, which does not name the files that the program would write.
func pageOf(d *report.Document) (string, error) {
	d.Sources = "The program writes all numbers of a run to files: see 'apfsim run'."
	var page bytes.Buffer
	err := render.HTML(&page, d)
	return page.String(), err
}

// Comparing are the arguments of the call "compare": two settings, which are run with the same seeds.
type Comparing struct {
	Base  Setting `json:"base"`
	Head  Setting `json:"head"`
	Seeds int     `json:"seeds"` // how many, from that of the base
	// Recording is of the runs with the first seed.
	Recording Window `json:"recording"`
}

// MaxSeeds is with how many seeds the page compares two settings.
const MaxSeeds = 20

// Compared is the answer of the call "compare".
type Compared struct {
	Page string `json:"page"` // the comparison, as apfsim compare writes it
	// Recordings are those of the base and of the head; nil if nothing was to be recorded.
	Recordings [2]*Recording `json:"recordings"`
}

func compareSettings(ctx context.Context, c *Comparing, progress Progress) (*Compared, error) {
	if c.Seeds < 1 || c.Seeds > MaxSeeds {
		return nil, fmt.Errorf("seeds: %d: want from 1 to %d", c.Seeds, MaxSeeds)
	}
	if err := c.Recording.check(); err != nil {
		return nil, err
	}
	var sides [2]*scenario.Scenario
	for i, s := range []*Setting{&c.Base, &c.Head} {
		var err error
		if sides[i], err = s.one(); err != nil {
			return nil, err
		}
		if sides[i].Spec.Warmup.Auto {
			return nil, errAuto
		}
	}
	first := sides[0].Spec.Seed
	if first+uint64(c.Seeds) < first {
		return nil, errors.New("seed: is too large for several runs")
	}
	var answer Compared
	var runs [2]*compare.Replications
	for i, sc := range sides {
		together := compare.NewReplicator(sc.Metadata.Name, 0, nil)
		for k := range c.Seeds {
			sc.Spec.Seed = first + uint64(k)
			done := i*c.Seeds + k
			simulation := sim.New(sc)
			window := c.Recording
			if k > 0 {
				window.Requests = 0
			}
			recording := newRecorder(window, simulation)
			simulation.Observe(recording.observer())
			measured, err := execute(ctx, simulation, func(share float64) { progress((float64(done) + share) / float64(2*c.Seeds)) })
			if err != nil {
				return nil, err
			}
			if k == 0 {
				answer.Recordings[i] = recording.result()
			}
			together.Add(collect.NewReplication(measured))
		}
		runs[i] = together.Replications()
	}
	var err error
	answer.Page, err = pageOf(report.ComparisonDocument(compare.Compare("A", runs[0], "B", runs[1]), false))
	return &answer, err
}
