package yaml

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/document"
)

// sketch returns a tree on one line in a form that shows the kinds of all values.
func sketch(n *document.Node) string {
	switch n.Kind {
	case document.Object:
		parts := make([]string, len(n.Fields))
		for i, f := range n.Fields {
			parts[i] = f.Name + ": " + sketch(f.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case document.List:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = sketch(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case document.String:
		return fmt.Sprintf("%q", n.Text)
	case document.Null:
		return "null"
	default:
		return n.Text
	}
}

func TestParseResolvesScalars(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1":                         `{a: 1}`,
		"a: '1'":                       `{a: "1"}`,
		"a: !!str 1":                   `{a: "1"}`,
		"a: True":                      `{a: true}`,
		"a: yes":                       `{a: "yes"}`,
		"a: ~\nb:\nc: null":            `{a: null, b: null, c: null}`,
		"a: 10s":                       `{a: "10s"}`,
		"a: 2026-03-02T09:14:07Z":      `{a: "2026-03-02T09:14:07Z"}`,
		"a: 2026-03-02":                `{a: "2026-03-02"}`,
		"a: !!binary aGk=":             `{a: "aGk="}`,
		"a: [0x1F, 0b11, 0o17, 017]":   `{a: [31, 3, 15, 15]}`,
		"a: [1_000, +5, -0x10, 08]":    `{a: [1000, 5, -16, 8]}`,
		"a: [1e3, .5, 5., 1_0.5, -.5]": `{a: [1e3, .5, 5., 10.5, -.5]}`,
		"a: [18446744073709551615, 99999999999999999999]": `{a: [18446744073709551615, 99999999999999999999]}`,
		"a: [.nan, -.inf]":              `{a: [.nan, -.inf]}`,
		"a: !!float 3":                  `{a: 3}`,
		"a: <<":                         `{a: "<<"}`,
		`"<<": 1`:                       `{<<: 1}`,
		"a: |\n  x\n  y\n":              `{a: "x\ny\n"}`,
		"{\"a\":\t[1,\n\t\"b\", null]}": `{a: [1, "b", null]}`,
		`{"a": "\/\\/\ud83d\ude00\n"}`:  `{a: "/\\/😀\n"}`,
		"\ufeffa: 1":                    `{a: 1}`,
		"a: 1\r\nb: 2\r\n":              `{a: 1, b: 2}`,
		"just text":                     `"just text"`,
	} {
		docs, errs := Parse("f", []byte(text))
		if errs != nil || len(docs) != 1 {
			t.Errorf("%q: %d documents, %v", text, len(docs), errs)
			continue
		}
		if got := sketch(docs[0].Root); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestPositions(t *testing.T) {
	docs, errs := Parse("f", []byte(`# a comment
spec:
  limited:
    shares: 5
  verbs: [get, "lïst", watch]
  rules:
  - name: x
`))
	if errs != nil {
		t.Fatal(errs)
	}
	for path, want := range map[string]string{
		"":                    "f:2:1",
		"spec":                "f:3:3",
		"spec.limited.shares": "f:4:13",
		"spec.verbs[2]":       "f:5:24",
		"spec.rules[0]":       "f:7:5",
		"spec.rules[0].name":  "f:7:11",
	} {
		if got := docs[0].Position(path).String(); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	spec := docs[0].Root.Fields[0]
	if verbs := spec.Value.Fields[1]; verbs.Line != 5 || verbs.Column != 3 {
		t.Errorf("the name verbs is at %d:%d, want 5:3", verbs.Line, verbs.Column)
	}
}

func TestParseReadsEveryDocumentAndSkipsEmptyOnes(t *testing.T) {
	docs, errs := Parse("f", []byte("---\n# nothing\n---\na: 1\n---\n---\nnull\n---\nb: 2\n...\n"))
	if errs != nil {
		t.Fatal(errs)
	}
	var got []string
	for _, d := range docs {
		got = append(got, d.Position("").String()+" "+sketch(d.Root))
	}
	if want := []string{"f:4:1 {a: 1}", "f:9:1 {b: 2}"}; strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAliasesAreCopies(t *testing.T) {
	docs, errs := Parse("f", []byte("a: &x {n: 1}\nb: *x\n*k : 3\n"))
	if got := errs.Error(); got != "f:3: unknown anchor 'k' referenced" || docs != nil {
		t.Fatalf("got %v, %q", docs, got)
	}
	docs, errs = Parse("f", []byte("k: &k name\na: &x {n: 1}\nb: *x\n*k : 3\n"))
	if errs != nil {
		t.Fatal(errs)
	}
	if err := docs[0].Set("b.n", &document.Node{Kind: document.Number, Text: "2"}); err != nil {
		t.Fatal(err)
	}
	if got, want := sketch(docs[0].Root), `{k: "name", a: {n: 1}, b: {n: 2}, name: 3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := docs[0].Position("b").String(); got != "f:2:4" {
		t.Errorf("a copy is at %s, want the position of the original", got)
	}
}

func TestSyntaxErrorsNameTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: X\nmetadata:\n  name: a\n spec: b\n": "f:5: is not valid YAML: did not find expected key; check the indentation",
		"\n# c\n\na:\n  b:\n    c: 1\n   d: 2\ne: 3\n":              "f:7: is not valid YAML: did not find expected key; check the indentation",
		"a: 1\nb: 2: 3\nc: 4\n":                                     "f:2: is not valid YAML: mapping values are not allowed in this context",
		"a: 1\nb: 2\nc: [1,\n2\nd: 3\n":                             "f:4: is not valid YAML: did not find expected ',' or ']'",
		"a: 1\nb: \"x\nc: 3\n":                                      "f:2: is not valid YAML: found unexpected end of stream; check that every quote is closed",
		"a: 1\n\tb: 2\n":                                            "f:2: is not valid YAML: found a tab character",
		"a: @x":                                                     "f:1: is not valid YAML: found character that cannot start any token",
		"a: 1\n---\nb: 2\n---\nc: d: e\n":                           "f:5: is not valid YAML: mapping values",
	} {
		_, errs := Parse("f", []byte(text))
		if len(errs) != 1 || !strings.HasPrefix(errs.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %s", text, errs, want)
		}
	}
}

func TestDocumentsBeforeASyntaxErrorAreKept(t *testing.T) {
	docs, errs := Parse("f", []byte("a: 1\n---\n<<: {b: 2}\n---\nc: [\n"))
	if len(docs) != 1 || len(errs) != 2 {
		t.Errorf("got %d documents and %v, want the first document and an error for each other", len(docs), errs)
	}
}

func TestUnsupportedYAML(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x {b: 1}\nc:\n  <<: *x\n": "f:3:3: c: merge keys (<<) are not supported; write the fields out",
		"a:\n  1: x\n  true: y\n":      "f:2:3: a: the field name 1 is a number; want a string: put it in quotes\nf:3:3: a: the field name true is a boolean; want a string: put it in quotes",
		"? [a]\n: b\n":                 "f:1:3: the name of a field is a list or an object; want a string",
		"~: b\n":                       "f:1:1: the name of a field is missing; want a string",
		"a: !mine x\nb: !!set {c}\n":   "f:1:4: a: the tag !mine is not supported\nf:2:4: b: the tag !!set is not supported",
		"a: !!int x\n":                 `f:1:4: a: "x" is not a number, which its tag requires`,
		"a: !!bool 7\n":                `f:1:4: a: "7" is neither true nor false`,
		"a: !!null 7\n":                `f:1:4: a: "7" is not null, which its tag requires`,
		"a: &x [1, *x]\n":              "f:1:11: a[1]: alias *x contains itself",
	} {
		docs, errs := Parse("f", []byte(text))
		if errs.Error() != want || len(docs) != 0 {
			t.Errorf("%q: %d documents\ngot  %v\nwant %s", text, len(docs), errs, want)
		}
	}
}

// A text that exceeds a limit, or is not YAML at all, is refused in seconds with one error.
func TestTextsBeyondTheLimits(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	for name, c := range map[string]struct{ text, want string }{
		"alias bomb":      {bomb, "f:6:29: f[7]: the text has more than 1000000 values"},
		"many values":     {"[" + strings.Repeat("a,", 1_000_001) + "]", "f:1:2000000: [999999]: the text has more than 1000000 values"},
		"many lines":      {strings.Repeat("\n", MaxLines+1) + "a: 1\n", "f: has more than 500000 lines"},
		"deep flow":       {strings.Repeat("[", 200_000), "f:1: is nested more than 100 deep"},
		"deep blocks":     {strings.Repeat("- ", 200_000), "f:1: is nested more than 100 deep"},
		"rather deep":     {strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000), "f:1:401: a.a.a"},
		"a long text":     {strings.Repeat("a", MaxBytes+1), "f: is more than 16 MiB long"},
		"binary":          {"a: 1\nb: \x00\x01", "f:2:4: byte 0x00 is not text"},
		"Latin-1":         {"a: 1\nb: \xe9t\xe9", "f:2:4: byte 0xe9 is not text"},
		"UTF-16":          {"\xff\xfea\x00:\x00", "f: is UTF-16; want UTF-8"},
		"UTF-16, too":     {"\xfe\xff\x00a\x00:", "f: is UTF-16; want UTF-8"},
		"control":         {"a: 1\nb: \x07", "f:2: is not valid YAML: control characters are not allowed"},
		"nothing":         {"", "f: is empty"},
		"only comments":   {"# a\n---\n# b\n", "f: is empty"},
		"an escape alone": {`{"a": "\ud83d"}`, "f:1: is not valid YAML: found invalid Unicode character escape code"},
	} {
		docs, errs := Parse("f", []byte(c.text))
		if len(docs) != 0 || len(errs) != 1 || !strings.HasPrefix(errs.Error(), c.want) {
			t.Errorf("%s: %d documents, %.200v\nwant %s", name, len(docs), errs, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "a: 1\nb: [x, 'y', \"z\"]\n", "---\n# c\n---\na: &x {b: 1}\nc: *x\n", "a: &x [*x]", "<<: {a: 1}",
		"1: 2", "? [a]\n: b", "a: !!int x", "a: 0x1F", "a: 1_0", "{\"a\": \"\\ud83d\\ude00\\/\"}", "a: |\n  x\n", "\t",
		"a: [", "%YAML 1.1\n---\na", "!!map {a: b}", "a: !<x> b", "- - - a", "\ufeffa", "a: 0777", "a: 08", "*a : b", "a: 5.\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		docs, errs := Parse("f", text)
		if len(docs) == 0 && len(errs) == 0 {
			t.Error("neither a document nor an error")
		}
		for _, e := range errs {
			if e.Message == "" || e.File != "f" {
				t.Errorf("an error without message or file: %#v", e)
			}
		}
		for _, d := range docs {
			check(t, d.Root)
		}
	})
}

// check verifies the properties of a tree on which the decoder relies.
func check(t *testing.T, n *document.Node) {
	if n.Line < 1 || n.Column < 1 {
		t.Errorf("%s is at %d:%d", sketch(n), n.Line, n.Column)
	}
	switch n.Kind {
	case document.Number:
		if canonical, ok := canonicalNumber(n.Text); !ok || canonical != n.Text {
			t.Errorf("%q is not a canonical number", n.Text)
		}
	case document.Bool:
		if n.Text != "true" && n.Text != "false" {
			t.Errorf("%q is not a boolean", n.Text)
		}
	}
	for _, item := range n.Items {
		check(t, item)
	}
	for _, f := range n.Fields {
		check(t, f.Value)
	}
}
