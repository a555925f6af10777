package result

import (
	"cmp"
	"strings"
)

// NameFlows gives the listed flows the shortest names that are unique in the summary. A short name is the end of the whole
// name, without the FlowSchema and, of the names that Kubernetes gives, without what stands before a colon: ci-54:deployer of
// service-accounts/system:serviceaccount:ci-54:deployer, if no other flow ends so. Flows of the same name at several priority levels have the level behind the whole name.
func (s *Summary) NameFlows() {
	count := map[string]int{}
	for i := range s.Workloads {
		count[s.Workloads[i].Name]++
	}
	for i := range s.PriorityLevels {
		count[s.PriorityLevels[i].Name]++
	}
	for i := range s.Flows {
		for _, name := range shorterNames(s.Flows[i].Name) {
			count[name]++
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		f.Short = f.Name
		if count[f.Name] > 1 && (f.SeveralLevels || s.repeats(f)) {
			f.Short = f.Name + " at " + f.PriorityLevel
			continue
		}
		for _, name := range shorterNames(f.Name) {
			if count[name] == 1 {
				f.Short = name
			}
		}
	}
}

// Pattern returns what names of many of a kind have in common: with an asterisk in place of each part with digits, such as job-*
// for job-17 and web-* for web-7d4b9c6f5-x2x4z.
func Pattern(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		end := strings.IndexAny(name, "-:/.@ ")
		if end < 0 {
			end = len(name)
		}
		part := name[:end]
		switch letters := strings.TrimRight(part, "0123456789"); {
		case !strings.ContainsAny(part, "0123456789"):
			b.WriteString(part)
		case letters != part && !strings.ContainsAny(letters, "0123456789"):
			b.WriteString(letters + "*")
		default:
			b.WriteString("*")
		}
		if end < len(name) {
			b.WriteByte(name[end])
			end++
		}
		name = name[end:]
	}
	return strings.ReplaceAll(b.String(), "*-*", "*")
}

// ShortName returns the name that [Summary.NameFlows] has given the flow, the whole one without.
func (f *Flow) ShortName() string { return cmp.Or(f.Short, f.Name) }

// ShortName returns the short name of a flow at a priority level, the whole name of one that is not listed.
func (s *Summary) ShortName(level, name string) string {
	for i := range s.Flows {
		if f := &s.Flows[i]; f.Name == name && f.PriorityLevel == level {
			return f.ShortName()
		}
	}
	return name
}

// repeats says whether there is a flow of the same name at another level. Flows of a level are in order of their names, so
// that this is rare and may be slow.
func (s *Summary) repeats(f *Flow) bool {
	for i := range s.Flows {
		if g := &s.Flows[i]; g.Name == f.Name && g.PriorityLevel != f.PriorityLevel {
			return true
		}
	}
	return false
}

// UnknownUser begins the names of users that stand for clients of which a log has only the user agent and the address.
const UnknownUser = "unknown:"

// NoKnownUser stands for these clients in rows of who was harmed.
const NoKnownUser = "clients without a known user"

// HasUser reports whether the user of the flow is known.
func (f *Flow) HasUser() bool { return !strings.Contains(f.Name, "/"+UnknownUser) }

// shorterNames returns the name and its ends that may stand for it, from long to short. The names of users that Kubernetes does not
// give, such as those of an identity provider, may contain anything, and are not cut.
func shorterNames(name string) (all []string) {
	all = append(all, name)
	_, who, ok := strings.Cut(name, "/")
	if !ok || who == "" {
		return all
	}
	all = append(all, who)
	if !strings.HasPrefix(who, "system:") {
		return all
	}
	for {
		_, end, ok := strings.Cut(who, ":")
		if !ok || end == "" {
			return all
		}
		all, who = append(all, end), end
	}
}
