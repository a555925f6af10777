package main

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/dealer"
	"apfsim/core/document"
	"apfsim/reports"

	"github.com/spf13/cobra"
)

func newCollisions() *cobra.Command {
	var (
		handSizes, queues []int
		elephants         []int
		format, chart     string
		deals             int
	)
	cmd := &cobra.Command{
		Use:   "collisions",
		Short: "Print the shuffle-sharding collision table",
		Long: `Print the probability that every queue that a mouse (a flow of few requests) may use is
also used by an elephant (a flow of many), for hands dealt independently by fair dice. The
values are computed exactly and rounded once. Without flags it is the table of the
Kubernetes documentation.`,
		Example: `  apfsim collisions
  apfsim collisions --hand-size 6,8 --queues 128 --elephants 1,2,4,8
  apfsim collisions --deals 1000000 --format text`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			decks, err := decksOf(handSizes, queues)
			if err != nil {
				return invalid(err)
			}
			if err := checkCollisions(elephants, deals, format); err != nil {
				return invalid(err)
			}
			table, err := reports.NewCollisions(decks, elephants, deals)
			if err != nil {
				return invalid(err)
			}
			if chart != "" {
				if err := table.WriteChart(chart); err != nil {
					return err
				}
			}
			return table.Write(cmd.OutOrStdout(), format)
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&handSizes, "hand-size", nil, "hand sizes; with --queues, every combination")
	f.IntSliceVar(&queues, "queues", nil, "numbers of queues")
	f.IntSliceVar(&elephants, "elephants", dealer.PublishedElephants(), "numbers of elephants, a column each")
	f.StringVar(&format, "format", "markdown", "one of "+strings.Join(reports.CollisionFormats, ", "))
	f.IntVar(&deals, "deals", 0, "beside each value, deal so many games with the real flow hash and dealer")
	f.StringVar(&chart, "chart", "", "also draw the table to `FILE`, by its ending SVG or PNG")
	return cmd
}

const maxDeals = 100_000_000

func checkCollisions(elephants []int, deals int, format string) error {
	for _, n := range elephants {
		if n < 1 || n > 100_000 {
			return fmt.Errorf("--elephants: %d: want from 1 to 100000", n)
		}
	}
	if deals < 0 || deals > maxDeals {
		return fmt.Errorf("--deals: %d: want from 0 to %d", deals, maxDeals)
	}
	if !slices.Contains(reports.CollisionFormats, format) {
		return fmt.Errorf("--format: %q: want one of %s%s", format,
			strings.Join(reports.CollisionFormats, ", "), document.Suggest(format, reports.CollisionFormats))
	}
	return nil
}

// decksOf returns the published decks or, when either flag is given, the combinations of
// both; the other then has the values that a priority level has by default.
func decksOf(handSizes, queues []int) ([]dealer.Deck, error) {
	if handSizes == nil && queues == nil {
		return dealer.PublishedDecks(), nil
	}
	if handSizes == nil {
		handSizes = []int{8}
	}
	if queues == nil {
		queues = []int{64}
	}
	var decks []dealer.Deck
	for _, h := range handSizes {
		for _, q := range queues {
			if _, err := dealer.New(q, h); err != nil {
				return nil, fmt.Errorf("--hand-size %d --queues %d: %w", h, q, err)
			}
			decks = append(decks, dealer.Deck{Queues: q, HandSize: h})
		}
	}
	return decks, nil
}
