package loader

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"apfsim/sim/server"
)

// seatsScenario is a scenario with settings of its servers and events.
func seatsScenario(servers, events string) string {
	return "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  duration: 1m\n  servers: {" + servers + "}\n  events: [" + events + "]\n" +
		"  workload:\n  - name: w\n    as: {user: u}\n    request: {verb: get, path: /version}\n    execution: 1ms\n    arrivals: {closed: {}}\n"
}

// Each of these is one mistake in the numbers by which seats are estimated.
func TestMistakesOfSeats(t *testing.T) {
	for _, c := range []struct{ servers, want string }{
		{"seats: {constant: 0}", "spec.servers.seats.constant: 0: want 1 to 10000"},
		{"seats: {maximum: 20000}", "spec.servers.seats.maximum: 20000: want 1 to 10000"},
		{"seats: {bytesPerSeat: 0}", "spec.servers.seats.bytesPerSeat: want 1 or more"},
		{"seats: {levelShare: 1.5}", "spec.servers.seats.levelShare: 1.5: want more than 0 and at most 1"},
		{"seats: {eventAdditionalDuration: 90s}", "spec.servers.seats.eventAdditionalDuration: 1m30s: want more than 0s and at most 1m"},
		{"seats: {maxium: 4}", `spec.servers.seats.maxium: unknown field (did you mean "maximum"?)`},
		{"seats: {constant: 4, bytesPerSeat: 50kB}", "spec.servers.seats.bytesPerSeat: cannot be set with constant, which every list takes"},
		{"seats: {constant: 4, maximum: 5}", "spec.servers.seats.maximum: cannot be set with constant, which every list takes"},
		{"seats: {minimum: 11, maximum: 10}", "spec.servers.seats.minimum: 11: want at most the maximum of a list, 10"},
		{`kubernetesVersion: "1.33", seats: {minimum: 11}`, "spec.servers.seats.minimum: 11: want at most the maximum of a list, 10"},
		{"seats: {objectsPerSeat: 50}", "spec.servers.seats.objectsPerSeat: has no effect in the releases of the servers: lists are estimated by objects from 1.23 to 1.33, and from 1.34 on without the feature gate SizeBasedListCostEstimate"},
		{`kubernetesVersion: "1.33", seats: {bytesPerSeat: 50kB}`, "spec.servers.seats.bytesPerSeat: has no effect in the releases of the servers: lists are estimated by bytes from 1.34 on, with the feature gate SizeBasedListCostEstimate"},
		{`kubernetesVersion: "1.23", seats: {watchesPerSeat: 5}`, "spec.servers.seats.watchesPerSeat: has no effect in the releases of the servers: writes take seats after their execution from 1.24 on"},
		{`kubernetesVersion: "1.24", seats: {levelShare: 0.5}`, "spec.servers.seats.levelShare: has no effect in the releases of the servers: levels cap the seats of a request from 1.28 on, and in the last patch releases of 1.25 to 1.27"},
		{`kubernetesVersion: "1.22", seats: {constant: 5}`, "spec.servers.seats.constant: has no effect in the releases of the servers: before 1.23 every request takes one seat"},
		{"flowControl: MaxInFlight, seats: {constant: 5}", "spec.servers.seats: needs PriorityAndFairness, which limits by seats"},
	} {
		_, mistakes := Load(fstest.MapFS{"s.yaml": {Data: []byte(seatsScenario(c.servers, ""))}}, "s.yaml", Options{})
		if err := mistakes.Err(); err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", c.servers, err, c.want)
		}
	}
}

// The differences are those from the releases that the servers have at some time, and not from others.
func TestDifferencesOfSeats(t *testing.T) {
	for _, c := range []struct {
		servers, events string
		want            []string
	}{
		{"seats: {}", "", nil},
		{"seats: {maximum: 100, minimum: 1, bytesPerSeat: 100kB, cachedBytes: 1MB, unknownObjectBytes: 1500kB, maximumMutating: 10, watchesPerSeat: 10, eventAdditionalDuration: 5ms, levelShare: 0.15}", "", nil},
		{"seats: {constant: 1}", "", []string{"constant 1"}},
		{"seats: {maximum: 50, bytesPerSeat: 100kB, eventAdditionalDuration: 1ms, levelShare: 0.1}", "",
			[]string{"maximum 50 instead of 100", "eventAdditionalDuration 1ms instead of 5ms", "levelShare 0.1 instead of 0.15"}},
		{"featureGates: {SizeBasedListCostEstimate: false}, seats: {maximum: 10, objectsPerSeat: 20}", "", []string{"objectsPerSeat 20 instead of 100"}},
		{`kubernetesVersion: "1.33", seats: {maximum: 10}`, "", nil},
		{`kubernetesVersion: "1.33", seats: {maximum: 10}`, `{at: 20s, rollout: {kubernetesVersion: "1.34"}}`, []string{"maximum 10 instead of 100"}},
		{`kubernetesVersion: "1.33", seats: {maximum: 10}`, `{at: 20s, crash: {server: 0}}, {at: 30s, start: {server: 0, kubernetesVersion: "1.34"}}`, []string{"maximum 10 instead of 100"}},
	} {
		all, mistakes := Load(fstest.MapFS{"s.yaml": {Data: []byte(seatsScenario(c.servers, c.events))}}, "s.yaml", Options{})
		if err := mistakes.Err(); err != nil {
			t.Errorf("%s: %v", c.servers, err)
			continue
		}
		spec := &all[0].Spec
		if got := spec.Servers.Seats.Differences(spec.ReleaseRules()); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: got %q, want %q", c.servers, c.events, got, c.want)
		}
	}
}

// Each of these is one mistake in the rules that no release has.
func TestMistakesOfWhatIfRules(t *testing.T) {
	const levels = "catch-all, system, node-high, leader-election, workload-high, workload-low, global-default"
	for _, c := range []struct{ servers, want string }{
		{"whatIf: {queueWaitShare: 0}", "spec.servers.whatIf.queueWaitShare: 0: want more than 0 and at most 1, such as 0.75 for three quarters"},
		{"whatIf: {queueWaitShare: 75}", "spec.servers.whatIf.queueWaitShare: 75: want more than 0 and at most 1, such as 0.75 for three quarters"},
		{"whatIf: {queueWaitShar: 0.5}", `spec.servers.whatIf.queueWaitShar: unknown field (did you mean "queueWaitShare"?)`},
		{"whatIf: {borrowing: weighted}", `spec.servers.whatIf.borrowing: unknown field (did you mean "borrowingWeights"?)`},
		{`kubernetesVersion: "1.28.4", whatIf: {queueWaitShare: 0.5}`, "spec.servers.whatIf.queueWaitShare: has no effect in the releases of the servers: each request has a wait limit by its deadline from 1.28.5 on"},
		{`kubernetesVersion: "1.25", whatIf: {borrowingWeights: {system: 2}}`, "spec.servers.whatIf.borrowingWeights: has no effect in the releases of the servers: levels borrow seats from 1.26 on"},
		{"whatIf: {borrowingWeights: {system: 0}}", "spec.servers.whatIf.borrowingWeights.system: 0: want more than 0 and at most 10000; a level without a weight has 1"},
		{"whatIf: {borrowingWeights: {systm: 2}}", `spec.servers.whatIf.borrowingWeights.systm: there is no priority level with a limit of this name (did you mean "system"?); it can be one of ` + levels},
		{"whatIf: {borrowingWeights: {exempt: 2}}", "spec.servers.whatIf.borrowingWeights.exempt: there is no priority level with a limit of this name; it can be one of " + levels},
		{"flowControl: MaxInFlight, whatIf: {queueWaitShare: 0.5}", "spec.servers.whatIf: needs PriorityAndFairness, whose rules it changes"},
	} {
		_, mistakes := Load(fstest.MapFS{"s.yaml": {Data: []byte(seatsScenario(c.servers, ""))}}, "s.yaml", Options{})
		if err := mistakes.Err(); err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", c.servers, err, c.want)
		}
	}
}

// A rule differs from those of the releases that have such a rule, and only they get it.
func TestDifferencesOfWhatIfRules(t *testing.T) {
	for _, c := range []struct {
		servers, events string
		want            []string
		shares          []float64 // of the releases at the beginning and at the end
	}{
		{"whatIf: {}", "", nil, []float64{0}},
		{"whatIf: {queueWaitShare: 0.25}", "", nil, []float64{0.25}},
		{"whatIf: {queueWaitShare: 0.75}", "", []string{"queueWaitShare 0.75 instead of 0.25"}, []float64{0.75}},
		{"whatIf: {queueWaitShare: 1, borrowingWeights: {system: 2.5, node-high: 10}}", "", []string{"queueWaitShare 1 instead of 0.25", "borrowingWeights node-high 10 and system 2.5"}, []float64{1}},
		{`kubernetesVersion: "1.27", whatIf: {queueWaitShare: 0.5}`, `{at: 20s, rollout: {kubernetesVersion: "1.29"}}`, []string{"queueWaitShare 0.5 instead of 0.25"}, []float64{0, 0.5}},
	} {
		all, mistakes := Load(fstest.MapFS{"s.yaml": {Data: []byte(seatsScenario(c.servers, c.events))}}, "s.yaml", Options{})
		if err := mistakes.Err(); err != nil {
			t.Errorf("%s: %v", c.servers, err)
			continue
		}
		spec := &all[0].Spec
		releases := spec.ReleaseRules()
		if got := spec.Servers.WhatIf.Differences(releases); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: got %q, want %q", c.servers, c.events, got, c.want)
		}
		for i, release := range releases {
			if r, err := spec.Servers.RulesFor(server.Version(release.Version)); err != nil || r.WhatIf.QueueWaitShare != c.shares[i] || release.WhatIf.QueueWaitShare != 0 {
				t.Errorf("%s: the share of %s is %v, want %v: %v", c.servers, release.Version, r.WhatIf.QueueWaitShare, c.shares[i], err)
			}
		}
	}
}
