package alerts

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"apfsim/core/rules"
)

// Each expression of the dashboard has values over the series of a run in which a level queues and rejects, and can have values on each
// release that the dashboard is for.
func TestDashboardHasNoEmptyPanel(t *testing.T) {
	text, err := os.ReadFile(integrations + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title, Repeat string
			Targets             []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	_, data := run(t, nil, "leader-election", usual)
	e := newEvaluation(data, usual)
	defer e.engine.Close()
	e.startMs = data.byName["up"][0].atMs[0] + usual.Lead.Milliseconds()
	values := strings.NewReplacer("$__rate_interval", "2m", "$job", "apiserver", "$instance", ".+", "$cluster", ".*", "$priority_level", "workload-low")
	all, repeated := 0, 0
	for _, p := range dashboard.Panels {
		if p.Repeat == "priority_level" {
			repeated++
		}
		if (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("%s has %d expressions", p.Title, len(p.Targets))
		}
		for _, target := range p.Targets {
			all++
			expression := values.Replace(target.Expr)
			parsed, err := parser.ParseExpr(expression)
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
				continue
			}
			vector, err := e.query(context.Background(), expression, time.Minute)
			if err != nil || len(vector) == 0 {
				t.Errorf("%s: %s has no value: %v", p.Title, expression, err)
			}
			for _, version := range []string{"1.28", rules.Versions()[len(rules.Versions())-1]} {
				checkExpression(t, version, p.Title, parsed)
			}
		}
	}
	if all < 10 || repeated != 1 {
		t.Errorf("%d expressions, and %d rows for each level", all, repeated)
	}
}

func checkExpression(t *testing.T, version, title string, parsed parser.Expr) {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Check([]*Group{{Rules: []*Rule{{Record: "x", parsed: parsed}}}}, r).Findings {
		t.Errorf("%s: Kubernetes %s: %s", title, version, f.Why)
	}
}
