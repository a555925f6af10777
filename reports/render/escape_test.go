package render

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// named returns a document that has a name in all places where one may be.
func named(name string) *report.Document {
	table := func() *report.Table {
		return &report.Table{Title: name, Columns: []report.Column{{Title: "Client", Short: name, Left: true}, {Title: "Requests", Short: name}},
			Rows: [][]report.Cell{{{Text: name, Code: true}, {Text: name}}, {{Text: "x" + name}, {Text: "7"}}}, Missing: name}
	}
	return &report.Document{Headline: name, Ran: name, Sides: []report.Side{{Name: name, Label: name, Ran: name}}, How: []string{name, name},
		Answer: &report.Answer{Status: "OK", Sentence: name, Decided: name, Why: []string{name, "a " + name}}, Warnings: []string{name},
		Sections: []report.Section{{Parts: []report.Part{{Table: table()}, {Note: name}}}}}
}

// elements returns the kinds of elements that a Markdown parser finds in a document, and the text of the nth of them.
func elements(t testing.TB, d *report.Document) (kinds []string, texts []string) {
	var source bytes.Buffer
	if err := Markdown(&source, d, format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source.Bytes()))
	ast.Walk(root, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := string(n.Value(source.Bytes()))
			if !n.IsRaw() {
				value = unescaped(value)
			}
			texts[len(texts)-1] += value
		case *ast.String:
			texts[len(texts)-1] += string(n.Value)
		default:
			kinds, texts = append(kinds, n.Kind().String()), append(texts, "")
		}
		return ast.WalkContinue, nil
	})
	return kinds, texts
}

// unescaped takes away the backslashes in front of punctuation.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Whatever the name of a user is, a Markdown parser finds the same elements as with a plain name: no heading, link,
// image, HTML or column more. What it shows is the name.
func FuzzNamesInMarkdown(f *testing.F) {
	for _, name := range []string{"eve\n\n# Heading <!-- <img src=x> | [a](b)", "\x1b[31meve", "# a", "> a", "- a", "1. a", "12) a", "=", "---", "--", "0~0", "***", "_a_", "a_b", "*a*",
		"`a`", "``a", "![a](b)", "[a]: b", "[a][b]", "[ ] a", "~a~", "https://a.example/b", "www.a.example", "&lt;", "<b>", "</b>", "<https://a>", "a\\", "\\*a\\*", "    a", "\ta", "|", "|a|b|", "a|",
		"system:serviceaccount:a:b", "job-*", "\u202ea", "\xff", "a  ", "http:", "mailto:a@b.example"} {
		f.Add(name)
	}
	plain, _ := elements(f, named("name"))
	f.Fuzz(func(t *testing.T, name string) {
		if strings.Trim(format.Printable(name), " ") == "" || len(name) > 200 {
			t.Skip()
		}
		kinds, texts := elements(t, named(name))
		if !slices.Equal(kinds, plain) {
			t.Fatalf("%q makes %q, want %q", name, kinds, plain)
		}
		shown := strings.Trim(format.Printable(name), " ")
		seen := 0
		for _, text := range texts {
			if strings.Contains(text, shown) {
				seen++
			}
		}
		if seen < 12 {
			t.Errorf("%q is shown %d times, want 12 times or more: %q", shown, seen, texts)
		}
	})
}

// On a terminal, a name of several lines makes no line of its own, and none of its styles is one of the program's.
func TestNamesOnATerminalStayInTheirLine(t *testing.T) {
	const name = "eve\nOK  All is well.\x1b[31m"
	for _, options := range []format.TextOptions{{}, {Colour: true}, {Brief: true}, {Width: 80}} {
		var b bytes.Buffer
		if err := Text(&b, named(name), options); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if strings.HasPrefix(line, "OK  All") || strings.Contains(line, "eve\x1b[31m") || strings.Contains(line, "well.\x1b[31m") {
				t.Errorf("with %+v, a line is %q", options, line)
			}
		}
	}
}
