package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/lint"

	"github.com/rogpeppe/go-internal/txtar"
)

// Check accepts all objects that Decode accepts, for servers of any size and release.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for i, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(string(file.Data), uint16(100*i), uint8(18+i%20))
		}
	}
	cluster, err := os.ReadFile("../scenarios/config/cluster-flowcontrol.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(cluster), uint16(600), uint8(37))
	f.Fuzz(func(t *testing.T, text string, limit uint16, minor uint8) {
		docs, _ := yaml.Parse("fuzz.yaml", []byte(text))
		versions := rules.Versions()
		release, err := rules.For(versions[int(minor)%len(versions)])
		if err != nil {
			t.Fatal(err)
		}
		objects, _, _ := config.Decode(docs...).Objects.In(release)
		for _, finding := range lint.Check(lint.Input{Objects: objects, Base: config.Suggested(release), ServerLimit: 1 + int(limit), Rules: release}) {
			if finding.Message == "" || finding.Name == "" {
				t.Errorf("%+v has no message or name", finding)
			}
		}
	})
}
