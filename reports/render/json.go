package render

import (
	"io"

	"apfsim/document/yaml"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// JSON writes the data of a document.
func JSON(w io.Writer, d *report.Document, _ format.TextOptions) error {
	return format.WriteJSON(w, d.Data)
}

// YAML writes the data of a document as one of several in a stream.
func YAML(w io.Writer, d *report.Document, _ format.TextOptions) error {
	text, err := yaml.Marshal(d.Data)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte("---\n"), text...))
	return err
}
