package evidence

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Present is what the metrics of a server say of its priority levels at one moment.
type Present struct {
	at       time.Time
	levels   map[string]*presentLevel
	startedS float64 // when the process started, in seconds since 1970
	ranS     float64 // for how long the process had run, by the metrics that weigh by time; 0 before 1.25
}

// presentLevel is a priority level at a moment.
type presentLevel struct {
	limit, seats, queued float64
	rejected             float64            // since the process started
	schemas              map[string]float64 // seats in use
}

// Next asks for the metrics of the server again, and reads them. A nil Present asks for those of any server.
func (p *Present) Next(ask Asker) (*Present, error) {
	startedS := 0.0
	if p != nil {
		startedS = p.startedS
	}
	text, err := ask.metricsOf(startedS)
	if err != nil {
		return nil, err
	}
	return newPresent(text, time.Now())
}

// newPresent reads the metrics that a server has given at a time. The error says what is wrong with them.
func newPresent(text []byte, at time.Time) (*Present, error) {
	samples, err := metrics.Read(bytes.NewReader(text), metrics.FlowControl, metrics.ProcessStart)
	if err == nil {
		err = plausible(samples)
	}
	if err != nil {
		return nil, fmt.Errorf("the metrics of the server: %w", err)
	}
	p := &Present{at: at, levels: map[string]*presentLevel{}}
	each := func(use func(l *presentLevel, s *metrics.Sample), names ...string) {
		for _, name := range names { // the first one that the release has
			list := samples.ByName[name]
			for i := range list {
				level := list[i].Label("priority_level")
				if p.levels[level] == nil {
					p.levels[level] = &presentLevel{schemas: map[string]float64{}}
				}
				use(p.levels[level], &list[i])
			}
			if len(list) > 0 {
				return
			}
		}
	}
	each(func(l *presentLevel, s *metrics.Sample) { l.limit += s.Value }, metrics.CurrentLimit, metrics.NominalLimit, metrics.ConcurrencyLimit)
	each(func(l *presentLevel, s *metrics.Sample) {
		l.seats += s.Value
		l.schemas[s.Label("flow_schema")] += s.Value
	}, metrics.ExecutingSeats, metrics.ConcurrencyInUse)
	each(func(l *presentLevel, s *metrics.Sample) { l.queued += s.Value }, metrics.InQueue)
	each(func(l *presentLevel, s *metrics.Sample) { l.rejected += s.Value }, metrics.RejectedTotal)
	if len(p.levels) == 0 {
		return nil, errors.New("the metrics of the server have no priority levels")
	}
	for _, s := range samples.ByName[metrics.ProcessStart] {
		p.startedS = s.Value
	}
	for _, s := range samples.ByName[metrics.SeatUtilization+"_count"] {
		p.ranS = max(p.ranS, s.Value/1e9)
	}
	return p, nil
}

// since returns how many seconds the server had between two moments. A busy one answers late.
func (p *Present) since(before *Present) float64 {
	if before.ranS > 0 && p.ranS > before.ranS {
		return p.ranS - before.ranS
	}
	return p.at.Sub(before.at).Seconds()
}

// mostShown is how many FlowSchemas of a level are shown.
const mostShown = 3

// Table returns the levels, those with most queued requests first. Rejections are counted since the moment before.
func (p *Present) Table(before *Present) *report.Table {
	title, same := p.at.UTC().Format(time.RFC3339), p.startedS == before.startedS
	if !same {
		title += ": another server answers than before, or it has started again, so that rejections per second are not known"
	}
	t := report.TextTable(title, "priority level", "seats", "of limit", "queued", "rejected/s", "FlowSchemas with most seats")
	for _, name := range slices.SortedFunc(maps.Keys(p.levels), func(a, b string) int {
		x, y := p.levels[a], p.levels[b]
		return cmp.Or(-cmp.Compare(x.queued, y.queued), -cmp.Compare(x.seats, y.seats), cmp.Compare(a, b))
	}) {
		l, limit, rate := p.levels[name], "–", "–" // an exempt level has no limit
		if l.limit > 0 {
			limit = format.Number(l.limit)
		}
		if old := before.levels[name]; old != nil && same {
			rate = format.Number((l.rejected - old.rejected) / p.since(before))
		}
		var most []string
		for _, schema := range slices.SortedFunc(maps.Keys(l.schemas), func(a, b string) int {
			return cmp.Or(-cmp.Compare(l.schemas[a], l.schemas[b]), cmp.Compare(a, b))
		}) {
			if n := l.schemas[schema]; n > 0 && len(most) < mostShown {
				most = append(most, schema+" "+format.Number(n))
			}
		}
		t.AddTexts(name, format.Number(l.seats), limit, format.Number(l.queued), rate, strings.Join(most, ", "))
	}
	return t
}
