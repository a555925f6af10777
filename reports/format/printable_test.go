package format

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, 日本語, é and � are as they are": "plain, 日本語, é and � are as they are",
		"\x1b[2J\x07":           `\u001b[2J\u0007`,
		"a\u009b31mb\x7f":       `a\u009b31mb\u007f`,
		"a\nb\tc\rd":            `a\u000ab\u0009c\u000dd`,
		"user\u202eexe.txt":     `user\u202eexe.txt`,
		"a\u2028b\u2066c":       `a\u2028b\u2066c`,
		"cut \xe6\x97 and \x9b": `cut \xe6\x97 and \x9b`,
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got, want := PrintableLines("a\n\tb\x1b\r\n"), "a\n\tb\\u001b\\u000d\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// pieces are what random texts are made of.
var pieces = []string{"a", "plain text of some length ", "\n", "\t", "é", "日本", "😀", "\x1b", "\x1b[31m", "\x1b[0m", "\x1b[2J", "\x1b[", "[0m", "\r", "\x00", "\x7f",
	"\u0085", "\u009b", "\u202e", "\u2028", "\u200f", "\xff", "\xe6", "\xe6\x97", "\x80", "\\u001b", "�"}

// Nothing that leaves the writer moves the cursor or changes the state of a terminal, except the styles of this
// program where these are wanted. Text that can be printed remains as it is. It does not matter in which pieces it comes.
func TestPrintableWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "text"), "")
		styles := rapid.Bool().Draw(t, "styles")
		written := func(cuts []int) string {
			var b strings.Builder
			w := PrintableWriter{Next: &b, Styles: styles}
			remaining := text
			for _, n := range cuts {
				n = min(n, len(remaining))
				if written, err := w.Write([]byte(remaining[:n])); written != n || err != nil {
					t.Fatalf("wrote %d of %d bytes: %v", written, n, err)
				}
				remaining = remaining[n:]
			}
			w.Write([]byte(remaining))
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		got := written(nil)
		if cut := written(rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "cuts")); cut != got {
			t.Errorf("in pieces %q, at once %q", cut, got)
		}
		bare := got
		if styles {
			bare = strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(got)
		} else if want := PrintableLines(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, r := range bare {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 {
				t.Errorf("%q has %q", got, r)
			}
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unprintable(r) }) < 0 && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// JSON with escapes has the same values.
func TestPrintableJSON(t *testing.T) {
	values := []string{"a\x7fb\u009bc\u202ed", "\x1b\n\u2066"}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal([]byte(PrintableLines(string(text))), &got); err != nil || got[0] != values[0] || got[1] != values[1] {
		t.Errorf("got %q (%v), want %q", got, err, values)
	}
}

func BenchmarkPrintableWriter(b *testing.B) {
	line := []byte(strings.Repeat(`{"id":1,"user":"system:serviceaccount:kube-system:job-controller","verb":"list"}`, 5) + "\n")
	w := PrintableWriter{Next: discard{}}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		w.Write(line)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
