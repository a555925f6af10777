package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Digest returns 16 hexadecimal digits that are the same for two configurations if their objects have the same
// names and specifications, in whatever order: the beginning of a SHA-256 sum. The objects are defaulted.
func (o Objects) Digest() string {
	type object struct {
		Name string
		Spec any
	}
	var all [2][]object
	for _, s := range o.FlowSchemas {
		all[0] = append(all[0], object{s.Name, &s.Spec})
	}
	for _, l := range o.PriorityLevels {
		all[1] = append(all[1], object{l.Name, &l.Spec})
	}
	for _, kind := range all {
		slices.SortFunc(kind, func(a, b object) int { return cmp.Compare(a.Name, b.Name) })
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("config: a specification that cannot be JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
