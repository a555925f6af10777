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

// texts returns a copy of a document in which each text is what as makes of it; code says that the text is from a
// file or a command line. Names of users, of objects and of files are data that anybody may have chosen: this is the one
// place where they become harmless in a format, before it lays them out. Paragraphs and descriptions keep their lines. What
// is for programs (Data, Records) is not in the copy, and what only pages draw is as it was.
func texts(d *report.Document, as func(text string, code bool) string) *report.Document {
	all := *d
	all.Data, all.Records, all.Pictures, all.Samples = nil, nil, nil, nil
	return mapped(reflect.ValueOf(&all), as, false).Interface().(*report.Document)
}

func mapped(v reflect.Value, as func(string, bool) string, code bool) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		text := reflect.New(v.Type()).Elem()
		text.SetString(as(v.String(), code))
		return text
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*report.Plot]() {
			return v
		}
		changed := reflect.New(v.Type().Elem())
		changed.Elem().Set(mapped(v.Elem(), as, code))
		return changed
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		changed := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			changed.Index(i).Set(mapped(v.Index(i), as, code))
		}
		return changed
	case reflect.Struct:
		changed := reflect.New(v.Type()).Elem()
		changed.Set(v)
		cell, isCell := v.Interface().(report.Cell)
		for field, value := range changed.Fields() {
			code := isCell && cell.Code || v.Type() == reflect.TypeFor[report.Side]() && field.Name == "Label"
			switch {
			case !field.IsExported():
			case field.Name == "Paragraph" || field.Name == "Description":
				value.Set(mapped(value, byLine(as), code))
			default:
				value.Set(mapped(value, as, code))
			}
		}
		return changed
	}
	return v
}

// byLine returns as for each line of a text.
func byLine(as func(string, bool) string) func(string, bool) string {
	return func(text string, code bool) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = as(line, code)
		}
		return strings.Join(lines, "\n")
	}
}

// printable is what a terminal has of a text.
func printable(text string, _ bool) string { return format.Printable(text) }

// blockBegin is what would make a heading, a quotation, a list, a rule or a definition of a line, if it began with it.
var blockBegin = regexp.MustCompile(`^(#{1,6}( |$)|>|[-+]( |$)|=|--|\d+[.)]( |$)|\[|\|)`)

// entity is a character reference of HTML.
var entity = regexp.MustCompile(`^&#?\w+;`)

// markdown is what GitHub's Markdown has of a text, so that it is shown as it is: no part of it is a heading, a link, an
// image, HTML or another element. Code is between backquotes, which are more than the text has in a row.
func markdown(text string, code bool) string {
	text = format.Printable(text)
	if code && text != "" {
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
	if blockBegin.MatchString(text) {
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
