package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"apfsim/experiment"
	"apfsim/scenarios"
	"apfsim/sim/scenario/loader"
)

// Each scenario of an incident has its source, and the file of its name. The statistics of all figures exist.
func TestIncidentsHaveSources(t *testing.T) {
	for _, name := range scenarios.Incidents() {
		loaded, wrong := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
		if len(wrong) > 0 {
			t.Error(wrong)
			continue
		}
		switch m := loaded[0].Metadata; {
		case m.Source == nil:
			t.Errorf("%s has no metadata.source", name)
		case m.Name != name:
			t.Errorf("the scenario in %s is named %s", scenarios.File(name), m.Name)
		}
	}
	if _, err := experiment.LoadIncidents(scenarios.Incidents()); err != nil {
		t.Error(err)
	}
}

// docs/incidents.md has the figures that the files have, and what came of the runs of the cheapest incident.
func TestDocumentedIncidents(t *testing.T) {
	text, err := os.ReadFile("../../docs/incidents.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	loaded, err := experiment.LoadIncidents(scenarios.Incidents())
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.Lines(page) {
		if id, heading := strings.CutPrefix(line, "### "); heading {
			documented = append(documented, strings.TrimSpace(id))
		}
	}
	var ids []string
	for _, in := range loaded.Published() {
		ids = append(ids, in.ID)
		_, section, _ := strings.Cut(page, "\n### "+in.ID+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if !strings.Contains(section, "<"+in.Source.URL+">") {
			t.Errorf("docs/incidents.md: %s: there is no %s; make incidents writes it", in.ID, in.Source.URL)
		}
		for _, f := range in.Figures {
			if row := fmt.Sprintf("| %s | %s |", f.Name, f.PublishedText()); !strings.Contains(section, row) {
				t.Errorf("docs/incidents.md: %s: there is no row %s; make incidents writes it", in.ID, row)
			}
		}
	}
	slices.Sort(documented) // the page has the order of the groups, and the ids are in alphabetical order
	if !slices.Equal(documented, ids) {
		t.Errorf("docs/incidents.md has %v, and the files have %v; make incidents writes it", documented, ids)
	}
	var stdout, stderr bytes.Buffer
	if status := execute([]string{"scenarios", "list", "--incidents", "--format", "markdown", "consistent-list-once-per-second"}, &stdout, &stderr); status != statusDone {
		t.Fatalf("exit status %d\n%s", status, &stderr)
	}
	if !strings.Contains(page, stdout.String()) {
		t.Errorf("docs/incidents.md does not have what the runs yield; make incidents writes it:\n%s", &stdout)
	}
}
