package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"

	"apfsim/experiment/incident"
)

// queried is the answer of Prometheus to a query, as its API writes it.
type queried struct {
	Data struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// readQuery reads the answer to a range query or an instant query, whole or only its result, as promtool query -o json prints it.
func (e *evidence) readQuery(s *incident.Source, text []byte) error {
	result := json.RawMessage(text)
	if text = bytes.TrimSpace(text); text[0] == '{' {
		var q queried
		if err := decode(text, &q); err != nil {
			return err
		}
		result = q.Data.Result
	}
	f := e.metrics().file(s)
	if s.Kind == incident.QueryRange {
		var matrix model.Matrix
		if err := decode(result, &matrix); err != nil {
			return err
		}
		for _, one := range matrix {
			f.addSeries(one.Metric, one.Values)
		}
		if e.beginMs > 0 {
			f.firstMs = min(f.firstMs, e.beginMs)
		}
	} else {
		var vector model.Vector
		if err := decode(result, &vector); err != nil {
			return err
		}
		for _, one := range vector {
			f.addSeries(one.Metric, []model.SamplePair{{Timestamp: one.Timestamp, Value: one.Value}})
		}
	}
	f.end()
	return f.check()
}

// decode decodes JSON. The error says where it is wrong.
func decode(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("is not complete JSON: byte %d: %w", syntax.Offset, err)
	}
	if err != nil {
		return fmt.Errorf("is not the answer of Prometheus to a query: %w", err)
	}
	return nil
}

func (f *file) addSeries(metric model.Metric, values []model.SamplePair) {
	labels := map[string]string{}
	for name, value := range metric {
		if name != model.MetricNameLabel {
			labels[string(name)] = string(value)
		}
	}
	name := string(metric[model.MetricNameLabel])
	if name == "" {
		f.nameless++
		return
	}
	for _, v := range values {
		f.add(name, labels, max(1, int64(v.Timestamp)), float64(v.Value))
	}
}

// check says why nothing can be concluded from the answer to a query.
func (f *file) check() error {
	switch {
	case f.wrong != nil:
		return f.wrong
	case len(f.metrics) == 0 && f.nameless > 0:
		return errors.New(`has series without a name, which are the results of an expression, such as rate(); query the series themselves: apiserver_flowcontrol_rejected_requests_total`)
	case len(f.metrics) == 0:
		return errors.New("has no series: the query matched nothing in that time")
	case !f.flowControl():
		return errors.New("has no series of flow control; query {__name__=~\"apiserver_flowcontrol_.*\"}")
	}
	return nil
}

// readTSDB reads the lines of promtool tsdb dump: labels with the name, a value, and milliseconds since 1970.
func (e *evidence) readTSDB(s *incident.Source, text []byte) error {
	f := e.metrics().file(s)
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		labels, rest, err := parseLabels(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		name := labels[model.MetricNameLabel]
		if !wanted(name) {
			continue
		}
		delete(labels, model.MetricNameLabel)
		fields := strings.Fields(rest)
		if len(fields) != 2 {
			return fmt.Errorf("line %d: want a value and milliseconds since 1970 after the labels", number)
		}
		value, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return fmt.Errorf("line %d: the value %q is not a number", number, fields[0])
		}
		at, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return fmt.Errorf("line %d: the time %q is not a number of milliseconds", number, fields[1])
		}
		f.add(name, labels, max(1, at), value)
	}
	f.end()
	return f.check()
}

// wanted reports whether a metric is read.
func wanted(name string) bool {
	return slices.ContainsFunc(wantedMetrics, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// parseLabels reads {name="value", …} at the beginning of a line.
func parseLabels(line string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	wrong := errors.New(`want labels such as {__name__="up", job="apiserver"}`)
	rest, ok := strings.CutPrefix(line, "{")
	for ok {
		rest = strings.TrimLeft(rest, " ,")
		if after, ends := strings.CutPrefix(rest, "}"); ends {
			return labels, after, nil
		}
		name, after, found := strings.Cut(rest, "=")
		if !found {
			break
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			break
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			break
		}
		labels[strings.TrimSpace(name)], rest = value, after[len(quoted):]
	}
	return nil, "", wrong
}
