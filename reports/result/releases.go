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
	// WhatIfRules are the rules of flow control that are those of no release, such as "queueWaitShare 0.75 instead of 0.25".
	WhatIfRules []string `json:"whatIfRules,omitempty"`
	// Engine is the code whose flow control decided, if it was not that of apfsim, such as "k8s.io/apiserver v0.37.2".
	Engine string `json:"engine,omitempty"`
}

// swept is the value of WhatIfSeats or WhatIfRules where runs have different ones, as their parameters say.
var swept = []string{"of the parameters"}

// NewReleases returns the releases of the servers of a scenario.
func NewReleases(s *scenario.Spec) Releases {
	versions := s.Servers.Releases()
	if len(versions) == 0 {
		return Releases{}
	}
	all := s.ReleaseRules()
	r := Releases{KubernetesVersion: versions[0], WhatIfSeats: s.Servers.Seats.Differences(all), WhatIfRules: s.Servers.WhatIf.Differences(all)}
	if slices.ContainsFunc(versions, func(v string) bool { return v != versions[0] }) {
		r.KubernetesVersions = versions
	}
	return r
}

// Text names the releases, such as "Kubernetes 1.37", and of several servers that of each: "Kubernetes 1.36, 1.36 and 1.37".
// It is "" if they are not known. What is not of these releases is named after them: "Kubernetes 1.37, what-if seats
// (constant 10)".
func (r *Releases) Text() string {
	names, whatIf := r.names(), r.WhatIf()
	if names != "" && whatIf != "" {
		names += ", "
	}
	return names + whatIf
}

// WhatIf names what is not of the releases, such as "what-if seats (constant 10)". It is "" if there is nothing.
func (r *Releases) WhatIf() string {
	var parts []string
	if len(r.WhatIfRules) > 0 {
		parts = append(parts, "what-if rules ("+strings.Join(r.WhatIfRules, ", ")+")")
	}
	if len(r.WhatIfSeats) > 0 {
		parts = append(parts, "what-if seats ("+strings.Join(r.WhatIfSeats, ", ")+")")
	}
	return strings.Join(parts, ", ")
}

func (r *Releases) names() (text string) {
	switch n := len(r.KubernetesVersions); {
	case n > 0:
		var labels []string
		for _, version := range r.KubernetesVersions {
			labels = append(labels, rules.Label(version))
		}
		text = "Kubernetes " + strings.Join(labels[:n-1], ", ") + " and " + labels[n-1]
	case r.KubernetesVersion != "":
		text = "Kubernetes " + rules.Label(r.KubernetesVersion)
	}
	if r.Engine != "" {
		text += ", flow control of " + r.Engine
	}
	return text
}

// Common returns what two runs have in common that differ by parameters: no releases if these differ, and
// swept if the seats or the rules do.
func (r Releases) Common(other *Releases) Releases {
	if r.names() != other.names() {
		r.KubernetesVersion, r.KubernetesVersions, r.Engine = "", nil, ""
	}
	if !slices.Equal(r.WhatIfSeats, other.WhatIfSeats) {
		r.WhatIfSeats = swept
	}
	if !slices.Equal(r.WhatIfRules, other.WhatIfRules) {
		r.WhatIfRules = swept
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
