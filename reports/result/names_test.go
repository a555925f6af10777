package result

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func flowsNamed(names ...string) *Summary {
	s := &Summary{}
	for _, name := range names {
		level, name, _ := strings.Cut(name, " ")
		s.Flows = append(s.Flows, Flow{Group: Group{Name: name}, PriorityLevel: level})
	}
	return s
}

func TestShortNamesAreTheShortestUniqueEnds(t *testing.T) {
	s := flowsNamed("low service-accounts/system:serviceaccount:ci-54:deployer", "low service-accounts/system:serviceaccount:ci-55:deployer",
		"low service-accounts/system:serviceaccount:kube-system:node-agent", "low nodes/system:node:a", "low a", "low s/x", "high s/x", "low t/")
	s.NameFlows()
	want := []string{"ci-54:deployer", "ci-55:deployer", "node-agent", "node:a", "a", "s/x at low", "s/x at high", "t/"}
	for i := range s.Flows {
		if f := &s.Flows[i]; f.ShortName() != want[i] {
			t.Errorf("%s at %s is called %q, want %q", f.Name, f.PriorityLevel, f.ShortName(), want[i])
		}
	}
}

// No two flows have the same short name, whatever their names are.
func TestShortNamesAreUnique(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		s := &Summary{}
		seen := map[string]bool{}
		for range 1 + r.IntN(12) {
			name := ""
			for range 1 + r.IntN(5) {
				name += []string{"a", "b", ":", "/", "ab"}[r.IntN(5)]
			}
			level := []string{"low", "high"}[r.IntN(2)]
			if !seen[level+name] {
				seen[level+name] = true
				s.Flows = append(s.Flows, Flow{Group: Group{Name: name}, PriorityLevel: level})
			}
		}
		short := map[string]string{}
		s.NameFlows()
		for i := range s.Flows {
			f := &s.Flows[i]
			text := f.ShortName()
			if other, twice := short[text]; twice {
				t.Fatalf("%s at %s and %s are both called %q", f.Name, f.PriorityLevel, other, text)
			}
			short[text] = f.Name + " at " + f.PriorityLevel
		}
	}
}

// Names of users that Kubernetes does not give are not cut: the slashes and colons of an unknown user are those of its user
// agent.
func TestNamesOfOthersAreNotCut(t *testing.T) {
	for _, user := range []string{UnknownUser + "kubectl/v1.33.0 (linux/amd64) kubernetes/abc@::1", "https://issuer.example/realm#joe"} {
		s := flowsNamed("low global-default/x")
		s.Flows[0].Name = "global-default/" + user
		if s.NameFlows(); s.Flows[0].ShortName() != user {
			t.Errorf("%q is called %q", user, s.Flows[0].ShortName())
		}
	}
}
