package estimate

import (
	"slices"
	"strconv"
	"strings"
)

// parseFieldSelector returns the values to which a field selector, such as
// metadata.name=web,status.phase!=Failed, requires fields to be equal; ok is false if the text
// is not a field selector. Of several values for a field the first in alphabetical order counts
// (k8s.io/apimachinery/pkg/fields).
func parseFieldSelector(selector string) (equal map[string]requirement, ok bool) {
	terms := splitUnescaped(selector)
	slices.Sort(terms)
	for _, term := range terms {
		if term == "" {
			continue
		}
		field, value, found := strings.Cut(term, "=")
		if !found {
			return nil, false
		}
		field, differs := strings.CutSuffix(field, "!")
		if !differs {
			value = strings.TrimPrefix(value, "=") // == means the same as =
		}
		value, ok := unescape(value)
		if !ok {
			return nil, false
		}
		if differs || equal[field].given {
			continue
		}
		if equal == nil {
			equal = map[string]requirement{}
		}
		equal[field] = requirement{value, true}
	}
	return equal, true
}

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

// isLabelSelector reports whether s is a valid label selector, such as
// app=web,tier in (a,b),!canary (k8s.io/apimachinery/pkg/labels). The estimate depends on
// nothing else in it.
func isLabelSelector(s string) bool {
	p := labelParser{rest: s}
	p.next()
	if p.token == "" {
		return true
	}
	for p.requirement() {
		if p.token == "" {
			return true
		}
		if p.token != "," {
			return false
		}
		p.next()
	}
	return false
}

// labelParser reads the tokens of a label selector.
type labelParser struct {
	rest  string // the text after the current token
	token string // the current token; "" at the end
	word  bool   // the token is a key, a value, in or notin, not a symbol
}

const (
	labelBlanks  = " \t\r\n"
	labelSymbols = "=!(),><"
)

func (p *labelParser) next() {
	s := strings.TrimLeft(p.rest, labelBlanks)
	end := strings.IndexAny(s, labelBlanks+labelSymbols)
	p.word = end != 0 && s != ""
	switch {
	case end < 0:
		end = len(s)
	case strings.HasPrefix(s, "==") || strings.HasPrefix(s, "!="):
		end = 2
	case end == 0:
		end = 1
	}
	p.token, p.rest = s[:end], s[end:]
}

// requirement reads one requirement and reports whether it is valid.
func (p *labelParser) requirement() bool {
	negated := p.token == "!"
	if negated {
		p.next()
	}
	if !p.word || !isLabelKey(p.token) {
		return false
	}
	p.next()
	if negated || p.token == "" || p.token == "," {
		return true
	}
	operator := p.token
	p.next()
	switch operator {
	case "in", "notin":
		return p.valueSet()
	case "=", "==", "!=":
		_, ok := p.value()
		return ok
	case ">", "<":
		value, ok := p.value()
		_, err := strconv.ParseInt(value, 10, 64)
		return ok && err == nil
	}
	return false
}

// value reads the value after an operator. The value may be empty.
func (p *labelParser) value() (value string, ok bool) {
	if p.token == "" || p.token == "," {
		return "", true
	}
	value, ok = p.token, p.word && isLabelValue(p.token)
	p.next()
	return value, ok
}

// valueSet reads a list of values in parentheses. Each value may be empty.
func (p *labelParser) valueSet() bool {
	if p.token != "(" {
		return false
	}
	p.next()
	for {
		if p.word {
			if !isLabelValue(p.token) {
				return false
			}
			p.next()
		}
		switch p.token {
		case ")":
			p.next()
			return true
		case ",":
			p.next()
		default:
			return false
		}
	}
}

// isLabelKey reports whether s is a valid key: a name, optionally after a DNS subdomain and a
// slash.
func isLabelKey(s string) bool {
	domain, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		return s != "" && isLabelValue(s)
	}
	return len(domain) <= 253 && name != "" && isLabelValue(name) &&
		!slices.ContainsFunc(strings.Split(domain, "."), func(label string) bool {
			return label == "" || !isDelimited(label, "-", false)
		})
}

// isLabelValue reports whether s is a valid value: it is empty, or it consists of at most 63
// letters, digits, hyphens, underscores and dots and begins and ends with a letter or a digit.
func isLabelValue(s string) bool {
	return s == "" || len(s) <= 63 && isDelimited(s, "-_.", true)
}

// isDelimited reports whether s consists of letters, digits and the characters of inside, and
// begins and ends with a letter or a digit. S must not be empty.
func isDelimited(s, inside string, upperCase bool) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || upperCase && 'A' <= c && c <= 'Z'
		inner := i > 0 && i < len(s)-1 && strings.IndexByte(inside, c) >= 0
		if !alphanumeric && !inner {
			return false
		}
	}
	return true
}
