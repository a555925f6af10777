package main

import (
	"strings"
	"testing"
)

// skip returns the events of a test that skips.
func skip(test, reason string) string {
	output := func(text string) string {
		return `{"Action":"output","Package":"a","Test":"` + test + `","Output":"` + text + `\n"}` + "\n"
	}
	return output("=== RUN   "+test) + output("    a_test.go:7: "+reason) + output("--- SKIP: "+test+" (0.00s)") + `{"Action":"skip","Package":"a","Test":"` + test + `"}` + "\n"
}

func TestReport(t *testing.T) {
	const begin = `{"Action":"start","Package":"a"}` + "\n"
	many := strings.Repeat(`{"Action":"output","Package":"a","Test":"T","Output":"quiet\n"}`+"\n"+`{"Action":"pass","Package":"a","Test":"T"}`+"\n", every)
	for name, c := range map[string]struct {
		in, want string
		ok       bool
	}{
		"passed": {begin + many + `{"Action":"pass","Package":"a","Elapsed":1.25}` + "\n",
			"...\ta\t20 tests have ended\nok\ta\t1.2s\n1 packages passed, 0 failed\n", true},
		"failed": {begin + `{"Action":"output","Package":"a","Test":"T","Output":"why\n"}` + "\n" + `{"Action":"fail","Package":"a","Test":"T"}` + "\n" +
			`{"Action":"output","Package":"a","Output":"FAIL\n"}` + "\n" + `{"Action":"fail","Package":"a","Elapsed":2}` + "\n",
			"why\nFAIL\nFAIL\ta\t2.0s\n0 packages passed, 1 failed\n", false},
		"not compiled": {`{"ImportPath":"a","Action":"build-output","Output":"a.go:1:1: wrong\n"}` + "\n" + begin + `{"Action":"fail","Package":"a","FailedBuild":"a"}` + "\n",
			"a.go:1:1: wrong\nFAIL\ta\t0.0s\n0 packages passed, 1 failed\n", false},
		"cut off":       {begin, "0 packages passed, 0 failed\n", false},
		"no tests":      {"", "0 packages passed, 0 failed\n", false},
		"a word of go":  {"go: downloading\n", "go: downloading\n0 packages passed, 0 failed\n", false},
		"without tests": {begin + `{"Action":"skip","Package":"a"}` + "\n", "0 packages passed, 0 failed\n", false},
		"skipped": {begin + skip("T", "x is not installed") + skip("U", "x is not installed") + skip("V", "a is not installed") + `{"Action":"skip","Package":"a","Test":"W"}` + "\n" +
			`{"Action":"pass","Package":"a"}` + "\n",
			"ok\ta\t0.0s\n1 packages passed, 0 failed\nskipped 1: a is not installed\nskipped 1: no reason is given\nskipped 2: x is not installed\n", true},
	} {
		var out strings.Builder
		if ok := report(strings.NewReader(c.in), &out); ok != c.ok || out.String() != c.want {
			t.Errorf("%s: %v, got\n%swant\n%s", name, ok, &out, c.want)
		}
	}
}
