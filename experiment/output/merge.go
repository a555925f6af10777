package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/sweep"
)

// ReadShards returns the sweep whose runs are spread over several folders. The error says which
// of them are not of one sweep, which runs are in none of them, and which are in several and
// not the same.
func ReadShards(dirs []string, progress format.Progress) (*sweep.Sweep, error) {
	s, err := sameSweep(dirs)
	if err != nil {
		return nil, err
	}
	return s, checkParts(s, dirs, progress)
}

// MergeShards puts the runs that are spread over several folders together in the folder out, where
// the sweep has begun: the same files as if all had been run there.
func MergeShards(s *sweep.Sweep, ctx context.Context, dirs []string, out string, progress format.Progress) error {
	for run := range s.Runs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.Report(run, s.Runs())
		text, err := find(s, dirs, run)
		if err != nil {
			return err
		}
		if err := files.Write(out, files.List{Files: []files.File{{Name: SweepRunFile(s, run), Data: text}}}); err != nil {
			return err
		}
	}
	return nil
}

// sameSweep returns the sweep that all folders are of.
func sameSweep(dirs []string) (*sweep.Sweep, error) {
	var all []*sweep.Sweep
	var wrong []error
	for _, dir := range dirs {
		s, err := ReadSweep(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%s: there is no sweep: want a folder that 'apfsim sweep -o' was given", dir)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, s)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	s := all[0]
	for i, other := range all[1:] {
		different := other.Differences(s, dirs[0])
		if !slices.Equal(s.Charts, other.Charts) {
			different = append(different, fmt.Sprintf(sweep.Unlike, "--chart", strings.Join(other.Charts, " "), strings.Join(s.Charts, " "), dirs[0]))
		}
		for _, text := range different {
			wrong = append(wrong, fmt.Errorf("%s: %s: want shards of one sweep", dirs[i+1], text))
		}
	}
	return s, errors.Join(wrong...)
}

// checkParts looks at every run in every folder.
func checkParts(s *sweep.Sweep, dirs []string, progress format.Progress) error {
	var wrong []error
	missing := 0
	for run := range s.Runs() {
		progress.Report(run, s.Runs())
		_, err := find(s, dirs, run)
		if errors.Is(err, fs.ErrNotExist) {
			missing++
			err = fmt.Errorf("%s: is in none of the folders", s.DescribeRun(run))
		}
		if err != nil && len(wrong) < mostPartsTold {
			wrong = append(wrong, err)
		}
	}
	if missing > 0 {
		wrong = append(wrong, fmt.Errorf("%d of %d runs missing; the same sweep with the same -o does the rest", missing, s.Runs()))
	}
	return errors.Join(wrong...)
}

// mostPartsTold is how many of the runs that are missing or in doubt are told.
const mostPartsTold = 10

// find returns the file of a run, the same in all of the folders that have it. The error is
// fs.ErrNotExist if none has.
func find(s *sweep.Sweep, dirs []string, run int) (text []byte, err error) {
	var dir string // that it is from
	for _, d := range dirs {
		path := filepath.Join(d, SweepRunFile(s, run))
		own, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		if _, err := parseRun(s, own, run); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if text != nil && !bytes.Equal(text, own) {
			return nil, fmt.Errorf("%s: is not the same in %s and in %s", s.DescribeRun(run), dir, d)
		}
		if text == nil {
			dir, text = d, own
		}
	}
	if text == nil {
		return nil, fs.ErrNotExist
	}
	return text, nil
}
