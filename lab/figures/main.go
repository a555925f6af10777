// Figures writes measurements into lab/performance.md, and what simulations of published incidents yield
// into docs/incidents.md. It reads the output of a
// measurement and writes one section of the document, and the chart of the section if it has
// one. The Makefile has a target for each section.
//
//	figures sizes   < lines of BenchmarkSize, any number of rounds
//	figures memory  < lines of BenchmarkMemory
//	figures parts   < lines of BenchmarkRun, each followed by its profile, as of go tool pprof -top
//	figures peers   < Markdown of bench-peers
//	figures list-costs < published rows, which it simulates, into lab/list-costs.md
//	figures -document docs/incidents.md incidents < Markdown of apfsim scenarios list --incidents
//
// A section is between two comments, <!-- sizes --> and <!-- end of sizes -->. If the input has an
// error or is incomplete, nothing is written.
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

// section is a section of the document.
type section struct {
	text      string // in Markdown
	chartName string // file name of the chart; "" if there is none
	chart     []byte
}

// sections are the functions that make a section from the output of a measurement, by the name
// of the section.
var sections = map[string]func(input string) (section, error){
	"sizes":      sizes,
	"memory":     memory,
	"parts":      parts,
	"peers":      headed,
	"list-costs": listCosts,
	"incidents":  headed,
}

const sectionNames = "sizes, memory, parts, peers, list-costs or incidents"

func main() { os.Exit(run(os.Stdin, os.Stderr, os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(stdin io.Reader, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	document := flags.String("document", "lab/performance.md", "the `file` with the section")
	images := flags.String("images", "docs/images", "the `folder` for charts")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	makeSection := sections[flags.Arg(0)]
	if flags.NArg() != 1 || makeSection == nil {
		fmt.Fprintf(stderr, "figures: %q: want one of %s\n", flags.Args(), sectionNames)
		return 2
	}
	if err := update(stdin, flags.Arg(0), makeSection, *document, *images); err != nil {
		fmt.Fprintf(stderr, "figures: %s: %v\n", flags.Arg(0), err)
		return 1
	}
	return 0
}

// update replaces a section of the document and its chart.
func update(stdin io.Reader, name string, makeSection func(string) (section, error), document, images string) error {
	input, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	s, err := makeSection(string(input))
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

// splice returns the document with another text in the named section.
func splice(document, name, text string) (string, error) {
	from, to := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, remaining, found := strings.Cut(document, from)
	_, after, ended := strings.Cut(remaining, to)
	if !found || !ended {
		return "", fmt.Errorf("has no section between the lines %q and %q", strings.TrimSpace(from), strings.TrimSpace(to))
	}
	return before + from + "\n" + strings.TrimSpace(text) + "\n\n" + to + after, nil
}

// machine describes the machine of a measurement: Go's version, the system and the processor.
func machine(input string) string {
	processor := "unknown processor"
	for line := range strings.Lines(input) {
		if cpu, ok := strings.CutPrefix(line, "cpu: "); ok {
			processor = strings.TrimSpace(cpu)
		}
	}
	return fmt.Sprintf("%s, %s/%s, %s (processors: %d)", runtime.Version(), runtime.GOOS, runtime.GOARCH, processor, runtime.NumCPU())
}

// table returns rows as a Markdown table. The first row is the header. All columns except the
// first contain numbers.
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

// headed returns a section with the tables of a program that writes Markdown, unchanged.
func headed(input string) (section, error) {
	if !strings.HasPrefix(input, "### ") && !strings.Contains(input, "\n### ") {
		return section{}, errors.New("the input has no headings; want the output of bench-peers or scenarios list with the format markdown")
	}
	return section{text: input}, nil
}
