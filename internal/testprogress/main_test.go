package main

import (
	"strings"
	"testing"
)

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
	} {
		var out strings.Builder
		if ok := report(strings.NewReader(c.in), &out); ok != c.ok || out.String() != c.want {
			t.Errorf("%s: %v, got\n%swant\n%s", name, ok, &out, c.want)
		}
	}
}
