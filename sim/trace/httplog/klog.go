package httplog

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// HeaderLength is the number of bytes of a klog header up to the microseconds: I1121 22:53:52.476437.
const HeaderLength = 21

// IndexHeader returns where the first klog header begins in the text, or -1.
func IndexHeader(text []byte) int {
	for i := 0; i+HeaderLength <= len(text); i++ {
		if isHeader(text[i:]) && (i == 0 || text[i-1] == ' ' || text[i-1] == '"') {
			return i
		}
	}
	return -1
}

// isHeader reports whether the text begins with a klog header.
func isHeader(text []byte) bool {
	const pattern = "I0000 00:00:00.000000"
	if len(text) < HeaderLength || text[0] != 'I' && text[0] != 'W' && text[0] != 'E' && text[0] != 'F' {
		return false
	}
	for i := 1; i < HeaderLength; i++ {
		if c := text[i]; pattern[i] == '0' && (c < '0' || c > '9') || pattern[i] != '0' && c != pattern[i] {
			return false
		}
	}
	return true
}

// parseHeader returns the time and the place in the source of a klog header, and what follows the header.
func parseHeader(line []byte) (h headerTime, caller, tail []byte, ok bool) {
	if !isHeader(line) {
		return h, nil, nil, false
	}
	two := func(i int) int { return int(line[i]-'0')*10 + int(line[i+1]-'0') }
	h = headerTime{month: two(1), day: two(3), hour: two(6), minute: two(9), second: two(12),
		nanosecond: ((two(15)*100+two(17))*100 + two(19)) * 1000}
	if h.month < 1 || h.month > 12 || h.day < 1 || h.day > 31 || h.hour > 23 || h.minute > 59 || h.second > 60 {
		return h, nil, nil, false
	}
	origin, tail, ok := bytes.Cut(line[HeaderLength:], []byte("] "))
	return h, origin[bytes.LastIndexByte(origin, ' ')+1:], tail, ok // after the number of the process
}

// nextPair returns the first key and value of a klog message, and what follows them. The value is unquoted.
// A value of several lines, which klog begins with <, is not read and ends the message. The key is nil at
// the end and where the text is not a list of pairs.
func nextPair(text, buffer []byte) (key, value, tail, grown []byte) {
	text = bytes.TrimLeft(text, " ")
	i := bytes.IndexByte(text, '=')
	if i <= 0 {
		return nil, nil, nil, buffer
	}
	key, text = text[:i], text[i+1:]
	if len(text) == 0 || text[0] != '"' {
		end := bytes.IndexByte(text, ' ')
		if end < 0 {
			end = len(text)
		}
		if value = text[:end]; bytes.Equal(value, []byte("<")) {
			return nil, nil, nil, buffer
		}
		return key, value, text[end:], buffer
	}
	for end := 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			value, grown = unquote(text[1:end], buffer)
			return key, value, text[end+1:], grown
		}
	}
	return nil, nil, nil, buffer
}

// unquote returns the text of a Go string literal without its quotes. It uses the buffer if there are
// escapes. What is not a valid escape stays as it is.
func unquote(literal, buffer []byte) (text, grown []byte) {
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal, buffer
	}
	buffer = buffer[:0]
	for remaining := string(literal); remaining != ""; {
		r, multibyte, tail, err := strconv.UnquoteChar(remaining, '"')
		switch {
		case err != nil:
			buffer, remaining = append(buffer, remaining[0]), remaining[1:]
			continue
		case r < utf8.RuneSelf || !multibyte:
			buffer = append(buffer, byte(r))
		default:
			buffer = utf8.AppendRune(buffer, r)
		}
		remaining = tail
	}
	return buffer, buffer
}
