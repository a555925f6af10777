package format

import (
	"bytes"
	"encoding/json"
	"io"
)

// WriteJSON writes a value as indented JSON, with each list of numbers on one line, and with escapes for
// what is not [Printable]. The same value gives the same bytes.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := (&PrintableWriter{Next: w}).Write(onOneLine(b.Bytes()))
	return err
}

// onOneLine joins the lines of each list of numbers. As strings in JSON have no line ends, no line
// begins within a string.
func onOneLine(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		line := text[:end]
		text = text[end:]
		next := bytes.TrimLeft(text, " ")
		if !bytes.HasSuffix(line, []byte("[\n")) || !bytes.ContainsRune([]byte("-0123456789n"), rune(next[0])) {
			out = append(out, line...)
			continue
		}
		list := text[:bytes.IndexByte(text, ']')]
		text = text[len(list):]
		out = append(out, line[:end-1]...)
		for i, number := range bytes.Split(list, []byte(",\n")) {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = append(out, bytes.TrimSpace(number)...)
		}
	}
	return out
}
