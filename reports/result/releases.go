package result

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
)

// Releases are the releases of Kubernetes that were simulated, when the run began. They are empty for what a client of a
// real server has measured, and in results of programs that did not write them.
type Releases struct {
	KubernetesVersion string `json:"kubernetesVersion,omitempty"` // of the server with index 0
	// KubernetesVersions are those of all servers, by their index. It is omitted if they have the same.
	KubernetesVersions []string `json:"kubernetesVersions,omitempty"`
	// WhatIfSeats are the numbers by which the servers estimated seats otherwise than these releases, such as "constant 10".
	WhatIfSeats []string `json:"whatIfSeats,omitempty"`
}

// sweptSeats is the value of WhatIfSeats where runs have different ones, as their parameters say.
var sweptSeats = []string{"of the parameters"}

// NewReleases returns the releases of the servers of a scenario.
func NewReleases(s *scenario.Spec) Releases {
	versions := s.Servers.Releases()
	if len(versions) == 0 {
		return Releases{}
	}
	r := Releases{KubernetesVersion: versions[0], WhatIfSeats: s.Servers.Seats.Differences(s.ReleaseRules())}
	if slices.ContainsFunc(versions, func(v string) bool { return v != versions[0] }) {
		r.KubernetesVersions = versions
	}
	return r
}

// Text names the releases, such as "Kubernetes 1.37", and of several servers that of each: "Kubernetes 1.36, 1.36 and 1.37".
// It is "" if they are not known. Seats that are not those of these releases are named after them: "Kubernetes 1.37, what-if
// seats (constant 10)".
func (r *Releases) Text() string {
	text := r.names()
	if len(r.WhatIfSeats) == 0 {
		return text
	}
	if text != "" {
		text += ", "
	}
	return text + "what-if seats (" + strings.Join(r.WhatIfSeats, ", ") + ")"
}

func (r *Releases) names() string {
	switch n := len(r.KubernetesVersions); {
	case n > 0:
		var labels []string
		for _, version := range r.KubernetesVersions {
			labels = append(labels, rules.Label(version))
		}
		return "Kubernetes " + strings.Join(labels[:n-1], ", ") + " and " + labels[n-1]
	case r.KubernetesVersion != "":
		return "Kubernetes " + rules.Label(r.KubernetesVersion)
	}
	return ""
}

// Common returns what two runs have in common that differ by parameters: no releases if these differ, and
// sweptSeats if the seats do.
func (r Releases) Common(other *Releases) Releases {
	if r.names() != other.names() {
		r.KubernetesVersion, r.KubernetesVersions = "", nil
	}
	if !slices.Equal(r.WhatIfSeats, other.WhatIfSeats) {
		r.WhatIfSeats = sweptSeats
	}
	return r
}

// After returns a description with the releases at its end, if they are known.
func (r *Releases) After(description string) string {
	if text := r.Text(); text != "" {
		return description + ", " + text
	}
	return description
}

// CaughtAll is how many requests of a workload matched no FlowSchema other than catch-all, which has few seats and no
// queues.
type CaughtAll struct {
	Workload string `json:"workload"`
	Requests int64  `json:"requests"`
	Arrived  int64  `json:"arrived"` // all requests of the workload
}

// Share returns the part of the workload's requests.
func (c *CaughtAll) Share() float64 { return float64(c.Requests) / float64(c.Arrived) }

// CaughtAllText names workloads and their shares, such as "kyverno (100 %), mixed (25 %)".
func CaughtAllText(all []CaughtAll) string {
	var parts []string
	for i := range all {
		parts = append(parts, fmt.Sprintf("%s (%s)", all[i].Workload, format.Percent(all[i].Share())))
	}
	return strings.Join(parts, ", ")
}
