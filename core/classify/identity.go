package classify

import (
	"slices"
	"strings"
)

// Names of users and groups that Kubernetes gives a meaning
// (k8s.io/apiserver/pkg/authentication/user and serviceaccount).
const (
	Anonymous       = "system:anonymous"
	Authenticated   = "system:authenticated"
	Unauthenticated = "system:unauthenticated"
	Nodes           = "system:nodes"
	ServiceAccounts = "system:serviceaccounts" // and, after a colon, those of a namespace

	serviceAccountPrefix = "system:serviceaccount:"
	nodePrefix           = "system:node:"
)

// GroupsOf returns the groups of a user who has authenticated: the given ones, then those that
// the name implies. Service accounts and kubelets are members of the groups of their kind, and
// everybody but system:anonymous is of system:authenticated.
func GroupsOf(user string, given []string) []string {
	groups := slices.Clone(given)
	if namespace, _, ok := SplitServiceAccount(user); ok {
		groups = addGroup(addGroup(groups, ServiceAccounts), ServiceAccounts+":"+namespace)
	}
	if name, ok := strings.CutPrefix(user, nodePrefix); ok && name != "" {
		groups = addGroup(groups, Nodes)
	}
	if user == Anonymous {
		return addGroup(groups, Unauthenticated)
	}
	return addGroup(groups, Authenticated)
}

// ImpersonatedGroups returns the groups that a request has with the headers Impersonate-User
// and Impersonate-Group, as of kubectl --as and --as-group. The given groups are all there are,
// but for system:authenticated; without any, a service account has its own, and a node has none
// (k8s.io/apiserver/pkg/endpoints/filters/impersonation).
func ImpersonatedGroups(user string, given []string) []string {
	groups := slices.Clone(given)
	if namespace, _, ok := SplitServiceAccount(user); ok && len(given) == 0 {
		groups = []string{ServiceAccounts, ServiceAccounts + ":" + namespace}
	}
	switch {
	case user == Anonymous:
		groups = addGroup(groups, Unauthenticated)
	case !slices.Contains(groups, Unauthenticated):
		groups = addGroup(groups, Authenticated)
	}
	return groups
}

// SplitServiceAccount returns the namespace and name in the user name of a service account.
func SplitServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || namespace == "" || name == "" || strings.Contains(name, ":") {
		return "", "", false
	}
	return namespace, name, true
}

func addGroup(groups []string, name string) []string {
	if slices.Contains(groups, name) {
		return groups
	}
	return append(groups, name)
}
