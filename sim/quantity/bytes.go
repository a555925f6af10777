package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"apfsim/document"
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

const wantBytes = "want a number of bytes such as 512MiB or 16GiB"

// UnmarshalDocument implements document.Unmarshaler.
func (b *Bytes) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	if n.Kind != document.String && n.Kind != document.Number {
		d.Fail(n, path, "is %v; %s", n.Kind, wantBytes)
		return
	}
	parsed, err := ParseBytes(n.Text)
	if err != nil {
		d.Fail(n, path, "%v", err)
		return
	}
	*b = parsed
}

// ParseBytes parses a number of bytes as a scenario has it.
func ParseBytes(written string) (Bytes, error) {
	text := strings.TrimSuffix(strings.ReplaceAll(written, " ", ""), "B")
	unit := strings.TrimLeft(text, "+-.0123456789")
	value, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	factor, known := byteUnits[unit]
	switch {
	case err != nil || !known:
		return 0, fmt.Errorf("%q is not a number of bytes; %s", document.Abridge(written), wantBytes)
	case value < 0:
		return 0, fmt.Errorf("%s is negative; want 0 or more", written)
	case value*factor > mostBytes:
		return 0, fmt.Errorf("%s is more than %d TiB", written, mostBytes>>40)
	}
	return Bytes(math.Round(value * factor)), nil
}
