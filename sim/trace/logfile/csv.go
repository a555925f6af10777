package logfile

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// csvMessages are the columns of CSV that contain the line, by the names of the members that contain it in JSON: of CloudWatch Logs
// Insights, Log Analytics, Splunk, Grafana and Kibana.
var csvMessages = map[string]string{"@message": "@message", "log_s": "log", "_raw": "_raw", "Line": "line", "line": "line", "message": "message"}

// errRow is the error of a row that is not CSV.
var errRow = errors.New("the row is not valid CSV")

// csvColumns returns the names of the columns if the line is the first one of an export of logs as CSV; else nil.
func csvColumns(line []byte) []string {
	if len(line) == 0 || len(line) > longestPrefix || line[0] == '{' || line[0] == '[' {
		return nil
	}
	names, err := readCSV(line)
	insights := func(name string) bool { return name == "@message" || name == "@timestamp" }
	named := func(name string) bool { return insights(name) || csvMessages[name] != "" && len(names) > 1 }
	if err != nil || !slices.ContainsFunc(names, named) {
		return nil
	}
	for i, name := range names {
		switch member := csvMessages[name]; {
		case name == "" || slices.Contains(names[:i], name):
			return nil
		case member != "":
			names[i] = member
		case name == "pod_s":
			names[i] = "pod"
		}
	}
	return names
}

// readCSV reads one row.
func readCSV(row []byte) ([]string, error) {
	reader := csv.NewReader(bytes.NewReader(row))
	reader.TrimLeadingSpace = true
	return reader.Read()
}

// row reads the next row, which is several lines if its cells are, as a JSON object.
func (r *Reader) row() ([]byte, error) {
	line, err := r.lines.next()
	if err != nil && err != errLong {
		return nil, err
	}
	r.line = r.lines.number
	row := slices.Clone(line)
	for err == nil && bytes.Count(row, []byte{'"'})%2 == 1 {
		if len(row) > maxRecord {
			return nil, errLong
		}
		if line, err = r.lines.next(); err == nil {
			row = append(append(row, '\n'), line...)
		}
	}
	switch {
	case err == errLong:
		r.lines.skip()
		return nil, errLong
	case err != nil:
		return nil, fmt.Errorf("%w: the file ends within quotes", errRow)
	case len(bytes.TrimSpace(row)) == 0:
		return nil, nil
	}
	cells, err := readCSV(row)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRow, errors.Unwrap(err))
	}
	if len(cells) != len(r.columns) {
		return nil, fmt.Errorf("%w: it has %d cells, and the first line has %d", errRow, len(cells), len(r.columns))
	}
	object := []byte{'{'}
	for i, cell := range cells {
		if i > 0 {
			object = append(object, ',')
		}
		name, _ := json.Marshal(r.columns[i]) // a string can always be written
		value, _ := json.Marshal(cell)
		object = append(append(append(object, name...), ':'), value...)
	}
	return append(object, '}'), nil
}
