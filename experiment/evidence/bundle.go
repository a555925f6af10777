package evidence

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/experiment/incident"
	"apfsim/reports/format"
)

// Limits of a bundle, which may have been made to fill the memory.
const (
	mostBundled  = 1000      // entries of an archive or of a folder, of any kind
	mostUnpacked = 256 << 20 // bytes of all files of an archive
)

// isArchive reports whether a text is the beginning of a tar archive.
func isArchive(text []byte) bool {
	_, err := tar.NewReader(bytes.NewReader(text)).Next()
	return err == nil
}

// Unpack returns the files of a tar archive that tell something, without writing them, and why others are left out. Links, devices
// and files whose names begin with a dot are ignored. The error continues a sentence that begins with the name of the archive.
func Unpack(name string, r io.Reader) (files []File, notes []string, err error) {
	archive, left, seen := tar.NewReader(unpacked(r)), int64(mostUnpacked), map[string]bool{}
	for n := 0; ; n++ {
		header, err := archive.Next()
		switch {
		case err == io.EOF:
			return usable(files)
		case err != nil:
			return nil, nil, fmt.Errorf("cannot be unpacked: %w", err)
		case n == mostBundled:
			return nil, nil, fmt.Errorf("has more than %d entries; want a bundle of a server's metrics, dumps and objects", mostBundled)
		case header.Typeflag != tar.TypeReg || hidden(header.Name):
			continue
		case !filepath.IsLocal(header.Name) || strings.Contains(header.Name, `\`):
			return nil, nil, fmt.Errorf("has a file %q, which leads out of its folder", format.Printable(header.Name))
		}
		inside := path.Clean(header.Name)
		if seen[inside] {
			return nil, nil, fmt.Errorf("has two files %q", format.Printable(inside))
		}
		seen[inside] = true
		text, err := io.ReadAll(io.LimitReader(unpacked(archive), left+1))
		if err != nil {
			return nil, nil, fmt.Errorf("cannot be unpacked: %s: %w", format.Printable(inside), err)
		}
		if left -= int64(len(text)); left < 0 {
			return nil, nil, fmt.Errorf("has files of more than %d MiB together", mostUnpacked>>20)
		}
		files = append(files, File{Name: name + ":" + format.Printable(inside), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	}
}

// usable recognizes the files of a bundle, and says why some are left out.
func usable(all []File) (files []File, notes []string, err error) {
	for _, f := range all {
		if f.Kind, _, err = RecognizeFile(f.Open); err != nil {
			return nil, nil, err
		}
		if note := f.leftOut(); note != "" {
			notes = append(notes, note)
			continue
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("has no file that is read; want the log of a server or of a client, metrics, a dump, or flow-control objects")
	}
	return files, notes, nil
}

// leftOut says why a file of a bundle is not used, "" if it is.
func (f *File) leftOut() string {
	if readers[f.Kind] != nil || IsLog(f.Kind) {
		return ""
	}
	what := "is " + Words(f.Kind)
	if r, err := f.Open(); err == nil && f.Kind == incident.Other {
		head, _ := io.ReadAll(io.LimitReader(r, 1<<10))
		what = otherText(head)
		r.Close()
	}
	return f.Name + ": " + what + ", and is left out"
}

// hidden reports whether a file, or a folder that it is in, is one that a system keeps beside others, such as ._metrics.txt.
func hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Clean(name), "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != "." && part != ".."
	})
}

// Folder returns the names of the files in a folder and in the folders below it that tell something, and why others are left out. The
// error continues a sentence that begins with the name of the folder.
func Folder(dir string) (names, notes []string, err error) {
	var files []File
	n := 0
	err = filepath.WalkDir(dir+string(filepath.Separator), func(name string, d fs.DirEntry, err error) error {
		if n++; err == nil && n > mostBundled {
			err = fmt.Errorf("has more than %d files; name those of one server", mostBundled)
		}
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil || !d.Type().IsRegular() || hidden(filepath.ToSlash(inside)) {
			return err
		}
		files = append(files, File{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
		return nil
	})
	if err == nil {
		files, notes, err = usable(files)
	}
	for i := range files {
		names = append(names, files[i].Name)
	}
	return names, notes, err
}
