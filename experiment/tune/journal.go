package tune

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"apfsim/internal/atomicfile"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// TrialsFile has the runs of a search that are finished: a line that says what was searched, and one for each run, in the
// order in which the search needed them. The same command continues with them after an interruption, and several machines
// can make them.
const TrialsFile = "trials.jsonl"

// outcome is what a run says of a candidate.
type outcome struct {
	Candidate string   `json:"candidate"`
	Seed      uint64   `json:"seed"`
	Passed    bool     `json:"passed"`
	Failed    []int    `json:"failed,omitempty"` // indices of the goals that did not hold
	Excess    *float64 `json:"excess,omitempty"` // the greatest value/limit − 1 of them, if the run was made to its end
	RanAway   bool     `json:"ranAway,omitempty"`
	Worse     string   `json:"worse,omitempty"` // what was protected and got worse
}

// journalHead says what was searched. Runs of searches with the same head are the same.
type journalHead struct {
	SchemaVersion string              `json:"schemaVersion"`
	Version       string              `json:"version"` // of the program
	Scenario      string              `json:"scenario"`
	Inputs        []report.SweepInput `json:"inputs"`
	Load          []string            `json:"load,omitempty"`
	Seed          uint64              `json:"seed"`
	Goals         []string            `json:"goals"`
	Protect       []string            `json:"protect,omitempty"`
}

// trialKey identifies a run of a search.
type trialKey struct {
	candidate string
	seed      uint64
}

// journal is the runs that are finished. Without a folder, it keeps them in memory only.
type journal struct {
	head   []byte
	known  map[trialKey]*outcome
	stored []*outcome        // those of the file, in its order
	used   []*outcome        // those that the search has needed, in this order
	isIn   map[trialKey]bool // of used
	file   *os.File          // nil without a folder
}

// finishedLine is the last line of the journal of a search that has ended.
const finishedLine = `{"finished":true}` + "\n"

// openJournal reads the journal of a folder, or begins one. The error is an Infeasible if the folder has that of another
// search that has not ended: its runs would be lost.
func openJournal(dir string, head *journalHead) (*journal, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	j := &journal{head: append(text, '\n'), known: map[trialKey]*outcome{}, isIn: map[trialKey]bool{}}
	if dir == "" {
		return j, nil
	}
	path := filepath.Join(dir, TrialsFile)
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := 0
	if sameHead := bytes.HasPrefix(before, j.head); err == nil && (sameHead || !bytes.HasSuffix(before, []byte(finishedLine))) {
		if whole, err = j.read(path, before); err != nil {
			return nil, err
		}
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(int64(whole)); err != nil { // the last line may not be whole
		return nil, err
	}
	if _, err := j.file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	if whole == 0 {
		_, err = j.file.Write(j.head)
	}
	return j, err
}

// read reads a journal and returns the length of its whole lines.
func (j *journal) read(path string, text []byte) (whole int, err error) {
	lines := bufio.NewReader(bytes.NewReader(text))
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the rest of a line, if anything
			return whole, nil
		}
		if string(line) == finishedLine { // what follows are new runs
			return whole, nil
		}
		whole += len(line)
		if n == 1 {
			if !bytes.Equal(line, j.head) {
				return 0, &Infeasible{fmt.Sprintf("%s has the runs of another search: %s; use folders of one search, or another folder", path, differenceOfHeads(line, j.head))}
			}
			continue
		}
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			return 0, &Infeasible{fmt.Sprintf("%s:%d: is not a run of a search: %v; remove the file", path, n, err)}
		}
		j.known[trialKey{o.Candidate, o.Seed}] = &o
		j.stored = append(j.stored, &o)
	}
}

// differenceOfHeads names the first field in which the heads of two journals differ.
func differenceOfHeads(is, want []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(is, &a) != nil || json.Unmarshal(want, &b) != nil {
		return "the first line is not that of a search"
	}
	for _, field := range []string{"schemaVersion", "version", "scenario", "inputs", "load", "seed", "goals", "protect"} {
		if !bytes.Equal(a[field], b[field]) {
			return fmt.Sprintf("%s was %s, and is %s now", field, cmp.Or(string(a[field]), "none"), cmp.Or(string(b[field]), "none"))
		}
	}
	return "the first line differs"
}

// HasTrials says whether a folder has the runs of a search.
func HasTrials(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, TrialsFile))
	return err == nil && info.Mode().IsRegular()
}

// MergeTrials adds the runs of several folders, which are parts of one search, to the folder out in a set of files. It
// returns how many runs there are. The error names a folder with another search, and runs that differ.
func MergeTrials(set *atomicfile.Set, dirs []string, out string) (runs int, err error) {
	merged := &journal{known: map[trialKey]*outcome{}, isIn: map[trialKey]bool{}}
	for _, dir := range dirs {
		path := filepath.Join(dir, TrialsFile)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("%s: contains no %s; use a folder that 'apfsim tune -o' wrote", dir, TrialsFile)
		}
		if err != nil {
			return 0, err
		}
		head, _, _ := bytes.Cut(text, []byte("\n"))
		if merged.head == nil {
			merged.head = append(bytes.Clone(head), '\n')
		}
		part := &journal{head: merged.head, known: map[trialKey]*outcome{}}
		if _, err := part.read(path, text); err != nil {
			return 0, err
		}
		for _, o := range part.stored {
			before := merged.known[trialKey{o.Candidate, o.Seed}]
			if before != nil && !reflect.DeepEqual(before, o) {
				return 0, fmt.Errorf("%s: the run of %q with seed %d differs from that of another folder; the folders are not of the same program", path, o.Candidate, o.Seed)
			}
			if before == nil {
				if err := merged.use(o); err != nil {
					return 0, err
				}
			}
		}
	}
	return len(merged.used), set.Write(filepath.Join(out, TrialsFile), merged.runs())
}

// find returns the outcome of a run, nil if it is not known.
func (j *journal) find(candidate string, seed uint64) *outcome {
	return j.known[trialKey{candidate, seed}]
}

// isUsed says whether the search has needed a run before.
func (j *journal) isUsed(candidate string, seed uint64) bool {
	return j.isIn[trialKey{candidate, seed}]
}

// use notes that the search has needed an outcome, and keeps it if it is new.
func (j *journal) use(o *outcome) error {
	key := trialKey{o.Candidate, o.Seed}
	j.used, j.isIn[key] = append(j.used, o), true
	if j.known[key] != nil {
		return nil
	}
	j.known[key] = o
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// close closes the file. What it has is kept.
func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// text returns the journal of a search that has ended, with the runs that it has needed and no others: it is then the same,
// wherever they were made.
func (j *journal) text() []byte { return append(j.runs(), finishedLine...) }

// runs returns the head and the runs that were needed.
func (j *journal) runs() []byte {
	text := bytes.Clone(j.head)
	for _, o := range j.used {
		line, err := json.Marshal(o)
		if err != nil {
			panic("tune: an outcome that cannot be JSON: " + err.Error())
		}
		text = append(append(text, line...), '\n')
	}
	return text
}

// headOf returns the head of the journal of a search whose goals are known.
func (s *search) headOf() (*journalHead, error) {
	inputs, err := report.SweepInputs([]*scenario.Scenario{s.Scenario})
	if err != nil {
		return nil, err
	}
	h := &journalHead{SchemaVersion: result.SchemaVersion, Version: s.Version + " " + runtime.GOARCH, Scenario: s.present.Metadata.Name,
		Inputs: inputs, Load: s.Load, Seed: s.present.Spec.Seed, Protect: s.Protect}
	for i := range s.present.Spec.Thresholds {
		t := &s.present.Spec.Thresholds[i]
		h.Goals = append(h.Goals, t.Key+": "+t.Text)
	}
	return h, nil
}
