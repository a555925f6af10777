package shape

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"apfsim/reports/format"
)

// Text returns the text of a scenario.
func Text(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	err := encoder.Encode(n)
	return b.Bytes(), err
}

// NodeField returns the value of a field, nil if there is none.
func NodeField(mapping *yaml.Node, name string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// SetField replaces a field, or adds it at the end.
func SetField(mapping *yaml.Node, name string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content[i+1] = value
			return
		}
	}
	mapping.Content = append(mapping.Content, ValueNode(name), value)
}

// RemoveField removes a field.
func RemoveField(mapping *yaml.Node, name string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// ValueNode returns a value as a node, maps in one line.
func ValueNode(v any) *yaml.Node {
	var n yaml.Node
	switch v := v.(type) {
	case map[string]any:
		n = yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, name := range slices.SortedFunc(maps.Keys(v), byOrder) {
			n.Content = append(n.Content, ValueNode(name), ValueNode(v[name]))
		}
	case []any:
		n = yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range v {
			n.Content = append(n.Content, ValueNode(item))
		}
	default:
		if err := n.Encode(v); err != nil {
			panic(fmt.Sprintf("shape: a value that is not YAML: %v", err))
		}
		switch s, isText := v.(string); {
		case n.Kind == yaml.SequenceNode:
			n.Style = yaml.FlowStyle
		case isText && format.Printable(s) != s:
			n.Style = yaml.DoubleQuotedStyle // the only one with escapes
		}
	}
	return &n
}

// fieldOrder is the order of the fields, as people write them.
var fieldOrder = []string{"weight", "user", "groups", "verb", "group", "resource", "subresource", "namespace", "name", "path", "query", "watch",
	"at", "requests", "over", "startRate", "stages", "duration", "rate", "mean", "on", "off"}

func byOrder(a, b string) int {
	i, j := slices.Index(fieldOrder, a), slices.Index(fieldOrder, b)
	if i >= 0 && j >= 0 {
		return i - j
	}
	if i != j && (i < 0) != (j < 0) {
		return j - i // those of the list first
	}
	return strings.Compare(a, b)
}
