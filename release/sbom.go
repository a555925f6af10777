package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// completeSBOM adds to the SBOM of an archive what its tool does not see: the JavaScript that is embedded in the program, of
// which script is a copy, and the time of the release.
func completeSBOM(file, script string, at time.Time) error {
	text, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	version := regexp.MustCompile(`^/\*! https://github\.com/leeoniya/uPlot \(v([0-9.]+)\) \*/`).FindSubmatch(text)
	if version == nil {
		return fmt.Errorf("%s: the first line does not say the version of uPlot", script)
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(in, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if bom.Metadata == nil || bom.Metadata.Component == nil || bom.Components == nil || bom.Dependencies == nil {
		return errors.New(file + " does not say what the program consists of")
	}
	if tools := bom.Metadata.Tools; tools != nil && tools.Tools != nil {
		for i := range *tools.Tools {
			(*tools.Tools)[i].Hashes = nil // of the program that wrote the file, which depend on where it was built
		}
	}
	bom.Metadata.Timestamp = at.Format(time.RFC3339)
	url := "pkg:npm/uplot@" + string(version[1])
	*bom.Components = append(*bom.Components, cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: "uplot", Version: string(version[1]), PackageURL: url,
		Scope: cdx.ScopeRequired, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}},
	})
	for i := range *bom.Dependencies {
		if d := &(*bom.Dependencies)[i]; d.Ref == bom.Metadata.Component.BOMRef && d.Dependencies != nil {
			*d.Dependencies = append(*d.Dependencies, url)
		}
	}
	*bom.Dependencies = append(*bom.Dependencies, cdx.Dependency{Ref: url})
	var out strings.Builder
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(&bom); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

// sbom returns the file with the SBOM of an archive.
func sbom(dist string, a *Archive) string {
	return filepath.Join(dist, strings.TrimSuffix(a.File, ".tar.gz")+".cdx.json")
}
