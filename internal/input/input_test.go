package input

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("four"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(file, 4); err != nil || string(text) != "four" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := ReadFile(file, 3); !errors.As(err, new(*TooLong)) {
		t.Errorf("got %v, want that it is too long", err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := ReadFile("/dev/zero", 1<<20); err == nil || err.Error() != "has more than 1 MiB" {
			t.Errorf("/dev/zero: got %v", err)
		}
	}
}

func TestReaderEndsWithItsContext(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	r := Reader(ctx, strings.NewReader("four"))
	b := make([]byte, 2)
	if n, err := r.Read(b); n != 2 || err != nil {
		t.Errorf("got %d bytes and %v", n, err)
	}
	interrupt()
	if text, err := io.ReadAll(r); len(text) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the interruption: got %q and %v", text, err)
	}
}
