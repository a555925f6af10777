package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The pictures of runs in the documents are what the program draws of these runs today.
func TestPicturesOfTheDocuments(t *testing.T) {
	dir := t.TempDir()
	if status := execute([]string{"run", "elephants-and-mice", "borrowing", "-q", "-o", dir}, io.Discard, io.Discard); status != statusDone {
		t.Fatalf("exit status %d", status)
	}
	for picture, chart := range map[string]string{
		"elephants-queues.svg": "elephants-and-mice/charts/queues-workload-low.svg",
		"borrowing-seats.svg":  "borrowing/charts/seats.svg",
	} {
		got, err := os.ReadFile(filepath.Join(dir, chart))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "..", "docs", "images", picture)
		if *rewrite {
			if err := os.WriteFile(file, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not %s as it is drawn today; make rewrite draws it anew", file, chart)
		}
	}
}
