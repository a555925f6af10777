package reports

import (
	"encoding/json"
	"io"
)

// WriteJSON writes a summary as indented JSON, the same bytes for the same summary.
func WriteJSON(w io.Writer, s *Summary) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(s)
}
