package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"apfsim/core/dealer"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/sim/scenario"
)

// Asked are the arguments of the call "explain": a request, and the scenario whose servers it goes to.
type Asked struct {
	Setting
	Request   string `json:"request"`   // VERB RESOURCE [NAME], or VERB PATH, as the arguments of apfsim explain
	User      string `json:"user"`      // as --as
	Namespace string `json:"namespace"` // "" for all
	Query     string `json:"query"`     // of the URL
}

// Printed is an answer that is text, as the program prints it.
type Printed struct {
	Printed string `json:"printed"`
}

func explain(_ context.Context, a *Asked, _ Progress) (*Printed, error) {
	sc, err := a.one()
	if err != nil {
		return nil, err
	}
	release, err := sc.Spec.Servers.Rules()
	if err != nil {
		return nil, err
	}
	input := advice.QuestionInput{Arguments: strings.Fields(a.Request), As: a.User}
	input.Request.Namespace, input.Request.Query = a.Namespace, a.Query
	given := []string{"as"}
	input.Given = func(flag string) bool { return slices.Contains(given, flag) }
	question, err := advice.ParseQuestion(&input)
	if err != nil {
		return nil, err
	}
	for _, stored := range sc.Spec.Resources {
		if at := &question.Attributes; question.Stored.Objects == 0 && stored.Resource == at.Resource && stored.Group == at.APIGroup {
			question.Stored.Objects, question.Stored.AverageBytes = stored.Objects, stored.AverageBytes
		}
	}
	servers := &sc.Spec.Servers
	explanation, err := advice.Explain(release, sc.Objects, servers.MaxRequestsInflight+servers.MaxMutatingRequestsInflight, *question)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return printed(report.ExplanationDocument(explanation, true))
}

func printed(d *report.Document) (*Printed, error) {
	var text bytes.Buffer
	err := render.Text(&text, d, format.TextOptions{})
	return &Printed{text.String()}, err
}

// Decks are the arguments of the call "collisions". Without numbers, they are those of the Kubernetes documentation.
type Decks struct {
	HandSizes []int `json:"handSizes"`
	Queues    []int `json:"queues"`
	Elephants []int `json:"elephants"`
}

// Limits of the decks: the time to compute a column grows with the square of the elephants.
const (
	maxDecks     = 100
	maxElephants = 1000
)

func collisions(ctx context.Context, d *Decks, progress Progress) (*Printed, error) {
	decks, elephants := dealer.PublishedDecks(), d.Elephants
	if len(elephants) == 0 {
		elephants = dealer.PublishedElephants()
	}
	if len(d.HandSizes)+len(d.Queues) > 0 {
		decks = nil
	}
	if len(d.HandSizes)*len(d.Queues) > maxDecks || len(elephants) > maxDecks {
		return nil, fmt.Errorf("want at most %d rows and as many columns", maxDecks)
	}
	for _, n := range elephants {
		if n < 1 || n > maxElephants {
			return nil, fmt.Errorf("elephants: %d: want from 1 to %d", n, maxElephants)
		}
	}
	for _, size := range d.HandSizes {
		for _, queues := range d.Queues {
			if _, err := dealer.New(queues, size); err != nil {
				return nil, fmt.Errorf("hand size %d, %d queues: %w", size, queues, err)
			}
			decks = append(decks, dealer.Deck{Queues: queues, HandSize: size})
		}
	}
	if len(decks) == 0 {
		return nil, fmt.Errorf("want hand sizes and numbers of queues")
	}
	table, err := advice.NewCollisions(ctx, decks, elephants, 0, func(done, total int) { progress(float64(done) / float64(total)) })
	if err != nil {
		return nil, err
	}
	return printed(report.CollisionDocument(table))
}

// SchemaOf is the answer of the call "schema".
type SchemaOf struct {
	Schema json.RawMessage `json:"schema"` // of scenario files, for an editor
}

func schema(context.Context, *struct{}, Progress) (*SchemaOf, error) {
	return &SchemaOf{json.RawMessage(scenario.Schema)}, nil
}
