package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"apfsim/internal/input"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// longestResult bounds what is read of a file of results, in bytes.
const longestResult = 1 << 30

// ErrNoResults is the error of a folder that contains no results.
var ErrNoResults = errors.New("contains no results")

// ReadResults reads the results of an earlier command from the folder of a scenario: its replications, or the
// summary of a single run.
func ReadResults(folder string) (*compare.Replications, error) {
	path := filepath.Join(folder, ReplicationsFile)
	text, err := input.ReadFile(path, longestResult)
	if err == nil {
		var r compare.Replications
		if err = decodeResults(text, &r, &r.SchemaVersion); err == nil {
			err = checkReplications(&r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.CountSamples()
		return &r, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(folder, SummaryFile)
		text, err = input.ReadFile(path, longestResult)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w (neither %s nor %s)%s", folder, ErrNoResults, ReplicationsFile, SummaryFile, foldersWithResults(folder))
	case err != nil:
		return nil, err
	}
	var s result.Summary
	if err := decodeResults(text, &s, &s.SchemaVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := compare.NewReplicator(s.Name, 0, nil)
	all.Add(&collect.Replication{Summary: &s})
	r := all.Replications()
	if err := checkReplications(r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// ReadLimits adds the limits of the priority levels to results that were read from a folder, as far as the
// summaries of the single runs are in the folders beside it.
func ReadLimits(folder string, r *compare.Replications) {
	for i, seed := range r.Seeds {
		path := filepath.Join(Folder(filepath.Dir(filepath.Clean(folder)), fmt.Sprintf("%s-seed-%d", r.Name, seed)), SummaryFile)
		text, err := input.ReadFile(path, longestResult)
		if err != nil {
			continue
		}
		var s result.Summary
		if decodeResults(text, &s, &s.SchemaVersion) == nil && s.Seed == seed && s.DurationNs == r.DurationNs {
			r.SetLimits(i, s.PriorityLevels)
		}
	}
}

func decodeResults(text []byte, into any, version *string) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("is not a file that apfsim wrote: %w", err)
	}
	if *version != result.SchemaVersion {
		return fmt.Errorf("schemaVersion %q is not supported; want %q", *version, result.SchemaVersion)
	}
	return nil
}

// checkReplications returns what is wrong with replications that were read from a file.
func checkReplications(r *compare.Replications) error {
	if len(r.Seeds) == 0 {
		return errors.New("seeds: is empty; want one for each run")
	}
	if r.DurationNs <= 0 {
		return fmt.Errorf("durationNs: %d: want more than 0", r.DurationNs)
	}
	for i := range r.Statistics {
		e := &r.Statistics[i]
		var err error
		if e.ID, err = metric.ParseName(e.Name); err != nil {
			return fmt.Errorf("statistics[%d].name: %w", i, err)
		}
		if len(e.Values) != len(r.Seeds) {
			return fmt.Errorf("statistics[%d].values: there are %d for %d seeds", i, len(e.Values), len(r.Seeds))
		}
	}
	return nil
}

// foldersWithResults returns a hint with the folders of results within a folder that contains no results itself.
func foldersWithResults(folder string) string {
	var found []string
	for _, name := range []string{ReplicationsFile, SummaryFile} {
		some, _ := fs.Glob(os.DirFS(folder), "*/"+name)
		for _, s := range some {
			found = append(found, filepath.Join(folder, strings.TrimSuffix(s, "/"+name)))
		}
	}
	switch {
	case len(found) == 0:
		return "; use the folder of a scenario within the folder that 'apfsim run -o' wrote"
	case len(found) > 3:
		found = append(found[:3], "...")
	}
	return "; use one of " + strings.Join(found, ", ")
}
