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
	"apfsim/reports/report"
)

// ReadShards returns the sweep whose runs are distributed over several folders. The error names the folders
// of another sweep, the runs that are in none of the folders, and the runs that differ between folders.
func ReadShards(dirs []string, progress format.Progress) (*report.Sweep, error) {
	s, err := sameSweep(dirs)
	if err != nil {
		return nil, err
	}
	return s, checkShards(s, dirs, progress)
}

// MergeShards copies the runs from several folders to the folder out, which BeginSweep made. The result is the
// same as if all runs had been made there.
func MergeShards(s *report.Sweep, ctx context.Context, dirs []string, out string, progress format.Progress) error {
	for run := range s.Runs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.Report(run, s.Runs())
		text, err := findRun(s, dirs, run)
		if err != nil {
			return err
		}
		if err := files.Write(out, files.List{Files: []files.File{{Name: SweepRunFile(s, run), Data: text}}}); err != nil {
			return err
		}
	}
	return nil
}

// sameSweep returns the sweep of the folders. The error lists the differences if they contain several.
func sameSweep(dirs []string) (*report.Sweep, error) {
	var all []*report.Sweep
	var wrong []error
	for _, dir := range dirs {
		s, err := ReadSweep(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%s: contains no sweep; use a folder that 'apfsim sweep -o' wrote", dir)
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
			different = append(different, fmt.Sprintf(report.DifferenceFormat, "--chart", strings.Join(other.Charts, " "), strings.Join(s.Charts, " "), dirs[0]))
		}
		for _, text := range different {
			wrong = append(wrong, fmt.Errorf("%s: %s; use shards of one sweep", dirs[i+1], text))
		}
	}
	return s, errors.Join(wrong...)
}

// checkShards checks every run in every folder.
func checkShards(s *report.Sweep, dirs []string, progress format.Progress) error {
	var wrong []error
	missing := 0
	for run := range s.Runs() {
		progress.Report(run, s.Runs())
		_, err := findRun(s, dirs, run)
		if errors.Is(err, fs.ErrNotExist) {
			missing++
			err = fmt.Errorf("%s: is missing from all folders", s.DescribeRun(run))
		}
		if err != nil && len(wrong) < mostRunsReported {
			wrong = append(wrong, err)
		}
	}
	if missing > 0 {
		wrong = append(wrong, fmt.Errorf("%d of %d runs are missing; repeat the sweep with the same -o to simulate them", missing, s.Runs()))
	}
	return errors.Join(wrong...)
}

// mostRunsReported is the greatest number of missing or differing runs that an error names.
const mostRunsReported = 10

// findRun returns the file of a run, which must be the same in all folders that contain it. The error is
// fs.ErrNotExist if none does.
func findRun(s *report.Sweep, dirs []string, run int) (text []byte, err error) {
	var dir string // the folder that text is from
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
			return nil, fmt.Errorf("%s: differs between %s and %s", s.DescribeRun(run), dir, d)
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
