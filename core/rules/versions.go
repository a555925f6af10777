package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/document"
)

// Latest returns the rules of the newest release that is known. It may not have been released yet: see [Default].
func Latest() *Rules { return newest(releases[len(releases)-1].minor) }

// Default returns the rules of the release that is meant where none is named, the newest one that has been released.
func Default() *Rules {
	for _, m := range slices.Backward(releases) {
		if m.patches != unreleased {
			return newest(m.minor)
		}
	}
	panic("rules: nothing has been released")
}

// Label names a release for people: "1.26.8", and one that has not been released with that, as "1.38 (not released)".
func Label(version string) string {
	if r, err := For(version); err == nil && !r.released() {
		return version + " (not released)"
	}
	return version
}

// released says whether the release has come out.
func (r *Rules) released() bool {
	minor, _, _ := parse(r.Version)
	return releases[minor-releases[0].minor].patches != unreleased
}

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
// "1.26.8", or as [Canonical] reads it. A patch release that is newer than all that are known is taken as the newest of these,
// which the rules then have as their Version; see [Note]. The error says which releases are supported.
func For(version string) (*Rules, error) {
	version = Canonical(version)
	minor, patch, ok := parse(version)
	i := slices.IndexFunc(releases, func(m release) bool { return m.minor == minor })
	switch {
	case !ok:
		return nil, fmt.Errorf("%q is not a version of Kubernetes; want one from %q to %q%s", version, Versions()[0], Latest().Version, document.Suggest(version, Versions()))
	case i < 0:
		return nil, fmt.Errorf("%q is not a supported version of Kubernetes; want one from %q to %q", version, Versions()[0], Latest().Version)
	}
	r := newest(minor)
	if last := releases[i].patches; patch > last {
		patch = last
		version = r.Version
		if last != unreleased {
			version = fmt.Sprintf("%s.%d", version, last)
		}
	}
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

// Note returns what has to be said to whoever has named a release as for [For]: that it is taken as another one, or has not been
// released. It is "" if there is nothing to say, or if the release is not supported.
func Note(version string) string {
	r, err := For(version)
	if err != nil {
		return ""
	}
	var notes []string
	if named := Canonical(version); named != r.Version {
		notes = append(notes, fmt.Sprintf("%s is not known to this apfsim: it is taken as %s", named, r.Version))
	}
	if !r.released() {
		notes = append(notes, fmt.Sprintf("Kubernetes %s is not released: its rules are those of a beta, and can still change", r.Version))
	}
	return strings.Join(notes, "; ")
}

// newest returns the rules of the newest patch release of a minor one.
func newest(minor int) *Rules {
	r := &Rules{Version: name(minor)}
	for _, m := range releases {
		if m.minor <= minor && m.change != nil {
			m.change(r)
		}
	}
	return r
}

// Since returns the name of the first minor release whose newest patch release has a rule, "" if none has it.
func Since(has func(*Rules) bool) string {
	for _, m := range releases {
		if has(newest(m.minor)) {
			return name(m.minor)
		}
	}
	return ""
}

// Versions returns the names of the supported minor releases, the oldest first.
func Versions() []string {
	names := make([]string, len(releases))
	for i, m := range releases {
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
		path = append(path, newest(minor))
	}
	return append(path, to)
}

// number returns the numbers of a version for which there are rules, with the newest patch release
// for a minor release.
func number(version string) (minor, patch int) {
	minor, patch, _ = parse(version)
	if patch < 0 {
		patch = releases[minor-releases[0].minor].patches
	}
	return minor, patch
}

func name(minor int) string { return "1." + strconv.Itoa(minor) }

// Within reports whether the release is since or newer, and older than until. Both are named as for
// [For], and "" is no bound. It is for the names that servers give to things, such as metrics and columns of
// dumps. For what servers do, there are the fields of Rules.
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
