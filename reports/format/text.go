package format

import (
	"strings"
)

// TextOptions are the properties of the terminal that text is written for.
type TextOptions struct {
	Colour bool // it shows colours: ANSI escape sequences
	Width  int  // characters in a line; 0: 110, and 80 of a first screen
	Brief  bool // only the first screen is wanted
}

// Window writes which part of a run the statistics are about, what has chosen the warm-up if it was not given, and the flow
// control if it is not API Priority and Fairness.
func Window(durationNs, warmupNs int64, warmupBy, flowControl string) string {
	text := Duration(float64(durationNs))
	switch {
	case warmupBy != "":
		text += ", warm-up " + Moment(warmupNs) + " by " + warmupBy
	case warmupNs > 0:
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

// ShareOf writes part as a percentage of whole, "–" if whole is 0.
func ShareOf(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return Percent(float64(part) / float64(whole))
}

// InPercent reports whether a threshold's limit is a percentage. Its value is then written as one.
func InPercent(expression string) bool { return strings.Contains(expression, "%") }

// Wrap breaks text at spaces into lines of at most the given number of characters. A longer word has a
// line of its own.
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
