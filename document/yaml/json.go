package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf16"
)

var jsonEscape = regexp.MustCompile(`\\(?:/|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|.)`)

// yamlOfJSON replaces the two escapes of JSON that the YAML parser does not support, \/ and
// surrogate pairs. It returns a text that is not JSON unchanged. Line numbers do not change.
func yamlOfJSON(text []byte) []byte {
	start := bytes.TrimLeft(text, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' ||
		!bytes.Contains(text, []byte(`\/`)) && !bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) ||
		!json.Valid(text) {
		return text
	}
	return jsonEscape.ReplaceAllFunc(text, func(escape []byte) []byte {
		switch {
		case len(escape) == len(`\ud83d\ude00`):
			high, _ := strconv.ParseUint(string(escape[2:6]), 16, 16)
			low, _ := strconv.ParseUint(string(escape[8:]), 16, 16)
			return fmt.Appendf(nil, `\U%08X`, utf16.DecodeRune(rune(high), rune(low)))
		case escape[1] == '/':
			return []byte{'/'}
		}
		return escape
	})
}
