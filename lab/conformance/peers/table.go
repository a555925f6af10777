package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// peerResult holds the measurements of a peer in a regime, one for each round.
type peerResult struct {
	peer    *peer
	setUpNs int64
	rounds  []measurement
}

// median returns the median of a value over the rounds. For an even number of rounds it is the
// mean of the two values in the middle.
func (s *peerResult) median(value func(*measurement) float64) float64 {
	var values []float64
	for i := range s.rounds {
		values = append(values, value(&s.rounds[i]))
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// nsPerRequest returns the median time for a request.
func (s *peerResult) nsPerRequest() float64 {
	return s.median(func(m *measurement) float64 { return float64(m.ElapsedNs) / float64(m.Arrived) })
}

// spread returns the difference between the slowest and the fastest round, divided by the median.
func (s *peerResult) spread() float64 {
	least, most := s.rounds[0].ElapsedNs, s.rounds[0].ElapsedNs
	for _, m := range s.rounds {
		least, most = min(least, m.ElapsedNs), max(most, m.ElapsedNs)
	}
	return float64(most-least) / s.median(func(m *measurement) float64 { return float64(m.ElapsedNs) })
}

// named returns the result of a peer, or nil if the peer was not measured.
func named(results []*peerResult, name string) *peerResult {
	for _, s := range results {
		if s.peer.name == name {
			return s
		}
	}
	return nil
}

// write prints a table with the results in a regime.
func write(w io.Writer, r *regime, results []*peerResult, markdown bool) error {
	rows := [][]string{{"", "requests", "requests/s", "ns/request", "spread", "vs upstream", "vs bare", "vs apfsim",
		"set-up", "memory", "rejected", "mean wait"}}
	upstream, bare, apfsim := named(results, peerUpstream), named(results, peerBare), named(results, peerApfsim)
	for _, s := range results {
		ns, m := s.nsPerRequest(), &s.rounds[0]
		var toUpstream, toBare, toApfsim, memory, rejected, wait string
		if upstream != nil {
			toUpstream = fmt.Sprintf("%.2f", upstream.nsPerRequest()/ns)
		}
		if bare != nil {
			toBare = fmt.Sprintf("%.2f", ns/bare.nsPerRequest())
		}
		if apfsim != nil && s.peer.name == peerLogging {
			toApfsim = fmt.Sprintf("%.2f", ns/apfsim.nsPerRequest())
		}
		if bytes := s.median(func(m *measurement) float64 { return float64(m.PeakBytes) }); bytes > 0 {
			memory = fmt.Sprintf("%.0f MB", bytes/1e6)
		}
		if s.peer.queues {
			rejected = fmt.Sprintf("%.2f %%", 100*float64(m.Rejected)/float64(m.Arrived))
		}
		if s.peer.seats {
			wait = fmt.Sprintf("%.3f ms", m.MeanWaitNs/1e6)
		}
		rows = append(rows, []string{s.peer.name, grouped(float64(m.Arrived)), grouped(1e9 / ns), grouped(ns),
			fmt.Sprintf("%.0f %%", 100*s.spread()), toUpstream, toBare, toApfsim,
			fmt.Sprintf("%.2f ms", float64(s.setUpNs)/1e6), memory, rejected, wait})
	}
	var b strings.Builder
	if markdown {
		fmt.Fprintf(&b, "\n### %s: %s\n\n", r.name, r.about)
		for i, row := range rows {
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|---|" + strings.Repeat("---:|", len(row)-1) + "\n")
			}
		}
	} else {
		fmt.Fprintf(&b, "\n%s: %s\n", r.name, r.about)
		writeAligned(&b, rows)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAligned writes rows in columns, aligned to the right except the first.
func writeAligned(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		line := fmt.Sprintf("  %-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[i+1], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// grouped returns a number, rounded to an integer, with a comma between groups of three digits.
func grouped(x float64) string {
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
