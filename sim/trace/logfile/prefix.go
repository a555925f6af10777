package logfile

import (
	"bytes"
	"strconv"
	"time"
	"unicode"

	"apfsim/internal/intern"
	"apfsim/sim/trace/httplog"
)

// streams is the number of streams of a container.
const streams = 2

// streamOf returns the index of a stream.
func streamOf(name string) int {
	if name == "stderr" {
		return 1
	}
	return 0
}

// criLine is a line in the format of the container runtime interface: time, stream, tags, text.
type criLine struct {
	recorded time.Time
	stream   int
	last     bool // of the parts of a line
	text     []byte
}

// cutCRI reads the prefix of a line that a container runtime has written.
func cutCRI(line []byte) (criLine, bool) {
	if line[0] < '0' || line[0] > '9' {
		return criLine{}, false
	}
	at, remaining, _ := bytes.Cut(line, []byte{' '})
	stream, remaining, _ := bytes.Cut(remaining, []byte{' '})
	tags, text, _ := bytes.Cut(remaining, []byte{' '})
	if len(tags) == 0 || tags[0] != 'F' && tags[0] != 'P' || len(tags) > 1 && tags[1] != ':' ||
		string(stream) != "stdout" && string(stream) != "stderr" {
		return criLine{}, false
	}
	recorded := readTime(at)
	return criLine{recorded, streamOf(string(stream)), tags[0] == 'F', text}, !recorded.IsZero()
}

// bareMessage is how a line of the httplog begins that has no klog header.
const bareMessage = `"HTTP" verb="`

// longestPrefix is the number of bytes within which the text of the server begins.
const longestPrefix = 256

// cutPrefix separates the line of a server from what stands before it. remaining is nil if there is no such line.
func cutPrefix(line []byte) (prefix, remaining []byte) {
	head := line[:min(len(line), longestPrefix)]
	i := bytes.Index(head, []byte(`{"`))
	if j := httplog.IndexHeader(head); j >= 0 && (i < 0 || j < i) {
		i = j
	}
	if j := bytes.Index(head, []byte(bareMessage)); j >= 0 && (i < 0 || j < i) {
		i = j
	}
	if i < 0 {
		return nil, nil
	}
	return line[:i], line[i:]
}

// readPrefix reads the time and the server out of what stands before a line: the time in RFC 3339 or in
// journald's formats, the name of the node or [pod/NAME/CONTAINER] of kubectl logs --prefix.
func readPrefix(prefix []byte, from *source, texts *intern.Table) {
	words := bytes.Fields(prefix)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word[0] == '<' { // the priority of syslog
			_, word, _ = bytes.Cut(word, []byte{'>'})
		}
		if t := readTime(word); !t.IsZero() {
			from.recorded = t
			continue
		}
		if _, err := time.Parse("Jan", string(word)); err == nil {
			i += 2 // the day and the time, without a zone
			continue
		}
		if len(word) < 2 || word[len(word)-1] == ':' || bytes.ContainsFunc(word, unicode.IsControl) {
			continue // the version and the dashes of syslog, the name of the program, and what is no text
		}
		if parts := bytes.Split(word, []byte{'/'}); len(parts) == 3 && string(parts[0]) == "[pod" {
			word = parts[1]
		}
		from.server = texts.String(word)
		return
	}
}

// readTime reads a time in RFC 3339, with or without a colon in the zone, in the format of CloudWatch Logs Insights, or in seconds, milliseconds,
// microseconds or nanoseconds since 1970. It returns the zero time for anything else.
func readTime(text []byte) time.Time {
	if len(text) < 10 || text[0] < '0' || text[0] > '9' {
		return time.Time{}
	}
	var t time.Time
	if t.UnmarshalText(text) == nil {
		return t
	}
	for _, layout := range []string{"2006-01-02T15:04:05-0700", time.DateTime} {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t
		}
	}
	whole, _, _ := bytes.Cut(text, []byte{'.'})
	n, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil {
		return time.Time{}
	}
	switch {
	case n >= 1e17:
		return time.Unix(0, n).UTC()
	case n >= 1e14:
		return time.UnixMicro(n).UTC()
	case n >= 1e11:
		return time.UnixMilli(n).UTC()
	}
	return time.Unix(n, 0).UTC()
}
