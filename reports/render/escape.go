package render

import (
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// place says where a text stands.
type place uint8

const (
	inLine place = iota // it may begin a line
	inCell              // of a table
	asCode              // it is from a file or a command line
)

// texts returns a copy of a document in which each text is what as makes of it at its place. Names of users, of objects and of
// files are data that anybody may have chosen: this is the one place where they become harmless in a format, before it lays them
// out. The tag text of a field says what it holds: lines, code, the text of a cell, or Markdown of the program's own. What is
// for programs (Data, Records) is not in the copy, and what only pages draw is as it was.
func texts(d *report.Document, as func(string, place) string) *report.Document {
	all := *d
	all.Data, all.Records, all.Pictures, all.Samples = nil, nil, nil, nil
	return mapped(reflect.ValueOf(&all), as, inLine).Interface().(*report.Document)
}

func mapped(v reflect.Value, as func(string, place) string, at place) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		text := reflect.New(v.Type()).Elem()
		text.SetString(as(v.String(), at))
		return text
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*report.Plot]() {
			return v
		}
		changed := reflect.New(v.Type().Elem())
		changed.Elem().Set(mapped(v.Elem(), as, at))
		return changed
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		changed := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			changed.Index(i).Set(mapped(v.Index(i), as, at))
		}
		return changed
	case reflect.Struct:
		changed := reflect.New(v.Type()).Elem()
		changed.Set(v)
		switch v := v.Interface().(type) {
		case report.Column:
			at = inCell
		case report.Cell:
			if at = inCell; v.Code {
				at = asCode
			}
		}
		for field, value := range changed.Fields() {
			switch tag := field.Tag.Get("text"); {
			case !field.IsExported() || tag == "markdown":
			case tag == "lines":
				value.Set(mapped(value, byLine(as), at))
			case tag == "code":
				value.Set(mapped(value, as, asCode))
			case tag == "cell":
				value.Set(mapped(value, as, inCell))
			default:
				value.Set(mapped(value, as, at))
			}
		}
		return changed
	}
	return v
}

// byLine returns as for each line of a text.
func byLine(as func(string, place) string) func(string, place) string {
	return func(text string, at place) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = as(line, at)
		}
		return strings.Join(lines, "\n")
	}
}

// printable is what a terminal has of a text.
func printable(text string, _ place) string { return format.Printable(text) }

// blockBegin is what would make a heading, a quotation, a list, a rule or a definition of a line, if it began with it.
var blockBegin = regexp.MustCompile(`^(#{1,6}( |$)|>|[-+]( |$)|=|--|\d+[.)]( |$)|\[|\|)`)

// entity is a character reference of HTML.
var entity = regexp.MustCompile(`^&#?\w+;`)

// markdown is what GitHub's Markdown has of a text, so that it is shown as it is: no part of it is a heading, a link, an
// image, HTML or another element. Code is between backquotes, which are more than the text has in a row.
func markdown(text string, at place) string {
	text = format.Printable(text)
	if at == asCode && text != "" {
		fence := "`"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		if len(fence) > 1 {
			return fence + " " + text + " " + fence
		}
		return fence + text + fence
	}
	var b strings.Builder
	text = strings.TrimLeft(text, " ") // four in front would make it code
	if at == inLine && blockBegin.MatchString(text) {
		number := len(text) - len(strings.TrimLeft(text, "0123456789"))
		b.WriteString(text[:number] + "\\" + text[number:number+1])
		text = text[number+1:]
	}
	last := ' '
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		rest := text[i:]
		special := false
		switch r {
		case '\\':
			special = next < utf8.RuneSelf && (unicode.IsPunct(next) || unicode.IsSymbol(next))
		case '`', '*', '@':
			special = true
		case '_':
			special = !word(last) || !word(next)
		case ']': // without it, "[" begins no link
			special = next == '(' || next == '['
		case '~':
			special = last != ' ' || rest != "~" && next != ' '
		case '<':
			special = unicode.IsLetter(next) || strings.ContainsRune("/!?", next)
		case '&':
			special = entity.MatchString(rest)
		case ':':
			special = strings.HasPrefix(rest, "://")
		case '.':
			special = strings.HasSuffix(strings.ToLower(text[:i]), "www")
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// word reports whether a character is of a word.
func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
