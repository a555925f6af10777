package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Marshal returns v in YAML in the format of kubectl: the fields of v as encoding/json writes
// them, in the same order, in block style, indented by two spaces, with the items of a list at
// the indentation of its name.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	root, err := nodeOfJSON(decoder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := yamlv3.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// nodeOfJSON reads one value from JSON tokens. Decoding into a map would lose the order of the
// fields.
func nodeOfJSON(decoder *json.Decoder) (*yamlv3.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		n := &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq"}
		if t == '{' {
			n.Kind, n.Tag = yamlv3.MappingNode, "!!map"
		}
		for decoder.More() {
			item, err := nodeOfJSON(decoder) // a name or a value
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		if len(n.Content) == 0 {
			n.Style = yamlv3.FlowStyle
		}
		_, err := decoder.Token() // the closing bracket
		return n, err
	case string:
		return stringNode(t), nil
	case json.Number:
		n := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!int", Value: t.String()}
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
		return n, nil
	case bool:
		return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(t)}, nil
	default:
		return &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
}

// oldScalar matches strings that are booleans or numbers in base 60 in YAML 1.1, which kubectl
// reads, but not in YAML 1.2. They need quotes.
var oldScalar = regexp.MustCompile(`^((?i:y|yes|n|no|on|off)|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

func stringNode(s string) *yamlv3.Node {
	n := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }):
		n.Style = yamlv3.DoubleQuotedStyle // the only one with escapes, which output may have for these marks
	case !strings.Contains(s, "\n"):
		if oldScalar.MatchString(s) {
			n.Style = yamlv3.DoubleQuotedStyle
		}
	case strings.ContainsAny(s, "\t\r") || strings.ContainsAny(s[:1], " \n"):
		n.Style = yamlv3.DoubleQuotedStyle // a block scalar would change these characters or make them invisible
	default:
		n.Style = yamlv3.LiteralStyle
	}
	return n
}
