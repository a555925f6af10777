package files

import (
	"testing"
)

func TestNameStaysInFolder(t *testing.T) {
	for name, want := range map[string]string{"workload-low": "workload-low", "../../x": "_._.._x", "a b/c": "a_b_c", "..": "_."} {
		if got := Name(name); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
}
