package upgrade

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/experiment/tune"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

// Document returns the answer in words: the verdict, the rollout and its settings, and what the upgrade changes.
func (a *Answer) Document() *report.Document {
	answer := report.AnswerOf(a.Verdict)
	answer.Why = slices.Concat(a.settingsSentences(), a.why)
	d := &report.Document{Title: "Upgrade", Data: a, Answer: answer, Ran: a.ran(), Sources: "All numbers are in " + AnswerFile + "."}
	add := func(name, title string, only report.Form, parts ...report.Part) {
		parts = slices.DeleteFunc(parts, func(p report.Part) bool { return p.Table != nil && len(p.Table.Rows) == 0 })
		if len(parts) > 0 {
			d.Sections = append(d.Sections, report.Section{Name: name, Title: title, Parts: parts, Only: only, Screen: name == "screen"})
		}
	}
	trust := report.Part{Note: "Trust: " + strings.Join(a.trust(), " "), Only: report.HTML | report.Markdown}
	if a.search != nil {
		add("screen", "Rollout", 0, report.Part{Plot: a.plot(), Only: report.HTML}, report.Part{Table: a.rolloutTable()}, report.Part{Table: a.settingsTable()}, report.Part{Table: a.changeCounts(), Only: report.HTML}, trust)
	} else {
		add("screen", "Changes", report.HTML|report.Markdown, report.Part{Table: a.changeCounts()}, trust)
	}
	const long = report.HTML | report.Markdown
	a.addChanges(add, long)
	levels := report.UpgradeLevels(a.changes)
	levels.Name, levels.Caption = "levels", levels.Title
	add("levels", levels.Title, long, report.Part{Table: levels})
	d.Sections = append(d.Sections, report.Section{Name: "what-changes", Parts: a.changeItems(), Only: report.Terminal})
	if a.search != nil {
		add("workloads", "Workloads", long, report.Part{Table: a.workloadTable()})
		add("tried", "Settings that were tried", long, report.Part{Table: a.triedTable()})
	}
	if len(a.Verdict.Causes) > 0 {
		d.Sections = append(d.Sections, report.VerdictSection(a.Verdict))
	}
	const title = "How far to trust it" // the others have it in the first section
	add("trust", title, report.Terminal, report.Part{Heading: title, List: a.trust()})
	return d
}

// addChanges adds the tables of what changes, which are too wide for a terminal.
func (a *Answer) addChanges(add func(name, title string, only report.Form, parts ...report.Part), only report.Form) {
	add("objects", "Objects that change", only, report.Part{Table: a.objectTable()}, report.Part{Heading: "In turns, while old and new servers run", Table: a.contestTable()})
	add("undone", "Objects that each server of "+a.From+" changes every minute", only, report.Part{Table: a.undoneTable()})
	add("versions", "API versions that are no longer served", only, report.Part{Table: a.versionTable()})
	add("seats", "Rules of the seats of a request", only, report.Part{Table: a.ruleTable("seats", "What a request takes", true)})
	add("rules", "Other rules", only, report.Part{Table: a.ruleTable("rules", "Other rules that change", false)})
}

// changeItems are the same on a terminal, as lines with details. Rules that do not decide about seats are only counted.
func (a *Answer) changeItems() (parts []report.Part) {
	add := func(heading string, items []report.Item) {
		if len(items) == 0 {
			items = []report.Item{{Text: "none"}}
		}
		parts = append(parts, report.Part{Heading: heading, Items: items})
	}
	add("Objects that the new servers change", a.objectItems())
	if len(a.Undone) > 0 {
		var items []report.Item
		for i := range a.Undone {
			w := &a.Undone[i]
			items = append(items, report.Item{Text: fmt.Sprintf("%s %s %s: %s", verbs[w.Action], w.Kind, w.Name, w.Reason), Details: details(w.Differences, w.Keep)})
		}
		add("What each server of "+a.From+" changes every minute, before the upgrade", items)
	}
	var versions, seats, work []report.Item
	for i := range a.Versions {
		v := &a.Versions[i]
		versions = append(versions, report.Item{Text: fmt.Sprintf("%s from %s on (%s); use %s", v.Name, v.RemovedIn, format.Counted(v.Objects, "object"), v.Use)})
	}
	for i := range a.Rules {
		if r := &a.Rules[i]; r.Seats {
			seats = append(seats, report.Item{Text: r.Release + " " + r.Rule, Details: []string{"before: " + r.Before, "after:  " + r.After}})
		} else if r.Work {
			work = append(work, report.Item{Text: r.Release + ": " + r.After})
		}
	}
	add("API versions in the files that are no longer served", versions)
	add("Rules that change what a request takes", seats)
	if len(work) > 0 {
		add("Rules that change the work of the servers", work)
	}
	if n := len(a.Rules) - len(seats) - len(work); n > 0 {
		parts = append(parts, report.Part{Note: fmt.Sprintf("Not shown: %s; see upgrade.html (-o DIR), or 'apfsim config diff'.", format.Counted(n, "other rule"))})
	}
	levels := report.UpgradeLevels(a.changes)
	rows := 0
	for i := range a.Levels {
		if l := &a.Levels[i]; !reflect.DeepEqual(l.Before, l.After) {
			levels.Rows[rows] = levels.Rows[i]
			rows++
		}
	}
	if levels.Rows, levels.Title = levels.Rows[:rows], "Limits that change, in seats"; rows > 0 {
		return append(parts, report.Part{Table: levels})
	}
	add(levels.Title, nil)
	return parts
}

// objectItems are the objects that the new servers change, and those that change in turns.
func (a *Answer) objectItems() (items []report.Item) {
	for i := range a.Objects {
		o := &a.Objects[i]
		item := report.Item{Text: fmt.Sprintf("%s %s %s %s", o.Release, verbs[o.Change], o.Kind, o.Name), Details: details(o.Differences, o.Keep)}
		if o.Used > 0 {
			item.Text += fmt.Sprintf(", to which %s of the workload belong", format.Quantity(o.Used)+" requests")
		}
		items = append(items, item)
	}
	for i := range a.Contests {
		c := &a.Contests[i]
		at := slices.IndexFunc(a.Objects, func(o Object) bool { return o.Kind == c.Kind && o.Name == c.Name })
		const turns = "in turns while servers of %s and %s run: each undoes the other's write within a minute"
		if at < 0 {
			items = append(items, report.Item{Text: fmt.Sprintf("%s %s changes "+turns, c.Kind, c.Name, c.Before, c.After), Details: details(c.Differences, c.Keep)})
			continue
		}
		items[at].Details = append([]string{fmt.Sprintf(turns, c.Before, c.After)}, items[at].Details...)
	}
	return items
}

// details are the fields in which two specs differ, and the command that keeps an object.
func details(all []config.Difference, keep string) (texts []string) {
	if len(all) > 0 {
		texts = append(texts, fields(all))
	}
	if keep != "" {
		texts = append(texts, "to keep it: "+keep)
	}
	return texts
}

// trust says in sentences what was simulated, and how far to trust it.
func (a *Answer) trust() (all []string) {
	notes := a.Verdict.Notes()
	if a.Workload != nil {
		notes = append([]string{"simulated: " + strings.TrimSuffix(a.Workload.Timeline, ".")}, notes...)
	}
	for _, n := range notes {
		all = append(all, strings.ToUpper(n[:1])+n[1:]+".")
	}
	return all
}

// ran says what was compared and simulated.
func (a *Answer) ran() string {
	text := fmt.Sprintf("Kubernetes %s to %s, %s", rules.Label(a.From), rules.Label(a.To), format.Counted(a.Servers, "server"))
	if w := a.Workload; w != nil {
		text += fmt.Sprintf(", workload %s, %s", w.Name, format.Counted(a.Runs, "run"))
	}
	return text
}

// settingsSentences say which settings suffice, and how that is known.
func (a *Answer) settingsSentences() (all []string) {
	if a.search == nil {
		return nil
	}
	p := a.Present
	now := fmt.Sprintf("With the present settings (%s), %s in %d of %d runs.", flags(p.Settings), a.failedText(), p.Runs-p.Passes, p.Runs)
	if p.Passes == p.Runs {
		now = fmt.Sprintf("With the present settings (%s), %s in %d runs.", flags(p.Settings), a.goalText(), p.Runs)
	}
	f := a.Settings
	switch {
	case a.OutOfTime:
		return []string{now, a.bestText()}
	case f == nil:
		return []string{now, a.noSettings()}
	}
	text := fmt.Sprintf("The smallest settings with which %s are %s: ", a.goalText(), flags(f.Settings))
	if f.Probability == nil {
		text += fmt.Sprintf("they suffice in all %d runs of this log, and a cluster needs at least these. A log does not say which requests share a connection, so that servers stop sooner in its replay; the scenario that 'apfsim import --fit' makes of the log has connections.", f.Confirmed.Runs)
	} else {
		text += fmt.Sprintf("they suffice in %d of %d fresh runs, so that a rollout does with a probability of at least %v, at %s confidence.",
			f.Confirmed.Passes, f.Confirmed.Runs, *f.Probability, format.Percent(*f.Confidence))
	}
	if t := a.nextDelay(); t != nil {
		text += fmt.Sprintf(" With a delay of %s, requests are refused in %d of %d runs.", format.Duration(float64(t.DelayNs)), t.Refused, t.Runs)
	}
	all = []string{now, text}
	if slower := f.Rollout.During.Seconds - a.Rollout.During.Seconds; f.GraceNs == 0 && p.GraceNs > 0 && slower > 1 {
		all = append(all, fmt.Sprintf("A grace of 0s refuses nothing, but open watches hold a server that stops for up to 60 s: the rollout takes %s, and %s now.",
			format.Duration(f.Rollout.During.Seconds*1e9), format.Duration(a.Rollout.During.Seconds*1e9)))
	}
	return append(all, fmt.Sprintf("The pod needs terminationGracePeriodSeconds: %d with these settings, or a server can be killed before it has stopped.", f.StopSeconds))
}

// bestText says what the best settings of a search that was ended are worth.
func (a *Answer) bestText() string {
	text := fmt.Sprintf("The time of %s ended the search before settings were confirmed.", a.options.Time)
	b := a.Best
	switch {
	case b == nil:
		return text + " No others were run."
	case b.Passes == 0:
		return text + fmt.Sprintf(" Until then, none of %s sufficed.", format.Counted(len(a.Tried), "setting"))
	}
	what := a.goalText()
	if b.only {
		what = "no request was refused (whether any is lost was not asked yet)"
	}
	text += fmt.Sprintf(" Best so far: %s, with which %s in %d of %s", flags(b.Settings), what, b.Passes, format.Counted(b.Runs, "run"))
	if b.Fresh != nil {
		text += fmt.Sprintf(", and in %d of %s that should confirm them", b.Fresh.Passes, format.Counted(b.Fresh.Runs, "fresh run"))
	}
	if b.AtLeast != nil {
		text += fmt.Sprintf(": by these, a rollout does with a probability of at least %s, at %s confidence", format.Number(*b.AtLeast), format.Percent(1-a.search.alpha))
	}
	return text + "."
}

// failedText says what is wrong with a rollout in which goals do not hold.
func (a *Answer) failedText() string {
	if len(a.search.goals) > rejectedGoal {
		return "requests are refused, lost or rejected"
	}
	return "requests are refused or lost"
}

// goalText says what is wanted of a rollout.
func (a *Answer) goalText() string {
	if len(a.search.goals) > rejectedGoal {
		return "no request is refused, lost or rejected"
	}
	return "no request is refused or lost"
}

// flags writes settings as flags of kube-apiserver.
func flags(s Settings) string {
	return fmt.Sprintf("--shutdown-delay-duration=%s, --shutdown-watch-termination-grace-period=%s, --goaway-chance=%v", seconds(s.DelayNs), seconds(s.GraceNs), s.GoawayChance)
}

// seconds writes a duration as a flag of kube-apiserver.
func seconds(ns int64) string { return time.Duration(ns).String() }

// nextDelay returns the longest delay that was tried and refused requests, nil if there is none below the one that was found.
func (a *Answer) nextDelay() (longest *Tried) {
	for _, t := range a.Tried {
		if t.DelayNs < a.Settings.DelayNs && t.Refused > 0 && (longest == nil || t.DelayNs > longest.DelayNs) {
			longest = t
		}
	}
	return longest
}

// longestDelay returns the longest delay that was tried.
func (a *Answer) longestDelay() (ns int64) {
	for _, t := range a.Tried {
		ns = max(ns, t.DelayNs)
	}
	return ns
}

// noSettings says why no settings suffice.
func (a *Answer) noSettings() string {
	var refused, lost, rejected bool
	last := int64(-1)
	for _, t := range a.Tried {
		if t.DelayNs < last {
			continue
		}
		if t.DelayNs > last {
			refused, lost, rejected = false, false, false
		}
		last = t.DelayNs
		refused, lost, rejected = refused || t.Refused > 0, lost || t.Lost > 0, rejected || t.Rejected > 0
	}
	why := ""
	servers := &a.search.w.Scenario.Spec.Servers
	switch {
	case refused && servers.Replicas == 1:
		why = ", because there is no other server while the only one restarts"
	case refused && servers.LoadBalancer != nil && servers.LoadBalancer.Probe == nil:
		why = ", because the load balancer does not probe the servers"
	case refused && servers.LoadBalancer != nil && servers.LoadBalancer.Probe.Path != "/readyz":
		why = fmt.Sprintf(", because the load balancer probes %s, which succeeds until the server no longer listens; let it probe /readyz", servers.LoadBalancer.Probe.Path)
	case refused && servers.Shutdown.SendRetryAfter:
		why = ", because a server with --shutdown-send-retry-after answers 429 on the connections that it has, until it has ended"
	case refused:
		why = ", because requests are refused even so"
	case lost:
		why = ", because requests are lost when servers are killed; raise terminationGracePeriodSeconds"
	case rejected:
		why = ", because priority levels are full while a server is away; 'apfsim tune' finds a change of the configuration"
	}
	return fmt.Sprintf("None of the settings that were tried suffices, up to a delay of %s%s.", seconds(a.longestDelay()), why)
}

// table returns a table whose columns behind the first have numbers.
func table(name, title string, heads ...string) *report.Table {
	t := words(name, title, heads...)
	for i := range t.Columns[1:] {
		t.Columns[1+i].Left = false
	}
	return t
}

// words returns a table of texts.
func words(name, title string, heads ...string) *report.Table {
	t := report.TextTable(title, heads...)
	t.Name, t.Caption = name, title
	return t
}

// plot is the picture of one run with the present settings.
func (a *Answer) plot() *report.Plot {
	first := a.Rollout.first
	var lines []report.Counts
	for i, w := range a.Rollout.During.Workloads {
		lines = append(lines, report.Counts{Client: w.Name, Counts: first.NotServed[i]})
	}
	scenario := a.search.w.scenarioOf(a.search.w.present, nil, a.search.w.Scenario.Spec.Seed, 0)
	return report.RatePlot("not-served", "Not served per second in the first run with the present settings, by workload", 0, int64(scenario.Spec.Duration), int64(time.Second), lines)
}

// rolloutTable compares the phases, with the present settings and with those that were found.
func (a *Answer) rolloutTable() *report.Table {
	t := table("rollout", "Requests before, during and after the rollout", "phase", "length", "requests", "not served", "wait p99")
	row := func(name string, p *Phase) {
		not := report.Word(format.Whole(p.NotServed.Total()))
		if n := p.NotServed.Total(); n > 0 {
			not = report.Word(fmt.Sprintf("%s (%s)", format.Percent(p.share()), notServedText(&p.NotServed)))
			not.Judgement = judge.Bad
		}
		t.Rows = append(t.Rows, []report.Cell{report.Word(name), report.Word(format.Duration(p.Seconds * 1e9)), report.Word(format.Quantity(p.Sent)), not, report.Word(waitText(p.WaitP99Ns))})
	}
	rows := func(r *Rollout, settings string) {
		row("before, "+settings, &r.Before)
		row("during, "+settings, &r.During)
		row("after, "+settings, &r.After)
	}
	rows(a.Rollout, "now")
	if f := a.Settings; f != nil && f.Settings != a.Present.Settings {
		rows(&f.Rollout, "smallest")
	}
	return t
}

// waitText writes a percentile, or that there is none.
func waitText(ns *int64) string {
	if ns == nil {
		return "–"
	}
	return format.Duration(float64(*ns))
}

// settingsTable has the flags now and at their smallest.
func (a *Answer) settingsTable() *report.Table {
	t := table("settings", "Settings of kube-apiserver", "flag", "now", "smallest")
	found := func(value func(Settings) string) string {
		switch {
		case a.Settings != nil:
			return value(a.Settings.Settings)
		case a.OutOfTime && len(a.Tried) == 0:
			return "not searched: the time was over"
		case a.OutOfTime:
			return "not found: the time was over"
		}
		return "none suffices"
	}
	for _, f := range []struct {
		name  string
		value func(Settings) string
	}{
		{"--shutdown-delay-duration", func(s Settings) string { return seconds(s.DelayNs) }},
		{"--shutdown-watch-termination-grace-period", func(s Settings) string { return seconds(s.GraceNs) }},
		{"--goaway-chance", func(s Settings) string { return fmt.Sprint(s.GoawayChance) }},
	} {
		t.AddTexts(f.name, f.value(a.Present.Settings), found(f.value))
	}
	t.AddTexts("refuses nothing in", holdsText(a.Present.Holds), found(func(Settings) string { return holdsText(a.Settings.Confirmed) }))
	return t
}

func holdsText(h tune.Holds) string { return fmt.Sprintf("%d of %d runs", h.Passes, h.Runs) }

// changeCounts is the table of how much changes, for the first screen.
func (a *Answer) changeCounts() *report.Table {
	t := table("changes", "What the upgrade changes", "what", "number")
	seats := 0
	for _, r := range a.Rules {
		if r.Seats {
			seats++
		}
	}
	for _, row := range []struct {
		what string
		n    int
	}{
		{"Objects that change", len(a.Objects)}, {"Objects that are undone each minute", len(a.Undone)}, {"API versions no longer served", len(a.Versions)},
		{"Rules of seats", seats}, {"Other rules", len(a.Rules) - seats}, {"Levels with lower limits", len(a.fewerSeats())},
	} {
		t.AddTexts(row.what, fmt.Sprint(row.n))
	}
	return t
}

// verbs say what servers do to objects.
var verbs = map[string]string{advice.Created: "creates", advice.Deleted: "deletes", advice.PutRight: "puts right",
	"create": "creates", "restore": "puts right", "annotate": "annotates", "delete": "deletes"}

// kinds are the kinds of objects in tables.
var kinds = map[string]string{"FlowSchema": "FlowSchema", "PriorityLevelConfiguration": "level"}

// objectTable has the objects that the new servers change.
func (a *Answer) objectTable() *report.Table {
	t := words("objects", "Objects that the new servers change", "release", "object", "fields", "to keep it")
	if a.Rollout != nil {
		t = words("objects", "Objects that the new servers change", "release", "object", "fields", "requests", "to keep it")
	}
	for i := range a.Objects {
		o := &a.Objects[i]
		row := []string{fmt.Sprintf("%s %s", o.Release, verbs[o.Change]), kinds[o.Kind] + " " + o.Name, fields(o.Differences)}
		if a.Rollout != nil {
			row = append(row, format.Quantity(o.Used))
		}
		t.AddTexts(append(row, cmp.Or(o.Keep, "–"))...)
	}
	wide(t, len(t.Columns)-1)
	return t
}

// wide leaves a column to pages and wide terminals.
func wide(t *report.Table, column int) { t.Columns[column].Wide = true }

// contestTable has the objects that servers of two releases change in turns.
func (a *Answer) contestTable() *report.Table {
	t := words("contests", "Objects that old and new servers change in turns while both run", "releases", "object", "difference", "to keep it")
	for i := range a.Contests {
		c := &a.Contests[i]
		how := fields(c.Differences)
		switch {
		case !c.ExistsNew:
			how = "only servers of " + c.Before + " have it"
		case !c.ExistsOld:
			how = "only servers of " + c.After + " have it"
		}
		t.AddTexts(c.Before+" and "+c.After, kinds[c.Kind]+" "+c.Name, how, cmp.Or(c.Keep, "–"))
	}
	wide(t, 3)
	return t
}

// undoneTable has what the present servers change each minute.
func (a *Answer) undoneTable() *report.Table {
	t := words("undone", "What each server of "+a.From+" changes every minute, before the upgrade", "object", "what", "fields", "to keep it")
	for i := range a.Undone {
		w := &a.Undone[i]
		t.AddTexts(kinds[w.Kind]+" "+w.Name, verbs[w.Action]+": "+w.Reason, fields(w.Differences), cmp.Or(w.Keep, "–"))
	}
	wide(t, 3)
	return t
}

// versionTable has the API versions that are no longer served.
func (a *Answer) versionTable() *report.Table {
	t := words("versions", "API versions in the files that "+a.To+" does not serve", "version", "objects", "not served from", "use")
	for i := range a.Versions {
		v := &a.Versions[i]
		t.AddTexts(v.Name, fmt.Sprint(v.Objects), v.RemovedIn, v.Use)
	}
	return t
}

// ruleTable has the rules that change, of seats or the others.
func (a *Answer) ruleTable(name, title string, seats bool) *report.Table {
	t := words(name, title, "rule", "before", "after", "release")
	for i := range a.Rules {
		if r := &a.Rules[i]; r.Seats == seats {
			t.AddTexts(r.Rule, r.Before, r.After, r.Release)
		}
	}
	return t
}

// workloadTable has the phases of each workload.
func (a *Answer) workloadTable() *report.Table {
	t := table("workloads", "Workloads before, during and after the rollout, with the present settings", "workload", "phase", "requests", "not served", "wait p99")
	t.Columns[1].Left = true
	for i := range a.Rollout.During.Workloads {
		for _, p := range []struct {
			name string
			*Phase
		}{{"before", &a.Rollout.Before}, {"during", &a.Rollout.During}, {"after", &a.Rollout.After}} {
			w := &p.Workloads[i]
			t.AddTexts(w.Name, p.name, format.Quantity(w.Sent), cmp.Or(notServedText(&w.NotServed), "0"), waitText(w.WaitP99Ns))
		}
	}
	return t
}

// triedTable has the settings that were tried.
func (a *Answer) triedTable() *report.Table {
	t := table("tried", "Settings that were tried, in their order", "delay", "grace", "goaway-chance", "nothing refused", "refused", "lost", "rejected")
	for _, s := range a.Tried {
		t.AddTexts(seconds(s.DelayNs), seconds(s.GraceNs), fmt.Sprint(s.GoawayChance), holdsText(s.Holds), fmt.Sprint(s.Refused), fmt.Sprint(s.Lost), fmt.Sprint(s.Rejected))
	}
	return t
}

// fields writes the fields in which two specs differ.
func fields(all []config.Difference) string {
	var texts []string
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%s %s → %s", strings.TrimPrefix(strings.TrimPrefix(d.Path, "spec."), "limited."), cmp.Or(d.Before, "absent"), cmp.Or(d.After, "absent")))
	}
	return cmp.Or(strings.Join(texts, "; "), "–")
}
