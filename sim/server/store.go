package server

import (
	"strings"

	"apfsim/document"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/registry"
	"apfsim/sim/store"
)

// Store holds the settings of etcd, which keeps the objects, and of what servers do to serve them.
type Store struct {
	store.Settings
	WatchCache    WatchCache        `json:"watchCache,omitempty"`
	CountInterval quantity.Duration `json:"countInterval,omitempty" jsonschema:"default=1m" jsonschema_description:"--etcd-count-metric-poll-period, of each server, by which it knows how many objects there are; 0s for never."`
	Costs         registry.Costs    `json:"costs,omitempty" jsonschema:"default=Default"`
}

// WatchCache says which resources have watch caches. Events never have one.
type WatchCache struct {
	Off     bool     // no resource has one
	Without []string // these have none, such as configmaps or deployments.apps
}

// UnmarshalDocument implements document.Unmarshaler.
func (w *WatchCache) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	switch n.Kind {
	case document.List:
		d.Decode(n, path, &w.Without)
	case document.Bool:
		on := true
		d.Decode(n, path, &on)
		w.Off = !on
	case document.String:
		d.Fail(n, path, "%q: want true, false or a list of the resources without one", document.Abridge(n.Text))
	default:
		d.Fail(n, path, "is %v; want true, false or a list of the resources without one", n.Kind)
	}
}

// Check checks the store at path.
func (s *Store) Check(to *document.Checker, path string) {
	for _, of := range []struct {
		field    string
		capacity *machine.Capacity
	}{{"readCapacity", s.ReadCapacity}, {"writeCapacity", s.WriteCapacity}} {
		c, at := of.capacity, path+"."+of.field
		if c == nil {
			continue
		}
		if c.WatchEvent != 0 {
			to.Fail(at+".watchEvent", "cannot be set here: etcd sends no events to clients; that of a server is spec.store.costs.watchEvent")
		}
		if c.MinimumCores != 0 {
			to.Fail(at+".minimumCores", "cannot be set here: no watch event takes cores of etcd away")
		}
		if c.Measured != 0 {
			to.Fail(at+".measured", "cannot be set here: it is that of a server, spec.servers.capacity.measured")
		}
		if c.Average != 0 {
			to.Fail(at+".average", "cannot be set here: it is that of a server, spec.servers.capacity.average")
		}
		if c.Calibrated != nil {
			to.Fail(at+".calibrated", "cannot be set here: it is that of a server, spec.servers.capacity.calibrated")
		}
		if c.Interval != nil {
			to.Fail(at+".interval", "cannot be set here: it is that of a server, spec.servers.capacity.interval")
		}
		c.Check(to, at)
	}
	for i, name := range s.WatchCache.Without {
		if name == "" || strings.ContainsAny(name, "/ {}") || strings.ToLower(name) != name {
			to.Fail(document.Index(path+".watchCache", i), "%q: want the plural name of a resource, such as configmaps or deployments.apps", document.Abridge(name))
		}
	}
}

// SetDefaults fills in how long a commit takes.
func (s *Store) SetDefaults() {
	if !s.Write.IsSet() {
		s.Write = defaultWrite
	}
}

// defaultWrite is how long a commit takes on an SSD, with a tail.
var defaultWrite = func() quantity.Distribution {
	l, err := random.NewLognormalP99(4e6, 25e6)
	if err != nil {
		panic(err)
	}
	return quantity.Distribution{Distribution: l}
}()
