package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is who runs the program in the image: nobody who has an account, and not root.
const user = 65532

// writeImage writes the images for all architectures of Linux as one archive, apfsim_VERSION_oci.tar, with the layout of
// the OCI image specification. Its file manifest.json is what docker load reads where docker does not keep images as OCI
// does; there, each architecture has a tag of its own.
//
// The images are made from nothing (scratch): the program is linked statically, contains the time zones, and opens no
// network connection that would need the certificates of authorities.
func writeImage(dist string, release *Release, at time.Time) error {
	dir, err := os.MkdirTemp("", "apfsim-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var loadable []dockerImage
	for _, a := range release.On("linux") {
		image, err := newImage(filepath.Join(dist, a.File), release, a.Arch, at)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: a.Arch}}})
		d, err := newDockerImage(image, fmt.Sprintf("apfsim:%s-%s", release.Version, a.Arch))
		if err != nil {
			return err
		}
		loadable = append(loadable, d)
	}
	if loadable == nil {
		return nil // there are no archives for Linux
	}
	layers, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := layers.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": release.Version,
		"io.containerd.image.name":          "docker.io/library/apfsim:" + release.Version, // for docker load
	})); err != nil {
		return err
	}
	text, err := json.Marshal(loadable)
	if err != nil {
		return err
	}
	if err := layers.WriteFile("manifest.json", text, 0o644); err != nil {
		return err
	}
	return pack(filepath.Join(dist, "apfsim_"+release.Version+"_oci.tar"), os.DirFS(dir), at)
}

// newImage returns the image of the program in an archive, with its licences.
func newImage(archive string, release *Release, arch string, at time.Time) (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	header := func(h tar.Header) error {
		h.ModTime, h.Format = at, tar.FormatPAX
		return w.WriteHeader(&h)
	}
	// The program reads and writes files in /work, and sorts what does not fit into memory in /tmp.
	err := header(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777})
	if err == nil {
		err = header(tar.Header{Typeflag: tar.TypeDir, Name: "work/", Mode: 0o755, Uid: user, Gid: user})
	}
	if err != nil {
		return nil, err
	}
	made := map[string]bool{}
	err = inArchive(archive, func(name string, mode int64, text []byte) error {
		if name != "apfsim" && !strings.HasPrefix(name, "licenses/") {
			return nil
		}
		for i, c := range name {
			if folder := name[:i+1]; c == '/' && !made[folder] {
				made[folder] = true
				if err := header(tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}); err != nil {
					return err
				}
			}
		}
		if err := header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text))}); err != nil {
			return err
		}
		_, err := w.Write(text)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: at}
	config.Config = v1.Config{
		Entrypoint: []string{"/apfsim"},
		WorkingDir: "/work",
		User:       fmt.Sprintf("%d:%d", user, user),
		Labels: map[string]string{
			"org.opencontainers.image.title":    "apfsim",
			"org.opencontainers.image.version":  release.Version,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.url":      release.URL,
		},
	}
	return mutate.ConfigFile(image, config)
}

// dockerImage is an image in manifest.json, as docker save writes it.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func newDockerImage(image v1.Image, tag string) (d dockerImage, err error) {
	manifest, err := image.Manifest()
	if err != nil {
		return d, err
	}
	blob := func(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }
	d = dockerImage{Config: blob(manifest.Config.Digest), RepoTags: []string{tag}}
	for _, layer := range manifest.Layers {
		d.Layers = append(d.Layers, blob(layer.Digest))
	}
	return d, nil
}

// pack writes the files of a file system as an archive, in the order of their names.
func pack(file string, from fs.FS, at time.Time) error {
	var names []string
	err := fs.WalkDir(from, ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	for _, name := range names {
		info, err := fs.Stat(from, name)
		if err != nil {
			return err
		}
		h := tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX}
		var text []byte
		if !info.IsDir() {
			if text, err = fs.ReadFile(from, name); err != nil {
				return err
			}
			h.Typeflag, h.Name, h.Mode, h.Size = tar.TypeReg, name, 0o644, int64(len(text))
		}
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
