package fit

import "apfsim/experiment/fit/sharing"

// collectExecution adds the execution of a request to those of its workload, or its demand if the capacity is known.
func (f *fitter) collectExecution(w *workload, e *Entry) {
	if f.law == nil {
		w.observed.Execution.Add(float64(e.ExecutionNs))
		return
	}
	took := e.TookNs()
	delay := f.delayNs(w, took)
	if delay > 0 {
		w.observed.Delay.Add(float64(delay))
	}
	if known, ok := shares(e); !known || !ok || took <= delay {
		w.observed.Execution.Add(float64(max(0, e.ExecutionNs-delay)))
		return
	}
	for len(f.meters) <= e.Server {
		f.meters = append(f.meters, sharing.NewMeter(*f.law, func(tag any, ns float64) { tag.(*workload).observed.Execution.Add(ns) }))
	}
	begin := e.ArrivalNs + e.WaitNs
	f.meters[e.Server].Add(e.ArrivalNs, begin, begin+took-delay, w)
}

// closeMeters adds the demands of the requests that are left.
func (f *fitter) closeMeters() {
	for _, m := range f.meters {
		m.Close()
	}
}
