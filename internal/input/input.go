// Package input reads the files of users, which may be of any size, never end, or be no files at all: only up
// to a size, and only until the command is interrupted.
package input

import (
	"context"
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of at most so many bytes. If it has more, the error is a TooLong.
func ReadFile(name string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		err = &TooLong{maxBytes}
	}
	return text, err
}

// TooLong is the error of a file with more bytes than are read.
type TooLong struct{ Most int64 }

// Error implements error.
func (e *TooLong) Error() string { return fmt.Sprintf("has more than %d MiB", e.Most>>20) }

// Reader returns a reader that reads from r until the context is cancelled. The error is then that of the
// context.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
