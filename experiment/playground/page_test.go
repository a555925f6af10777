package playground

import (
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the hash of the script of reports into the page")

// scriptHash matches the hash in the policy of the page.
var scriptHash = regexp.MustCompile(`'sha256-[A-Za-z0-9+/=]*'`)

// The policy of the page allows one inline script: that of reports, which frames show.
func TestPageAllowsTheScriptOfReports(t *testing.T) {
	var answer Ran
	callInto(t, "run", asJSON(t, Running{Setting: Setting{Text: storyText(t)}}), &answer)
	from, to := strings.LastIndex(answer.Page, "<script>")+len("<script>"), strings.LastIndex(answer.Page, "</script>")
	sum := sha256.Sum256([]byte(answer.Page[from:to]))
	want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	page, err := pageFiles.ReadFile(indexFile)
	if err != nil {
		t.Fatal(err)
	}
	got := scriptHash.FindAllString(string(page), -1)
	if *rewrite {
		if err := os.WriteFile(indexFile, scriptHash.ReplaceAll(page, []byte(want)), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if len(got) != 1 || got[0] != want {
		t.Errorf("the policy has the hashes %s, and the script of reports has %s; run the test with -rewrite", got, want)
	}
}
