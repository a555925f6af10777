package workload

// Resources returns the resources that workloads ask for, written like deployments.apps. All says that there
// are no others: what a trace asks for is not known before it is read.
func Resources(workloads []Workload) (names []string, all bool) {
	all = true
	for i := range workloads {
		w := &workloads[i]
		all = all && w.Arrivals.Trace == nil
		if w.Behaviour != nil {
			if _, k := w.Behaviour.kind(); k != nil {
				names = append(names, k.resources()...)
			}
		}
		for k := range w.Requests {
			if r := &w.Requests[k]; r.Resource != "" {
				names = append(names, ResourceName(r.Group, r.Resource))
			}
		}
	}
	return names, all
}
