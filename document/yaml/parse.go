// Package yaml reads YAML, and JSON with it, into document trees that know where each
// value stands, and writes values as kubectl prints them. It is strict where YAML is
// surprising: merge keys, names that are no strings and tags of one's own are mistakes.
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

// Bounds on what one text may hold. They are far beyond any configuration, and keep a
// text that was made to exhaust the reader, or is no configuration at all, to one mistake.
const (
	MaxBytes = 16 << 20  // of one text, in UTF-8
	maxNodes = 1_000_000 // in one text, aliases expanded
	maxDepth = 100
)

// Parse reads every document of text; those that hold nothing are skipped. File names
// the text in places. A document in which something is wrong is left out and its
// mistakes are returned; so is, as a mistake, a text without any document.
func Parse(file string, text []byte) ([]document.Document, document.Errors) {
	docs, mistakes := ParseManifests(file, text, func(string, string) bool { return false })
	if len(docs) == 0 && len(mistakes) == 0 {
		mistakes.Add(document.Position{File: file}, "", "is empty: want a YAML or JSON document")
	}
	return docs, mistakes
}

// ParseManifests is Parse for a text of Kubernetes objects of which some are foreign. Such a
// document may hold what Parse refuses, and comes with its apiVersion and kind alone. A text
// without any document is no mistake.
func ParseManifests(file string, text []byte, foreign func(apiVersion, kind string) bool) ([]document.Document, document.Errors) {
	var mistakes document.Errors
	if at, problem := unreadable(text); problem != "" {
		at.File = file
		mistakes.Add(at, "", "%s", problem)
		return nil, mistakes
	}
	text = yamlOfJSON(text)
	roots, err := parseNodes(text)
	if err != nil {
		line, problem := locate(text, err)
		mistakes.Add(document.Position{File: file, Line: line}, "", "%s", problem)
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
		before := len(c.mistakes)
		tree := c.convert(root, "", 1)
		if c.stopped {
			break
		}
		if len(c.mistakes) == before {
			docs = append(docs, document.Document{File: file, Root: tree})
		}
	}
	return docs, append(mistakes, c.mistakes...)
}

// headerOf returns the string that an object has as the named field, "" when it has none.
func headerOf(object *yamlv3.Node, name string) string {
	for i := 0; i+1 < len(object.Content); i += 2 {
		if value := object.Content[i+1]; object.Content[i].Value == name && value.Kind == yamlv3.ScalarNode && value.ShortTag() == "!!str" {
			return value.Value
		}
	}
	return ""
}

// header returns what says of which kind an object is.
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

// unreadable says why text cannot be YAML at all, and where, or returns "".
func unreadable(text []byte) (at document.Position, problem string) {
	if len(text) > MaxBytes {
		return at, fmt.Sprintf("is more than %d MiB long", MaxBytes>>20)
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
	return at, fmt.Sprintf("byte 0x%02x does not belong into a text: want YAML or JSON in UTF-8", text[bad])
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

// splitError takes a parser's error apart. The line is 0 when the error names none.
func splitError(err error) (line int, problem string) {
	m := errorText.FindStringSubmatch(err.Error())
	line, _ = strconv.Atoi(m[1])
	return line, m[2]
}

// locate returns what is wrong with text and on which line. The line that the parser
// names may be that of an enclosing construct, or off by one. Since it reads text from
// front to back, an error appears with the line that causes it and stays whatever
// follows, so a bisection finds that line; a long text is not worth reading that often.
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

// explain puts the parser's words into those of someone who wrote the text.
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
		hint = "; the indentation may be off"
	case "mapping values are not allowed in this context":
		hint = "; the indentation may be off, or a value that contains \": \" wants quotes"
	case "found character that cannot start any token":
		hint = "; a value that starts with @, ` or % wants quotes, and tabs do not indent"
	case "found unexpected end of stream":
		hint = "; a quote may not be closed"
	case "could not find expected ':'":
		hint = "; a field wants \"name: value\""
	}
	return "is not valid YAML: " + problem + hint
}
