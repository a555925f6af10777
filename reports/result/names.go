package result

import "strings"

// ShortNames are the shortest names of the flows of a summary that are unique in it.
type ShortNames struct {
	short map[flowKey]string
}

type flowKey struct{ level, name string }

// NewShortNames returns those of the listed flows. A short name is the end of the whole name, behind a slash or a colon:
// ci-54:deployer of service-accounts/system:serviceaccount:ci-54:deployer, if no other flow ends so. Flows of the same name
// at several priority levels have the level behind the whole name.
func NewShortNames(s *Summary) *ShortNames {
	n := &ShortNames{short: make(map[flowKey]string, len(s.Flows))}
	count := map[string]int{}
	for i := range s.Flows {
		for name := s.Flows[i].Name; name != ""; name = shortened(name) {
			count[name]++
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		text := f.Name
		if count[text] > 1 && (f.SeveralLevels || n.repeats(s, f)) {
			text = f.Name + " at " + f.PriorityLevel
		} else {
			for name := shortened(text); name != "" && count[name] == 1; name = shortened(name) {
				text = name
			}
		}
		n.short[flowKey{f.PriorityLevel, f.Name}] = text
	}
	return n
}

// repeats says whether there is a flow of the same name at another level. Flows of a level are in order of their names, so
// that this is rare and may be slow.
func (n *ShortNames) repeats(s *Summary, f *Flow) bool {
	for i := range s.Flows {
		if g := &s.Flows[i]; g.Name == f.Name && g.PriorityLevel != f.PriorityLevel {
			return true
		}
	}
	return false
}

// UnknownUser begins the names of users that stand for clients of which a log has only the user agent and the address.
const UnknownUser = "unknown:"

// shortened returns the name without what it has up to its first slash or colon, "" if that is all. An unknown user is not
// shortened: the slashes and colons are those of its user agent.
func shortened(name string) string {
	if strings.HasPrefix(name, UnknownUser) {
		return ""
	}
	at := strings.IndexAny(name, "/:")
	if at < 0 {
		return ""
	}
	return name[at+1:]
}

// Of returns the short name of a flow at a priority level, the whole name of one that is not listed.
func (n *ShortNames) Of(level, name string) string {
	if text, ok := n.short[flowKey{level, name}]; ok {
		return text
	}
	return name
}
