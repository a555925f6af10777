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
		f.meters = append(f.meters, sharing.NewMeter(*f.law, f.turn, f.addDemand))
	}
	begin := e.ArrivalNs + e.WaitNs
	f.meters[e.Server].Add(e.ArrivalNs, begin, begin+took-delay, f.visits(w) > 0, w)
}

// addDemand takes note of the demand of a request, unless it is unknown because the request has waited for a turn.
func (f *fitter) addDemand(tag any, ns float64, known bool) {
	w := tag.(*workload)
	if f.demandNs != nil {
		ns = f.demandNs(w, ns)
	}
	if known {
		w.observed.Execution.Add(ns)
	}
}

// closeMeters adds the demands of the requests that are left. A short workload all of whose requests may have waited has those of the other
// logs.
func (f *fitter) closeMeters() {
	for _, m := range f.meters {
		m.Close()
	}
	for _, w := range f.workloads {
		if f.visits(w) > 0 && w.observed.Execution.N == 0 {
			for _, ns := range f.turn.Demands(f.kinds[w.name]) {
				w.observed.Execution.Add(ns)
			}
		}
	}
}
