package yaml

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMarshalPrintsAsKubectlDoes(t *testing.T) {
	type inner struct {
		Zebra string   `json:"zebra"`
		Apple []string `json:"apple"`
	}
	got, err := Marshal(struct {
		Kind  string         `json:"kind"`
		Items []inner        `json:"items"`
		Empty []int          `json:"empty"`
		None  map[string]int `json:"none,omitempty"`
		Map   map[string]any `json:"map"`
	}{
		Kind:  "List",
		Items: []inner{{"*", []string{"", "no", "1", "true", "1:30", "a b", "null", "~"}}, {"multi\nline", nil}},
		Empty: []int{},
		Map:   map[string]any{"b": 1e21, "a": int64(math.MaxInt64), "c": 0.5, "d": map[string]int{}, "e": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `kind: List
items:
- zebra: '*'
  apple:
  - ""
  - "no"
  - "1"
  - "true"
  - "1:30"
  - a b
  - "null"
  - "~"
- zebra: |-
    multi
    line
  apple: null
empty: []
map:
  a: 9223372036854775807
  b: 1e+21
  c: 0.5
  d: {}
  e: true
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMarshalRefusesValuesWithoutJSON(t *testing.T) {
	if _, err := Marshal(math.NaN()); err == nil {
		t.Error("NaN was written")
	}
}

// Parse reads the output of Marshal: the same names, kinds and values in the same order.
func TestParseReadsWhatMarshalWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsonValue(3).Draw(t, "value")
		text, err := Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		docs, errs := Parse("f", text)
		if errs != nil || len(docs) != 1 {
			t.Fatalf("%q: %d documents, %v", text, len(docs), errs)
		}
		asJSON, _ := json.Marshal(value)
		fromJSON, errs := Parse("f", asJSON)
		if errs != nil || len(fromJSON) != 1 {
			t.Fatalf("%q: %d documents, %v", asJSON, len(fromJSON), errs)
		}
		if got, want := sketch(docs[0].Root), sketch(fromJSON[0].Root); got != want {
			t.Fatalf("%q\ngot  %s\nwant %s", text, got, want)
		}
	})
}

func jsonValue(depth int) *rapid.Generator[any] {
	// The characters exclude DEL and the C1 controls, which JSON does not escape and YAML forbids.
	text := rapid.StringOf(rapid.RuneFrom([]rune("aZ09 .:-#'\"\\{}[]*&!|>%@`~,\n\t_éλ😀\u2028"))).AsAny()
	word := rapid.SampledFrom([]any{"no", "null", "1e3", "0x1F", "2026-03-02", "<<", "---", "true", "", " x", "x "})
	leaves := []*rapid.Generator[any]{text, word, rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.Float64().AsAny()}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	below := jsonValue(depth - 1)
	return rapid.OneOf(append(leaves,
		rapid.SliceOfN(below, 0, 4).AsAny(),
		rapid.MapOfN(rapid.StringMatching(`[a-zA-Z0-9 .*"~\n-]{0,8}`), below, 0, 4).AsAny())...)
}
