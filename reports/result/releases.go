package result

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
)

// Releases are the releases of Kubernetes that were simulated, when the run began. They are empty for what a client of a
// real server has measured, and in results of programs that did not write them.
type Releases struct {
	KubernetesVersion string `json:"kubernetesVersion,omitempty"` // of the server with index 0
	// KubernetesVersions are those of all servers, by their index. It is omitted if they have the same.
	KubernetesVersions []string `json:"kubernetesVersions,omitempty"`
}

// NewReleases returns the releases of servers, by their index.
func NewReleases(versions []string) Releases {
	if len(versions) == 0 {
		return Releases{}
	}
	r := Releases{KubernetesVersion: versions[0]}
	if slices.ContainsFunc(versions, func(v string) bool { return v != versions[0] }) {
		r.KubernetesVersions = versions
	}
	return r
}

// Text names the releases, such as "Kubernetes 1.37", and of several servers that of each: "Kubernetes 1.36, 1.36 and 1.37".
// It is "" if they are not known.
func (r *Releases) Text() string {
	switch n := len(r.KubernetesVersions); {
	case n > 0:
		return "Kubernetes " + strings.Join(r.KubernetesVersions[:n-1], ", ") + " and " + r.KubernetesVersions[n-1]
	case r.KubernetesVersion != "":
		return "Kubernetes " + r.KubernetesVersion
	}
	return ""
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
