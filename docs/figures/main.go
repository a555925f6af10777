// Figures puts what has been measured into docs/background/performance.md: it reads the
// output of a measurement and writes one section of the document, and its chart if it has
// one. The Makefile has a target for each section.
//
//	figures sizes   < lines of BenchmarkSize, any number of rounds
//	figures memory  < lines of BenchmarkMemory
//	figures parts   < lines of BenchmarkRun, each followed by its profile, as of go tool pprof -top
//	figures peers   < Markdown of bench-peers
//
// A section stands between two comments, <!-- sizes --> and <!-- end of sizes -->. Nothing
// is written unless all of the input could be read.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"apfsim/internal/atomicfile"
)

// section is a part of the document: its text in Markdown, and the file of its chart.
type section struct {
	text      string
	chartName string // none if empty
	chart     []byte
}

// sections make what their measurement has printed a section.
var sections = map[string]func(input string) (section, error){
	"sizes":  sizes,
	"memory": memory,
	"parts":  parts,
	"peers":  peers,
}

const sectionNames = "sizes, memory, parts or peers"

func main() { os.Exit(run(os.Stdin, os.Stderr, os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(stdin io.Reader, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	document := flags.String("document", "docs/background/performance.md", "the `file` that has the section")
	images := flags.String("images", "docs/images", "the `folder` of its charts")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	of := sections[flags.Arg(0)]
	if flags.NArg() != 1 || of == nil {
		fmt.Fprintf(stderr, "figures: %q: want one of %s\n", flags.Args(), sectionNames)
		return 2
	}
	if err := put(stdin, flags.Arg(0), of, *document, *images); err != nil {
		fmt.Fprintf(stderr, "figures: %s: %v\n", flags.Arg(0), err)
		return 1
	}
	return 0
}

// put writes a section and its chart.
func put(stdin io.Reader, name string, of func(string) (section, error), document, images string) error {
	input, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	s, err := of(string(input))
	if err != nil {
		return err
	}
	text, err := splice(string(old), name, s.text)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	if s.chartName != "" {
		if err := atomicfile.WriteFile(filepath.Join(images, s.chartName), s.chart); err != nil {
			return err
		}
	}
	return atomicfile.WriteFile(document, []byte(text))
}

// splice replaces a section of a document.
func splice(document, name, text string) (string, error) {
	from, to := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(document, from)
	_, after, ended := strings.Cut(rest, to)
	if !found || !ended {
		return "", fmt.Errorf("has no section between the lines %q and %q", strings.TrimSpace(from), strings.TrimSpace(to))
	}
	return before + from + "\n" + strings.TrimSpace(text) + "\n\n" + to + after, nil
}

// where says on what the lines of a benchmark were measured.
func where(input string) string {
	processor := "unknown processor"
	for line := range strings.Lines(input) {
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			processor = strings.TrimSpace(cpu)
		}
	}
	return fmt.Sprintf("%s, %s/%s, %s (processors: %d)", runtime.Version(), runtime.GOOS, runtime.GOARCH, processor, runtime.NumCPU())
}

// table writes rows as a Markdown table; the first is its head, and all columns but the
// first are of numbers.
func table(rows [][]string) string {
	var b bytes.Buffer
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("---:|", len(row)-1) + "\n")
		}
	}
	return b.String()
}

// peers is the tables of bench-peers as they are.
func peers(input string) (section, error) {
	if !strings.Contains(input, "\n### ") {
		return section{}, errors.New("the input has no headings; want the output of bench-peers -format markdown")
	}
	return section{text: input}, nil
}
