package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made returns a folder with the files of a release of archives that are made up.
func made(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_arm64", "windows_amd64"} {
		folder := "apfsim_v9.8.7_" + platform
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		w := tar.NewWriter(zipped)
		for _, file := range []string{"apfsim", "licenses/LICENSE", "README.md"} {
			text := "the " + file + " of " + platform
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + file, Mode: 0o755, Size: int64(len(text))}); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, text)
		}
		w.Close()
		zipped.Close()
		sbom := `{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": {"bom-ref": "a", "type": "application", "name": "apfsim"}},
			"components": [{"bom-ref": "b", "type": "library", "name": "b"}], "dependencies": [{"ref": "a", "dependsOn": ["b"]}]}`
		for file, text := range map[string][]byte{folder + ".tar.gz": b.Bytes(), folder + ".cdx.json": []byte(sbom)} {
			if err := os.WriteFile(filepath.Join(dist, file), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := run([]string{"-dist", dist, "-version", "v9.8.7", "-url", "https://example.com/v9.8.7", "-epoch", "1234567890"}); err != nil {
		t.Fatal(err)
	}
	return dist
}

func read(t *testing.T, dist, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dist, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The same archives make the same files, wherever they are.
func TestReproducible(t *testing.T) {
	one, other := made(t), made(t)
	files, err := os.ReadDir(one)
	if err != nil || len(files) != 8+3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if read(t, one, f.Name()) != read(t, other, f.Name()) {
			t.Errorf("%s differs", f.Name())
		}
	}
}

// The archive of the images is valid for those who read it as the OCI specifies and as docker save writes it, and both find the
// same image, with the program of its architecture.
func TestImage(t *testing.T) {
	dist := made(t)
	archive, dir := filepath.Join(dist, "apfsim_v9.8.7_oci.tar"), t.TempDir()
	r := tar.NewReader(strings.NewReader(read(t, dist, "apfsim_v9.8.7_oci.tar")))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			text, _ := io.ReadAll(r)
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	of := func(i v1.ImageIndex) *v1.IndexManifest {
		m, err := i.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if d := of(top).Manifests[0]; len(of(top).Manifests) != 1 || d.Annotations["org.opencontainers.image.ref.name"] != "v9.8.7" {
		t.Errorf("index.json: %+v", of(top))
	}
	index, err := top.ImageIndex(of(top).Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	var architectures []string
	for _, d := range of(index).Manifests {
		architectures = append(architectures, d.Platform.String())
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/apfsim"}) || c.WorkingDir != "/work" || config.Platform().String() != d.Platform.String() {
			t.Errorf("%s: %+v", d.Platform, config)
		}
		tag, err := name.NewTag("apfsim:v9.8.7-" + d.Platform.Architecture)
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := tarball.ImageFromPath(archive, &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(loaded); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
		a, err := image.ConfigName()
		b, err2 := loaded.ConfigName()
		if err != nil || err2 != nil || a != b {
			t.Errorf("%s: docker loads the image %v, want %v", tag, b, a)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatal(layers, err)
		}
		files, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := tar.NewReader(files); ; {
			h, err := r.Next()
			if err != nil {
				break
			}
			text, _ := io.ReadAll(r)
			got = append(got, fmt.Sprintf("%s %o %d %s", h.Name, h.Mode, h.Uid, text))
		}
		platform := "linux_" + d.Platform.Architecture
		want := []string{"tmp/ 1777 0 ", "work/ 755 65532 ", "apfsim 755 0 the apfsim of " + platform, "licenses/ 755 0 ", "licenses/LICENSE 755 0 the licenses/LICENSE of " + platform}
		if !slices.Equal(got, want) {
			t.Errorf("the image for %s has %q, want %q", platform, got, want)
		}
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(architectures, want) {
		t.Errorf("images for %q, want %q", architectures, want)
	}
}

// The formula and the manifest have the URL and the checksum of each archive that they install.
func TestTemplates(t *testing.T) {
	dist := made(t)
	sum := func(platform string) string {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, dist, "apfsim_v9.8.7_"+platform+".tar.gz"))))
	}
	formula, manifest := read(t, dist, "apfsim.rb"), read(t, dist, "apf.yaml")
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_arm64", "windows_amd64"} {
		url := "https://example.com/v9.8.7/apfsim_v9.8.7_" + platform + ".tar.gz"
		inFormula := regexp.MustCompile(`url "` + regexp.QuoteMeta(url) + `"\n\s+sha256 "` + sum(platform) + `"`)
		if got, want := inFormula.MatchString(formula), platform != "windows_amd64"; got != want {
			t.Errorf("%s in the formula: %v, want %v\n%s", platform, got, want, formula)
		}
		if !strings.Contains(manifest, "    uri: "+url+"\n    sha256: "+sum(platform)+"\n") {
			t.Errorf("%s is not in the manifest:\n%s", platform, manifest)
		}
	}
	if strings.Count(manifest, "bin: apfsim.exe\n") != 1 || strings.Count(manifest, "bin: apfsim\n") != 3 {
		t.Errorf("the programs of the manifest:\n%s", manifest)
	}
}

// What cannot be released is an error.
func TestErrors(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-dist", empty}, "want -version and -url"},
		{[]string{"-dist", empty, "-version", "v1.0.0", "-url", "u"}, "there is no apfsim_v1.0.0_*.tar.gz"},
	} {
		if err := run(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}
