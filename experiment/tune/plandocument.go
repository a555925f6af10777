package tune

import (
	"fmt"
	"slices"

	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
)

// Names of the files of a plan. The others are those of an Answer about its change.
const (
	PlanFile     = "plan.json"
	PlanPageFile = "plan.html"
)

// PlanFiles are the names of all of them.
var PlanFiles = []string{PlanFile, PlanPageFile, ChangeFile, DiffFile, UndoFile}

// Write adds the files of a plan to a set, see [Answer.Write].
func (p *Plan) Write(set *atomicfile.Set, dir string) error {
	contents, err := p.Answer.changeFiles()
	if err != nil {
		return err
	}
	return writeFiles(set, dir, p.Document(), PlanFiles, contents)
}

// Document returns the plan in words: what to do, the options with their prices, and what Answer.Document has on the one that
// is selected.
func (p *Plan) Document() *report.Document {
	d := p.Answer.Document()
	d.Data, d.Answer, d.Ran, d.Sources = p, p.answer(), p.ran(), "All numbers are in "+PlanFile+"."
	options := report.Section{Name: "options", Title: "Options", Screen: true, Parts: []report.Part{{Table: p.table()}, {Note: p.source()}}}
	d.Sections = slices.Insert(d.Sections, 0, options)
	return d
}

// ran says what was simulated.
func (p *Plan) ran() string {
	return fmt.Sprintf("%s of %s, %s, %s, seeds from %d", format.Counted(len(p.Catalogue.Sizes), "size"), p.Catalogue.Name,
		format.Counted(p.Candidates, "other candidate"), format.Counted(p.Runs, "run"), p.main.present.Spec.Seed)
}

// source says where the sizes are from.
func (p *Plan) source() string {
	c := p.Catalogue
	text := fmt.Sprintf("Sizes and prices: %s, read %s from: %s.", c.Name, c.Date, c.Source)
	if c.Note != "" {
		text += " " + c.Note
	}
	return text
}

// seatsCost is what an answer about sizes depends on.
const seatsCost = "The scenario has no capacity, so that more seats cost nothing in it. On a server they may: give it servers.capacity before you buy seats."

// answer is what stands first.
func (p *Plan) answer() *report.Answer {
	base := p.Answer.answer()
	if p.Selected == nil {
		base.Sentence = fmt.Sprintf("Neither a size of %s nor a change of flow control suffices.", p.Catalogue.Name)
		if p.OutOfBudget {
			base.Status = "NOT FINISHED"
			what := "budget of " + format.Counted(p.main.Budget, "run")
			if p.main.late {
				what = "time of " + p.main.Time.String()
			}
			base.Sentence = fmt.Sprintf("The %s ended the search before an option was confirmed.", what)
			for _, o := range p.Options {
				if o.Outcome == OptionOpen && o.Runs > 0 && o.Passes == o.Runs && !p.main.replayed {
					base.Why = slices.Insert(base.Why, 0, fmt.Sprintf("Best so far: %s held in %d of %s of the search. By these, a run holds with a probability of at least %s, at %s confidence; it is not confirmed.",
						p.label(o), o.Passes, format.Counted(o.Runs, "run"), format.Number(o.AtLeast(p.main.alpha)), format.Percent(1-p.main.alpha)))
					break
				}
			}
		}
		return base
	}
	o := p.Options[*p.Selected]
	now := p.now()
	a := &report.Answer{Judgement: judge.Good}
	switch {
	case o == now && o.Outcome == OptionHolds:
		a.Status, a.Sentence = "KEEP", fmt.Sprintf("What the cluster has%s holds in %d of %d runs.", p.inBrackets(o), o.Passes, o.Runs)
	case o.Present:
		a.Status, a.Sentence = "CHANGE", "No other size is needed: "+o.Change.Sentence
	case now.Outcome == OptionHolds:
		a.Status, a.Sentence = "CHEAPER", fmt.Sprintf("What the cluster has%s holds, and a cheaper size as well%s: %s", p.inBrackets(now), p.inBrackets(o), o.Change.Sentence)
	case o.key < now.key:
		a.Status, a.Sentence = "CHEAPER", o.Change.Sentence
	default:
		a.Status, a.Sentence = "OTHER SIZE", o.Change.Sentence
	}
	if text := p.priceSentence(o, now); text != "" {
		a.Why = append(a.Why, text)
	}
	if text := p.besides(o); text != "" {
		a.Why = append(a.Why, text)
	}
	if text := p.Answer.uncovered(); text != "" && now.Outcome == OptionHolds && o != now { // else the answer about the present size has it
		a.Why = append(a.Why, text)
	}
	if p.OutOfBudget {
		a.Why = append(a.Why, "The search was ended before all options were decided, or tried with more load: a cheaper one may hold.")
	}
	if !o.Present && !p.capacity {
		a.Why = append(a.Why, seatsCost)
	}
	a.Why = append(a.Why, base.Why...)
	return a
}

// now returns the option to leave all as it is.
func (p *Plan) now() *Option {
	return p.Options[slices.IndexFunc(p.Options, func(o *Option) bool { return o.Present && !o.Changed })]
}

// inBrackets names the size of an option and its price.
func (p *Plan) inBrackets(o *Option) string {
	switch {
	case o.Size == "":
		return ""
	case o.Price == nil:
		return " (" + o.Size + ")"
	}
	return " (" + o.Size + ", " + p.Catalogue.ShortPrice(*o.Price) + ")"
}

// priceSentence says what an option costs, beside what the cluster costs now if that is known.
func (p *Plan) priceSentence(o, now *Option) string {
	c := p.Catalogue
	switch {
	case o.Present || o.Price == nil:
		return ""
	case now.Price == nil && *o.Price == 0:
		return o.Size + " costs nothing."
	case now.Price == nil || *now.Price == *o.Price:
		return fmt.Sprintf("%s costs %s: %s.", o.Size, c.ShortPrice(*o.Price), c.YearlyPrice(*o.Price))
	}
	more, than := *o.Price-*now.Price, "more"
	if more < 0 {
		more, than = -more, "less"
	}
	return fmt.Sprintf("%s costs %s: %s than now, %s.", o.Size, c.ShortPrice(*o.Price), c.ShortPrice(more)+" "+than, c.YearlyPrice(more))
}

// besides says what else holds: without a change of flow control, and, of a tight option, with more load.
func (p *Plan) besides(o *Option) string {
	for _, other := range p.Options {
		if other == o || other.Outcome != OptionHolds && other.Outcome != OptionTight {
			continue
		}
		switch {
		case other.Outcome == OptionTight:
			return fmt.Sprintf("Tight: %s holds in %d of %d fresh runs, but not with 1.1 times the load or 1.25 times the executions.", p.label(other), other.Passes, other.Runs)
		case o.Changed && !other.Changed:
			return fmt.Sprintf("Without a change of flow control, the cheapest that holds is %s%s.", p.label(other), p.costs(other))
		case o.key < 0 && !other.Present:
			return fmt.Sprintf("Of %s, the cheapest that holds is %s%s.", p.Catalogue.Name, p.label(other), p.costs(other))
		}
	}
	if o.Changed {
		return "Without a change of flow control, no size holds that was tried."
	}
	return ""
}

// costs says what an option costs, behind its name.
func (p *Plan) costs(o *Option) string {
	switch {
	case o.Price == nil:
		return ""
	case *o.Price == 0:
		return ", which costs nothing"
	}
	return fmt.Sprintf(", for %s (%s)", p.Catalogue.ShortPrice(*o.Price), p.Catalogue.YearlyPrice(*o.Price))
}

// label names an option.
func (p *Plan) label(o *Option) string {
	text := o.Size
	switch {
	case o.Present && o.Size == "":
		text = "as now"
	case o.Present:
		text += " (as now)"
	}
	if o.Changed {
		text += " + change"
	}
	return text
}

// table has the options.
func (p *Plan) table() *report.Table {
	heads := []string{"option", "seats", "holds", "wait p99"}
	title := "Options, the cheapest first"
	if p.about != "" {
		title += "; waits are those of " + p.about
	}
	if p.capacity {
		heads = append(heads, "latency p99")
	}
	t := table("options", title, append(heads, "price", "what it takes")...)
	t.Columns[len(t.Columns)-1].Left = true
	for i, o := range p.Options {
		text := func(ns *float64) report.Cell {
			if ns == nil {
				return report.Word(none)
			}
			return report.Word(format.Duration(*ns))
		}
		name := p.label(o)
		if p.Selected != nil && i == *p.Selected {
			name = "→ " + name
		}
		row := []report.Cell{report.Word(name), report.Word(fmt.Sprint(o.Seats)), p.holds(o), text(o.Wait)}
		if p.capacity {
			row = append(row, text(o.Latency))
		}
		t.Rows = append(t.Rows, append(row, report.Word(p.price(o)), report.Word(p.takes(o))))
	}
	return t
}

// holds says in how many runs an option holds.
func (p *Plan) holds(o *Option) report.Cell {
	cell := report.Cell{Text: fmt.Sprintf("%d of %d", o.Passes, o.Runs)}
	switch o.Outcome {
	case OptionHolds:
		cell.Judgement = judge.Good
	case OptionFails:
		cell.Judgement = judge.Bad
	}
	if o.Runs == 0 {
		cell.Text = map[Outcome]string{OptionFails: "no", OptionOpen: none}[o.Outcome]
	}
	return cell
}

// price writes the price of an option.
func (p *Plan) price(o *Option) string {
	switch {
	case o.key < 0:
		return "as now"
	case o.Price == nil:
		return "not known"
	}
	return p.Catalogue.ShortPrice(*o.Price)
}

// takes says what it takes to have an option, or why it is not one.
func (p *Plan) takes(o *Option) string {
	change := ""
	if o.Changed && o.Change != nil {
		change = "a change of clients"
		if n := len(o.Change.objects.FlowSchemas) + len(o.Change.objects.PriorityLevels); n > 0 {
			change = "kubectl apply, " + format.Counted(n, "object")
		}
	}
	switch {
	case o.Outcome == OptionTight:
		return "tight: " + o.Because
	case o.Because != "":
		return o.Because
	case o.Outcome == OptionFails && o.Present:
		return "fails"
	case o.Present && !o.Changed:
		return "nothing"
	case o.Present:
		return change
	case o.Changed:
		return "another size; " + change
	}
	return "another size"
}
