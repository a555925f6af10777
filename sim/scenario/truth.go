package scenario

import (
	"slices"
	"strings"

	"apfsim/document"
)

// Truth is what is known to be right about a scenario before it is run: those who test the verdict and the advice on a run
// compare them with it. A run does not depend on it. A list that is absent is not compared; an empty one says that there is none.
type Truth struct {
	Class         string   `json:"class" document:"required" jsonschema:"enum=healthy,enum=overloaded,enum=clients,enum=borderline,enum=other" jsonschema_description:"What kind of system it is."`
	Status        []string `json:"status" document:"required" jsonschema:"minItems=1" jsonschema_description:"The statuses of which any is right: ok, warning, harm, unknown."`
	FirstCauses   []string `json:"firstCauses,omitempty" jsonschema_description:"The kinds of causes of which any is right as the first one."`
	Victims       []string `json:"victims,omitempty" jsonschema_description:"The workloads that are harmed and asked for no more than their share."`
	Limited       []string `json:"limited,omitempty" jsonschema_description:"The workloads that asked for more than their share, and that flow control limited."`
	MustNotAdvise []string `json:"mustNotAdvise,omitempty" jsonschema_description:"The changes that must not be suggested; flow-control stands for all changes of flow-control objects."`
}

// statuses are those of results.
var statuses = []string{"ok", "warning", "harm", "unknown"}

// truth checks the truth. Which causes and changes there are is not known here.
func (c *checker) truth() {
	t := c.scenario.Metadata.Truth
	if t == nil {
		return
	}
	for i, status := range t.Status {
		if !slices.Contains(statuses, status) {
			c.Fail(document.Index("metadata.truth.status", i), "%q: want one of %s%s", document.Abridge(status), strings.Join(statuses, ", "), document.Suggest(status, statuses))
		}
	}
	if len(t.Status) == 0 && !c.Failed("metadata.truth.status") {
		c.Fail("metadata.truth.status", "want at least one of %s", strings.Join(statuses, ", "))
	}
	var workloads []string
	for i := range c.scenario.Spec.Workload {
		workloads = append(workloads, c.scenario.Spec.Workload[i].Name)
	}
	for _, list := range []struct {
		name  string
		names []string
	}{{"victims", t.Victims}, {"limited", t.Limited}} {
		for i, name := range list.names {
			if !slices.Contains(workloads, name) {
				c.Fail(document.Index("metadata.truth."+list.name, i), "no workload is called %q%s", document.Abridge(name), document.Suggest(name, workloads))
			}
		}
	}
}
