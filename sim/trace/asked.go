package trace

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/api"
)

// Asked holds the members of a line beyond its Kind: the body of a request for a resource, and conditions.
// Where a version, a UID or a continue token stands, @17 stands for the one that was answered to the request
// with the ID 17, and @17+1000 for that version and a thousand.
type Asked struct {
	BodyResourceVersion string            `json:"bodyResourceVersion"`
	BodyUID             string            `json:"bodyUID"`
	Finalizers          []string          `json:"finalizers"`
	DryRun              bool              `json:"dryRun"`
	FieldManager        string            `json:"fieldManager"`
	Fields              map[string]string `json:"fields"`
	Preconditions       struct {
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"preconditions"`
	PatchType string `json:"patchType"` // apply, json or merge, which is the default
}

// Given says whether the request sets finalizers.
func (a *Asked) finalizersGiven() bool { return a.Finalizers != nil }

// patchTypes are the values of patchType.
var patchTypes = map[string]api.Patch{"": api.MergePatch, "merge": api.MergePatch, "strategic": api.MergePatch, "json": api.JSONPatch, "apply": api.ApplyPatch}

// parseAsked decodes the members of a line that make up its Asked.
func (l *line) parseAsked() (a *Asked) {
	a = &Asked{}
	var object []byte
	for f := fieldBodyResourceVersion; f <= fieldPatchType; f++ {
		if !l.has(f) {
			continue
		}
		object = append(append(object[:0], members[f]...), l.text[l.values[f].from:l.values[f].to]...)
		d := json.NewDecoder(bytes.NewReader(append(append([]byte{'{'}, object...), '}')))
		d.DisallowUnknownFields()
		err := d.Decode(a)
		problem := ""
		switch {
		case err != nil:
			problem = "want " + wantAsked[f]
		case f == fieldPatchType && !knownPatch(a.PatchType):
			problem = strconv.Quote(document.Abridge(a.PatchType)) + ": want " + wantAsked[f]
		}
		if problem != "" {
			l.at, l.field = int(l.values[f].from), names[f]
			l.fail("%s", problem)
			return nil
		}
	}
	return a
}

func knownPatch(name string) bool { _, ok := patchTypes[name]; return ok }

// wantAsked says of each field of Asked what it may be.
var wantAsked = map[field]string{
	fieldBodyResourceVersion: `a resourceVersion in quotes, such as "17" or "@3"`,
	fieldBodyUID:             `a UID in quotes, such as "@3"`,
	fieldFinalizers:          "a list of strings",
	fieldDryRun:              "true or false",
	fieldFieldManager:        "a string",
	fieldFields:              `an object of strings, such as {"a":"1"}`,
	fieldPreconditions:       "an object with uid and resourceVersion, both in quotes",
	fieldPatchType:           "merge, json or apply",
}

// Answered holds the values of the answer to a request of the trace, for references to it.
type Answered struct {
	Version, UID int64
	Continue     string
}

// Refers says whether a text has a reference.
func Refers(text string) bool { return strings.Contains(text, "@") }

// Reference splits @17+1000 into 17 and 1000.
func Reference(text string) (id, plus int64, ok bool) {
	remaining, ok := strings.CutPrefix(text, "@")
	if !ok {
		return 0, 0, false
	}
	number, more, added := strings.Cut(remaining, "+")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if added {
		if plus, err = strconv.ParseInt(more, 10, 64); err != nil {
			return 0, 0, false
		}
	}
	return id, plus, true
}

// Query returns a query with the references in its values replaced, by what answered returns for the IDs. One
// to a request that had no version, or no token, becomes empty.
func Query(query string, answered func(id int64) Answered) string {
	if !Refers(query) {
		return query
	}
	return request.EditQuery(query, func(name, value string) (string, bool) {
		id, plus, ok := Reference(strings.ReplaceAll(value, "%40", "@"))
		if !ok {
			return value, true
		}
		switch a := answered(id); name {
		case "continue":
			return a.Continue, true
		case "uid": // a precondition of a deletion
			return version(a.UID, 0), true
		default:
			return version(a.Version, plus), true
		}
	})
}

func version(n, plus int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n+plus, 10)
}

// Body returns the body of a request of a verb, and what its deletion asks for, with the references replaced.
func (a *Asked) Body(verb, name string, answered func(id int64) Answered) (*api.Body, request.Preconditions) {
	b := &api.Body{Name: name, Fields: a.Fields, Finalizers: a.Finalizers, FinalizersGiven: a.finalizersGiven() || verb == "create" || verb == "update",
		Patch: patchTypes[a.PatchType]}
	b.Version = versionOf(a.BodyResourceVersion, answered)
	b.UID, b.OtherUID = uidOf(a.BodyUID, answered)
	var p request.Preconditions
	p.Version = versionOf(a.Preconditions.ResourceVersion, answered)
	p.UID, p.Mismatch = uidOf(a.Preconditions.UID, answered)
	if stamp, ok := a.Fields[stampField]; ok {
		b.Fields = maps.Clone(a.Fields)
		delete(b.Fields, stampField)
		b.Stamp, _ = strconv.ParseInt(stamp, 10, 64)
	}
	return b, p
}

// versionOf returns a version as a line writes it.
func versionOf(text string, answered func(id int64) Answered) request.Version {
	if text == "" {
		return request.Version{}
	}
	if id, plus, ok := Reference(text); ok {
		if a := answered(id); a.Version != 0 {
			return request.At(a.Version + plus)
		}
		return request.Version{}
	}
	return request.ParseVersion(text)
}

// uidOf returns a UID as a line writes it; other says that no object has it.
func uidOf(text string, answered func(id int64) Answered) (uid int64, other bool) {
	id, _, ok := Reference(text)
	switch {
	case text == "":
		return 0, false
	case !ok:
		uid, err := strconv.ParseInt(text, 10, 64)
		return uid, err != nil
	}
	uid = answered(id).UID
	return uid, false
}
