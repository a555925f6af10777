// Package yaml parses YAML, of which JSON is a subset, into document trees with the position of
// each value, and writes values in the format of kubectl. Features of YAML that often have
// unintended effects are errors: merge keys, field names that are not strings, and application
// tags.
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"

	"apfsim/document"
)

// Limits of a text. They are far above the size of any configuration. A text that exceeds one,
// because it is not a configuration or was made to exhaust memory, is refused with one error.
const (
	MaxBytes = 16 << 20  // size of a text, in UTF-8
	MaxLines = 500_000   // of a text, because a tree of values takes a hundred times its memory
	maxNodes = 1_000_000 // values in a text, with aliases expanded
	maxDepth = 100       // levels of nesting
)

// Parse parses all documents of a text and skips the empty ones. File is the name of the text
// in positions. It returns the documents without errors, and the errors of the others. A text
// without any document is an error.
func Parse(file string, text []byte) ([]document.Document, document.Errors) {
	docs, errs := ParseManifests(file, text, func(string, string) bool { return false })
	if len(docs) == 0 && len(errs) == 0 {
		errs.Add(document.Position{File: file}, "", "is empty; want a YAML or JSON document")
	}
	return docs, errs
}

// Decode decodes a text of one document into the value to which into points. Path is that of the value in errors,
// whose positions have no file.
func Decode(path string, text []byte, into any) document.Errors {
	docs, errs := Parse("", text)
	if len(docs) > 1 {
		errs.Add(document.Position{}, path, "is several YAML documents; want one value")
	}
	if len(errs) > 0 {
		return errs
	}
	var d document.Decoder
	d.Decode(docs[0].Root, path, into)
	return d.Errors
}

// ParseManifests is Parse for a text of Kubernetes objects some of which are foreign, which
// means that the caller will skip them. Of a foreign document it returns only apiVersion and
// kind, and it does not report the errors that Parse would. A text without any document is not
// an error.
func ParseManifests(file string, text []byte, foreign func(apiVersion, kind string) bool) ([]document.Document, document.Errors) {
	var errs document.Errors
	if at, problem := unreadable(text); problem != "" {
		at.File = file
		errs.Add(at, "", "%s", problem)
		return nil, errs
	}
	text = yamlOfJSON(text)
	roots, err := parseNodes(text)
	if err != nil {
		line, problem := locate(text, err)
		errs.Add(document.Position{File: file, Line: line}, "", "%s", problem)
	}
	c := converter{file: file, nodesLeft: maxNodes, open: map[*yamlv3.Node]bool{}}
	var docs []document.Document
	for _, root := range roots {
		if root.Kind == yamlv3.ScalarNode && root.ShortTag() == "!!null" {
			continue
		}
		if root.Kind == yamlv3.MappingNode && foreign(headerOf(root, "apiVersion"), headerOf(root, "kind")) {
			docs = append(docs, document.Document{File: file, Root: header(root)})
			continue
		}
		before := len(c.errs)
		tree := c.convert(root, "", 1)
		if c.stopped {
			break
		}
		if len(c.errs) == before {
			docs = append(docs, document.Document{File: file, Root: tree})
		}
	}
	return docs, append(errs, c.errs...)
}

// headerOf returns the string in the named field of an object, or "" if there is none.
func headerOf(object *yamlv3.Node, name string) string {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if value := object.Content[i+1]; object.Content[i].Value == name && value.Kind == yamlv3.ScalarNode && value.ShortTag() == "!!str" {
			return value.Value
		}
	}
	return ""
}

// header returns an object with the fields apiVersion and kind of the given one.
func header(object *yamlv3.Node) *document.Node {
	n := &document.Node{Kind: document.Object, Line: object.Line, Column: object.Column}
	for _, name := range []string{"apiVersion", "kind"} {
		if text := headerOf(object, name); text != "" {
			n.Fields = append(n.Fields, document.Field{Name: name, Line: object.Line, Column: object.Column,
				Value: &document.Node{Kind: document.String, Text: text, Line: object.Line, Column: object.Column}})
		}
	}
	return n
}

// unreadable returns the problem because of which the text cannot be YAML, and its position. The
// problem is "" if there is none.
func unreadable(text []byte) (at document.Position, problem string) {
	if len(text) > MaxBytes {
		return at, fmt.Sprintf("is more than %d MiB long", MaxBytes>>20)
	}
	if bytes.Count(text, []byte{'\n'}) > MaxLines {
		return at, fmt.Sprintf("has more than %d lines", MaxLines)
	}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return at, "is UTF-16; want UTF-8"
	}
	bad := bytes.IndexByte(text, 0)
	if bad < 0 && !utf8.Valid(text) {
		bad = 0
		for {
			r, size := utf8.DecodeRune(text[bad:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			bad += size
		}
	}
	if bad < 0 {
		return at, ""
	}
	lineStart := bytes.LastIndexByte(text[:bad], '\n') + 1
	at.Line = 1 + bytes.Count(text[:lineStart], []byte{'\n'})
	at.Column = 1 + utf8.RuneCount(text[lineStart:bad])
	return at, fmt.Sprintf("byte 0x%02x is not text; want YAML or JSON in UTF-8", text[bad])
}

// parseNodes returns the root of every document up to the first syntax error.
func parseNodes(text []byte) (roots []*yamlv3.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be read as YAML: %v", r)
		}
	}()
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for {
		var doc yamlv3.Node
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			return roots, nil
		} else if err != nil {
			return roots, err
		}
		if doc.Kind == yamlv3.DocumentNode && len(doc.Content) == 1 {
			roots = append(roots, doc.Content[0])
		}
	}
}

var errorText = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s).*)$`)

// splitError splits an error of the parser into its line and its problem. The line is 0 if the
// error does not have one.
func splitError(err error) (line int, problem string) {
	m := errorText.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}

// locate returns the problem that an error of the parser describes, and the line that causes it.
// The line in the parser's error may be off by one, or that of an enclosing construct. As the
// parser reads from front to back, it reports the same error for every prefix of the text that
// includes the line, and not for shorter ones, so a bisection finds the line. For a long text
// that would take too much time, and the parser's line is returned.
func locate(text []byte, err error) (line int, problem string) {
	line, sought := splitError(err)
	problem = explain(sought)
	if len(text) > 256<<10 {
		return max(line, 1), problem
	}
	var ends []int // of the lines
	for i, b := range text {
		if b == '\n' || i == len(text)-1 {
			ends = append(ends, i+1)
		}
	}
	good, bad := 0, len(ends) // lines
	for bad-good > 1 {
		middle := (good + bad) / 2
		fails := false
		if _, err := parseNodes(text[:ends[middle-1]]); err != nil {
			_, found := splitError(err)
			fails = found == sought
		}
		if fails {
			bad = middle
		} else {
			good = middle
		}
	}
	return bad, problem
}

// explain adds to a problem that the parser reports how the author of the text can correct it.
func explain(problem string) string {
	switch {
	case strings.HasPrefix(problem, "exceeded max depth"):
		return fmt.Sprintf("is nested more than %d deep", maxDepth)
	case strings.HasPrefix(problem, "cannot be read"), strings.HasPrefix(problem, "unknown anchor"):
		return problem
	}
	hint := ""
	switch problem {
	case "did not find expected key", "did not find expected '-' indicator":
		hint = "; check the indentation"
	case "mapping values are not allowed in this context":
		hint = "; check the indentation, or put quotes around a value that contains \": \""
	case "found character that cannot start any token":
		hint = "; put quotes around a value that starts with @, ` or %, and indent with spaces, not tabs"
	case "found unexpected end of stream":
		hint = "; check that every quote is closed"
	case "could not find expected ':'":
		hint = "; write a field as \"name: value\""
	}
	return "is not valid YAML: " + problem + hint
}
