package report

import (
	"strings"

	"apfsim/reports/advice"
)

// ExplanationDocument returns the report of what flow control does with a request. With all, it has all FlowSchemas.
func ExplanationDocument(e *advice.Explanation, all bool) *Document {
	d := &Document{Data: e}
	d.add(Section{Parts: []Part{{Paragraph: strings.TrimSuffix(e.Text(all), "\n")}}, Only: Terminal})
	return d
}
