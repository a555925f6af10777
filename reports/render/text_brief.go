package render

import (
	"bytes"
	"io"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// The size of a first screen, of which one line is left for the prompt of the shell. Warnings are not counted.
const (
	briefColumns = 80
	briefLines   = 23
)

// brief writes the first screen of a document. If there is no room for all of it, it has no empty lines, and its lists become
// shorter.
func brief(w io.Writer, d *report.Document, options format.TextOptions) error {
	if options.Width == 0 {
		options.Width = briefColumns
	}
	var text []byte
	for less := range 4 {
		t := newTextWriter(options)
		b := d.Brief(less)
		t.head(b)
		t.answer(b)
		above := t.Len()
		t.warned(d.Warnings)
		most := briefLines + bytes.Count(t.Bytes()[above:], []byte("\n"))
		for _, s := range b.Sections {
			for i := range s.Parts {
				p := &s.Parts[i]
				if p.Table != nil && t.narrow {
					p.Table = p.Table.Narrow()
				}
				t.part(p)
			}
		}
		t.next(b)
		if text = t.Bytes(); bytes.Count(text, []byte("\n")) <= most {
			break
		}
		text = bytes.ReplaceAll(text, []byte("\n\n"), []byte("\n"))
		if bytes.Count(text, []byte("\n")) <= most {
			break
		}
	}
	_, err := w.Write(text)
	return err
}

// warnedLines is how many lines of warnings the first screen has at most.
const warnedLines = 2

// warned writes how many warnings there are, and the first one as far as there is room.
func (t *textWriter) warned(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	const rest = "; -v shows all"
	text := format.Counted(len(warnings), "warning") + ": " + warnings[0]
	all, columns := text, t.options.Width-4
	if len(warnings) > 1 {
		text += rest
	}
	for room := warnedLines * columns; len(format.Wrap(text, columns)) > warnedLines; room-- {
		text = format.Shorten(all, room-len(rest)) + rest
	}
	t.marked("! ", yellow, text)
}
