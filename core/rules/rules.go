// Package rules is what API Priority and Fairness decides differently from one release of
// Kubernetes to the next: one row of constants and switches for each release. Everything else in
// core is common to all releases, and no package but this one compares versions: the code that
// depends on a release reads the field of the Rules that it was constructed with.
package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// Rules are the constants and switches of one release. A Rules is not changed after the
// package's initialisation and may be shared.
type Rules struct {
	// Version is the minor release, as in "1.37".
	Version string

	// ServiceGuessNs is G, for how long a request is taken to execute before it has, in
	// nanoseconds (util/flowcontrol/fairqueuing/queueset).
	ServiceGuessNs int64

	// MaxListSeats is how many seats a list or a watch is estimated to take at most, before the
	// cap of its priority level (util/flowcontrol/request, config.go).
	MaxListSeats int

	// MaxWaitNs is how long a request waits in a queue at most, in nanoseconds, whatever its
	// deadline (server/filters/priority-and-fairness.go).
	MaxWaitNs int64

	// MaxRetryAfterSeconds is the largest Retry-After that a rejected client is given, a power
	// of two (util/flowcontrol/dropped_requests_tracker.go).
	MaxRetryAfterSeconds int
}

// table has a row for each release, the oldest first.
var table = []*Rules{
	{
		Version:              "1.37",
		ServiceGuessNs:       3_000_000,
		MaxListSeats:         100,
		MaxWaitNs:            60_000_000_000,
		MaxRetryAfterSeconds: 32,
	},
}

// Latest returns the rules of the newest release.
func Latest() *Rules { return table[len(table)-1] }

// For returns the rules of a release, which is named as in "1.37". The error names the supported
// release that is nearest to it.
func For(version string) (*Rules, error) {
	for _, r := range table {
		if r.Version == version {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%q is not a supported version of Kubernetes; the nearest one is %q", version, nearest(version).Version)
}

// Versions returns the names of the supported releases, the oldest first.
func Versions() []string {
	names := make([]string, len(table))
	for i, r := range table {
		names[i] = r.Version
	}
	return names
}

// nearest returns the rules of the release that has the nearest minor number, the newer one of
// two, and the newest of all where the version has no minor number.
func nearest(version string) *Rules {
	minor, ok := minorOf(version)
	if !ok {
		return Latest()
	}
	best, least := Latest(), -1
	for _, r := range table {
		m, _ := minorOf(r.Version)
		if distance := max(m-minor, minor-m); least < 0 || distance <= least {
			best, least = r, distance
		}
	}
	return best
}

// minorOf returns the number after the first dot: 37 of "1.37", "v1.37" and "1.37.2".
func minorOf(version string) (minor int, ok bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 || strings.TrimPrefix(parts[0], "v") != "1" {
		return 0, false
	}
	minor, err := strconv.Atoi(parts[1])
	return minor, err == nil && minor >= 0
}
