package experiment

import (
	"context"

	"apfsim/document"
	"apfsim/sim/scenario"
	"apfsim/sim/trace"
)

// CheckTraces reads the traces that the scenarios replay, each once, and returns all of their errors, as
// document.Errors. What is probably not intended about them is added to the scenarios' warnings. A single run
// reads its traces only once and finds the same: this is for many runs, so that the first one is not begun in
// vain.
func CheckTraces(ctx context.Context, all []*scenario.Scenario) error {
	var wrong document.Errors
	known := map[string]trace.Summary{}
	for _, sc := range all {
		for i := range sc.Spec.Workload {
			t := sc.Spec.Workload[i].Arrivals.Trace
			if t == nil {
				continue
			}
			read, ok := known[t.Path]
			if !ok {
				reader, err := t.Open()
				if err != nil {
					wrong = append(wrong, err.(document.Error))
					continue
				}
				stream := reader.Stream(ctx, 0, 0)
				var errs document.Errors
				read, errs = stream.Drain()
				stream.Close()
				wrong = append(wrong, errs...)
				known[t.Path] = read
			}
			sc.Warnings = append(sc.Warnings, t.Warnings(read, sc.Spec.Duration)...)
		}
	}
	if err := wrong.Err(); err != nil {
		return err
	}
	return ctx.Err()
}
