package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// minors are the releases with flow control, the oldest first, and their newest patch releases.
var minors = []struct{ minor, patches int }{
	{18, 20}, {19, 16}, {20, 15}, {21, 14}, {22, 17}, {23, 17}, {24, 17}, {25, 16}, {26, 15}, {27, 16},
	{28, 15}, {29, 15}, {30, 14}, {31, 14}, {32, 13}, {33, 13}, {34, 13}, {35, 10}, {36, 6}, {37, 2},
}

// correction is a change of decisions in patch releases: a patch release older than in says does
// what undo makes of the rules.
type correction struct {
	in   map[int]int // the first patch release with the change, by minor release
	undo func(*Rules)
}

// corrections are all changes in patch releases. Two are missing: the seats of watches of aggregated
// servers (before 1.22.4), and the deadlock of the controller (before 1.18.16, 1.19.8 and 1.20.2).
var corrections = []correction{
	{map[int]int{18: 19, 19: 11, 20: 7, 21: 1}, func(r *Rules) { r.ExemptProbes = false }},
	{map[int]int{23: 6}, func(r *Rules) { r.UnknownListsWide = true }},
	{map[int]int{23: 13, 24: 7, 25: 3}, func(r *Rules) { r.NamedListsNarrow = false }},
	{map[int]int{23: 16, 24: 10, 25: 6}, func(r *Rules) { r.BoundAfterDrop = false }},
	{map[int]int{25: 13, 26: 8, 27: 5}, func(r *Rules) { r.CapByLevel = false }},
	{map[int]int{26: 13, 27: 10, 28: 6}, func(r *Rules) { r.DemandNaN = true }},
	{map[int]int{28: 5}, func(r *Rules) { r.LazyWaitLimit = true; r.MaxWaitNs = 0 }},
}

// Latest returns the rules of the newest release.
func Latest() *Rules { return of(minors[len(minors)-1].minor) }

// Canonical returns the name of a release as "1.26" or "1.26.8", given as kubectl and servers print it: with a v
// before it, and with what a provider adds behind it, as in v1.26.8-gke.100, v1.26.8+k3s1 or 1.26+. A text that
// names no release is returned as it is.
func Canonical(version string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(version, "v"), "V")
	if i := strings.IndexAny(short, "-+"); i >= 0 {
		short = short[:i]
	}
	if _, _, ok := parse(short); !ok {
		return version
	}
	return short
}

// For returns the rules of a release, which is named as "1.26", for the newest patch release, or as
// "1.26.8", or as [Canonical] reads it. The error names the supported release that is nearest to it.
func For(version string) (*Rules, error) {
	version = Canonical(version)
	minor, patch, ok := parse(version)
	if !ok {
		return nil, fmt.Errorf("%q is not a version of Kubernetes; want one from %q to %q", version, name(minors[0].minor), Latest().Version)
	}
	i := slices.IndexFunc(minors, func(m struct{ minor, patches int }) bool { return m.minor == minor })
	if i < 0 || patch > minors[i].patches {
		return nil, fmt.Errorf("%q is not a supported version of Kubernetes; the nearest one is %q", version, nearest(version))
	}
	r := of(minor)
	r.Version = version
	if patch < 0 {
		return r, nil
	}
	for _, c := range corrections {
		if first, corrected := c.in[minor]; corrected && patch < first {
			c.undo(r)
		}
	}
	return r, nil
}

// of returns the rules of the newest patch release of a minor one.
func of(minor int) *Rules {
	i, exact := slices.BinarySearchFunc(sets, minor, func(s struct {
		minor int
		Rules
	}, minor int) int {
		return s.minor - minor
	})
	if !exact {
		i--
	}
	r := sets[i].Rules
	r.Version, r.Objects = name(minor), objectsOf(minor)
	return &r
}

// Versions returns the names of the supported minor releases, the oldest first.
func Versions() []string {
	names := make([]string, len(minors))
	for i, m := range minors {
		names[i] = name(m.minor)
	}
	return names
}

// Upgrade returns the rules of the releases that the servers of a cluster run one after the other in
// an upgrade, which passes through every minor release: those after from, up to to. It returns nil if
// to is not newer than from.
func Upgrade(from, to *Rules) []*Rules {
	older, oldPatch := number(from.Version)
	newer, newPatch := number(to.Version)
	if older > newer || older == newer && oldPatch >= newPatch {
		return nil
	}
	var path []*Rules
	for minor := older + 1; minor < newer; minor++ {
		path = append(path, of(minor))
	}
	return append(path, to)
}

// number returns the numbers of a version for which there are rules, with the newest patch release
// for a minor release.
func number(version string) (minor, patch int) {
	minor, patch, _ = parse(version)
	if patch < 0 {
		patch = minors[minor-minors[0].minor].patches
	}
	return minor, patch
}

func name(minor int) string { return "1." + strconv.Itoa(minor) }

// Within reports whether the release is since or newer, and older than until. Both are named as for
// [For], and "" is no bound. It is for what servers call things, such as metrics, and not for what
// they decide, for which there are switches.
func (r *Rules) Within(since, until string) bool {
	return (since == "" || compareVersions(r.Version, since) >= 0) && (until == "" || compareVersions(r.Version, until) < 0)
}

// compareVersions orders two releases by age. A minor release is its newest patch release as a, and
// its first one as b, which is a bound.
func compareVersions(a, b string) int {
	minor, patch, ok := parse(a)
	boundMinor, boundPatch, okBound := parse(b)
	if !ok || !okBound {
		panic("rules: not a version of Kubernetes: " + a + " or " + b)
	}
	if patch < 0 {
		patch = math.MaxInt
	}
	return cmp.Or(cmp.Compare(minor, boundMinor), cmp.Compare(patch, max(boundPatch, 0)))
}

// nearest returns the name of the supported release that is nearest to a version.
func nearest(version string) string {
	minor, patch, _ := parse(version)
	for _, m := range minors {
		if m.minor == minor && patch > m.patches {
			return fmt.Sprintf("1.%d.%d", m.minor, m.patches)
		}
	}
	return name(min(max(minor, minors[0].minor), minors[len(minors)-1].minor))
}

// parse returns the numbers of a version, with patch -1 for a minor release. It accepts only the
// form in which [For] takes them.
func parse(version string) (minor, patch int, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "1" {
		return 0, 0, false
	}
	patch = -1
	for i, number := range []*int{&minor, &patch}[:len(parts)-1] {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 0 || strconv.Itoa(n) != parts[i+1] {
			return 0, 0, false
		}
		*number = n
	}
	return minor, patch, true
}
