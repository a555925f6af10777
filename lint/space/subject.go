package space

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
)

func group(name string) config.Subject {
	return config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: name}}
}

// Everyone reports whether a subject matches all users.
func Everyone(s *config.Subject) bool {
	return s.Kind == config.SubjectUser && s.User.Name == config.Wildcard ||
		s.Kind == config.SubjectGroup && s.Group.Name == config.Wildcard
}

// Nobody reports whether a subject matches no user, because its name is empty.
func Nobody(s *config.Subject) bool { return s.User != nil && s.User.Name == "" }

// includes reports whether t matches every user that s matches.
//
// It assumes that users have the groups that a server's authenticators give them: the anonymous user
// is in system:unauthenticated and all others are in system:authenticated; a service account is in
// the group of all service accounts and in that of its namespace. The members of the latter are also
// in the former. It does not conclude from a group to a user: a user may be in the group
// system:serviceaccounts:x by impersonation, without being a service account.
func includes(t, s *config.Subject) bool {
	switch {
	case Everyone(t):
		return true
	case Everyone(s):
		return false
	}
	switch s.Kind {
	case config.SubjectUser:
		namespace, name, isAccount := classify.SplitServiceAccount(s.User.Name)
		if isAccount {
			return includesAccount(t, namespace, name)
		}
		switch t.Kind {
		case config.SubjectUser:
			return t.User.Name == s.User.Name
		case config.SubjectGroup:
			if s.User.Name == classify.Anonymous {
				return t.Group.Name == classify.Unauthenticated
			}
			return t.Group.Name == classify.Authenticated
		}
	case config.SubjectServiceAccount:
		return includesAccount(t, s.ServiceAccount.Namespace, s.ServiceAccount.Name)
	case config.SubjectGroup:
		if t.Kind != config.SubjectGroup {
			return false
		}
		return t.Group.Name == s.Group.Name ||
			t.Group.Name == classify.Authenticated && s.Group.Name != classify.Unauthenticated ||
			t.Group.Name == classify.ServiceAccounts && strings.HasPrefix(s.Group.Name, classify.ServiceAccounts+":")
	}
	return false
}

// includesAccount reports whether t matches a service account or, if the name is "*", all those of
// the namespace.
func includesAccount(t *config.Subject, namespace, name string) bool {
	switch t.Kind {
	case config.SubjectUser:
		return name != config.Wildcard && t.User.Name == classify.ServiceAccountPrefix+namespace+":"+name
	case config.SubjectServiceAccount:
		return t.ServiceAccount.Namespace == namespace && (t.ServiceAccount.Name == config.Wildcard || t.ServiceAccount.Name == name)
	}
	return slices.Contains([]string{classify.Authenticated, classify.ServiceAccounts, classify.ServiceAccounts + ":" + namespace}, t.Group.Name)
}

// ExampleUser returns a user that s matches, with the groups that an authenticator would give.
func ExampleUser(s *config.Subject) (user string, groups []string) {
	switch s.Kind {
	case config.SubjectUser:
		user = s.User.Name
	case config.SubjectServiceAccount:
		user = classify.ServiceAccountPrefix + s.ServiceAccount.Namespace + ":" + s.ServiceAccount.Name
		if s.ServiceAccount.Name == config.Wildcard {
			user = classify.ServiceAccountPrefix + s.ServiceAccount.Namespace + ":default"
		}
	case config.SubjectGroup:
		namespace, ofNamespace := strings.CutPrefix(s.Group.Name, classify.ServiceAccounts+":")
		switch {
		case s.Group.Name == classify.Unauthenticated:
			user = classify.Anonymous
		case s.Group.Name == classify.Nodes:
			user, groups = classify.NodePrefix+"node-1", []string{classify.Nodes}
		case s.Group.Name == classify.ServiceAccounts:
			user = classify.ServiceAccountPrefix + "default:default"
		case ofNamespace:
			user = classify.ServiceAccountPrefix + namespace + ":default"
		default:
			user = "someone"
			if s.Group.Name != classify.Authenticated {
				groups = []string{s.Group.Name}
			}
		}
	}
	if user == classify.Anonymous {
		return user, []string{classify.Unauthenticated}
	}
	if namespace, _, ok := classify.SplitServiceAccount(user); ok {
		groups = append(groups, classify.ServiceAccounts, classify.ServiceAccounts+":"+namespace)
	}
	return user, append(groups, classify.Authenticated)
}
