package main

import (
	"bytes"
	"strings"
	"testing"
)

// What is stored is given as OBJECTSxBYTES. An object that etcd would not store is an error, as is anything else.
func TestSizes(t *testing.T) {
	if s, err := parse("300x1000000"); err != nil || s != (size{300, 1_000_000}) {
		t.Errorf("300x1000000 is %v, %v; want 300 objects of 1 000 000 bytes", s, err)
	}
	for _, text := range []string{"", "300", "300x", "x1000", "0x1000", "-1x1000", "300x0", "300x1500000", "300x1kB", "300x10x10"} {
		if s, err := parse(text); err == nil || !strings.Contains(err.Error(), "want OBJECTSxBYTES") {
			t.Errorf("%q is %v, %v; want an error that says how it is written", text, s, err)
		}
	}
}

// Wrong usage starts no server, and says what is wanted.
func TestUsage(t *testing.T) {
	for args, want := range map[string]string{"": "want -lists of 1 or more", "-lists 0 300x1000": "want -lists of 1 or more", "300": "want OBJECTSxBYTES", "-seed 1": "not defined"} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), &stdout, &stderr, strings.Fields(args)); status != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("listcpu %s: exit status %d, %q; want 2, %q", args, status, &stderr, want)
		}
	}
}
