package server

import (
	"slices"
	"strconv"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Seats replace the numbers by which kube-apiserver estimates the seats of requests. No flag of a server sets them: a
// run with them shows the effect of other constants. A number that is not given is that of the release.
type Seats struct {
	Constant int `json:"constant,omitempty" jsonschema:"minimum=1" document:"maximum=10000" jsonschema_description:"Seats of every list, and of every watch that begins with one, whatever it lists and its level allows."`
	Maximum  int `json:"maximum,omitempty" jsonschema:"minimum=1" document:"maximum=10000" jsonschema_description:"Most seats of a list, before the cap of its level; without it 100 from 1.34 on, and 10 before."`
	Minimum  int `json:"minimum,omitempty" jsonschema:"minimum=1" document:"maximum=10000" jsonschema_description:"Least seats of a request that is no write; without it 1."`

	ObjectsPerSeat     int64          `json:"objectsPerSeat,omitempty" jsonschema:"minimum=1" document:"maximum=1000000000" jsonschema_description:"Of a list that is estimated by objects; without it 100."`
	BytesPerSeat       quantity.Bytes `json:"bytesPerSeat,omitempty" jsonschema:"minimum=1" jsonschema_description:"Of a list that is estimated by bytes; without it 100kB."`
	CachedBytes        quantity.Bytes `json:"cachedBytes,omitempty" jsonschema:"minimum=1" jsonschema_description:"Most bytes that count of a list from the watch cache; without it 1MB."`
	UnknownObjectBytes quantity.Bytes `json:"unknownObjectBytes,omitempty" jsonschema:"minimum=1" jsonschema_description:"Bytes of an object of unknown size; without it 1500kB."`

	MaximumMutating         int               `json:"maximumMutating,omitempty" jsonschema:"minimum=1" document:"maximum=10000" jsonschema_description:"Most seats of a write after its execution, before the cap of its level; without it 10."`
	WatchesPerSeat          int               `json:"watchesPerSeat,omitempty" jsonschema:"minimum=1" document:"maximum=1000000000" jsonschema_description:"Of a write after its execution; without it 10."`
	EventAdditionalDuration quantity.Duration `json:"eventAdditionalDuration,omitempty" jsonschema:"exclusiveMinimum=0s,maximum=1m" jsonschema_description:"How long each of these seats is held; without it 5ms."`

	LevelShare float64 `json:"levelShare,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1" jsonschema_description:"Share of the nominal limit of its level that a request takes at most; without it 0.15."`
}

// seatNumber is one field of Seats.
type seatNumber struct {
	name   string
	given  func(*Seats) string       // the value as text; "" if it is not given
	number func(*rules.Rules) string // that of the rules
	set    func(*Seats, *rules.Rules)
	used   func(*rules.Rules) bool
	unused string // where it is not used
}

// seatNumbers are the fields of Seats. Constant, which replaces what follows from several of them, is the first.
var seatNumbers = []seatNumber{
	{"constant", func(s *Seats) string { return decimal(s.Constant) },
		func(r *rules.Rules) string { return "" },
		func(s *Seats, r *rules.Rules) { r.ListSeats, r.MaxListSeats = rules.FixedSeats, s.Constant },
		widths, "before 1.23 every request takes one seat"},
	{"maximum", func(s *Seats) string { return decimal(s.Maximum) },
		func(r *rules.Rules) string { return decimal(r.MaxListSeats) },
		func(s *Seats, r *rules.Rules) { r.MaxListSeats = s.Maximum },
		widths, "before 1.23 every request takes one seat"},
	{"minimum", func(s *Seats) string { return decimal(s.Minimum) },
		func(r *rules.Rules) string { return decimal(r.MinSeats) },
		func(s *Seats, r *rules.Rules) { r.MinSeats = s.Minimum },
		widths, "before 1.23 every request takes one seat"},
	{"objectsPerSeat", func(s *Seats) string { return decimal(s.ObjectsPerSeat) },
		func(r *rules.Rules) string { return decimal(r.ObjectsPerSeat) },
		func(s *Seats, r *rules.Rules) { r.ObjectsPerSeat = s.ObjectsPerSeat },
		func(r *rules.Rules) bool { return widths(r) && r.ListSeats != rules.ByBytes },
		"lists are estimated by objects from 1.23 to 1.33, and from 1.34 on without the feature gate SizeBasedListCostEstimate"},
	{"bytesPerSeat", func(s *Seats) string { return decimal(s.BytesPerSeat) },
		func(r *rules.Rules) string { return decimal(r.BytesPerSeat) },
		func(s *Seats, r *rules.Rules) { r.BytesPerSeat = int64(s.BytesPerSeat) }, byBytes, estimatedByBytes},
	{"cachedBytes", func(s *Seats) string { return decimal(s.CachedBytes) },
		func(r *rules.Rules) string { return decimal(r.MaxCachedBytes) },
		func(s *Seats, r *rules.Rules) { r.MaxCachedBytes = int64(s.CachedBytes) }, byBytes, estimatedByBytes},
	{"unknownObjectBytes", func(s *Seats) string { return decimal(s.UnknownObjectBytes) },
		func(r *rules.Rules) string { return decimal(r.UnknownObjectBytes) },
		func(s *Seats, r *rules.Rules) { r.UnknownObjectBytes = int64(s.UnknownObjectBytes) }, byBytes, estimatedByBytes},
	{"maximumMutating", func(s *Seats) string { return decimal(s.MaximumMutating) },
		func(r *rules.Rules) string { return decimal(r.MaxMutatingSeats) },
		func(s *Seats, r *rules.Rules) { r.MaxMutatingSeats = s.MaximumMutating }, finalSeats, seatsAfterwards},
	{"watchesPerSeat", func(s *Seats) string { return decimal(s.WatchesPerSeat) },
		func(r *rules.Rules) string { return decimal(r.WatchersPerSeat) },
		func(s *Seats, r *rules.Rules) { r.WatchersPerSeat = s.WatchesPerSeat }, finalSeats, seatsAfterwards},
	{"eventAdditionalDuration", func(s *Seats) string { return period(int64(s.EventAdditionalDuration)) },
		func(r *rules.Rules) string { return period(r.EventNs) },
		func(s *Seats, r *rules.Rules) { r.EventNs = int64(s.EventAdditionalDuration) }, finalSeats, seatsAfterwards},
	{"levelShare", func(s *Seats) string { return share(s.LevelShare) },
		func(r *rules.Rules) string { return share(r.LevelShare) },
		func(s *Seats, r *rules.Rules) { r.LevelShare = s.LevelShare },
		func(r *rules.Rules) bool { return r.CapByLevel }, "levels cap the seats of a request from 1.28 on, and in the last patch releases of 1.25 to 1.27"},
}

const (
	estimatedByBytes = "lists are estimated by bytes from 1.34 on, with the feature gate SizeBasedListCostEstimate"
	seatsAfterwards  = "writes take seats after their execution from 1.24 on"
)

// widths says whether the estimated seats of requests differ.
func widths(r *rules.Rules) bool { return r.ListSeats != rules.FixedSeats }

func byBytes(r *rules.Rules) bool { return r.ListSeats == rules.ByBytes }

func finalSeats(r *rules.Rules) bool { return r.FinalSeats }

func decimal[N ~int | ~int64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func period(ns int64) string {
	if ns == 0 {
		return ""
	}
	return quantity.Duration(ns).String()
}

func share(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// set changes the rules of a release. Numbers that it does not use have no effect there.
func (s *Seats) set(r *rules.Rules) {
	if s == nil {
		return
	}
	release := *r
	for i := range seatNumbers {
		if n := &seatNumbers[i]; n.given(s) != "" && n.used(&release) {
			n.set(s, r)
		}
	}
}

// Differences returns the numbers that are not those of one of some releases, each as "maximum 20 instead of 100".
func (s *Seats) Differences(releases []*rules.Rules) (all []string) {
	if s == nil {
		return nil
	}
	for i := range seatNumbers {
		n := &seatNumbers[i]
		given := n.given(s)
		if given == "" {
			continue
		}
		for _, r := range releases {
			if number := n.number(r); n.used(r) && number != given {
				text := n.name + " " + given
				if number != "" {
					text += " instead of " + number
				}
				all = append(all, text)
				break
			}
		}
	}
	return all
}

// Check checks the numbers at path. The releases are those that the servers have at some time.
func (s *Seats) Check(to *document.Checker, path string, releases []*rules.Rules) {
	for i := range seatNumbers {
		n := &seatNumbers[i]
		if n.given(s) != "" && len(releases) > 0 && !slices.ContainsFunc(releases, n.used) {
			to.Fail(path+"."+n.name, "has no effect in the releases of the servers: %s", n.unused)
		}
	}
	for _, name := range []string{"maximum", "objectsPerSeat", "bytesPerSeat", "cachedBytes", "unknownObjectBytes"} {
		i := slices.IndexFunc(seatNumbers, func(n seatNumber) bool { return n.name == name })
		if s.Constant > 0 && seatNumbers[i].given(s) != "" {
			to.Fail(path+"."+name, "cannot be set with constant, which every list takes")
		}
	}
	for _, r := range releases {
		changed := *r
		s.set(&changed)
		if widths(&changed) && changed.MinSeats > changed.MaxListSeats {
			to.Fail(path+".minimum", "%d: want at most the maximum of a list, %d", s.Minimum, changed.MaxListSeats)
			break
		}
	}
}
