package apicalls

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// Live is a sequence and what a live server answered, with relative versions.
type Live struct {
	Calls   []Call
	Answers []Answer
}

// Generate lets a generator make about n calls at the server.
func (s *Server) Generate(ctx context.Context, g *Generator, n int) (*Live, error) {
	sequence, err := s.NewSequence(ctx)
	if err != nil {
		return nil, err
	}
	defer sequence.Close()
	for len(sequence.calls) < n {
		calls := g.Next()
		answers, err := sequence.Send(ctx, calls)
		if err != nil {
			return nil, err
		}
		g.Answered(calls, answers)
	}
	return sequence.live(ctx)
}

// Replay sends calls to the server.
func (s *Server) Replay(ctx context.Context, calls []Call) (*Live, error) {
	sequence, err := s.NewSequence(ctx)
	if err != nil {
		return nil, err
	}
	defer sequence.Close()
	for _, group := range Groups(calls) {
		if _, err := sequence.Send(ctx, group); err != nil {
			return nil, err
		}
	}
	return sequence.live(ctx)
}

func (s *Sequence) live(ctx context.Context) (*Live, error) {
	answers, err := s.Answers(ctx)
	if err != nil {
		return nil, err
	}
	return &Live{s.calls, Relative(answers)}, nil
}

// WriteFiles writes the trace and the answers to a folder.
func (l *Live) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, traceFile), l.Calls); err != nil {
		return err
	}
	return l.WriteAnswers(filepath.Join(dir, answersFile))
}

// ReadLive reads what WriteFiles has written.
func ReadLive(dir string) (l *Live, err error) {
	l = &Live{}
	if l.Calls, err = ReadCalls(filepath.Join(dir, traceFile)); err != nil {
		return nil, err
	}
	l.Answers, err = ReadAnswers(filepath.Join(dir, answersFile))
	return l, err
}

// WriteAnswers writes the answers to a file.
func (l *Live) WriteAnswers(file string) error { return writeFile(file, l.Answers) }

func writeFile[T any](file string, lines []T) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writeLines(f, lines)
}
