package classify

import (
	"slices"
	"strings"
)

// Names of users and groups that have a meaning in Kubernetes
// (k8s.io/apiserver/pkg/authentication/user and serviceaccount).
const (
	Anonymous       = "system:anonymous"
	Authenticated   = "system:authenticated"
	Unauthenticated = "system:unauthenticated"
	Nodes           = "system:nodes"
	ServiceAccounts = "system:serviceaccounts" // all of them; those of a namespace are in system:serviceaccounts:NAMESPACE

	ServiceAccountPrefix = "system:serviceaccount:" // of the user name NAMESPACE:NAME of a service account
	NodePrefix           = "system:node:"           // of the user name of a kubelet
)

// GroupsOf returns the groups that the server's authenticators give to a user: the given groups,
// then those that follow from the name. A service account is in the groups of all service
// accounts and of those of its namespace, and a kubelet is in system:nodes. Every user is in
// system:authenticated, except system:anonymous, who is in system:unauthenticated.
func GroupsOf(user string, given []string) []string {
	groups := slices.Clone(given)
	if namespace, _, ok := SplitServiceAccount(user); ok {
		groups = addGroup(addGroup(groups, ServiceAccounts), ServiceAccounts+":"+namespace)
	}
	if name, ok := strings.CutPrefix(user, NodePrefix); ok && name != "" {
		groups = addGroup(groups, Nodes)
	}
	if user == Anonymous {
		return addGroup(groups, Unauthenticated)
	}
	return addGroup(groups, Authenticated)
}

// ImpersonatedGroups returns the groups of a request with the headers Impersonate-User and
// Impersonate-Group, which kubectl sends for --as and --as-group. They are the given groups and
// system:authenticated. Only if no groups are given, a service account is also in the groups of
// its kind; a node is not (k8s.io/apiserver/pkg/endpoints/filters/impersonation).
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

// SplitServiceAccount returns the namespace and the name of the service account that has this
// user name; ok is false if the user is not a service account.
func SplitServiceAccount(user string) (namespace, name string, ok bool) {
	account, ok := strings.CutPrefix(user, ServiceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(account, ":")
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
