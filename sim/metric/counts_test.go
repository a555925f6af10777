package metric

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"apfsim/core/queueset"
)

// Merging adds every field: groups in which each field has a value of its own have the sums afterwards.
func TestMergeAddsEveryCount(t *testing.T) {
	group := func(factor int64) *Counted {
		c := &Counted{}
		for i, f := range countedFields {
			reflect.ValueOf(c).Elem().FieldByIndex(f.Index).SetInt(factor * int64(i+1))
		}
		return c
	}
	sum := group(1)
	sum.Merge(group(1000))
	if want := group(1001); *sum != *want {
		t.Errorf("the sum is %+v, want %+v", *sum, *want)
	}
	if size := int(reflect.TypeFor[Counted]().Size()); size != 8*len(countedFields) {
		t.Errorf("the struct has %d bytes, and %d numbers are merged", size, len(countedFields))
	}
}

// Every number that summaries have is read by a statistic of the registry.
func TestEveryCountIsInTheRegistry(t *testing.T) {
	var read []string
	for _, m := range All() {
		for _, s := range m.Statistics {
			read = append(read, strings.Fields(s.Field)...)
		}
		for _, r := range m.Reasons {
			read = append(read, ReasonField(r.Name))
		}
	}
	for _, f := range numbersOf(reflect.TypeFor[Counts]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(read, name) {
			t.Errorf("no statistic of the registry reads %q", name)
		}
	}
}

// A request that is rejected or refused for a reason counts in the field that the reason names, and in the total.
func TestReasonsCountInTheirFields(t *testing.T) {
	check := func(reason string, c *Counted, total func(*Counts) int64) {
		field := ReasonField(reason)
		if reason == TimedOutReason {
			field = Named("timedOut").Statistics[0].Field // it has a metric of its own
		}
		for _, f := range numbersOf(reflect.TypeFor[Counts]()) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			want := int64(0)
			if name == field {
				want = 1
			}
			if got := reflect.ValueOf(c.Counts).FieldByIndex(f.Index).Int(); got != want {
				t.Errorf("%s: %s is %d, want %d", reason, name, got, want)
			}
		}
		if final := c.Final(); total(&final) != 1 {
			t.Errorf("%s does not count in the total", reason)
		}
	}
	for why := queueset.Rejection(1); why < queueset.Rejections; why++ {
		if slices.ContainsFunc(Named("rejected").Reasons, func(r Reason) bool { return r.Name == why.String() }) {
			c := &Counted{}
			*c.RejectedFor(why)++
			check(why.String(), c, func(f *Counts) int64 { return f.Rejected })
		}
	}
	for why := Refusal(1); why < Refusals; why++ {
		c := &Counted{}
		*c.RefusedFor(why)++
		check(why.String(), c, func(f *Counts) int64 { return f.Refused })
	}
}

// Every failure counts in the total.
func TestEveryFailureIsInTheTotal(t *testing.T) {
	for _, f := range numbersOf(reflect.TypeFor[Failures]()) {
		failed := &Failures{}
		reflect.ValueOf(failed).Elem().FieldByIndex(f.Index).SetInt(1)
		if failed.Total() != 1 {
			t.Errorf("%s is not in the total", f.Name)
		}
	}
}
