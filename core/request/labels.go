package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseLabels reads a label selector, such as app=web,tier in (a,b),!canary
// (k8s.io/apimachinery/pkg/labels). The requirements are in the order of the text.
func parseLabels(s string) (all []Requirement, err error) {
	p := labelParser{remaining: s}
	p.next()
	if p.token == "" {
		return nil, nil
	}
	for {
		r, err := p.requirement()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		if p.token == "" {
			return all, nil
		}
		if p.token != "," {
			return nil, fmt.Errorf("%q after the requirement of the label %s; want a comma or the end", p.token, r.Key)
		}
		p.next()
	}
}

// labelParser reads the tokens of a label selector.
type labelParser struct {
	remaining string // the text after the current token
	token     string // the current token; "" at the end
	word      bool   // the token is a key, a value, in or notin, not a symbol
}

const (
	labelBlanks  = " \t\r\n"
	labelSymbols = "=!(),><"
)

func (p *labelParser) next() {
	s := strings.TrimLeft(p.remaining, labelBlanks)
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
	p.token, p.remaining = s[:end], s[end:]
}

// shown returns the current token as an error shows it.
func (p *labelParser) shown() string {
	if p.token == "" {
		return "the end"
	}
	return strconv.Quote(p.token)
}

// requirement reads one requirement.
func (p *labelParser) requirement() (r Requirement, err error) {
	negated := p.token == "!"
	if negated {
		p.next()
	}
	if !p.word || !isLabelKey(p.token) {
		return r, fmt.Errorf("%s is not the key of a label", p.shown())
	}
	r.Key = p.token
	p.next()
	if negated || p.token == "" || p.token == "," {
		r.Operator = Exists
		if negated {
			r.Operator = Absent
		}
		return r, nil
	}
	operator := p.token
	p.next()
	switch operator {
	case "in", "notin":
		r.Operator = In
		if operator == "notin" {
			r.Operator = NotIn
		}
		r.Values, err = p.valueSet()
		return r, err
	case "=", "==", "!=", ">", "<":
	default:
		return r, fmt.Errorf("%q after the label %s is not an operator; want one of = == != in notin > <", operator, r.Key)
	}
	value, err := p.value()
	r.Values = []string{value}
	switch {
	case err != nil:
	case operator == ">", operator == "<":
		r.Operator = Greater
		if operator == "<" {
			r.Operator = Less
		}
		if r.bound, err = strconv.ParseInt(value, 10, 64); err != nil {
			err = fmt.Errorf("%q is not an integer, which %s needs", value, operator)
		}
	case operator == "!=":
		r.Operator = NotIn
	default:
		r.Operator = In
	}
	return r, err
}

// value reads the value after an operator. The value may be empty.
func (p *labelParser) value() (string, error) {
	if p.token == "" || p.token == "," {
		return "", nil
	}
	value := p.token
	if !p.word || !isLabelValue(value) {
		return "", fmt.Errorf("%q is not the value of a label", value)
	}
	p.next()
	return value, nil
}

// valueSet reads a list of values in parentheses, without repetitions. Each value may be empty.
func (p *labelParser) valueSet() (values []string, err error) {
	if p.token != "(" {
		return nil, fmt.Errorf("%s after in or notin; want a list in parentheses", p.shown())
	}
	p.next()
	for {
		value := ""
		if p.word {
			if value = p.token; !isLabelValue(value) {
				return nil, fmt.Errorf("%q is not the value of a label", value)
			}
			p.next()
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
		switch p.token {
		case ")":
			p.next()
			return values, nil
		case ",":
			p.next()
		default:
			return nil, fmt.Errorf("%s in a list of values; want a comma or a closing parenthesis", p.shown())
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
