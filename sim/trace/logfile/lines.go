package logfile

import (
	"bufio"
	"bytes"
	"errors"
)

const (
	bufferSize = 1 << 18
	maxRecord  = 1 << 20 // bytes of a line, and of an event in a list
)

// errLong is the error of a line of more than maxRecord bytes.
var errLong = errors.New("the line is longer than 1 MiB")

// lines splits the source into lines, and gives lines back.
type lines struct {
	source *bufio.Reader
	number int64  // of the latest line, from 1
	back   []byte // text that was given back and precedes the source
	buffer []byte // of a line that is longer than the buffer of the source
	ended  error  // of the source, which has no more text
}

// next returns the next line without its end, which is valid until the next call. For a line that is too
// long, it returns the beginning and errLong. The rest of that line is still to be read, by next or readByte.
func (l *lines) next() ([]byte, error) {
	if len(l.back) == 0 && l.ended != nil {
		return nil, l.ended
	}
	l.number++
	if len(l.back) > 0 {
		if i := bytes.IndexByte(l.back, '\n'); i >= 0 {
			line := l.back[:i]
			l.back = l.back[i+1:]
			return trimEnd(line), nil
		}
	}
	l.buffer = append(l.buffer[:0], l.back...)
	l.back = nil
	for {
		part, err := l.source.ReadSlice('\n')
		switch {
		case err == nil && len(l.buffer) == 0:
			return trimEnd(part[:len(part)-1]), nil
		case err == nil:
			l.buffer = append(l.buffer, part[:len(part)-1]...)
			if len(l.buffer) > maxRecord {
				l.back = []byte{'\n'}
				return l.buffer, errLong
			}
			return trimEnd(l.buffer), nil
		case err != bufio.ErrBufferFull:
			l.buffer = append(l.buffer, part...)
			l.ended = err
			if len(l.buffer) == 0 {
				l.number--
				return nil, err
			}
			return trimEnd(l.buffer), nil
		}
		if l.buffer = append(l.buffer, part...); len(l.buffer) > maxRecord {
			return l.buffer, errLong
		}
	}
}

// trimEnd removes the carriage return of a file from Windows.
func trimEnd(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// skip skips the rest of the line.
func (l *lines) skip() {
	if i := bytes.IndexByte(l.back, '\n'); i >= 0 {
		l.back = l.back[i+1:]
		return
	}
	l.back = nil
	for l.ended == nil {
		_, err := l.source.ReadSlice('\n')
		switch {
		case err == nil:
			return
		case err != bufio.ErrBufferFull:
			l.ended = err
		}
	}
}

// giveBack makes the text of the latest line the next to be read. The line had an end unless it was too
// long.
func (l *lines) giveBack(line []byte, ended bool) {
	text := append(make([]byte, 0, len(line)+1+len(l.back)), line...)
	if ended {
		text = append(text, '\n')
	}
	l.back = append(text, l.back...)
	l.number--
}

// readByte returns the next byte. The caller counts the lines: number is the number of ends of lines that
// were read.
func (l *lines) readByte() (byte, error) {
	if len(l.back) > 0 {
		c := l.back[0]
		l.back = l.back[1:]
		return c, nil
	}
	if l.ended != nil {
		return 0, l.ended
	}
	c, err := l.source.ReadByte()
	if err != nil {
		l.ended = err
	}
	return c, err
}

// ahead returns some of the next bytes, at least one unless the source has ended.
func (l *lines) ahead() []byte {
	if len(l.back) > 0 {
		return l.back
	}
	if l.source.Buffered() == 0 {
		l.source.Peek(1)
	}
	next, _ := l.source.Peek(l.source.Buffered())
	return next
}

// discard skips bytes that ahead has returned.
func (l *lines) discard(n int) {
	if len(l.back) > 0 {
		l.back = l.back[n:]
		return
	}
	l.source.Discard(n)
}
