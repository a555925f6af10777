package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/core/dealer"
	"apfsim/internal/atomicfile"
	"apfsim/reports/advice"
	"apfsim/reports/charts"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

// collisionFormats are the formats in which a collision table can be printed.
var collisionFormats = render.Names(report.Quoted|report.OneTable, "markdown", "text", "csv")

func newCollisions() *cobra.Command {
	var (
		handSizes, queues []int
		elephants         []int
		as, chart         string
		deals             int
		quiet             bool
	)
	cmd := &cobra.Command{
		Use:   "collisions",
		Short: "Print the shuffle-sharding collision table",
		Long: `Print the probability that all queues in the hand of a mouse (a flow with few requests) are also
in the hand of an elephant (a flow with many requests), for independent and uniformly distributed
hands. The values are computed exactly and rounded once. Without flags, the table is that of the
Kubernetes documentation.`,
		Example: `  apfsim collisions
  apfsim collisions --hand-size 6,8 --queues 128 --elephants 1,2,4,8
  apfsim collisions --hand-size 4 --queues 16 --elephants 1,2 --deals 10000 --format text`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			decks, err := decksOf(handSizes, queues)
			if err != nil {
				return invalid(err)
			}
			if err := checkCollisions(elephants, deals, as); err != nil {
				return invalid(err)
			}
			ending := strings.ToLower(filepath.Ext(chart))
			if cmd.Flags().Changed("chart") && ending != ".svg" && ending != ".png" {
				return invalid(fmt.Errorf("--chart: %q: want a name that ends in .svg or .png", chart))
			}
			var p paths
			p.file("chart", chart)
			if err := p.prepare(cmd, &atomicfile.Set{}); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			steps := newSteps(cmd.ErrOrStderr(), quiet)
			table, err := advice.NewCollisions(ctx, decks, elephants, deals, steps.next(""))
			steps.clear()
			switch {
			case errors.Is(err, context.Canceled):
				return errors.New("interrupted before the table was complete")
			case err != nil:
				return invalid(err)
			}
			d := report.CollisionDocument(table)
			if chart != "" {
				if err := charts.Of(d)[0].WriteFile(chart); err != nil {
					return err
				}
			}
			return render.Write(cmd.OutOrStdout(), d, as, format.TextOptions{})
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&handSizes, "hand-size", nil, "hand sizes `N,...`; with --queues, all combinations")
	f.IntSliceVar(&queues, "queues", nil, "numbers of queues `N,...`")
	f.IntSliceVar(&elephants, "elephants", dealer.PublishedElephants(), "numbers of elephants `N,...`, one column for each")
	addFormat(cmd, &as, "markdown", "table", collisionFormats)
	f.IntVar(&deals, "deals", 0, "also print the result of `N` random trials with the real flow hash and dealer")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not show progress")
	f.StringVar(&chart, "chart", "", "also draw the table to `FILE`, as SVG or PNG according to its ending")
	return cmd
}

// Limits of the flags. A column with maxElephants takes seconds; the time grows with the square.
const (
	maxElephants = 10_000
	maxDeals     = 100_000_000
)

func checkCollisions(elephants []int, deals int, as string) error {
	for _, n := range elephants {
		if n < 1 || n > maxElephants {
			return fmt.Errorf("--elephants: %d: want from 1 to %d", n, maxElephants)
		}
	}
	if deals < 0 || deals > maxDeals {
		return fmt.Errorf("--deals: %d: want from 0 to %d", deals, maxDeals)
	}
	return oneOf("format", as, collisionFormats)
}

// decksOf returns the decks of the Kubernetes documentation or, if a flag is given, all combinations
// of both flags. If only one is given, the other one has the default value of a priority level.
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
