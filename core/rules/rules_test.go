package rules

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	for _, version := range Versions() {
		if r, err := For(version); err != nil || r.Version != version {
			t.Errorf("For(%q) = %v, %v", version, r, err)
		}
	}
	if got := Versions(); len(got) != 21 || Latest().Version != got[len(got)-1] {
		t.Errorf("versions %v, latest %s", got, Latest().Version)
	}
	if Default().Version != "1.37" {
		t.Errorf("the default is %s", Default().Version)
	}
	if a, b := Latest(), Latest(); a == b {
		t.Error("two calls of Latest return the same rules; a change of one would change the other")
	}
}

// Some releases decide as the one before them, and no release has a change that changes nothing.
func TestReleases(t *testing.T) {
	for version, like := range map[string]string{
		"1.19": "1.18", "1.29": "1.28", "1.30": "1.28", "1.36": "1.35", "1.37": "1.35", "1.38": "1.35",
	} {
		if a, b := decisions(t, version), decisions(t, like); a != b {
			t.Errorf("%s decides otherwise than %s: %+v and %+v", version, like, a, b)
		}
	}
	for i, m := range releases {
		r := newest(m.minor)
		if i > 0 {
			before := newest(releases[i-1].minor)
			if changed := len(differences(*before, *r)) > 0; m.minor != releases[i-1].minor+1 || changed != (m.change != nil) {
				t.Errorf("1.%d does not follow 1.%d, or has a change without an effect", m.minor, releases[i-1].minor)
			}
		}
		if n := r.MaxRetryAfterSeconds; n < 1 || n&(n-1) != 0 {
			t.Errorf("1.%d: MaxRetryAfterSeconds is %d, want a power of two", m.minor, n)
		}
	}
}

// decisions returns the rules of flow control alone.
func decisions(t *testing.T, version string) Rules {
	t.Helper()
	r, err := For(version)
	if err != nil {
		t.Fatal(err)
	}
	r.Version, r.Objects, r.Server, r.Storage, r.Node = "", Objects{}, Server{}, Storage{}, Node{}
	return *r
}

// A patch release before a correction decides as before it, and the one with the correction as the
// newest one.
func TestCorrections(t *testing.T) {
	for _, c := range []struct {
		before, in string
		switches   []string
	}{
		{"1.18.18", "1.18.19", []string{"ExemptProbes"}},
		{"1.23.5", "1.23.6", []string{"UnknownListsWide"}},
		{"1.24.6", "1.24.7", []string{"NamedListsNarrow"}},
		{"1.25.5", "1.25.6", []string{"BoundAfterDrop"}},
		{"1.26.7", "1.26.8", []string{"CapByLevel"}},
		{"1.27.9", "1.27.10", []string{"DemandNaN"}},
		{"1.28.4", "1.28.5", []string{"LazyWaitLimit", "MaxWaitNs"}},
	} {
		before, in := decisions(t, c.before), decisions(t, c.in)
		differ := differences(before, in)
		if !slices.Equal(differ, c.switches) {
			t.Errorf("%s and %s differ in %v, want %v", c.before, c.in, differ, c.switches)
		}
	}
	for _, m := range releases {
		newest := name(m.minor) + ".999"
		if decisions(t, newest) != decisions(t, name(m.minor)) {
			t.Errorf("%s decides otherwise than %s", newest, name(m.minor))
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "rewrite the file of what each release decides")

// The file says which rules each release has that the one before it has not, patch releases among them. It is read beside
// the release notes of Kubernetes: a change of it is a change of what a release decides.
func TestRulesOfEachRelease(t *testing.T) {
	const file = "testdata/releases.txt"
	var b strings.Builder
	before := map[string]string{}
	for _, r := range everyRelease(t) {
		now := fieldsOf(reflect.ValueOf(*r), "")
		var changed []string
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if now[name] != cmp.Or(before[name], zeroOf(now[name])) {
				changed = append(changed, name+"="+now[name])
			}
		}
		before = now
		if len(changed) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", r.Version, strings.Join(changed, " "))
		}
	}
	fmt.Fprintf(&b, "newest patch releases:")
	for _, m := range releases {
		if m.patches != unreleased {
			fmt.Fprintf(&b, " 1.%d.%d", m.minor, m.patches)
		}
	}
	b.WriteByte('\n')
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; the releases differ from %s; go test ./core/rules -rewrite writes it. Got\n%s", err, file, &b)
	}
}

// zeroOf returns the zero value of a rule that has a value.
func zeroOf(value string) string {
	if value == "true" || value == "false" {
		return "false"
	}
	return "0"
}

func TestUnknownVersions(t *testing.T) {
	for _, version := range []string{"1.9", "1.17", "1.39", "1.370", "v1.99.1"} {
		r, err := For(version)
		message := fmt.Sprintf(`%q is not a supported version of Kubernetes; want one from "1.18" to "1.38"`, strings.TrimPrefix(version, "v"))
		if r != nil || err == nil || err.Error() != message {
			t.Errorf("For(%q) = %v, %v; want the error %s", version, r, err, message)
		}
	}
	for version, suggestion := range map[string]string{
		"1.26.x": "1.26", "126": "1.26", "1.022": "1.22", "1.22.": "1.22", "1.-22": "1.22", "vv1.22": "1.22", "2.20": "1.20",
		"1.22.3.4": "", "1.22.03": "", "": "", "v": "", "latest": "", "33": "",
	} {
		r, err := For(version)
		message := fmt.Sprintf(`%q is not a version of Kubernetes; want one from "1.18" to "1.38"`, version)
		if suggestion != "" {
			message += fmt.Sprintf(" (did you mean %q?)", suggestion)
		}
		if r != nil || err == nil || err.Error() != message {
			t.Errorf("For(%q) = %v, %v; want the error %s", version, r, err, message)
		}
	}
}

// A patch release that came after this program is taken as the newest that it knows of the minor release, and a note says so.
func TestUnseenPatchReleases(t *testing.T) {
	for version, want := range map[string]string{"1.37.9": "1.37.2", "v1.37.5-gke.100": "1.37.2", "v1.33.99-eks-1234567": "1.33.13", "1.26.16": "1.26.15"} {
		r, known := mustFor(t, version), mustFor(t, want)
		if note := Canonical(version) + " is not known to this apfsim: it is taken as " + want; r != known || Note(version) != note {
			t.Errorf("%s: rules of %s and the note %q; want those of %s and %q", version, r.Version, Note(version), want, note)
		}
	}
	for _, version := range []string{"1.37", "1.37.2", "v1.26.15-gke.1", "1.99", "latest"} {
		if note := Note(version); note != "" || Label(version) != version {
			t.Errorf("%s: the note %q and the label %q, want none", version, note, Label(version))
		}
	}
}

// A minor release that has not been released can be named, and is marked. What is named as its patch releases is taken as it.
func TestNotReleased(t *testing.T) {
	const note = "Kubernetes 1.38 is not released: its rules are those of a beta, and can still change"
	if r := mustFor(t, "1.38"); r.Version != "1.38" || Label(r.Version) != "1.38 (not released)" || Note("1.38") != note {
		t.Errorf("%s, %s: %s", r.Version, Label(r.Version), Note("1.38"))
	}
	for _, version := range []string{"v1.38.0-beta.1", "v1.38.0-gke.100", "v1.38.0-eks-1234567", "1.38.0"} {
		if r := mustFor(t, version); r != mustFor(t, "1.38") || Note(version) != "1.38.0 is not known to this apfsim: it is taken as 1.38; "+note {
			t.Errorf("%s is taken as %s: %s", version, r.Version, Note(version))
		}
	}
}

// A release is read as kubectl and servers print it.
func TestPrintedVersions(t *testing.T) {
	for printed, want := range map[string]string{
		"v1.33": "1.33", "1.33.4": "1.33.4", "v1.33.4-gke.100": "1.33.4", "v1.33.4-eks-113cf36": "1.33.4", "v1.33.4+k3s1": "1.33.4", "1.33+": "1.33",
	} {
		if r, err := For(printed); err != nil || r.Version != want {
			t.Errorf("For(%q) = %v, %v; want the rules of %s", printed, r, err, want)
		}
	}
}

// The API versions are served by the releases that k8s.io/api names in APILifecycleIntroduced and
// APILifecycleRemoved of each version, and each release serves one or two of them.
func TestAPIVersions(t *testing.T) {
	for v, want := range map[APIVersion][2]string{
		V1alpha1: {"1.18", "1.21"}, V1beta1: {"1.20", "1.26"}, V1beta2: {"1.23", "1.29"}, V1beta3: {"1.26", "1.32"}, V1: {"1.29", ""},
	} {
		if from, removedIn := v.Served(); from != want[0] || removedIn != want[1] {
			t.Errorf("%v is served from %s until %q, want %v", v, from, removedIn, want)
		}
	}
	for version, want := range map[string][2]APIVersion{
		"1.19": {V1alpha1, V1alpha1}, "1.22.0": {V1beta1, V1beta1}, "1.25": {V1beta1, V1beta2}, "1.28": {V1beta2, V1beta3},
		"1.31.2": {V1beta3, V1}, "1.37": {V1, V1},
	} {
		r, err := For(version)
		if err != nil {
			t.Fatal(err)
		}
		for v := V1alpha1; v <= V1; v++ {
			if got := r.Objects.Serves(v); got != (v == want[0] || v == want[1]) {
				t.Errorf("%s serves %v: %t", version, v, got)
			}
		}
	}
}

func TestUpgrade(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"1.20", "1.23", "[1.21 1.22 1.23]"}, {"1.20.6", "1.21.1", "[1.21.1]"}, {"1.26.0", "1.26", "[1.26]"},
		{"1.26", "1.26.15", "[]"}, {"1.26", "1.26.3", "[]"}, {"1.27", "1.26", "[]"}, {"1.37", "1.37", "[]"},
	} {
		from, err := For(c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := For(c.to)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, r := range Upgrade(from, to) {
			got = append(got, r.Version)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("from %s to %s: %v, want %s", c.from, c.to, got, c.want)
		}
	}
}

// A bound without a patch begins with the first patch release of the minor one.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		version, since, until string
		want                  bool
	}{
		{"1.26", "", "", true},
		{"1.26", "1.26", "", true},
		{"1.26.0", "1.26", "", true},
		{"1.25", "1.26", "", false},
		{"1.36", "1.18", "1.37", true},
		{"1.37.0", "1.18", "1.37", false},
		{"1.28.4", "1.28.5", "", false},
		{"1.28.5", "1.28.5", "", true},
		{"1.28.4", "", "1.28.5", true},
		{"1.28", "1.28.5", "", true},
		{"1.28", "", "1.28.5", false},
	} {
		r, err := For(c.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Within(c.since, c.until); got != c.want {
			t.Errorf("%s from %q until %q: %v", c.version, c.since, c.until, got)
		}
	}
}
