// Release writes what make release publishes beside the archives and packages: an image, a Homebrew formula and a manifest
// for krew. It also completes the SBOMs. It reads the archives in a folder, and is a module of its own because the program needs none of its libraries.
//
// All files are the same for the same archives: nothing in them depends on the machine or the time of the build.
package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// Archive is one of the archives, as the templates see it.
type Archive struct {
	File, OS, Arch string
	SHA256         string // of the file, in hexadecimal digits
	Program        string // the name of the program in the archive: apfsim, or apfsim.exe
}

// Release is what the templates are filled with.
type Release struct {
	Version  string // of the tag, such as v1.0.0
	URL      string // of the folder from which the archives can be downloaded
	Archives []Archive
}

// Number returns the version without the v of the tag.
func (r *Release) Number() string { return strings.TrimPrefix(r.Version, "v") }

// On returns the archives for an operating system, ordered by architecture.
func (r *Release) On(system string) (found []Archive) {
	for _, a := range r.Archives {
		if a.OS == system {
			found = append(found, a)
		}
	}
	return found
}

var (
	//go:embed apfsim.rb.tmpl
	formula string
	//go:embed apf.yaml.tmpl
	manifest string
)

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	dist := flags.String("dist", "dist", "the `folder` with the archives, into which the files are written")
	release := &Release{}
	flags.StringVar(&release.Version, "version", "", "the `version`: what the names of the archives begin with, after apfsim_")
	flags.StringVar(&release.URL, "url", "", "the `URL` of the folder from which the archives can be downloaded")
	script := flags.String("uplot", "../reports/render/uplot/uPlot.iife.min.js", "the `file` of uPlot that is in the program")
	epoch := flags.Int64("epoch", 0, "the time of the release, in `seconds` since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if release.Version == "" || release.URL == "" {
		return errors.New("want -version and -url")
	}
	var err error
	if release.Archives, err = archives(*dist, release.Version); err != nil {
		return err
	}
	for name, text := range map[string]string{"apfsim.rb": formula, "apf.yaml": manifest} {
		if err := fill(filepath.Join(*dist, name), text, release); err != nil {
			return err
		}
	}
	at := time.Unix(*epoch, 0).UTC()
	for i := range release.Archives {
		if err := completeSBOM(sbom(*dist, &release.Archives[i]), *script, at); err != nil {
			return err
		}
	}
	return writeImage(*dist, release, at)
}

// archives returns the archives of a version, in the order of their names.
func archives(dist, version string) (all []Archive, err error) {
	begin := "apfsim_" + version + "_"
	files, err := filepath.Glob(filepath.Join(dist, begin+"*.tar.gz"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no %s*.tar.gz", dist, begin)
	}
	for _, file := range files {
		a := Archive{File: filepath.Base(file), Program: "apfsim"}
		platform := strings.TrimSuffix(strings.TrimPrefix(a.File, begin), ".tar.gz")
		a.OS, a.Arch, _ = strings.Cut(platform, "_")
		if a.OS == "windows" {
			a.Program += ".exe"
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		a.SHA256 = hex.EncodeToString(sum[:])
		all = append(all, a)
	}
	return all, nil
}

func fill(file, text string, release *Release) error {
	t, err := template.New(filepath.Base(file)).Option("missingkey=error").Parse(text)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, release); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// inArchive calls f with each regular file in an archive, by its path below the archive's own folder, in the order of the
// paths.
func inArchive(file string, f func(name string, mode int64, text []byte) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	type entry struct {
		name string
		mode int64
		text []byte
	}
	var all []entry
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(path.Clean(header.Name), "/")
		all = append(all, entry{name, header.Mode, text})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range all {
		if err := f(e.name, e.mode, e.text); err != nil {
			return fmt.Errorf("%s: %s: %w", file, e.name, err)
		}
	}
	return nil
}
