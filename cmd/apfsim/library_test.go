package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"apfsim/scenarios"
)

// Every scenario of the library runs, and its thresholds hold.
func TestLibrary(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := execute([]string{"run", name}, &stdout, &stderr); status != statusDone {
				t.Errorf("exit status %d\n%s%s", status, &stdout, &stderr)
			}
		})
	}
}

// The README's table has a line for each.
func TestReadmeListsTheLibrary(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scenarios.Names() {
		if !strings.Contains(string(readme), "| ["+name+"](scenarios/"+name+".yaml) |") {
			t.Errorf("%s is missing", name)
		}
	}
}
