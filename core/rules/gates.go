package rules

import (
	"fmt"
	"slices"

	"apfsim/document"
)

// gate is a feature gate of kube-apiserver that changes decisions of flow control.
type gate struct {
	name        string
	from, until int // the minor releases that have the gate; until is 0 if the newest one has it
	locked      int // the first minor release in which the gate is locked to on; 0 if there is none
	set         func(r *Rules, minor int, on bool)
}

// gates are the gates (k8s.io/apiserver, features/kube_features.go). What a release has on by
// default is in its set.
var gates = []gate{
	// Up to 1.22 every list takes one seat, so that pages make no difference.
	{"APIListChunking", 18, 32, 29, func(r *Rules, _ int, on bool) { r.PagesIgnored = !on }},
	{"ConsistentListFromCache", 28, 36, 34, func(r *Rules, _ int, on bool) { r.CacheUnversioned = on }},
	{"SizeBasedListCostEstimate", 34, 0, 0, func(r *Rules, _ int, on bool) {
		r.ListSeats, r.MaxListSeats = ByCountAlone, 10
		if on {
			r.ListSeats, r.MaxListSeats = ByBytes, 100
		}
	}},
	{"WatchList", 27, 0, 0, func(r *Rules, minor int, on bool) {
		switch {
		case !on || minor < 28: // 1.27 has the gate, but its estimate does not depend on it
			r.WatchLists = NoWatchLists
		case minor < 35:
			r.WatchLists = AskedWatchLists
		default:
			r.WatchLists = AllWatchLists
		}
	}},
}

// Gates returns the names of the feature gates that SetGate accepts in some release, sorted.
func Gates() []string {
	names := make([]string, len(gates))
	for i, g := range gates {
		names[i] = g.name
	}
	return names
}

// SetGate switches a feature gate on or off, as the flag --feature-gates of a server of the release
// does. The rules must not be in use yet. The error says that flow control does not depend on a gate
// of this name, that the release does not have the gate, or that the gate is locked in it. The
// rules are then unchanged. Gates are independent, so that their order makes no difference.
func (r *Rules) SetGate(feature string, on bool) error {
	i := slices.IndexFunc(gates, func(g gate) bool { return g.name == feature })
	if i < 0 {
		return fmt.Errorf("%q is not a feature gate that flow control depends on%s", feature, document.Suggest(feature, Gates()))
	}
	g := &gates[i]
	minor, _, ok := parse(r.Version)
	if !ok {
		panic("rules: SetGate of rules that are not from For: version " + r.Version)
	}
	if minor < g.from || g.until > 0 && minor > g.until {
		return fmt.Errorf("the feature gate %s does not exist in Kubernetes %s; %s", g.name, r.Version, g.releases())
	}
	if g.locked > 0 && minor >= g.locked && !on {
		return fmt.Errorf("the feature gate %s is locked to true in Kubernetes %s; it can be set up to %s", g.name, r.Version, name(g.locked-1))
	}
	g.set(r, minor, on)
	return nil
}

// releases says which releases have the gate.
func (g *gate) releases() string {
	if g.until == 0 {
		return "it exists from " + name(g.from) + " on"
	}
	return "it exists from " + name(g.from) + " to " + name(g.until)
}
