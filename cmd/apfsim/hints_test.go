package main

import (
	"regexp"
	"strings"
	"testing"
)

// Hints name commands that there are, for commands that there are not.
func TestHintsNameCommands(t *testing.T) {
	named := regexp.MustCompile(`'(apfsim(?: [a-z]+)+)`)
	root := newRoot()
	for parent, hints := range commandHints {
		for tried, hint := range hints {
			path := strings.Fields(parent + " " + tried)
			if cmd, remaining, err := root.Find(path[1:]); err == nil && len(remaining) == 0 {
				t.Errorf("%s %s: there is such a command: %s", parent, tried, cmd.CommandPath())
			}
			for _, m := range named.FindAllStringSubmatch(hint, -1) {
				words := strings.Fields(m[1])
				if m[1] == "apfsim config lint" {
					words = words[:2] // lint is yet to come
				}
				if cmd, remaining, err := root.Find(words[1:]); err != nil || len(remaining) > 0 {
					t.Errorf("%s %s: %q names no command but %s", parent, tried, m[1], cmd.CommandPath())
				}
			}
		}
	}
}
