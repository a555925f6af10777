package lint_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"apfsim/lint"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table of rules in docs/reference/lint.md")

const (
	page  = "../docs/reference/lint.md"
	begin = "<!-- rules: go test ./lint -rewrite -->\n"
	end   = "<!-- end of rules -->\n"
)

// The table in the reference is that of Rules.
func TestReferenceHasTheRules(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, remaining, ok := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(remaining, end)
	if !ok || !ended {
		t.Fatalf("%s has no lines %q and %q around the table", page, begin, end)
	}
	var b strings.Builder
	b.WriteString("| Rule | Severity | Problem | Example | No finding for | Remedy |\n|---|---|---|---|---|---|\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.ID, r.Severity, r.Finds, r.Bad, r.Good, r.Remedy)
	}
	if table == b.String() {
		return
	}
	if !*rewrite {
		t.Fatalf("the table of rules in %s differs from lint.Rules; run: go test ./lint -rewrite", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}
