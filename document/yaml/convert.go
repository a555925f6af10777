package yaml

import (
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"apfsim/document"
)

// converter converts the parser's nodes to document nodes.
type converter struct {
	file      string
	errs      document.Errors
	nodesLeft int                   // how many more nodes the text may have
	open      map[*yamlv3.Node]bool // nodes with an anchor that are being converted
	stopped   bool                  // a limit was exceeded, and the rest of the text is not converted
}

func (c *converter) fail(n *yamlv3.Node, path, format string, args ...any) {
	c.errs.Add(document.Position{File: c.file, Line: n.Line, Column: n.Column}, path, format, args...)
}

// stop adds an error and ends the conversion.
func (c *converter) stop(n *yamlv3.Node, path, format string, args ...any) *document.Node {
	c.stopped = true
	c.fail(n, path, format, args...)
	return nil
}

// convert returns the tree of n. In place of an alias it has a copy of the node with the anchor,
// with the positions of the original. The tree is incomplete if c has an error.
func (c *converter) convert(n *yamlv3.Node, path string, depth int) *document.Node {
	if c.stopped {
		return nil
	}
	if c.nodesLeft--; c.nodesLeft < 0 {
		return c.stop(n, path, "the text has more than %d values, with aliases expanded", maxNodes)
	}
	if depth > maxDepth {
		return c.stop(n, path, "is nested more than %d deep", maxDepth)
	}
	if n.Kind == yamlv3.AliasNode {
		if c.open[n.Alias] {
			return c.stop(n, path, "alias *%s contains itself", n.Value)
		}
		before := len(c.errs)
		tree := c.convert(n.Alias, path, depth)
		if c.stopped && len(c.errs) > before {
			// The alias caused the error, not the text that it repeats.
			last := &c.errs[len(c.errs)-1]
			last.Line, last.Column, last.Path = n.Line, n.Column, path
		}
		return tree
	}
	if n.Anchor != "" {
		c.open[n] = true
		defer delete(c.open, n)
	}
	out := &document.Node{Line: n.Line, Column: n.Column}
	switch tag := n.ShortTag(); {
	case n.Kind == yamlv3.MappingNode && tag == "!!map":
		out.Kind = document.Object
		out.Fields = make([]document.Field, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			c.field(out, n.Content[i], n.Content[i+1], path, depth)
		}
	case n.Kind == yamlv3.SequenceNode && tag == "!!seq":
		out.Kind = document.List
		out.Items = make([]*document.Node, 0, len(n.Content))
		for i, item := range n.Content {
			out.Items = append(out.Items, c.convert(item, document.Index(path, i), depth+1))
			if c.stopped {
				return nil
			}
		}
	case n.Kind == yamlv3.ScalarNode:
		c.scalar(out, n, tag, path)
	default:
		c.fail(n, path, "the tag %s is not supported", tag)
	}
	return out
}

func (c *converter) field(object *document.Node, key, value *yamlv3.Node, path string, depth int) {
	if c.stopped {
		return
	}
	name := key
	if key.Kind == yamlv3.AliasNode {
		name = key.Alias
	}
	switch tag := name.ShortTag(); {
	case name.Kind != yamlv3.ScalarNode:
		c.fail(key, path, "the name of a field is a list or an object; want a string")
		return
	case tag == "!!merge":
		c.fail(key, path, "merge keys (<<) are not supported; write the fields out")
		return
	case tag == "!!null":
		c.fail(key, path, "the name of a field is missing; want a string")
		return
	case kindOfTag(tag) != document.String:
		c.fail(key, path, "the field name %s is %v; want a string: put it in quotes", name.Value, kindOfTag(tag))
		return
	}
	object.Fields = append(object.Fields, document.Field{Name: name.Value, Line: key.Line, Column: key.Column,
		Value: c.convert(value, document.Join(path, name.Value), depth+1)})
}

// kindOfTag returns the kind of a scalar with this tag, or List, which is not a scalar, for an
// unknown tag. Timestamps and binary data are strings, as in JSON.
func kindOfTag(tag string) document.Kind {
	switch tag {
	case "!!null":
		return document.Null
	case "!!bool":
		return document.Bool
	case "!!int", "!!float":
		return document.Number
	case "!!str", "!!timestamp", "!!binary", "!!merge":
		return document.String
	}
	return document.List
}

// scalar sets the kind and the text of out from n. The value must agree with an explicit tag.
func (c *converter) scalar(out *document.Node, n *yamlv3.Node, tag, path string) {
	out.Kind, out.Text = kindOfTag(tag), n.Value
	switch out.Kind {
	case document.Null:
		if n.Value != "" && n.Value != "~" && !strings.EqualFold(n.Value, "null") {
			c.fail(n, path, "%q is not null, which its tag requires", n.Value)
		}
		out.Text = ""
	case document.Bool:
		out.Text = strings.ToLower(n.Value)
		if out.Text != "true" && out.Text != "false" {
			c.fail(n, path, "%q is neither true nor false", n.Value)
		}
	case document.Number:
		text, ok := canonicalNumber(n.Value)
		if !ok {
			c.fail(n, path, "%q is not a number, which its tag requires", n.Value)
		}
		out.Text = text
	case document.List:
		c.fail(n, path, "the tag %s is not supported", tag)
	}
}

var (
	plainNumber   = regexp.MustCompile(`^-?(0|[1-9][0-9]*|(0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\.)([eE][-+]?[0-9]+)?$`)
	zerosInFront  = regexp.MustCompile(`^(-?)0+([0-9])`)
	specialNumber = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// canonicalNumber returns a YAML number in the syntax of strconv: without a plus sign and
// underscores, and in decimal if it is binary, octal or hexadecimal. As for kubectl, 017 is octal
// like 0o17. Infinity and not-a-number are unchanged.
func canonicalNumber(text string) (canonical string, ok bool) {
	if specialNumber.MatchString(text) {
		return text, true
	}
	plain := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	if plainNumber.MatchString(plain) {
		return plain, true
	}
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return strconv.FormatInt(i, 10), true
	}
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return strconv.FormatUint(u, 10), true
	}
	// 08 and 007.5 are decimal, because they are not octal numbers.
	plain = zerosInFront.ReplaceAllString(plain, "$1$2")
	return plain, plainNumber.MatchString(plain)
}
