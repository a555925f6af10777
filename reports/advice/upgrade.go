package advice

import (
	"cmp"
	"slices"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
	"apfsim/reports/result"
)

// Upgrade lists the changes by an upgrade.
type Upgrade struct {
	SchemaVersion string `json:"schemaVersion"`
	From          string `json:"from"` // releases of Kubernetes
	To            string `json:"to"`
	// Maintained are the objects that the servers of the release before the upgrade do not leave as they are given:
	// they change them within a minute, and hold them otherwise when the upgrade begins.
	Maintained  []UpgradedObject `json:"maintained"`
	Objects     []UpgradedObject `json:"objects"`     // that the servers of the new releases change, in the order of the releases
	Rules       []rules.Change   `json:"rules"`       // by which requests are decided otherwise, in the order of the releases
	APIVersions []APIVersion     `json:"apiVersions"` // of objects in the files, which the new release does not serve
	Levels      []UpgradedLevel  `json:"priorityLevels"`
	Request     *UpgradedRequest `json:"request,omitempty"` // nil if none is given
}

// UpgradedObject is an object that the servers of the new releases change.
type UpgradedObject struct {
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

// UpgradedLevel is a priority level before and after the upgrade; nil where it does not exist.
type UpgradedLevel struct {
	Name   string      `json:"name"`
	Before *LevelSeats `json:"before"`
	After  *LevelSeats `json:"after"`
}

// UpgradedRequest shows how flow control treats a request before and after the upgrade.
type UpgradedRequest struct {
	Before *Explanation `json:"before"`
	After  *Explanation `json:"after"`
}

// UpgradeInput is the configuration and the releases of an upgrade.
type UpgradeInput struct {
	From, To    *rules.Rules
	Objects     config.Objects // that the servers of From hold
	ServerLimit int            // seats of a server
	Question    *Question      // a request, or nil
}

// CompareReleases returns what the upgrade changes. To must be newer than From: see [rules.Upgrade]. The error
// says what is wrong with the request.
func CompareReleases(in UpgradeInput) (*Upgrade, error) {
	u := &Upgrade{SchemaVersion: result.SchemaVersion, From: in.From.Version, To: in.To.Version,
		Maintained: []UpgradedObject{}, Objects: []UpgradedObject{}, Rules: append([]rules.Change{}, rules.Changes(in.From, in.To)...), APIVersions: []APIVersion{}}
	path := rules.Upgrade(in.From, in.To)
	before, after := u.objects(in.From, path, in.Objects)
	u.apiVersions(path, in.Objects)
	u.levels(DivideSeats(in.From, before, in.ServerLimit), DivideSeats(in.To, after, in.ServerLimit))
	if in.Question == nil {
		return u, nil
	}
	u.Request = &UpgradedRequest{}
	var err error
	if u.Request.Before, err = Explain(in.From, before, in.ServerLimit, *in.Question); err != nil {
		return nil, err
	}
	u.Request.After, err = Explain(in.To, after, in.ServerLimit, *in.Question)
	return u, err
}

// object is an object of either kind.
type upgradeObject struct {
	kind, name string
	spec       any
}

func upgradeObjects(o config.Objects) (all []upgradeObject) {
	for _, s := range o.FlowSchemas {
		all = append(all, upgradeObject{"FlowSchema", s.Name, s.Spec})
	}
	for _, l := range o.PriorityLevels {
		all = append(all, upgradeObject{"PriorityLevelConfiguration", l.Name, l.Spec})
	}
	return all
}

// find returns the spec of the object with the kind and name of another one, or nil.
func findObject(all []upgradeObject, other upgradeObject) any {
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
	states := [][]upgradeObject{upgradeObjects(given)} // as given, before the upgrade, and in each release
	for _, r := range append([]*rules.Rules{from}, path...) {
		release := maintain.For(r)
		store.Do(release.Pass(store, true)...)
		store.Do(release.Pass(store, false)...)
		states = append(states, upgradeObjects(store.Objects()))
		if r == from {
			before = config.Complete(from, store.Objects())
		}
	}
	after = config.Complete(path[len(path)-1], store.Objects())
	u.Maintained = append(u.Maintained, objectChanges(states[:2], []*rules.Rules{from})...)
	u.Objects = append(u.Objects, objectChanges(states[1:], path)...)
	return before, after
}

// changesOf returns the objects that differ between the first and the last of some states, in the order of the
// releases that changed them. Each state but the first is what a release has made of the one before it.
func objectChanges(states [][]upgradeObject, releases []*rules.Rules) (changes []UpgradedObject) {
	first, last := states[0], states[len(states)-1]
	var all []upgradeObject // each once
	for _, state := range [][]upgradeObject{first, last} {
		for _, o := range state {
			if findObject(all, o) == nil {
				all = append(all, o)
			}
		}
	}
	for _, o := range all {
		was, is := findObject(first, o), findObject(last, o)
		change := UpgradedObject{Kind: o.kind, Name: o.name, Change: PutRight, Differences: []config.Difference{}}
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
			old, now := findObject(states[i], o), findObject(states[i+1], o)
			if (old == nil) != (now == nil) || old != nil && len(config.Differences(old, now)) > 0 {
				change.Release = r.Version
				break
			}
		}
		changes = append(changes, change)
	}
	order := func(o UpgradedObject) int {
		return slices.IndexFunc(releases, func(r *rules.Rules) bool { return r.Version == o.Release })
	}
	slices.SortStableFunc(changes, func(a, b UpgradedObject) int { return cmp.Compare(order(a), order(b)) })
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
func (u *Upgrade) levels(before, after *SeatDivision) {
	names := map[string]*UpgradedLevel{}
	for _, side := range []struct {
		seats  *SeatDivision
		limits func(*UpgradedLevel) **LevelSeats
	}{{before, func(l *UpgradedLevel) **LevelSeats { return &l.Before }}, {after, func(l *UpgradedLevel) **LevelSeats { return &l.After }}} {
		for i := range side.seats.Levels {
			level := &side.seats.Levels[i]
			if names[level.Name] == nil {
				names[level.Name] = &UpgradedLevel{Name: level.Name}
			}
			*side.limits(names[level.Name]) = level
		}
	}
	for _, l := range names {
		u.Levels = append(u.Levels, *l)
	}
	slices.SortFunc(u.Levels, func(a, b UpgradedLevel) int { return cmp.Compare(a.Name, b.Name) })
}
