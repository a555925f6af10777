package rules

import (
	"fmt"
	"slices"
	"testing"
)

// The rows are in the order of their minor numbers, which For and nearest rely on.
func TestTableIsInOrder(t *testing.T) {
	last := -1
	for _, r := range table {
		minor, ok := minorOf(r.Version)
		if !ok || minor <= last || r.Version != fmt.Sprintf("1.%d", minor) {
			t.Errorf("%q comes after 1.%d; want names like 1.37 in increasing order", r.Version, last)
		}
		last = minor
		if n := r.MaxRetryAfterSeconds; n < 1 || n&(n-1) != 0 {
			t.Errorf("%s: MaxRetryAfterSeconds is %d, want a power of two", r.Version, n)
		}
	}
}

func TestFor(t *testing.T) {
	for _, version := range Versions() {
		if r, err := For(version); err != nil || r.Version != version {
			t.Errorf("For(%q) = %v, %v", version, r, err)
		}
	}
	if got := Versions(); !slices.Contains(got, "1.37") || Latest().Version != got[len(got)-1] {
		t.Errorf("versions %v, latest %s", got, Latest().Version)
	}
}

func TestUnknownVersions(t *testing.T) {
	defer func(whole []*Rules) { table = whole }(table)
	table = []*Rules{{Version: "1.20"}, {Version: "1.22"}, {Version: "1.37"}}
	for version, want := range map[string]string{
		"1.9": "1.20", "1.21": "1.22", "1.29": "1.22", "1.30": "1.37", "1.370": "1.37",
		"v1.22": "1.22", "1.22.3": "1.22", "": "1.37", "2.20": "1.37", "1.x": "1.37", "latest": "1.37",
	} {
		r, err := For(version)
		message := fmt.Sprintf("%q is not a supported version of Kubernetes; the nearest one is %q", version, want)
		if r != nil || err == nil || err.Error() != message {
			t.Errorf("For(%q) = %v, %v; want the error %s", version, r, err, message)
		}
	}
}
