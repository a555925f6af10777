package incident

import (
	"cmp"
	"slices"
	"strings"

	"apfsim/core/rules"
	"apfsim/sim/trace/requests"
)

// Where the release of the server comes from.
const (
	VersionGiven   = "--version"
	VersionMetrics = "metrics"
	VersionFile    = "kubectl version"
	VersionAgents  = "user agents"
	VersionAssumed = "assumed"
)

// releases counts the releases that the own clients of the servers name in their user agents.
type releases struct{ requests map[ownClient]int64 }

// ownClient is a component of the control plane at a server.
type ownClient struct{ server, component, version string }

// ownComponents are the clients that are of the release of a server, the surest first: the server itself, and components
// that may be of one minor release before it while a cluster is upgraded.
var ownComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// learn takes the release of a request that an own client has sent: its user agent begins with, for instance,
// kube-apiserver/v1.33.2.
func (r *releases) learn(q *requests.Request) {
	component, rest, ok := strings.Cut(q.UserAgent, "/v")
	if !ok || !slices.Contains(ownComponents, component) {
		return
	}
	version := rest
	if end := strings.IndexFunc(rest, func(c rune) bool { return c != '.' && (c < '0' || c > '9') }); end >= 0 {
		version = rest[:end]
	}
	if r.requests == nil {
		r.requests = map[ownClient]int64{}
	}
	if key := (ownClient{strings.Clone(q.Server), component, strings.Clone(version)}); len(r.requests) < mostClients {
		r.requests[key]++
	}
}

// settle returns the settings with the release of a server, if only its own clients say it.
func (r *releases) settle(s *Settings, server string) (*Settings, error) {
	if s.versionFrom != VersionAssumed {
		return s, nil
	}
	type candidate struct {
		ownClient
		rank     int
		requests int64
	}
	var all []candidate
	for key, n := range r.requests {
		if _, err := rules.For(key.version); err == nil && key.server == server {
			all = append(all, candidate{key, slices.Index(ownComponents, key.component), n})
		}
	}
	if len(all) == 0 {
		return s, nil
	}
	best := slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), -cmp.Compare(a.requests, b.requests), cmp.Compare(a.version, b.version))
	})
	settled, err := ReadSettings(s.fsys, best.version, s.configFiles, s.metricsFile)
	if err != nil {
		return nil, err
	}
	settled.Seed = s.Seed
	settled.versionFrom, settled.sources.version = VersionAgents, "the user agent of "+best.component+" in the log"
	if settled.versionNote != "" {
		settled.sources.version += "; " + settled.versionNote
	}
	return settled, nil
}
