package intern

import (
	"fmt"
	"testing"
	"unsafe"
)

// A string that is in use stays the same one while ten thousand times as many others pass.
func TestStringsInUseAreKept(t *testing.T) {
	var table Table
	first := table.String([]byte("kubelet/v1.37.0"))
	for i := range 100_000 {
		table.String(fmt.Appendf(nil, "pod-%d", i))
		if i%1000 == 0 {
			if again := table.String([]byte("kubelet/v1.37.0")); unsafe.StringData(again) != unsafe.StringData(first) {
				t.Fatalf("after %d other strings, the string is another one", i)
			}
		}
	}
	if n := len(table.young) + len(table.old); n > 2*generation {
		t.Errorf("%d strings are remembered; the limit is %d", n, 2*generation)
	}
}

func TestString(t *testing.T) {
	var table Table
	for text, want := range map[string]string{"": "", "é": "é", "a\xffb": "a\uFFFDb"} {
		for range 2 {
			if got := table.String([]byte(text)); got != want {
				t.Errorf("String(%q) = %q, want %q", text, got, want)
			}
			if got := table.Of(text); got != want {
				t.Errorf("Of(%q) = %q, want %q", text, got, want)
			}
		}
	}
}
