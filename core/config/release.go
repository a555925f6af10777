package config

import (
	"cmp"
	"fmt"
	"strings"

	"apfsim/core/rules"
	"apfsim/document"
)

// knowsExempt reports whether a server of the release knows the field spec.exempt of a level.
func knowsExempt(r *rules.Rules) bool { return r.Exempt != rules.ExemptAbsent }

// Known returns the spec as a server of the release holds it: without the fields that it does not
// know, which have the values that such a server acts by.
func (s PriorityLevelSpec) Known(r *rules.Rules) PriorityLevelSpec {
	if s.Exempt != nil && !knowsExempt(r) {
		s.Exempt = &ExemptSpec{new(int32), new(int32)}
	}
	if s.Limited != nil && !r.Lending {
		limited := *s.Limited
		limited.LendablePercent, limited.BorrowingLimitPercent = new(int32), nil
		s.Limited = &limited
	}
	return s
}

// In returns decoded objects as a server of the release holds them, if each were written in an API
// version that the release serves: without the fields that it does not know, with its default in
// place of 0 shares, and with its own specs of the mandatory objects. The notes say what that
// changes, and which API versions the release does not serve. The errors say for which objects the
// server refuses the spec; these objects are left out.
//
// A mandatory object with the spec that another release requires is no error: it comes from the
// export of a server of that release, and the servers put it right. Objects without an origin are
// taken as they are.
func (o Objects) In(r *rules.Rules) (held Objects, notes, errors document.Errors) {
	h := holder{rules: r, mandatory: Mandatory(r), byKey: map[[2]string]*sharedNote{}}
	for _, s := range o.FlowSchemas {
		if s = h.flowSchema(s); s != nil {
			h.held.FlowSchemas = append(h.held.FlowSchemas, s)
		}
	}
	for _, l := range o.PriorityLevels {
		if l = h.priorityLevel(l); l != nil {
			h.held.PriorityLevels = append(h.held.PriorityLevels, l)
		}
	}
	for _, n := range h.shared {
		h.notes.Add(n.position, n.path, "%s", n.message(n.count))
	}
	return h.held, h.notes, h.errors
}

// holder collects the objects that a server holds.
type holder struct {
	rules         *rules.Rules
	mandatory     Objects
	held          Objects
	notes, errors document.Errors
	shared        []*sharedNote             // in the order of their first objects
	byKey         map[[2]string]*sharedNote // by file and subject
}

// sharedNote is a note that several objects of one file have in common.
type sharedNote struct {
	position document.Position // in the first object
	path     string
	count    int // objects
	message  func(count int) string
}

// common notes something about an object that other objects of its file have in common with it.
func (h *holder) common(origin *Origin, path, subject string, message func(count int) string) {
	key := [2]string{origin.Document.File, subject}
	n := h.byKey[key]
	if n == nil {
		n = &sharedNote{position: origin.Position(path), path: path, message: message}
		h.byKey[key], h.shared = n, append(h.shared, n)
	}
	n.count++
}

// served notes an API version that the release does not serve.
func (h *holder) served(origin *Origin) {
	if origin == nil {
		return
	}
	version := apiVersionOf(origin.APIVersion)
	if h.rules.Objects.Serves(version) {
		return
	}
	h.common(origin, "apiVersion", origin.APIVersion, func(count int) string {
		newest := h.rules.Objects.NewestAPI
		from, removedIn := version.Served()
		text := fmt.Sprintf("%s (%s): ", origin.APIVersion, number(count, "object"))
		if version > newest {
			text += fmt.Sprintf("Kubernetes %s does not serve this version (served from %s); use %s", h.rules.Version, from, fullName(newest))
		} else {
			from, _ = newest.Served()
			text += fmt.Sprintf("Kubernetes %s and later do not serve this version; use %s (served from %s)", removedIn, fullName(newest), from)
		}
		if right, wrong := sharesField(newest), sharesField(version); right != wrong {
			text += fmt.Sprintf(", and %s in place of %s", right, wrong)
		}
		return text
	})
}

// unknown notes a field of a level that the release does not know, and that has an effect in others.
func (h *holder) unknown(origin *Origin, field string) {
	path := "spec." + field
	if origin == nil {
		return
	}
	h.common(origin, path, field, func(count int) string {
		return fmt.Sprintf("Kubernetes %s does not know this field, which its servers drop (%s)", h.rules.Version, number(count, "priority level"))
	})
}

func (h *holder) flowSchema(s *FlowSchema) *FlowSchema {
	h.served(s.Origin)
	want := h.mandatory.FlowSchema(s.Name)
	if want == nil || s.Origin == nil || h.fixed(kindFlowSchema, s.Name, s.Origin, Differences(s.Spec, want.Spec), false) {
		return s
	}
	return nil
}

func (h *holder) priorityLevel(l *PriorityLevel) *PriorityLevel {
	h.served(l.Origin)
	if l.Origin == nil {
		return l
	}
	if l.Spec.Exempt != nil && !knowsExempt(h.rules) && (l.Spec.Shares() != 0 || l.Spec.LendablePercent() != 0) {
		h.unknown(l.Origin, "exempt")
	}
	if limited := l.Spec.Limited; limited != nil && !h.rules.Lending {
		if *limited.LendablePercent != 0 {
			h.unknown(l.Origin, "limited.lendablePercent")
		}
		if limited.BorrowingLimitPercent != nil {
			h.unknown(l.Origin, "limited.borrowingLimitPercent")
		}
	}
	spec := l.Spec.Known(h.rules)
	if spec.Limited != nil && *spec.Limited.NominalConcurrencyShares == 0 {
		limited := *spec.Limited
		if !h.zeroShares(l, &limited) {
			return nil
		}
		spec.Limited = &limited
	}
	if want := h.mandatory.PriorityLevel(l.Name); want != nil {
		required := want.Spec
		required.Exempt = spec.Exempt // the operator may change this part
		differences := Differences(spec, required)
		elsewhere := len(differences) > 0 && l.Name == CatchAll && requiredElsewhere(spec)
		if !h.fixed(kindPriorityLevel, l.Name, l.Origin, differences, elsewhere) {
			return nil
		}
		spec = required
	}
	return &PriorityLevel{l.Name, spec, l.Origin}
}

// zeroShares does with a level of 0 shares what the release does. It reports whether the level is
// valid.
func (h *holder) zeroShares(l *PriorityLevel, limited *LimitedSpec) bool {
	path := "spec.limited." + sharesField(apiVersionOf(l.Origin.APIVersion))
	switch h.rules.Objects.ZeroShares {
	case rules.ZeroSharesDefault:
		h.notes.Add(l.Origin.Position(path), l.Origin.full(path), "servers of Kubernetes %s have %d, the default, in place of 0", h.rules.Version, defaultShares)
		limited.NominalConcurrencyShares = new(int32(defaultShares))
	case rules.ZeroSharesRefused:
		h.errors.Add(l.Origin.Position(path), l.Origin.full(path), "0 is refused by servers of Kubernetes %s; want 1 or more", h.rules.Version)
		return false
	}
	return true
}

// requiredElsewhere reports whether some release requires this spec of the level catch-all.
func requiredElsewhere(spec PriorityLevelSpec) bool {
	for _, version := range rules.Versions() {
		r, _ := rules.For(version)
		if len(Differences(Mandatory(r).PriorityLevel(CatchAll).Spec, spec)) == 0 {
			return true
		}
	}
	return false
}

// fixed adds an error if the spec of a mandatory object differs from the one that the release
// requires, or a note if the servers of another release require it. It reports whether the object is
// valid.
func (h *holder) fixed(kind, name string, origin *Origin, differences []Difference, elsewhere bool) bool {
	if len(differences) == 0 {
		return true
	}
	d := differences[0]
	path := d.Path
	if strings.HasSuffix(path, nominalShares) && kind == kindPriorityLevel && name == CatchAll {
		path = "spec.limited." + sharesField(apiVersionOf(origin.APIVersion))
	}
	got, want := cmp.Or(d.Before, "absent"), cmp.Or(d.After, "it removed")
	if elsewhere {
		h.notes.Add(origin.Position(path), origin.full(path), "is %s; servers of Kubernetes %s put right the spec of the mandatory %s %s; use %s",
			got, h.rules.Version, kind, name, want)
		return true
	}
	h.errors.Add(origin.Position(path), origin.full(path), "is %s; the spec of the mandatory %s %s is fixed; want %s", got, kind, name, want)
	return false
}

// full returns the path of a value of the object, in the file.
func (o *Origin) full(path string) string {
	if o.path == "" {
		return path
	}
	return o.path + "." + path
}

// number returns a count with its noun, in the singular or plural.
func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
