package apicalls

import "strings"

// Exclusion is what is not compared, and why.
type Exclusion struct {
	What, Why string

	call  func(c *Call, live *Answer) bool // the calls
	field string                           // the field; empty for the whole answer
}

// Exclusions are all of them.
var Exclusions = []Exclusion{
	{
		What:  "the UID of an object that a dry run would create",
		Why:   "It is of no object. A server makes one up each time.",
		call:  func(c *Call, live *Answer) bool { return c.DryRun && live.Status == 201 },
		field: "uid",
	},
	{
		What: "the resourceVersion \"0\" of a dry run that would create an object with that version in its body",
		Why:  "It is repeated from the body, and is that of no write.",
		call: func(c *Call, live *Answer) bool {
			return c.DryRun && live.Status == 201 && c.BodyResourceVersion == "0"
		},
		field: "resourceVersion",
	},
	{
		What: "field selectors by other fields than metadata.name and metadata.namespace that the resource does not have",
		Why:  "A server answers 400. In a simulation, objects have the fields that scenarios and traces give them, and are selected by any.",
		call: func(c *Call, _ *Answer) bool { return strings.Contains(c.Query, "fieldSelector=spec.nothing") },
	},
}

// excluded returns why the answer to a call is not compared, or an empty string.
func excluded(c *Call, live *Answer) string { return excludedField(c, live, "") }

// excludedField returns why a field of the answer to a call is not compared, or an empty string.
func excludedField(c *Call, live *Answer, field string) string {
	for _, e := range Exclusions {
		if e.field == field && e.call(c, live) {
			return e.Why
		}
	}
	return ""
}
