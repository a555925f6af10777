package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"apfsim/core/rules"
)

const releasesPage = "docs/background/releases.md"

// Each row of the page about the releases leads to a section with an example, and each section is that
// of a row. TestDocumentation runs the examples and compares what they print.
func TestEachChangeHasAnExample(t *testing.T) {
	page := documents(t)[releasesPage]
	changes, examples, ok := strings.Cut(page, "\n## Examples\n")
	if !ok {
		t.Fatal("the page has no examples")
	}
	sections := map[string]string{}
	for _, section := range strings.Split(examples, "\n### ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		anchor := strings.ReplaceAll(strings.ToLower(title), " ", "-")
		sections[regexp.MustCompile(`[^a-z0-9-]`).ReplaceAllString(anchor, "")] = text
	}
	linked := map[string]bool{}
	rows := regexp.MustCompile(`(?m)^\| .*\| \[[^]]*\]\(#([a-z0-9-]*)\) \|$`).FindAllStringSubmatch(changes, -1)
	if len(rows) < 30 {
		t.Errorf("only %d rows have been found", len(rows))
	}
	for _, row := range rows {
		linked[row[1]] = true
		if _, ok := sections[row[1]]; !ok {
			t.Errorf("there is no example #%s: %s", row[1], row[0])
		}
	}
	for anchor, text := range sections {
		if !linked[anchor] {
			t.Errorf("no row leads to #%s", anchor)
		}
		prints := false
		for _, c := range docCommands(releasesPage, text) {
			prints = prints || strings.Contains(c.line, "apfsim") && len(c.output) > 0
		}
		if !prints {
			t.Errorf("#%s: no command has an output", anchor)
		}
	}
}

// The page has a row for each release that does not decide as the one before it, whether that is a
// minor release or a patch release.
func TestEachReleaseThatDiffersHasARow(t *testing.T) {
	changes, _, _ := strings.Cut(documents(t)[releasesPage], "\n## Examples\n")
	minors, patches, _ := strings.Cut(changes, "\n## Patch releases\n")
	decides := func(version string) (rules.Rules, bool) {
		r, err := rules.For(version)
		if err != nil {
			t.Fatal(err)
		}
		r.Version, r.Objects, r.Server, r.Storage, r.Node = "", rules.Objects{}, rules.Server{}, rules.Storage{}, rules.Node{} // which are no decisions
		return *r, rules.Note(version) == ""                                                                                   // else it is taken as another one
	}
	var before rules.Rules
	for _, minor := range rules.Versions() {
		newest, _ := decides(minor)
		if newest != before && !strings.Contains(minors, "\n| "+minor+" |") {
			t.Errorf("%s differs from the release before it, and has no row", minor)
		}
		before = newest
		former, _ := decides(minor + ".0")
		for patch := 1; ; patch++ {
			version := fmt.Sprintf("%s.%d", minor, patch)
			next, exists := decides(version)
			if !exists {
				break
			}
			if next != former && !regexp.MustCompile(`[ |]`+regexp.QuoteMeta(version)+`[ ,]`).MatchString(patches) {
				t.Errorf("%s differs from the patch release before it, and has no row", version)
			}
			former = next
		}
	}
}
