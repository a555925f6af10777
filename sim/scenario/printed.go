package scenario

import (
	"strconv"
	"strings"
	"time"
)

// ParsePrintedDuration reads a duration as a scenario has it, 1m30s, or as tables print it,
// 3.2 ms and 1 min 30 s.
func ParsePrintedDuration(text string) (time.Duration, error) {
	return time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "min", "m"))
}

// ParsePrintedNumber reads a number as Go writes it, or as tables print it: 12.4 k, 1.2 M.
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

// isShare reports whether a statistic is a part of something, which tables print in percent.
func isShare(metric, stat string, unit Unit) bool {
	switch {
	case unit == Fraction, stat == "rate":
		return true
	case metric == "utilisation":
		return stat == "mean"
	case metric == "fairShare":
		return stat == "ratio"
	}
	return false
}
