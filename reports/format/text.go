package format

import (
	"strings"
)

// TextOptions say how WriteText writes.
type TextOptions struct {
	Colour bool // with ANSI escape sequences
	Width  int  // columns that names are shortened to fit; 0 is 110
}

func Window(durationNs, warmupNs int64, flowControl string) string {
	text := Duration(float64(durationNs))
	if warmupNs > 0 {
		text += ", the first " + Duration(float64(warmupNs)) + " left out"
	}
	switch flowControl {
	case "MaxInFlight":
		text += ", max-in-flight"
	case "None":
		text += ", no flow control"
	}
	return text
}

func ShareOf(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return Percent(float64(part) / float64(whole))
}

// InPercent reports whether a threshold's limit is given in percent, as its value is then shown.
func InPercent(expression string) bool { return strings.Contains(expression, "%") }

// Wrap breaks text at spaces into lines of at most so many columns, where it can.
func Wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
