package request

import (
	"fmt"
	"slices"
	"strings"
)

// parseFields reads a field selector, such as metadata.name=web,status.phase!=Failed
// (k8s.io/apimachinery/pkg/fields). The requirements are in the alphabetical order of their texts, by
// which the first of several values for a field counts. A backslash escapes a comma, an equals sign or
// a backslash in a value; a space is part of a name or a value.
func parseFields(s string) (all []Requirement, err error) {
	terms := splitUnescaped(s)
	slices.Sort(terms)
	for _, term := range terms {
		if term == "" {
			continue
		}
		field, value, found := strings.Cut(term, "=")
		if !found {
			return nil, fmt.Errorf("%q has neither = nor !=", term)
		}
		r := Requirement{Operator: In}
		r.Key, found = strings.CutSuffix(field, "!")
		if found {
			r.Operator = NotIn
		} else {
			value = strings.TrimPrefix(value, "=") // == means the same as =
		}
		plain, ok := unescape(value)
		if !ok {
			return nil, fmt.Errorf(`%q: want a backslash before each comma, equals sign and backslash in a value, and before nothing else`, term)
		}
		if r.Key == "" && plain == "" {
			continue // selects everything
		}
		r.Values = []string{plain}
		all = append(all, r)
	}
	return all, nil
}

// EscapeFieldValue returns a value as a field selector has it.
func EscapeFieldValue(value string) string { return fieldValue.Replace(value) }

var fieldValue = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)

// splitUnescaped splits s at the commas that are not escaped by a backslash.
func splitUnescaped(s string) []string {
	var parts []string
	start, escaped := 0, false
	for i := range len(s) {
		switch {
		case escaped:
			escaped = false
		case s[i] == '\\':
			escaped = true
		case s[i] == ',':
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// unescape removes the backslash before each backslash, comma and equals sign; ok is false if
// one of these characters is not escaped, or another character is.
func unescape(value string) (plain string, ok bool) {
	if !strings.ContainsAny(value, `\,=`) {
		return value, true
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '\\':
			i++
			if i == len(value) || !strings.ContainsRune(`\,=`, rune(value[i])) {
				return "", false
			}
			b.WriteByte(value[i])
		case ',', '=':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
