package metrics

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Sample is one value of a metric.
type Sample struct {
	Value  float64
	AtMs   int64            // since 1970; 0 if the line has no time, and of Read, which leaves times out
	labels []*dto.LabelPair // sorted by name
}

// Label returns the value of a label, and "" if the sample does not have it.
func (s *Sample) Label(name string) string {
	for _, l := range s.labels {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Labels calls yield with the name and the value of each label, sorted by name.
func (s *Sample) Labels(yield func(name, value string) bool) {
	for _, l := range s.labels {
		if !yield(l.GetName(), l.GetValue()) {
			return
		}
	}
}

// Key returns the labels as name="value", separated by commas. It identifies a series of a metric.
func (s *Sample) Key() string { return s.text(func(string) bool { return true }) }

// Only returns those of the labels that are named, in the form of Key.
func (s *Sample) Only(names []string) string {
	return s.text(func(name string) bool { return slices.Contains(names, name) })
}

// Without returns the labels except for those that are named, in the form of Key.
func (s *Sample) Without(names []string) string {
	return s.text(func(name string) bool { return !slices.Contains(names, name) })
}

func (s *Sample) text(wanted func(name string) bool) string {
	var b strings.Builder
	for _, l := range s.labels {
		if wanted(l.GetName()) {
			if b.Len() > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%s=%q", l.GetName(), l.GetValue())
		}
	}
	return b.String()
}

// Samples are the samples of a scrape by the name of the metric, in the order of the lines. The parts of
// a histogram have names of their own, which end in _bucket, _sum and _count.
type Samples struct {
	ByName map[string][]Sample

	// Repeated is whether the text has several samples of a series, with times, as the file of a run
	// has. Only the last one of each series is kept.
	Repeated bool
}

// longestLine is the greatest length of a line. It bounds the memory that a file of another kind takes.
const longestLine = 1 << 20

// Read reads the samples of the metrics whose names begin with one of the prefixes. The input is the
// text that a kube-apiserver serves under /metrics, in the format of Prometheus or OpenMetrics, and may
// be compressed with gzip. The error continues a sentence that begins with the name of the input.
func Read(r io.Reader, prefixes ...string) (*Samples, error) {
	return read(r, prefixes, func(line []byte) []byte { return line[:endOfValue(line)] }, func(s *Sample) string { return s.Key() })
}

// ReadTimed is Read with the times of samples, of which each series may have several. The last of those with the same time is
// kept.
func ReadTimed(r io.Reader, prefixes ...string) (*Samples, error) {
	return read(r, prefixes, inMilliseconds, func(s *Sample) string { return strconv.FormatInt(s.AtMs, 10) + " " + s.Key() })
}

// read reads samples, of whose lines only a part is given to the parser. Of those with the same key, the last one is kept.
func read(r io.Reader, prefixes []string, part func(line []byte) []byte, keyOf func(*Sample) string) (*Samples, error) {
	text, err := samplesOf(r, prefixes, part)
	if err != nil {
		return nil, err
	}
	// Without the lines that state the types, the families of the parser are single metrics, so that both
	// formats are read in the same way.
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("is not the text of /metrics: %w", err)
	}
	all := &Samples{ByName: map[string][]Sample{}}
	for name, family := range families {
		at := map[string]int{}
		kept := make([]Sample, 0, len(family.Metric))
		for _, m := range family.Metric {
			s := Sample{Value: m.GetUntyped().GetValue(), AtMs: m.GetTimestampMs(), labels: m.Label}
			slices.SortFunc(s.labels, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
			key := keyOf(&s)
			if i, known := at[key]; known {
				kept[i], all.Repeated = s, true
				continue
			}
			at[key] = len(kept)
			kept = append(kept, s)
		}
		all.ByName[name] = kept
	}
	return all, nil
}

// samplesOf returns the parts of the lines with samples of the wanted metrics. OpenMetrics writes times and exemplars in other
// ways than Prometheus. All other lines are empty, so that the parser counts
// the lines of the input.
func samplesOf(r io.Reader, prefixes []string, part func(line []byte) []byte) ([]byte, error) {
	in := bufio.NewReaderSize(r, longestLine)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("cannot be decompressed: %w", err)
		}
		in = bufio.NewReaderSize(unpacked, longestLine)
	}
	var out bytes.Buffer
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("is not the text of /metrics: line %d has more than %d bytes", number, longestLine)
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("cannot be read to its end: line %d: %w", number, err)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			if !beginsName(line[0]) {
				return nil, fmt.Errorf("is not the text of /metrics: line %d begins with %q; want the name of a metric", number, line[0])
			}
			if slices.ContainsFunc(prefixes, func(prefix string) bool { return bytes.HasPrefix(line, []byte(prefix)) }) {
				out.Write(part(line))
			}
		}
		out.WriteByte('\n')
		if err == io.EOF {
			return out.Bytes(), nil
		}
	}
}

// beginsName says whether a line with a sample may begin with a byte. Names in quotes begin with a brace.
func beginsName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':' || c == '{'
}

// endOfValue returns the index behind the value of a line with a sample.
func endOfValue(line []byte) int {
	value := bytes.IndexAny(line, " \t{")
	if value >= 0 && line[value] == '{' {
		value = endOfLabels(line, value)
	}
	if value < 0 {
		return len(line) // the parser says what is wrong
	}
	for value < len(line) && (line[value] == ' ' || line[value] == '\t') {
		value++
	}
	if end := bytes.IndexAny(line[value:], " \t"); end >= 0 {
		return value + end
	}
	return len(line)
}

// firstMs is the least time that is taken for milliseconds, as Prometheus writes it; OpenMetrics writes seconds, and so many are of the
// year 5138.
const firstMs = 100_000_000_000

// inMilliseconds returns a line with a sample up to its time, which is in milliseconds.
func inMilliseconds(line []byte) []byte {
	end := endOfValue(line)
	rest := bytes.Fields(line[end:])
	if len(rest) == 0 || rest[0][0] == '#' {
		return line[:end]
	}
	at, err := strconv.ParseFloat(string(rest[0]), 64)
	if err != nil || math.IsNaN(at) || math.Abs(at) > 1e15 {
		return line // the parser says what is wrong
	}
	if bytes.IndexByte(rest[0], '.') >= 0 || math.Abs(at) < firstMs {
		at *= 1000
	}
	return strconv.AppendInt(append(slices.Clone(line[:end]), ' '), int64(math.Round(at)), 10)
}

// endOfLabels returns the index behind the brace that ends the labels, -1 if there is none.
func endOfLabels(line []byte, from int) int {
	quoted := false
	for i := from; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}
