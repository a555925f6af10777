package quantity

import (
	"math"
	"strconv"
	"strings"

	"apfsim/document"

	"github.com/invopop/jsonschema"
)

// Bytes is a number of bytes, written as Kubernetes writes quantities: a number alone, or with one of
// the units k, M, G, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024), with or without a B.
type Bytes int64

// mostBytes bounds a quantity, so that sums do not overflow.
const mostBytes = 1 << 60

var byteUnits = map[string]float64{
	"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// UnmarshalDocument implements document.Unmarshaler.
func (b *Bytes) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	const want = "want a number of bytes such as 512MiB or 16GiB"
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; %s", n.Kind, want)
		return
	}
	text := strings.TrimSuffix(strings.ReplaceAll(n.Text, " ", ""), "B")
	unit := strings.TrimLeft(text, "+-.0123456789")
	value, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	factor, known := byteUnits[unit]
	switch {
	case err != nil || !known:
		d.Fail(n, path, "%q is not a number of bytes; %s", document.Abridge(n.Text), want)
	case value < 0:
		d.Fail(n, path, "%s is negative; want 0 or more", n.Text)
	case value*factor > mostBytes:
		d.Fail(n, path, "%s is more than %d TiB", n.Text, mostBytes>>40)
	default:
		*b = Bytes(math.Round(value * factor))
	}
}

// JSONSchema describes the type.
func (Bytes) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^ *\+?([0-9]+\.?[0-9]*|\.[0-9]+) *(k|M|G|T|Ki|Mi|Gi|Ti)?B?$`},
			{Type: "integer", Minimum: "0"},
		},
		Description: "A number of bytes, such as 512MiB or 16GiB.",
	}
}
