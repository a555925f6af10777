package evidence

import (
	"archive/tar"
	"bytes"
	"context"
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
			return usable(files, notes)
		case err != nil && len(files) > 0:
			return usable(files, append(notes, fmt.Sprintf("%s: ends after %s: %v; what follows is left out", name, strings.TrimPrefix(files[len(files)-1].Name, name+":"), err)))
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
		f := File{Name: name + ":" + format.Printable(inside), Bundled: true}
		text, err := io.ReadAll(io.LimitReader(unpacked(archive), left+1))
		if left -= int64(len(text)); left < 0 {
			return nil, nil, fmt.Errorf("has files of more than %d MiB together", mostUnpacked>>20)
		}
		if err != nil { // of the file, if it is compressed, or else of the archive, which then ends
			notes = append(notes, fmt.Sprintf("%s: cannot be unpacked: %v; the file is left out", f.Name, err))
			continue
		}
		f.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		files = append(files, f)
	}
}

// usable recognizes the files of a bundle, and adds why some are left out to the notes.
func usable(all []File, before []string) (files []File, notes []string, err error) {
	notes = before
	for _, f := range all {
		if f.Kind, _, err = RecognizeFile(f.Open); err != nil {
			return nil, nil, err
		}
		note := f.leftOut()
		if note == "" {
			note = f.broken()
		}
		if note != "" {
			notes = append(notes, note)
			continue
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, notes, fmt.Errorf("has no file that is read; want the log of a server or of a client, metrics, a dump, or flow-control objects")
	}
	return files, notes, nil
}

// broken says what is wrong with a file of a bundle that cannot be read, "" if it can. Readers of logs say themselves what is wrong
// with lines.
func (f *File) broken() string {
	if IsLog(f.Kind) {
		return ""
	}
	if _, err := gather(context.Background(), []File{*f}); err != nil {
		first, others, _ := strings.Cut(err.Error(), "\n")
		if others != "" {
			first += fmt.Sprintf(" (and %s more)", format.Whole(int64(1+strings.Count(others, "\n"))))
		}
		return first + "; the file is left out"
	}
	return ""
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
		files = append(files, File{Name: name, Bundled: true, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
		return nil
	})
	if err == nil {
		files, notes, err = usable(files, nil)
	}
	for i := range files {
		names = append(names, files[i].Name)
	}
	return names, notes, err
}
