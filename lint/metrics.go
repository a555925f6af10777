package lint

import (
	"fmt"
	"io"
	"strings"

	"apfsim/core/estimate"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// ReadMetrics reads from what a kube-apiserver serves under /metrics how many objects of each
// resource it stores and, where it says so, their size: apiserver_resource_objects and
// apiserver_resource_size_estimate_bytes, or before 1.34 apiserver_storage_objects, whose one label
// is resource.group.
func ReadMetrics(r io.Reader) (estimate.Store, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("is not the text of /metrics: %w", err)
	}
	store := estimate.Store{}
	for _, name := range []string{"apiserver_storage_objects", "apiserver_resource_objects"} {
		for _, m := range families[name].GetMetric() {
			if n := value(m); n >= 0 { // -1 marks a count that failed
				store[resourceOf(m)] = estimate.Stats{Objects: int64(n)}
			}
		}
	}
	if len(store) == 0 {
		return nil, fmt.Errorf("has no apiserver_resource_objects and no apiserver_storage_objects with a value")
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

// value returns what a metric says, with or without a line on its type.
func value(m *dto.Metric) float64 {
	if m.GetUntyped() != nil {
		return m.GetUntyped().GetValue()
	}
	return m.GetGauge().GetValue()
}

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
