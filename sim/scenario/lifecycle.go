package scenario

import "slices"

// ServersEnd says whether servers may end during the run. The others may ignore what would happen then.
func (s *Spec) ServersEnd() bool {
	return s.Servers.Memory != nil && s.Servers.Memory.Limit > 0 ||
		slices.ContainsFunc(s.Events, func(e Event) bool { return e.Change.Given() && e.Speed == nil })
}
