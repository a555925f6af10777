package trace

import (
	"maps"
	"slices"
	"strconv"

	"apfsim/sim/api"
)

// stampField is the name under which a line has the content that nobody has given a name, see
// api.Object.Stamp.
const stampField = "apfsim.stamp"

// appendAskedFor appends what a request asks for beyond its attributes and its query.
func appendAskedFor(b []byte, c *api.Call) []byte {
	o, body := &c.Options, c.Body
	if body != nil {
		if body.Version.Given {
			b = appendText(b, fieldBodyResourceVersion, body.Version.String())
		}
		switch {
		case body.OtherUID:
			b = appendText(b, fieldBodyUID, "other")
		case body.UID != 0:
			b = appendText(b, fieldBodyUID, strconv.FormatInt(body.UID, 10))
		}
		if body.FinalizersGiven {
			b = append(append(b, starts[fieldFinalizers]...), '[')
			for i, f := range body.Finalizers {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendString(b, f)
			}
			b = append(b, ']')
		}
	}
	if o.DryRun {
		b = append(append(b, starts[fieldDryRun]...), "true"...)
	}
	if o.FieldManager != "" {
		b = appendText(b, fieldFieldManager, o.FieldManager)
	}
	if body != nil && (len(body.Fields) > 0 || body.Stamp != 0) {
		b = append(append(b, starts[fieldFields]...), '{')
		first := true
		add := func(name, value string) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = appendString(append(appendString(b, name), ':'), value)
		}
		for _, name := range slices.Sorted(maps.Keys(body.Fields)) {
			add(name, body.Fields[name])
		}
		if body.Stamp != 0 {
			add(stampField, strconv.FormatInt(body.Stamp, 10))
		}
		b = append(b, '}')
	}
	if p := &o.Preconditions; p.UID != 0 || p.Mismatch || p.Version.Given {
		b = append(append(b, starts[fieldPreconditions]...), '{')
		if p.Mismatch || p.UID != 0 {
			uid := "other"
			if p.UID != 0 {
				uid = strconv.FormatInt(p.UID, 10)
			}
			b = appendString(append(b, `"uid":`...), uid)
		}
		if p.Version.Given {
			if p.Mismatch || p.UID != 0 {
				b = append(b, ',')
			}
			b = appendString(append(b, `"resourceVersion":`...), p.Version.String())
		}
		b = append(b, '}')
	}
	if body != nil {
		switch body.Patch {
		case api.JSONPatch:
			b = appendText(b, fieldPatchType, "json")
		case api.ApplyPatch:
			b = appendText(b, fieldPatchType, "apply")
		}
	}
	return b
}
