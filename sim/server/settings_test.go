package server

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/core/rules"
)

// The schema names the oldest and the newest release.
func TestSchemaOfAVersion(t *testing.T) {
	oldest, newest := "1.18", rules.Latest().Version
	s := Version("").JSONSchema()
	if got := fmt.Sprint(s.Examples); got != fmt.Sprintf("[%s %s]", newest, oldest) || s.Default != newest {
		t.Errorf("the examples are %v, the default is %v", got, s.Default)
	}
	if want := fmt.Sprintf("from %s to %s,", oldest, newest); !strings.Contains(s.Description, want) {
		t.Errorf("the description %q does not say %q", s.Description, want)
	}
}
