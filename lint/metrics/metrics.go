// Package metrics reads what a kube-apiserver reports in its metrics: the samples of a scrape, and from
// them what the server stores and how many seats it has.
package metrics

import (
	"errors"
	"fmt"
	"io"

	"apfsim/core/estimate"
	"apfsim/core/request"
)

// State is the state of a server according to one scrape.
type State struct {
	// Store has the number of stored objects of each resource and, if the server reports it, their
	// average size. It is empty if the server reports no numbers.
	Store estimate.Store

	// Seats is the sum of the nominal limits of the priority levels, 0 if the server does not report
	// them. Because the limits are rounded up, it can exceed the sum of --max-requests-inflight and
	// --max-mutating-requests-inflight by less than one seat for each priority level.
	Seats int
}

// ReadStore returns the number of stored objects of each resource and, if the server reports it, their
// average size. The input is as for [Read]. The error continues a sentence that begins with the name of
// the input.
func ReadStore(r io.Reader) (estimate.Store, error) {
	state, err := Stored(r)
	if err == nil && len(state.Store) == 0 {
		err = errors.New("has no value of apiserver_resource_objects or apiserver_storage_objects")
	}
	if err != nil {
		return nil, err
	}
	return state.Store, nil
}

// Stored returns what a scrape says about a server. The input is as for [Read]. The numbers of objects
// are in apiserver_resource_objects and the sizes in apiserver_resource_size_estimate_bytes. Before
// Kubernetes 1.34, the numbers are in apiserver_storage_objects, whose label is resource.group. The
// limits are in apiserver_flowcontrol_nominal_limit_seats, and before 1.26 in
// apiserver_flowcontrol_request_concurrency_limit. The error continues a sentence that begins with the
// name of the input.
func Stored(r io.Reader) (*State, error) {
	samples, err := Read(r, "apiserver_storage_objects", "apiserver_resource_objects",
		"apiserver_resource_size_estimate_bytes", NominalLimit, ConcurrencyLimit)
	if err != nil {
		return nil, err
	}
	store := estimate.Store{}
	for _, name := range []string{"apiserver_storage_objects", "apiserver_resource_objects"} {
		for _, s := range samples.ByName[name] {
			if s.Value >= 0 { // the server reports -1 if it failed to count
				store[resourceOf(&s)] = estimate.Stats{Objects: int64(s.Value)}
			}
		}
	}
	for _, s := range samples.ByName["apiserver_resource_size_estimate_bytes"] {
		resource := resourceOf(&s)
		if stats := store[resource]; stats.Objects > 0 && s.Value > 0 {
			stats.AverageBytes = int64(s.Value) / stats.Objects
			store[resource] = stats
		}
	}
	limits := samples.ByName[NominalLimit]
	if len(limits) == 0 {
		limits = samples.ByName[ConcurrencyLimit]
	}
	seats := 0.0
	for _, s := range limits {
		seats += s.Value
	}
	if !(seats >= 0 && seats < 1e9) {
		return nil, fmt.Errorf("has nominal limits of %g seats in all; want a number from 0 to 1e9", seats)
	}
	return &State{Store: store, Seats: int(seats)}, nil
}

// resourceOf returns the resource in the labels of a sample. The label group is absent before 1.34, and
// is present and empty for the core group since.
func resourceOf(s *Sample) estimate.Resource {
	name := s.Label("resource")
	for _, l := range s.labels {
		if l.GetName() == "group" {
			return estimate.Resource{Name: name, Group: l.GetValue()}
		}
	}
	group, name := request.SplitResource(name)
	return estimate.Resource{Name: name, Group: group}
}
