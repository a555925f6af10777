package main

import (
	"testing"

	"apfsim/sim/scenario"
)

func TestSchemaIsCurrent(t *testing.T) {
	now, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if string(now) != scenario.Schema {
		t.Error("sim/scenario/schema.json is not what the Go types say: run make schema")
	}
}
