package document

import (
	"fmt"
	"slices"
	"strings"
)

// Checker collects errors and warnings about the values of a decoded document. Errors and warnings
// are added by the path of the value; the document knows its position.
type Checker struct {
	Document *Document
	Errors   Errors // of decoding first
	Warnings Errors // on what is valid
}

// Fail adds an error at path, unless there is one at that path, in a part of it or in what it is
// a part of: the second would only follow from the first.
func (c *Checker) Fail(path, format string, args ...any) {
	for i := range c.Errors {
		if Within(c.Errors[i].Path, path) || Within(path, c.Errors[i].Path) {
			return
		}
	}
	c.Errors.Add(c.Document.Position(path), path, format, args...)
}

// Failed reports whether there is an error at path or in a part of it.
func (c *Checker) Failed(path string) bool {
	return slices.ContainsFunc(c.Errors, func(e Error) bool { return Within(e.Path, path) })
}

// Warn adds a warning at path.
func (c *Checker) Warn(path, format string, args ...any) {
	c.Warnings.Add(c.Document.Position(path), path, format, args...)
}

// Enum fails unless value is one of names.
func (c *Checker) Enum(path, value string, names ...string) {
	if !slices.Contains(names, value) {
		c.Fail(path, "%s", notOneOf(value, names))
	}
}

// notOneOf returns the message for a value that is none of names.
func notOneOf(value string, names []string) string {
	return fmt.Sprintf("%q: want %s%s", Abridge(value), strings.Join(names, ", "), Suggest(value, names))
}
