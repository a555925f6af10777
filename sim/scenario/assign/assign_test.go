package assign

import (
	"strings"
	"testing"
)

func TestTextsAreCutOutsideOfQuotesAndBrackets(t *testing.T) {
	for text, want := range map[string]string{
		"1,2":                      "1|2",
		"":                         "",
		",":                        "|",
		"{a: 1, b: [2,3]},4":       "{a: 1, b: [2,3]}|4",
		`"a,b",c`:                  `"a,b"|c`,
		`"a\",b",'c,d',''`:         `"a\",b"|'c,d'|''`,
		"it's,that's":              "it's|that's",
		"a],b":                     "a]|b",
		"[{,}],x":                  "[{,}]|x",
		`spec.a["k,=]"].b,"{",x,}`: `spec.a["k,=]"].b|"{"|x|}`,
	} {
		var parts []string
		for remaining, more := text, true; more; {
			var part string
			part, remaining, more = Cut(remaining, ',')
			parts = append(parts, part)
		}
		if got := strings.Join(parts, "|"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
