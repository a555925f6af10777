package alerts

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/prometheus/prometheus/model/histogram"
)

// database has the series of a run in memory, and those that rules record. It implements storage.Queryable.
type database struct {
	byName map[string][]*series
	byKey  map[uint64][]*series // by the hash of the labels
}

// series is a series with its samples in the order of time.
type series struct {
	labels labels.Labels
	atMs   []int64
	values []float64
}

func newDatabase() *database {
	return &database{byName: map[string][]*series{}, byKey: map[uint64][]*series{}}
}

// add adds a sample, which is not older than those of its series before. One at the same time is replaced.
func (d *database) add(of labels.Labels, atMs int64, value float64) {
	s := d.series(of)
	if n := len(s.atMs); n > 0 && s.atMs[n-1] == atMs {
		s.values[n-1] = value
		return
	}
	s.atMs, s.values = append(s.atMs, atMs), append(s.values, value)
}

// series returns the series with these labels. The first time, it is an empty one.
func (d *database) series(of labels.Labels) *series {
	key := of.Hash()
	for _, s := range d.byKey[key] {
		if labels.Equal(s.labels, of) {
			return s
		}
	}
	s := &series{labels: of}
	d.byKey[key] = append(d.byKey[key], s)
	name := of.Get(model.MetricNameLabel)
	d.byName[name] = append(d.byName[name], s)
	return s
}

// Querier implements storage.Queryable.
func (d *database) Querier(fromMs, toMs int64) (storage.Querier, error) {
	return &querier{d, fromMs, toMs}, nil
}

// querier finds series with samples between two times. It implements storage.Querier.
type querier struct {
	*database
	fromMs, toMs int64
}

// Select implements storage.Querier. The series are always sorted by their labels.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	names := slices.Sorted(maps.Keys(q.byName))
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			names = []string{m.Value}
		}
	}
	for _, name := range names {
		for _, s := range q.byName[name] {
			if !matches(s.labels, matchers) {
				continue
			}
			from, _ := slices.BinarySearch(s.atMs, q.fromMs)
			to, there := slices.BinarySearch(s.atMs, q.toMs)
			if there {
				to++
			}
			if part := (samples{s.atMs[from:to], s.values[from:to]}); len(part.atMs) > 0 {
				found = append(found, &storage.SeriesEntry{Lset: s.labels, SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator {
					return storage.NewListSeriesIterator(part)
				}})
			}
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return cmp.Compare(labels.Compare(a.Labels(), b.Labels()), 0) })
	return &seriesSet{found, -1}
}

func matches(of labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(of.Get(m.Name)) {
			return false
		}
	}
	return true
}

// LabelValues implements storage.Querier. Expressions do not ask for it.
func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier. Expressions do not ask for it.
func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (*querier) Close() error { return nil }

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.all) }
func (s *seriesSet) At() storage.Series              { return s.all[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// samples implements storage.Samples.
type samples struct {
	atMs   []int64
	values []float64
}

func (s samples) Len() int                { return len(s.atMs) }
func (s samples) Get(i int) chunks.Sample { return sample{s.atMs[i], s.values[i]} }

// sample implements chunks.Sample.
type sample struct {
	atMs  int64
	value float64
}

func (s sample) T() int64                    { return s.atMs }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
