// Package logfile reads the requests out of a file with the log of a kube-apiserver: an audit log or the
// lines of its httplog, as the server writes them or in the wrappers of those who collect logs.
package logfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"apfsim/internal/intern"
	"apfsim/sim/trace/auditlog"
	"apfsim/sim/trace/httplog"
)

// Format says which of the lines of a file are read.
type Format uint8

// The formats. Each line shows what it is, so a file may contain both.
const (
	Auto  Format = iota // audit events and lines of the httplog
	Audit               // only audit events
	HTTP                // only lines of the httplog
)

// formats are the formats by the names that users give them.
var formats = []string{Auto: "auto", Audit: "audit", HTTP: "httplog"}

// String returns the name of the format.
func (f Format) String() string { return formats[f] }

// ParseFormat returns the format with a name.
func ParseFormat(name string) (Format, error) {
	for f, n := range formats {
		if n == name {
			return Format(f), nil
		}
	}
	return Auto, fmt.Errorf("format %q is not supported; use %s", name, strings.Join(formats, ", "))
}

// Options says how to read a file. The zero value reads all formats.
type Options struct {
	Format Format
	// Reference is a time near those of the log. It gives lines with a klog header their year, if nothing
	// else in the line does. The time at which the file was last modified is right, and so is any time in
	// another log of the same servers. Without it, such lines are problems, unless the file has the first
	// lines that klog writes to a file of its own, with the date.
	Reference time.Time
	// Zone is that of klog headers. The default is the zone that follows from the time that the receiver of
	// the line, a container runtime or journald, has put before it, and UTC for lines without one.
	Zone *time.Location
	// Adjusted, if not nil, is called for each change of a limit that the log contains.
	Adjusted func(httplog.Adjustment)
}

// Open returns a reader of the entries in r, which may be compressed with gzip. File is the name for
// messages. It reads the beginning of r. The error says that r is not a log in a supported format at all.
func Open(r io.Reader, file string, o Options) (*Reader, error) {
	buffered := bufio.NewReaderSize(r, bufferSize)
	head, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for magic, name := range map[string]string{"PK\x03\x04": "zip", "\x28\xb5\x2f\xfd": "zstd", "\xfd7zX": "xz", "BZh": "bzip2"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return nil, fmt.Errorf("%s: the file is compressed with %s; decompress it first, or use gzip", file, name)
		}
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		buffered = bufio.NewReaderSize(&cutOff{r: z}, bufferSize)
		head, err = buffered.Peek(4)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if isUTF16(head) {
		return nil, fmt.Errorf("%s: the file is in UTF-16; convert it to UTF-8", file)
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		buffered.Discard(3)
	}
	texts := new(intern.Table)
	return &Reader{
		file:    file,
		options: o,
		lines:   lines{source: buffered},
		audit:   auditlog.NewDecoder(texts),
		http:    httplog.NewDecoder(httplog.Clock{Zone: o.Zone, Reference: o.Reference}, texts),
		texts:   texts,
	}, nil
}

// isUTF16 reports whether a text begins in UTF-16, with or without a byte-order mark: of the first characters of a log, one byte is 0.
func isUTF16(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	return len(head) == 4 && head[0] == 0 == (head[2] == 0) && head[1] == 0 == (head[3] == 0) && head[0] == 0 != (head[1] == 0)
}

// cutOff is a reader of gzip data that says where the data is damaged or ends early.
type cutOff struct{ r io.Reader }

func (c *cutOff) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("the data ends early")
		case errors.Is(err, gzip.ErrHeader):
			err = errors.New("after the compressed data comes something else")
		case errors.Is(err, gzip.ErrChecksum):
			err = errors.New("the checksum is wrong")
		}
		err = fmt.Errorf("gzip: %w; what follows is not read", err)
	}
	return n, err
}
