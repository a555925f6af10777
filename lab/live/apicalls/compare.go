package apicalls

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is a call, or calls that were sent together, that were answered differently.
type Difference struct {
	Calls     []Call
	Live      []Answer
	Simulated []Answer
	Fields    []string // which ones differ
}

// String returns the difference on some lines.
func (d *Difference) String() string {
	var b strings.Builder
	for i := range d.Calls {
		fmt.Fprintf(&b, "call %s\n", d.Calls[i].String())
		fmt.Fprintf(&b, "  live       %s\n  simulated  %s\n", &d.Live[i], &d.Simulated[i])
		if d.Live[i].Message != "" {
			fmt.Fprintf(&b, "             %s\n", d.Live[i].Message)
		}
	}
	fmt.Fprintf(&b, "  differs in %s\n", strings.Join(d.Fields, ", "))
	return b.String()
}

// String returns the call on one line.
func (c *Call) String() string {
	text := fmt.Sprintf("%d %s %s", c.ID, c.Verb, c.Path)
	if c.Query != "" {
		text += "?" + c.Query
	}
	for _, part := range []struct{ name, value string }{
		{"name", c.Name}, {"patchType", c.PatchType}, {"fieldManager", c.FieldManager},
		{"bodyResourceVersion", c.BodyResourceVersion}, {"bodyUID", c.BodyUID},
	} {
		if part.value != "" && !(part.name == "name" && c.Verb != "create") {
			text += fmt.Sprintf(" %s=%s", part.name, part.value)
		}
	}
	if len(c.Fields) > 0 {
		text += fmt.Sprintf(" fields=%v", c.Fields) // in the order of the names
	}
	if c.Finalizers != nil {
		text += fmt.Sprintf(" finalizers=%v", c.Finalizers)
	}
	if c.DryRun {
		text += " dryRun"
	}
	if p := c.Preconditions; p != nil {
		text += fmt.Sprintf(" preconditions=%+v", *p)
	}
	return text
}

// Compare compares the answers to the same calls, both with relative versions. It returns the differences and the
// number of calls that were compared, which are those that no exclusion leaves out.
func Compare(calls []Call, live, simulated []Answer) (differences []Difference, compared int, err error) {
	if len(live) != len(calls) || len(simulated) != len(calls) {
		return nil, 0, fmt.Errorf("%d calls have %d live answers and %d simulated ones", len(calls), len(live), len(simulated))
	}
	at := 0
	for _, group := range Groups(calls) {
		n := len(group)
		d := Difference{Calls: group, Live: live[at : at+n], Simulated: simulated[at : at+n]}
		at += n
		for i := range group {
			if d.Live[i].ID != group[i].ID || d.Simulated[i].ID != group[i].ID {
				return nil, 0, fmt.Errorf("call %d has the answers to %d and %d", group[i].ID, d.Live[i].ID, d.Simulated[i].ID)
			}
		}
		if n == 1 {
			if excluded(&group[0], &d.Live[0]) != "" {
				continue
			}
			d.Fields = differ(&group[0], &d.Live[0], &d.Simulated[0])
		} else {
			d.Fields = differTogether(d.Live, d.Simulated)
		}
		compared += n
		if len(d.Fields) > 0 {
			differences = append(differences, d)
		}
	}
	return differences, compared, nil
}

// differ returns the names of the fields in which two answers differ.
func differ(c *Call, live, simulated *Answer) []string {
	var fields []string
	check := func(name string, equal bool) {
		if !equal {
			fields = append(fields, name)
		}
	}
	check("status", live.Status == simulated.Status)
	check("statusReason", live.StatusReason == simulated.StatusReason)
	check("resourceVersion", same(live.ResourceVersion, simulated.ResourceVersion))
	check("items", same(live.Items, simulated.Items))
	check("continue", (live.Continue == "") == (simulated.Continue == ""))
	check("retryAfterSeconds", live.RetryAfterSeconds == simulated.RetryAfterSeconds)
	check("wrote", live.Wrote == simulated.Wrote)
	if len(simulated.Revisions) > 0 { // a request log does not have them
		check("revisions", slices.Equal(live.Revisions, simulated.Revisions))
	}
	if simulated.UID != "" { // a request log need not have it
		check("uid", live.UID == simulated.UID)
	}
	if simulated.Events != nil {
		check("events", slices.Equal(live.Events, simulated.Events))
	}
	return slices.DeleteFunc(fields, func(name string) bool { return excludedField(c, live, name) != "" })
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// differTogether compares the answers to calls that were sent together, as sets: nobody knows which one was
// executed first, and the number of writes is known of all of them together.
func differTogether(live, simulated []Answer) []string {
	var fields []string
	check := func(name string, value func(*Answer) string) {
		if !slices.Equal(sorted(live, value), sorted(simulated, value)) {
			fields = append(fields, name)
		}
	}
	check("status", func(a *Answer) string { return fmt.Sprint(a.Status) })
	check("statusReason", func(a *Answer) string { return a.StatusReason })
	check("resourceVersion", func(a *Answer) string {
		if a.ResourceVersion == nil {
			return ""
		}
		return fmt.Sprint(*a.ResourceVersion)
	})
	if wrote(live) != wrote(simulated) {
		fields = append(fields, "wrote")
	}
	return fields
}

// wrote returns the number of revisions that calls have made; of a request log, that of the calls that have made some.
func wrote(answers []Answer) int {
	revisions, calls := 0, 0
	for i := range answers {
		revisions += len(answers[i].Revisions)
		if answers[i].Wrote {
			calls++
		}
	}
	if revisions > 0 {
		return revisions
	}
	return calls
}

func sorted(answers []Answer, value func(*Answer) string) []string {
	var values []string
	for i := range answers {
		values = append(values, value(&answers[i]))
	}
	slices.Sort(values)
	return values
}
