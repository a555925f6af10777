package rules

import (
	"reflect"
	"slices"
	"testing"
)

// A gate that is set to what is the release's default changes nothing, and the other value changes
// the switches of the gate.
func TestGates(t *testing.T) {
	for _, c := range []struct {
		version, gate string
		isOn          bool // by default
		switches      []string
	}{
		{"1.22", "APIListChunking", true, []string{"PagesIgnored"}}, // without effect, as no list takes more than a seat
		{"1.23.0", "APIListChunking", true, []string{"PagesIgnored"}},
		{"1.28", "APIListChunking", true, []string{"PagesIgnored"}},
		{"1.27", "WatchList", false, nil}, // the estimate does not depend on it yet
		{"1.28", "WatchList", false, []string{"WatchLists"}},
		{"1.31", "WatchList", false, []string{"WatchLists"}},
		{"1.32", "WatchList", true, []string{"WatchLists"}},
		{"1.33", "WatchList", false, []string{"WatchLists"}},
		{"1.34", "WatchList", true, []string{"WatchLists"}},
		{"1.37", "WatchList", true, []string{"WatchLists"}},
		{"1.28", "ConsistentListFromCache", false, []string{"CacheUnversioned"}},
		{"1.30.2", "ConsistentListFromCache", false, []string{"CacheUnversioned"}},
		{"1.31", "ConsistentListFromCache", true, []string{"CacheUnversioned"}},
		{"1.33", "ConsistentListFromCache", true, []string{"CacheUnversioned"}},
		{"1.34", "SizeBasedListCostEstimate", true, []string{"ListSeats", "MaxListSeats"}},
		{"1.37", "SizeBasedListCostEstimate", true, []string{"ListSeats", "MaxListSeats"}},
	} {
		r, other := mustFor(t, c.version), mustFor(t, c.version)
		if err := r.SetGate(c.gate, c.isOn); err != nil || r != mustFor(t, c.version) {
			t.Errorf("%s: %s at its default changes the rules, or fails: %v", c.version, c.gate, err)
		}
		if err := other.SetGate(c.gate, !c.isOn); err != nil {
			t.Errorf("%s: %s at %v: %v", c.version, c.gate, !c.isOn, err)
		}
		if got := differences(r, other); !slices.Equal(got, c.switches) {
			t.Errorf("%s: %s at %v changes %v, want %v", c.version, c.gate, !c.isOn, got, c.switches)
		}
		if err := other.SetGate(c.gate, c.isOn); err != nil || other != r {
			t.Errorf("%s: %s back at %v does not restore the rules", c.version, c.gate, c.isOn)
		}
	}
}

// With WatchList on, the releases from 1.35 on count watches without a resourceVersion, too.
func TestWatchListByRelease(t *testing.T) {
	for version, want := range map[string]WatchLists{"1.28": AskedWatchLists, "1.33": AskedWatchLists, "1.34": AskedWatchLists, "1.35": AllWatchLists} {
		r := mustFor(t, version)
		if err := r.SetGate("WatchList", true); err != nil || r.WatchLists != want {
			t.Errorf("%s: %v, %v; want %v", version, r.WatchLists, err, want)
		}
	}
}

// A gate that was on and is locked may still be set to on.
func TestLockedGateAtItsDefault(t *testing.T) {
	r := mustFor(t, "1.36")
	before := r
	if err := r.SetGate("ConsistentListFromCache", true); err != nil || r != before {
		t.Errorf("ConsistentListFromCache=true in 1.36: %v", err)
	}
}

func TestGateErrors(t *testing.T) {
	for _, c := range []struct {
		version, gate string
		on            bool
		want          string
	}{
		{"1.37", "WatchLst", true, `"WatchLst" is not a feature gate that flow control depends on (did you mean "WatchList"?)`},
		{"1.37", "watchlist", true, `"watchlist" is not a feature gate that flow control depends on (did you mean "WatchList"?)`},
		{"1.37", "InPlacePodVerticalScaling", true, `"InPlacePodVerticalScaling" is not a feature gate that flow control depends on`},
		{"1.26.8", "WatchList", false, "the feature gate WatchList does not exist in Kubernetes 1.26.8; it exists from 1.27 on"},
		{"1.27", "ConsistentListFromCache", true, "the feature gate ConsistentListFromCache does not exist in Kubernetes 1.27; it exists from 1.28 to 1.36"},
		{"1.37", "ConsistentListFromCache", true, "the feature gate ConsistentListFromCache does not exist in Kubernetes 1.37; it exists from 1.28 to 1.36"},
		{"1.33", "SizeBasedListCostEstimate", true, "the feature gate SizeBasedListCostEstimate does not exist in Kubernetes 1.33; it exists from 1.34 on"},
		{"1.34", "ConsistentListFromCache", false, "the feature gate ConsistentListFromCache is locked to true in Kubernetes 1.34; it can be set up to 1.33"},
		{"1.29", "APIListChunking", false, "the feature gate APIListChunking is locked to true in Kubernetes 1.29; it can be set up to 1.28"},
		{"1.33", "APIListChunking", true, "the feature gate APIListChunking does not exist in Kubernetes 1.33; it exists from 1.18 to 1.32"},
	} {
		r := mustFor(t, c.version)
		before := r
		if err := r.SetGate(c.gate, c.on); err == nil || err.Error() != c.want {
			t.Errorf("%s: %s=%v: %v, want %s", c.version, c.gate, c.on, err, c.want)
		}
		if r != before {
			t.Errorf("%s: %s=%v: the rules have changed in spite of the error", c.version, c.gate, c.on)
		}
	}
	if !slices.IsSorted(Gates()) {
		t.Errorf("the gates %v are not sorted", Gates())
	}
}

func mustFor(t *testing.T, version string) Rules {
	t.Helper()
	r, err := For(version)
	if err != nil {
		t.Fatal(err)
	}
	return *r
}

// differences returns the names of the fields in which two rules differ.
func differences(a, b Rules) (names []string) {
	before, after := fieldsOf(reflect.ValueOf(a), ""), fieldsOf(reflect.ValueOf(b), "")
	for name := range before {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
