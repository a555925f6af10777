// Layout writes the table of packages into docs/background/layout.md: what each package is for. It also writes what other modules
// can use of them into docs/reference/api.txt. Its test checks that both are current, and that the packages follow the rules of
// that page.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"apfsim/internal/atomicfile"
)

// The table is between these two lines of the page.
const (
	begin = "<!-- packages: go run ./docs/layout -->\n"
	end   = "<!-- end of packages -->\n"
)

const page = "docs/background/layout.md"

func main() { os.Exit(run(os.Stderr, os.Args[1:])) }

// run is the whole program; it returns the exit status.
func run(stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("layout", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the `folder` of the main module")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	all, err := readPackages(*root)
	if err == nil {
		err = rewrite(filepath.Join(*root, page), table(all))
	}
	if err == nil {
		err = writeAPI(*root, all)
	}
	if err != nil {
		fmt.Fprintln(stderr, "layout:", err)
		return 1
	}
	for _, violation := range violations(all) {
		fmt.Fprintln(stderr, "layout: warning:", violation)
	}
	return 0
}

// writeAPI writes the file with the API.
func writeAPI(root string, all []*pkg) error {
	text, err := api(root, all)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(root, apiFile), []byte(text))
}

// rewrite replaces the table in a file.
func rewrite(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, _, after, err := split(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return atomicfile.WriteFile(file, []byte(before+begin+table+end+after))
}

// split returns the table in a page, and the texts before and after it.
func split(text string) (before, table, after string, err error) {
	before, remaining, ok := strings.Cut(text, begin)
	table, after, ok2 := strings.Cut(remaining, end)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("the lines %q and %q are missing", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before, table, after, nil
}

// table returns the table of packages in Markdown. It has no imports and no sizes: these change with most
// commits, and nobody would read them here.
func table(all []*pkg) string {
	var b strings.Builder
	b.WriteString("| Package | Subject |\n|---|---|\n")
	for _, p := range all {
		if p.lines > 0 { // otherwise there are only tests
			fmt.Fprintf(&b, "| `%s` | %s |\n", p.name, strings.ReplaceAll(p.subject, "|", `\|`))
		}
	}
	return b.String()
}
