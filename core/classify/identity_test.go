package classify

import (
	"strings"
	"testing"
)

// The groups that follow from the name of a user, with and without impersonation.
func TestGroups(t *testing.T) {
	const account = "system:serviceaccount:ops:x"
	for _, c := range []struct{ user, given, authenticated, impersonated string }{
		{"jane", "", "system:authenticated", "system:authenticated"},
		{"jane", "a", "a system:authenticated", "a system:authenticated"},
		{"jane", "system:authenticated a", "system:authenticated a", "system:authenticated a"},
		{"jane", "system:unauthenticated", "system:unauthenticated system:authenticated", "system:unauthenticated"},
		{account, "", "system:serviceaccounts system:serviceaccounts:ops system:authenticated", "system:serviceaccounts system:serviceaccounts:ops system:authenticated"},
		{account, "a", "a system:serviceaccounts system:serviceaccounts:ops system:authenticated", "a system:authenticated"},
		{"system:serviceaccount:ops", "", "system:authenticated", "system:authenticated"},
		{"system:serviceaccount:ops:", "", "system:authenticated", "system:authenticated"},
		{"system:serviceaccount::x", "", "system:authenticated", "system:authenticated"},
		{"system:serviceaccount:ops:x:y", "", "system:authenticated", "system:authenticated"},
		{"system:node:n", "", "system:nodes system:authenticated", "system:authenticated"},
		{"system:node:", "", "system:authenticated", "system:authenticated"},
		{"system:kube-scheduler", "", "system:authenticated", "system:authenticated"},
		{"system:anonymous", "", "system:unauthenticated", "system:unauthenticated"},
		{"system:anonymous", "a", "a system:unauthenticated", "a system:unauthenticated"},
	} {
		given := strings.Fields(c.given)
		if got := strings.Join(GroupsOf(c.user, given), " "); got != c.authenticated {
			t.Errorf("%s with %q: groups %s, want %s", c.user, c.given, got, c.authenticated)
		}
		if got := strings.Join(ImpersonatedGroups(c.user, given), " "); got != c.impersonated {
			t.Errorf("%s impersonated with %q: groups %s, want %s", c.user, c.given, got, c.impersonated)
		}
	}
}
