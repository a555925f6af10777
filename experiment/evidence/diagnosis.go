package evidence

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
	"apfsim/experiment/incident"
	"apfsim/internal/input"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// File is a file that a diagnosis reads.
type File struct {
	Name string
	Kind incident.Kind
	Open func() (io.ReadCloser, error)
	// BeginMs is from when on a file has all samples of its series, in milliseconds since 1970, also if they appear later; 0 if only
	// its samples show that.
	BeginMs int64
	// Bundled is whether the file is one of a folder or an archive: rows of it that are wrong are left out, with a warning. Those of a
	// file that is named by itself are errors.
	Bundled bool
}

// Diagnosis is a diagnosis without a log of requests. It has the fields of one with a log: those that only requests can fill are
// empty, or null.
type Diagnosis struct {
	incident.Diagnosis
	unknown  []string
	warnings []string
	also     []string         // findings that no cause says, but for the first
	tables   []report.Section // what the files say in detail
}

// longestFile bounds what is read of a file, in bytes, and of what it is unpacked to.
const longestFile = 512 << 20

// Diagnose says what files show of a server that are not logs of its requests. The error has what is wrong with each file that
// cannot be read.
func Diagnose(ctx context.Context, all []File) (*Diagnosis, error) {
	e, err := gather(ctx, all)
	if err != nil {
		return nil, err
	}
	e.concludeMetrics()
	for _, s := range e.read {
		e.sources = append(e.sources, *s)
	}
	e.conclude()
	return e.diagnosis(), nil
}

// gather reads files.
func gather(ctx context.Context, all []File) (*evidence, error) {
	e := &evidence{}
	var wrong []string
	fail := func(name string, err error) {
		if errs := (document.Errors)(nil); errors.As(err, &errs) { // with the places in the file
			wrong = append(wrong, err.Error())
			return
		}
		wrong = append(wrong, name+": "+strings.TrimPrefix(err.Error(), name+": "))
	}
	var opened []opened
	for i := range all {
		f := &all[i]
		text, err := read(ctx, f)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err == nil && readers[f.Kind] == nil {
			err = errors.New(unread(f.Kind, text))
		}
		if err != nil {
			fail(f.Name, err)
			continue
		}
		opened = append(opened, newOpened(f, text))
	}
	for i := range opened {
		o := &opened[i]
		e.beginMs, e.bundled = o.beginMs, o.bundled
		e.read = append(e.read, o.source)
		if err := readers[o.source.Kind](e, o.source, o.text); err != nil {
			fail(o.source.File, err)
		}
	}
	if len(wrong) > 0 {
		return nil, &incident.WrongChoice{Message: strings.Join(wrong, "\n")}
	}
	return e, nil
}

// opened is a file that has been read.
type opened struct {
	source  *incident.Source
	text    []byte
	beginMs int64
	bundled bool
}

func newOpened(f *File, text []byte) opened {
	return opened{&incident.Source{File: f.Name, Kind: f.Kind, Instances: []string{}}, text, f.BeginMs, f.Bundled}
}

// read returns the text of a file, which may be compressed with gzip.
func read(ctx context.Context, f *File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := readAll(input.Reader(ctx, r))
	if err == nil && bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = readAll(z)
		}
		if err != nil {
			err = fmt.Errorf("cannot be decompressed: %w", err)
		}
	}
	return text, err
}

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, longestFile+1))
	if err == nil && len(text) > longestFile {
		err = &input.TooLong{Most: longestFile}
	}
	return text, err
}

// unread says why nothing is concluded from a file.
func unread(kind incident.Kind, text []byte) string {
	switch kind {
	case incident.Empty:
		return "is empty"
	case incident.Other:
		return otherText(text) + "; want the log of a server or of a client, metrics, a dump, or flow-control objects"
	}
	return "is " + Words(kind) + ", from which alone nothing is concluded"
}

// otherText says what a file is that is of no kind that is read.
func otherText(head []byte) string {
	begin := strings.ToLower(string(bytes.TrimSpace(head[:min(len(head), 1<<10)])))
	switch {
	case strings.HasPrefix(begin, "<!doctype html"), strings.HasPrefix(begin, "<html"), strings.HasPrefix(begin, "<?xml"):
		return "is a page, which a proxy or a login may have sent in the place of the answer"
	case strings.HasPrefix(begin, "{") && strings.Contains(begin, `"kind":"status"`), strings.HasPrefix(begin, "error from server"), strings.HasPrefix(begin, `{"status":"error"`):
		line, _, _ := strings.Cut(string(bytes.TrimSpace(head)), "\n")
		return "is an error in the place of the answer: " + format.Shorten(format.Printable(line), 200)
	case strings.HasPrefix(begin, "pk\x03\x04"):
		return "is a zip archive, which is not read; want its folder, or a .tar.gz"
	case strings.HasPrefix(begin, `{"status":"success"`):
		return `is an answer of Prometheus that is neither a "matrix" nor a "vector"`
	}
	return noKind
}

const noKind = "is of no kind that is read"

// IsAnswer reports whether a file, of which the beginning is given, is an answer in the place of what was asked for, such as the page of a login.
func IsAnswer(k incident.Kind, head []byte) bool {
	return k == incident.Other && otherText(head) != noKind
}

// diagnosis makes the diagnosis of what the files say.
func (e *evidence) diagnosis() *Diagnosis {
	v := result.NewOverall()
	d := &Diagnosis{Diagnosis: incident.Diagnosis{SchemaVersion: result.SchemaVersion, KubernetesVersion: e.version, VersionFrom: e.from,
		Clients: e.clients, WhyNotTrusted: []string{"there is no log of requests to replay"}, Verdict: v, KnownFaults: []incident.KnownFault{},
		Remedies: []incident.Remedy{}, Wanted: e.wanted, Sources: e.sources, Schemas: e.schemas, Levels: e.levels}, unknown: e.unknown, warnings: e.warnings, tables: e.tables}
	if d.Clients == nil {
		d.Clients = []*incident.LoggedClient{}
	}
	if d.Schemas == nil {
		d.Schemas = []incident.SchemaUse{}
	}
	if d.Levels == nil {
		d.Levels = []incident.LevelUse{}
	}
	if d.Wanted == nil {
		d.Wanted = []incident.Wanted{}
	}
	for i := range e.sources {
		if s := &e.sources[i]; s.From != "" {
			if d.From == "" || s.From < d.From {
				d.From = s.From
			}
			d.To = max(d.To, s.To)
		}
	}
	// The worst first; of equal ones, those with a cause.
	slices.SortStableFunc(e.findings, func(a, b Finding) int {
		return cmp.Or(rank(b.Status)-rank(a.Status), hasCause(&b)-hasCause(&a))
	})
	number := map[result.Kind]int{}
	for i := range e.findings {
		f := &e.findings[i]
		if i == 0 {
			v.Status, v.Decided, v.Sentence = f.Status, f.Decided, f.Sentence+"."
		}
		if i > 0 && f.Cause == nil && f.Status != result.OK {
			d.also = append(d.also, f.Sentence+".")
		}
		if c := f.Cause; c != nil {
			number[c.Kind]++
			if f.Doubt {
				c.Sentence += doubt(c)
			}
			c.ID = string(c.Kind) + "-" + strconv.Itoa(number[c.Kind])
			v.Causes = append(v.Causes, *c)
			for k := range f.Harmed {
				f.Harmed[k].Causes = append(f.Harmed[k].Causes, c.ID)
			}
			for k := range f.Try {
				f.Try[k].Causes = []string{c.ID}
			}
		}
		v.Harmed = append(v.Harmed, f.Harmed...)
		for _, t := range f.Try {
			if !slices.ContainsFunc(v.Try, func(o result.Remedy) bool { return o.Sentence == t.Sentence }) {
				v.Try = append(v.Try, t)
			}
		}
	}
	if len(e.findings) == 0 {
		v.Status, v.Sentence = result.Unknown, "The files do not say whether requests were harmed."
	}
	for i := range v.Try {
		t := &v.Try[i]
		d.Remedies = append(d.Remedies, incident.Remedy{ID: t.Remedy, Sentence: t.Sentence, Worse: []string{}})
	}
	return d
}

func rank(s result.Status) int {
	return map[result.Status]int{result.Harm: 3, result.Unknown: 2, result.Warning: 1}[s] // as result.Status.Worse
}

func hasCause(f *Finding) int {
	if f.Cause != nil {
		return 1
	}
	return 0
}

// Files returns the page and the JSON of a diagnosis.
func (d *Diagnosis) Files() (list files.List) {
	list.Add(incident.PageFile, func(w io.Writer) error { return render.HTML(w, d.Document()) })
	list.Add(incident.DiagnosisFile, func(w io.Writer) error { return format.WriteJSON(w, &d.Diagnosis) })
	return list
}
