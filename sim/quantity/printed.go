package quantity

import (
	"strconv"
	"strings"
	"time"
)

// ParsePrintedDuration parses a duration as a scenario file has it, such as 1m30s, or as tables
// print it, such as 3.2 ms and 1 min 30 s. It may be negative: it may be a change.
func ParsePrintedDuration(text string) (time.Duration, error) {
	return time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "min", "m"))
}

// ParsePrintedNumber parses a number as Go writes it, or as tables print it, such as 12.4 k and
// 1.2 M.
func ParsePrintedNumber(text string) (float64, error) {
	number, factor := text, 1.0
	for suffix, times := range map[string]float64{"k": 1e3, "M": 1e6, "G": 1e9} {
		if digits, found := strings.CutSuffix(text, suffix); found {
			number, factor = strings.TrimSpace(digits), times
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	return x * factor, err
}
