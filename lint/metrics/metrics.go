// Package metrics reads what a kube-apiserver reports in its metrics about its stored objects.
package metrics

import (
	"fmt"
	"io"
	"strings"

	"apfsim/core/estimate"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// ReadStore returns the number of stored objects of each resource and, if the server reports it,
// their average size. The input is the text that a kube-apiserver serves under /metrics. The numbers
// are in apiserver_resource_objects and the sizes in apiserver_resource_size_estimate_bytes. Before
// Kubernetes 1.34, the numbers are in apiserver_storage_objects, whose label is resource.group. The
// error continues a sentence that begins with the name of the input.
func ReadStore(r io.Reader) (estimate.Store, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("is not the text of /metrics: %w", err)
	}
	store := estimate.Store{}
	for _, name := range []string{"apiserver_storage_objects", "apiserver_resource_objects"} {
		for _, m := range families[name].GetMetric() {
			if n := value(m); n >= 0 { // the server reports -1 if it failed to count
				store[resourceOf(m)] = estimate.Stats{Objects: int64(n)}
			}
		}
	}
	if len(store) == 0 {
		return nil, fmt.Errorf("has no value of apiserver_resource_objects or apiserver_storage_objects")
	}
	for _, m := range families["apiserver_resource_size_estimate_bytes"].GetMetric() {
		resource := resourceOf(m)
		if stats := store[resource]; stats.Objects > 0 {
			stats.AverageBytes = int64(value(m)) / stats.Objects
			store[resource] = stats
		}
	}
	return store, nil
}

// value returns the value of a metric. Without a TYPE line in the text, its type is untyped.
func value(m *dto.Metric) float64 {
	if m.GetUntyped() != nil {
		return m.GetUntyped().GetValue()
	}
	return m.GetGauge().GetValue()
}

// resourceOf returns the resource in the labels of a metric.
func resourceOf(m *dto.Metric) (resource estimate.Resource) {
	grouped := false
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "resource":
			resource.Name = l.GetValue()
		case "group":
			resource.Group, grouped = l.GetValue(), true
		}
	}
	if !grouped {
		resource.Name, resource.Group, _ = strings.Cut(resource.Name, ".")
	}
	return resource
}
