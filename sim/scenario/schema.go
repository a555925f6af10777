package scenario

import _ "embed" // for go:embed

// Schema is the JSON Schema (draft 2020-12) of a scenario document, which make schema derives from the Go types. It is what an
// editor can know: Load checks more.
//
//go:embed schema.json
var Schema string
