package advice

import (
	"slices"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/reports/result"
)

// Maintenance lists the writes of servers to the flow-control objects of a cluster.
type Maintenance struct {
	SchemaVersion string             `json:"schemaVersion"`
	Servers       int                `json:"servers"`  // of the cluster
	Releases      []MaintenancePass  `json:"releases"` // in the order of the upgrade; the first one is the present release
	Changed       []MaintainedObject `json:"changed"`  // maintained objects whose spec has changed before and is that of the release
}

// MaintenancePass lists the writes of the servers of one release to the objects that those of the previous release
// have left.
type MaintenancePass struct {
	Release string             `json:"release"`
	Writes  []MaintenanceWrite `json:"writes"` // of the first pass of the first server, in its order
	// Contests are what changes in turns while servers of this release and of the one before run.
	Contests []Contest    `json:"contests"`
	Rollout  []ReleaseMix `json:"rollout"` // while it is rolled out; empty without contests
}

// MaintainedObject is an object of the cluster.
type MaintainedObject struct {
	Kind       string            `json:"kind"`
	Name       string            `json:"name"`
	Position   document.Position `json:"-"`
	File       string            `json:"file"` // where it was read; "" for an object of the servers
	Line       int               `json:"line"`
	Annotation string            `json:"annotation"` // apf.kubernetes.io/autoupdate-spec; "" without one
	Generation int64             `json:"generation"`
}

// MaintenanceWrite is a write of a server.
type MaintenanceWrite struct {
	MaintainedObject                     // before the write, or after it if it is created
	Action           string              `json:"action"`
	Reason           string              `json:"reason"`
	Differences      []config.Difference `json:"differences"` // of the spec
	// Keep is the command by which an operator prevents servers from changing the object; "" if there is none.
	Keep string `json:"keep"`
}

// Contest is an object that servers of two releases change in turns.
type Contest struct {
	Kind        string              `json:"kind"`
	Name        string              `json:"name"`
	ExistsOld   bool                `json:"existsOld"` // after a pass of a server of the release before
	ExistsNew   bool                `json:"existsNew"`
	Differences []config.Difference `json:"differences"` // between its specs, if it exists after both
	Keep        string              `json:"keep"`
}

// ReleaseMix is a moment of a rollout, with servers of both releases.
type ReleaseMix struct {
	NewServers int `json:"newServers"`
	OldServers int `json:"oldServers"`
	// OldShare is the mean part of a minute in which a contested object is as the old servers leave it, for
	// servers whose starts are independent of each other: that of the passes that are theirs. For known
	// starts, it is the sum of the times from each pass of an old server to the next pass of a new one.
	OldShare float64 `json:"oldShare"`
	// Changes is the mean number of changes of a contested object in a minute.
	Changes float64 `json:"changesPerMinute"`
}

// MaintenanceInput is the input of a maintenance: the objects and the releases.
type MaintenanceInput struct {
	From    *rules.Rules // the present release, or nil if only To is asked for
	To      *rules.Rules
	Objects config.Objects // that servers of the present release hold: an export, or what is added to those of a new cluster
	Servers int            // of the cluster
}

// ExamineMaintenance returns what the servers do. To must be newer than From: see [rules.Upgrade].
func ExamineMaintenance(in MaintenanceInput) *Maintenance {
	r := &Maintenance{SchemaVersion: result.SchemaVersion, Servers: in.Servers, Releases: []MaintenancePass{}, Changed: []MaintainedObject{}}
	path := []*rules.Rules{in.To}
	if in.From != nil {
		path = append([]*rules.Rules{in.From}, rules.Upgrade(in.From, in.To)...)
	}
	var before *maintain.Release
	store := maintain.Of(maintain.For(path[0]), clusterObjects(in.Objects))
	for _, step := range path {
		release := maintain.For(step)
		pass := MaintenancePass{Release: step.Version, Writes: []MaintenanceWrite{}, Contests: []Contest{}, Rollout: []ReleaseMix{}}
		if before == nil {
			r.changed(release, store)
		} else {
			for _, c := range maintain.Contests(before, release, store) {
				pass.Contests = append(pass.Contests, newContest(c))
			}
			if len(pass.Contests) > 0 {
				pass.Rollout = rolloutMixes(in.Servers)
			}
		}
		// A server that starts does what one that runs does, and before 1.22 what only happens then.
		for _, starting := range []bool{before != nil, false} {
			for _, w := range release.Pass(store, starting) {
				pass.Writes = append(pass.Writes, maintenanceWrite(w))
				store.Do(w)
			}
		}
		r.Releases = append(r.Releases, pass)
		before = release
	}
	return r
}

// changed adds the objects that servers maintain, whose specs are those of the release, and whose
// generations say that they have been others.
func (r *Maintenance) changed(release *maintain.Release, store *maintain.Store) {
	restored := map[*maintain.Object]bool{}
	for _, w := range release.Pass(store, false) {
		restored[w.Before] = true
	}
	for _, o := range store.All() {
		if o.Generation > 1 && release.Maintains(o) && !restored[o] {
			r.Changed = append(r.Changed, maintainedObject(o))
		}
	}
}

func maintainedObject(o *maintain.Object) MaintainedObject {
	at := o.Origin().Position("")
	return MaintainedObject{o.Kind().String(), o.Name(), at, at.File, at.Line, o.Annotation, o.Generation}
}

func maintenanceWrite(w maintain.Write) MaintenanceWrite {
	described := MaintenanceWrite{Action: w.Action.String(), Reason: w.Reason.String(), Differences: []config.Difference{}}
	if w.Before == nil {
		described.MaintainedObject = maintainedObject(w.After)
		return described
	}
	described.MaintainedObject = maintainedObject(w.Before)
	if w.Action == maintain.Restore {
		described.Differences = config.Differences(w.Before.Spec(), w.After.Spec())
	}
	if w.Reason == maintain.Annotated || w.Reason == maintain.NeverEdited && w.Action == maintain.Restore || w.Reason == maintain.Unwanted {
		described.Keep = keepCommand(w.Before.Kind(), w.Before.Name())
	}
	return described
}

func newContest(c maintain.Contest) Contest {
	described := Contest{Kind: c.Kind.String(), Name: c.Name, ExistsOld: c.First != nil, ExistsNew: c.Second != nil,
		Differences: []config.Difference{}, Keep: keepCommand(c.Kind, c.Name)}
	if c.First != nil && c.Second != nil {
		described.Differences = config.Differences(c.First.Spec(), c.Second.Spec())
	}
	return described
}

// keep returns the command by which servers stop to maintain an object.
func keepCommand(k maintain.Kind, name string) string {
	resource := "flowschema"
	if k == maintain.PriorityLevel {
		resource = "prioritylevelconfiguration"
	}
	return "kubectl annotate --overwrite " + resource + " " + name + " " + config.AutoupdateAnnotation + "=false"
}

// rollout returns the moments of a rollout. Each object is as the server that has made the latest pass
// leaves it, which is with equal probability any of them. Among n passes in an order that is random,
// each pair of subsequent ones is one of an old and a new server with the probability
// 2·old·new/(n·(n-1)), and there are n such pairs in a minute.
func rolloutMixes(servers int) (all []ReleaseMix) {
	for updated := 1; updated < servers; updated++ {
		old, n := float64(servers-updated), float64(servers)
		all = append(all, ReleaseMix{updated, servers - updated, old / n, 2 * old * float64(updated) / (n - 1)})
	}
	return all
}

// ofCluster returns the objects of a cluster: if some of the objects are from an export, those that were
// read, because an export is complete.
func clusterObjects(o config.Objects) config.Objects {
	exported := func(origin *config.Origin) bool { return origin != nil && origin.Generation > 0 }
	if !slices.ContainsFunc(o.FlowSchemas, func(s *config.FlowSchema) bool { return exported(s.Origin) }) &&
		!slices.ContainsFunc(o.PriorityLevels, func(l *config.PriorityLevel) bool { return exported(l.Origin) }) {
		return o
	}
	return config.Objects{
		FlowSchemas:    slices.DeleteFunc(slices.Clone(o.FlowSchemas), func(s *config.FlowSchema) bool { return s.Origin == nil }),
		PriorityLevels: slices.DeleteFunc(slices.Clone(o.PriorityLevels), func(l *config.PriorityLevel) bool { return l.Origin == nil }),
	}
}
