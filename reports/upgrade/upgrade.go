// Package upgrade says what an upgrade of Kubernetes changes for a flow-control configuration, as
// 'apfsim config diff' prints it: the objects that the servers of the new releases create, delete or
// put right, the rules that change, the limits of the levels, the API versions that are no longer served, and the
// route and the seats of a request.
package upgrade

import (
	"cmp"
	"slices"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
	"apfsim/reports/explain"
	"apfsim/reports/result"
	"apfsim/reports/seats"
)

// Upgrade is what an upgrade changes.
type Upgrade struct {
	SchemaVersion string `json:"schemaVersion"`
	From          string `json:"from"` // releases of Kubernetes
	To            string `json:"to"`
	// Maintained are the objects that the servers of the release before the upgrade do not leave as they are given:
	// they change them within a minute, and hold them otherwise when the upgrade begins.
	Maintained  []Object       `json:"maintained"`
	Objects     []Object       `json:"objects"`     // that the servers of the new releases change, in the order of the releases
	Rules       []rules.Change `json:"rules"`       // by which requests are decided otherwise, in the order of the releases
	APIVersions []APIVersion   `json:"apiVersions"` // of objects in the files, which the new release does not serve
	Levels      []Level        `json:"priorityLevels"`
	Request     *Request       `json:"request,omitempty"` // nil if none is given
}

// Object is an object that the servers of the new releases change.
type Object struct {
	Kind        string              `json:"kind"`
	Name        string              `json:"name"`
	Change      string              `json:"change"`      // Created, Deleted or PutRight
	Release     string              `json:"release"`     // the first release that does so
	Differences []config.Difference `json:"differences"` // of the spec, before the upgrade and after it, if it is put right
}

// The changes of an object.
const (
	Created  = "created"
	Deleted  = "deleted"
	PutRight = "put right"
)

// APIVersion is an API version of objects in the files that the new release does not serve.
type APIVersion struct {
	Name      string `json:"apiVersion"`
	Objects   int    `json:"objects"`
	RemovedIn string `json:"removedIn"` // the first release that does not serve it, also if it is older than the upgrade
	Use       string `json:"use"`       // the newest version that the new release serves
}

// Level is a priority level before and after the upgrade; nil where it does not exist.
type Level struct {
	Name   string       `json:"name"`
	Before *seats.Level `json:"before"`
	After  *seats.Level `json:"after"`
}

// Request is what flow control does with a request before and after the upgrade.
type Request struct {
	Before *explain.Explanation `json:"before"`
	After  *explain.Explanation `json:"after"`
}

// Input is what is upgraded.
type Input struct {
	From, To    *rules.Rules
	Objects     config.Objects    // that the servers of From hold
	ServerLimit int               // seats of a server
	Question    *explain.Question // a request, or nil
}

// Compare returns what the upgrade changes. To must be newer than From: see [rules.Upgrade]. The error
// says what is wrong with the request.
func Compare(in Input) (*Upgrade, error) {
	u := &Upgrade{SchemaVersion: result.SchemaVersion, From: in.From.Version, To: in.To.Version,
		Maintained: []Object{}, Objects: []Object{}, Rules: append([]rules.Change{}, rules.Changes(in.From, in.To)...), APIVersions: []APIVersion{}}
	path := rules.Upgrade(in.From, in.To)
	before, after := u.objects(in.From, path, in.Objects)
	u.apiVersions(path, in.Objects)
	u.levels(seats.Divide(in.From, before, in.ServerLimit), seats.Divide(in.To, after, in.ServerLimit))
	if in.Question == nil {
		return u, nil
	}
	u.Request = &Request{}
	var err error
	if u.Request.Before, err = explain.Explain(in.From, before, in.ServerLimit, *in.Question); err != nil {
		return nil, err
	}
	u.Request.After, err = explain.Explain(in.To, after, in.ServerLimit, *in.Question)
	return u, err
}

// object is an object of either kind.
type object struct {
	kind, name string
	spec       any
}

func objectsOf(o config.Objects) (all []object) {
	for _, s := range o.FlowSchemas {
		all = append(all, object{"FlowSchema", s.Name, s.Spec})
	}
	for _, l := range o.PriorityLevels {
		all = append(all, object{"PriorityLevelConfiguration", l.Name, l.Spec})
	}
	return all
}

// find returns the spec of the object with the kind and name of another one, or nil.
func find(all []object, other object) any {
	for _, o := range all {
		if o.kind == other.kind && o.name == other.name {
			return o.spec
		}
	}
	return nil
}

// objects adds the objects that change, and returns all objects before and after the upgrade. The servers before it
// have done their maintenance too. A change that a later release takes back is left out.
func (u *Upgrade) objects(from *rules.Rules, path []*rules.Rules, given config.Objects) (before, after config.Objects) {
	store := maintain.Of(maintain.For(from), given)
	states := [][]object{objectsOf(given)} // as given, before the upgrade, and in each release
	for _, r := range append([]*rules.Rules{from}, path...) {
		release := maintain.For(r)
		store.Do(release.Pass(store, true)...)
		store.Do(release.Pass(store, false)...)
		states = append(states, objectsOf(store.Objects()))
		if r == from {
			before = config.Complete(from, store.Objects())
		}
	}
	after = config.Complete(path[len(path)-1], store.Objects())
	u.Maintained = append(u.Maintained, changesOf(states[:2], []*rules.Rules{from})...)
	u.Objects = append(u.Objects, changesOf(states[1:], path)...)
	return before, after
}

// changesOf returns the objects that differ between the first and the last of some states, in the order of the
// releases that changed them. Each state but the first is what a release has made of the one before it.
func changesOf(states [][]object, releases []*rules.Rules) (changes []Object) {
	first, last := states[0], states[len(states)-1]
	var all []object // each once
	for _, state := range [][]object{first, last} {
		for _, o := range state {
			if find(all, o) == nil {
				all = append(all, o)
			}
		}
	}
	for _, o := range all {
		was, is := find(first, o), find(last, o)
		change := Object{Kind: o.kind, Name: o.name, Change: PutRight, Differences: []config.Difference{}}
		switch {
		case was == nil:
			change.Change = Created
		case is == nil:
			change.Change = Deleted
		default:
			if change.Differences = config.Differences(was, is); len(change.Differences) == 0 {
				continue
			}
		}
		for i, r := range releases {
			old, now := find(states[i], o), find(states[i+1], o)
			if (old == nil) != (now == nil) || old != nil && len(config.Differences(old, now)) > 0 {
				change.Release = r.Version
				break
			}
		}
		changes = append(changes, change)
	}
	order := func(o Object) int {
		return slices.IndexFunc(releases, func(r *rules.Rules) bool { return r.Version == o.Release })
	}
	slices.SortStableFunc(changes, func(a, b Object) int { return cmp.Compare(order(a), order(b)) })
	return changes
}

// apiVersions adds the API versions of the objects that the last release does not serve.
func (u *Upgrade) apiVersions(path []*rules.Rules, objects config.Objects) {
	add := func(origin *config.Origin) {
		if origin == nil {
			return
		}
		served := config.ServedVersions(path[len(path)-1])
		if slices.Contains(served, origin.APIVersion) {
			return
		}
		i := slices.IndexFunc(u.APIVersions, func(v APIVersion) bool { return v.Name == origin.APIVersion })
		if i < 0 {
			i = len(u.APIVersions)
			u.APIVersions = append(u.APIVersions, APIVersion{Name: origin.APIVersion, RemovedIn: config.RemovedIn(origin.APIVersion), Use: served[0]})
		}
		u.APIVersions[i].Objects++
	}
	for _, s := range objects.FlowSchemas {
		add(s.Origin)
	}
	for _, l := range objects.PriorityLevels {
		add(l.Origin)
	}
}

// levels adds the levels, in alphabetical order.
func (u *Upgrade) levels(before, after *seats.Seats) {
	names := map[string]*Level{}
	for _, side := range []struct {
		seats *seats.Seats
		of    func(*Level) **seats.Level
	}{{before, func(l *Level) **seats.Level { return &l.Before }}, {after, func(l *Level) **seats.Level { return &l.After }}} {
		for i := range side.seats.Levels {
			level := &side.seats.Levels[i]
			if names[level.Name] == nil {
				names[level.Name] = &Level{Name: level.Name}
			}
			*side.of(names[level.Name]) = level
		}
	}
	for _, l := range names {
		u.Levels = append(u.Levels, *l)
	}
	slices.SortFunc(u.Levels, func(a, b Level) int { return cmp.Compare(a.Name, b.Name) })
}
