package request

import (
	"math"
	"strconv"
)

// Version is a resourceVersion that a request names. The zero value is that of a request that names none.
type Version struct {
	Given bool
	N     int64
	Word  string // what cannot be read as a number, literally; then N is 0
	// Padded is how many zeros there are before the number. Servers take 00 for the version 0 where they
	// compute with it, but treat only the text "0" as the request for any version.
	Padded int
}

// At returns the version of a number.
func At(n int64) Version { return Version{Given: true, N: n} }

// Zero says whether the version is "0".
func (v Version) Zero() bool { return v == Version{Given: true} }

// ParseVersion reads a resourceVersion; "" is that of none. One that is larger than what this program counts
// to is the largest that it does.
func ParseVersion(s string) Version {
	if s == "" {
		return Version{}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return Version{Given: true, Word: s}
	}
	v := At(int64(min(n, math.MaxInt64)))
	for v.Padded < len(s)-1 && s[v.Padded] == '0' {
		v.Padded++
	}
	return v
}

// String returns the version as a query has it; "" for that of none.
func (v Version) String() string {
	switch {
	case !v.Given:
		return ""
	case v.Word != "":
		return v.Word
	}
	text := strconv.FormatInt(v.N, 10)
	for range v.Padded {
		text = "0" + text
	}
	return text
}
