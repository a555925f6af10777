package tune

import (
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/experiment"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario/loader"
)

// listed returns the answer of a search that ends before the first candidate is decided: it has listed them all. The
// elephants fill the suggested level workload-low.
func listed(t *testing.T, kinds []string) *Answer {
	t.Helper()
	sc, err := experiment.LoadOne("elephants-and-mice", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	goals, err := ParseGoals(sc, []string{"rejected{workload:elephants}: rate == 0"})
	if err != nil {
		t.Fatal(err)
	}
	sc.Spec.Duration, sc.Spec.Warmup.Duration = quantity.Duration(6e9), 1e9
	a, err := Run(t.Context(), Options{Scenario: sc, Goals: goals, Kinds: kinds, Probability: 0.9, Confidence: 0.95, Budget: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !a.OutOfBudget || a.Selected != nil || len(a.search.all) == 0 {
		t.Fatalf("out of budget %v, selected %v, %d candidates; want a search that ended early", a.OutOfBudget, a.Selected, len(a.search.all))
	}
	return a
}

func TestCandidatesTouchNothingForbidden(t *testing.T) {
	a := listed(t, Usual)
	for i, c := range a.search.all {
		if i > 0 && a.search.all[i-1].Cost.Compare(c.Cost) > 0 {
			t.Errorf("%s comes after %s, which costs more", c.ID, a.search.all[i-1].ID)
		}
		if c.Class == ServerLimits {
			t.Errorf("%s: its kind is not allowed", c.ID)
		}
		for _, l := range c.objects.PriorityLevels {
			if l.Name == config.Exempt || l.Name == config.CatchAll {
				t.Errorf("%s changes the level %s", c.ID, l.Name)
			}
			if old := a.search.problem.builtIn.PriorityLevel(l.Name); old != nil && c.Class != Suggested {
				t.Errorf("%s changes a suggested level and has class %s", c.ID, c.Class)
			}
		}
		for _, s := range c.objects.FlowSchemas {
			if a.search.problem.builtIn.FlowSchema(s.Name) != nil {
				t.Errorf("%s changes the FlowSchema %s, which servers maintain", c.ID, s.Name)
			}
			if slices.Contains(critical, s.Spec.PriorityLevelConfiguration.Name) {
				t.Errorf("%s moves clients to %s", c.ID, s.Spec.PriorityLevelConfiguration.Name)
			}
		}
	}
}

// A change of a suggested level has the annotation, without which a server undoes it, and shows whom it costs seats.
func TestSuggestedLevelsKeepTheirChanges(t *testing.T) {
	a := listed(t, []string{"levels", "suggested"})
	at := slices.IndexFunc(a.search.all, func(c *Candidate) bool { return strings.HasPrefix(c.ID, "nominalConcurrencyShares of workload-low ") })
	if at < 0 {
		t.Fatal("there is no candidate with more shares of workload-low")
	}
	a.Selected = a.search.all[at]
	if most := a.Selected.family.all[len(a.Selected.family.all)-1]; most.Cost.Seats <= a.Selected.Cost.Seats {
		t.Errorf("%s takes %d seats from others, and %s %d", a.Selected.ID, a.Selected.Cost.Seats, most.ID, most.Cost.Seats)
	}
	text, err := a.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if want := config.AutoupdateAnnotation + `: "false"`; !strings.Contains(string(text), want) {
		t.Errorf("want the annotation %s in\n%s", want, text)
	}
}

// Of 600 seats, a new level of 20 shares gets 46, and the suggested levels lose as many as ⌈600·shares/Σ⌉ says.
func TestNewLevelsDiluteOthers(t *testing.T) {
	a := listed(t, []string{"levels"})
	at := slices.IndexFunc(a.search.all, func(c *Candidate) bool {
		return strings.HasPrefix(c.ID, "own-level elephants ") && seatsOf(divide(a.search.problem, c.scenarioOf(a.search.present)), "elephants").Nominal == 46
	})
	if at < 0 {
		t.Fatal("there is no candidate with a level of 46 seats")
	}
	if c := a.search.all[at]; c.ID != "own-level elephants 20" {
		t.Errorf("got %s, want 20 shares", c.ID)
	} else if got, want := c.Cost.Seats, (245-227)+2*(98-91)+(74-68)+(49-46)+(25-23)+(13-12); got != want {
		t.Errorf("others lose %d seats, want %d", got, want)
	}
}
