package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/result"
)

// entry is a file of an archive, or a link to another one.
type entry struct{ name, text, link string }

func packed(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o600}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, e.text)
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// A bundle has what there is of one server: the metrics say why requests were rejected, the dump who has sent them, the objects of
// which FlowSchema a client's log has the UID.
var ofOneServer = func() []entry {
	before, after := state{begin, 100, 1000, 0, 0, 245}, state{begin, 160, 1600, 600, 600, 245}
	const columns = "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, InitialSeats, FinalSeats, AdditionalLatency, StartTime\n"
	dump := columns
	for i := range 400 {
		dump += fmt.Sprintf("workload-low, service-accounts, 3, %d, system:serviceaccount:batch:importer, 2023-11-14T22:15:30Z, 1, 0, 0s, 0001-01-01T00:00:00Z\n", i)
	}
	for i := range 245 {
		dump += fmt.Sprintf("workload-low, service-accounts, -1, -1, system:serviceaccount:team-%d:app, 2023-11-14T22:15:32Z, 1, 0, 0s, 2023-11-14T22:15:32Z\n", i/5)
	}
	return []entry{
		{"b/metrics-1.txt", before.text("", 0), ""}, {"b/metrics-2.txt", after.text("", 0), ""}, {"b/requests.csv", dump, ""},
		{"b/version.json", `{"clientVersion": {"gitVersion": "v1.38.0"}, "serverVersion": {"major": "1", "gitVersion": "v1.37.1+build"}}`, ""},
		{"b/objects.yaml", "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata: {name: service-accounts, uid: 4f1b}\nspec: {priorityLevelConfiguration: {name: workload-low}, matchingPrecedence: 9000}\n", ""},
		{"b/importer.log", `I0716 09:58:20.123456 1 request.go:752] "Waited before sending request" delay="1.5s" reason="retries: 1, retry-after: 1s - retry-reason: due to server-side throttling, FlowSchema UID: \"4f1b\"" verb="GET" URL="https://10.0.0.1/api/v1/nodes"` + "\n", ""},
		{"b/README", "what this is\n", ""}, {"b/secrets.csv", "Error from server (Forbidden): no\n", ""}, {"b/._metrics-1.txt", "\x00", ""}, {"b/link", "", "/etc/passwd"},
	}
}()

func TestABundleIsOneAnswer(t *testing.T) {
	files, notes, err := Unpack("bundle.tar.gz", bytes.NewReader(packed(t, ofOneServer...)))
	if err != nil || len(files) != 6 || len(notes) != 2 {
		t.Fatalf("got %d files, notes %q and %v, want 6 files and notes on README and secrets.csv", len(files), notes, err)
	}
	if !strings.HasPrefix(notes[1], "bundle.tar.gz:b/secrets.csv: is an error in the place of the answer: Error from server (Forbidden)") {
		t.Errorf("got %q, want what secrets.csv has", notes[1])
	}
	d := diagnosed(t, files...)
	cause := d.Verdict.Causes[0]
	if d.Verdict.Status != result.Harm || !strings.Contains(d.Verdict.Sentence, "50 % of the 1200 requests of workload-low were rejected in 60 s") {
		t.Errorf("got %s %q, want harm by the metrics", d.Verdict.Status, d.Verdict.Sentence)
	}
	if !strings.Contains(cause.Sentence, "At the moment of the dump, importer has 400 of the 400 requests that wait at workload-low") || len(cause.Flows) != 1 {
		t.Errorf("got %q, want who it was in the same cause", cause.Sentence)
	}
	if !strings.Contains(d.Remedies[0].Sentence, "Let importer send less") || d.KubernetesVersion != "1.37.1" {
		t.Errorf("got %q and %s, want advice that names who it was, and the release of the server", d.Remedies[0].Sentence, d.KubernetesVersion)
	}
	if !slices.ContainsFunc(d.also, func(s string) bool { return strings.Contains(s, "429 (FlowSchema service-accounts)") }) {
		t.Errorf("got %q, want the answers 429 of the client with the name of the FlowSchema", d.also)
	}
	for _, w := range d.Wanted {
		if strings.Contains(w.Input, "scrape") && !strings.Contains(w.Input, "series") || strings.Contains(w.Input, "'/debug") {
			t.Errorf("got that %q is wanted, which is there", w.Input)
		}
	}
	slices.Reverse(files)
	if other := diagnosed(t, files...); other.Verdict.Causes[0].Sentence != cause.Sentence {
		t.Errorf("in another order: got %q, want %q", other.Verdict.Causes[0].Sentence, cause.Sentence)
	}
}

// A server goes on while it is asked: what it had rejected at its dump is between what it had at the scrapes before and after it, and
// the requests that wait are a few more or less in each dump.
func TestDumpBetweenScrapes(t *testing.T) {
	const head = "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests\n"
	for _, c := range []struct {
		waiting, rejected int
		one               bool
	}{{400, 0, true}, {415, 300, true}, {400, 600, true}, {400, 601, false}} {
		levels := head + fmt.Sprintf("workload-low, 1, false, false, %d, 245, 1300, %d, 0, 0\n", c.waiting, c.rejected)
		files, _, err := Unpack("bundle.tar.gz", bytes.NewReader(packed(t, append([]entry{{"b/levels.csv", levels, ""}}, ofOneServer...)...)))
		if err != nil {
			t.Fatal(err)
		}
		d := diagnosed(t, files...)
		if one := strings.Contains(d.Verdict.Causes[0].Sentence, "importer has 400 of"); one != c.one || one != (len(d.warnings) == 0) {
			t.Errorf("%d rejected: got %q and the warnings %q; want one answer: %v", c.rejected, d.Verdict.Causes[0].Sentence, d.warnings, c.one)
		}
		for _, h := range d.Verdict.Harmed {
			if c.one && h.Name == "workload-low" {
				t.Errorf("%d rejected: the level is among the harmed beside its FlowSchemas: %+v", c.rejected, h)
			}
		}
	}
}

// A folder is as its archive.
func TestFolderOfFiles(t *testing.T) {
	dir := t.TempDir()
	for _, e := range ofOneServer {
		name := filepath.Join(dir, filepath.FromSlash(e.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if e.link == "" {
			if err := os.WriteFile(name, []byte(e.text), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Symlink(e.link, name); err != nil {
			t.Skip(err)
		}
	}
	names, notes, err := Folder(dir)
	if err != nil || len(names) != 6 || len(notes) != 2 {
		t.Errorf("got %q, %q and %v, want six names and two notes", names, notes, err)
	}
	if _, _, err := Folder(t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no file that is read") {
		t.Errorf("an empty folder: got %v", err)
	}
}

// Archives that were made to do harm, or are damaged, are refused.
func TestHostileArchives(t *testing.T) {
	many := slices.Repeat([]entry{{name: "."}}, mostBundled+1)
	for i := range many {
		many[i].name = fmt.Sprintf("f%d", i)
	}
	whole := packed(t, entry{name: "a", text: strings.Repeat("up 1\n", 2000)})
	for _, c := range []struct {
		what    string
		archive []byte
		want    string
	}{
		{"too many files", packed(t, many...), "has more than 1000 entries"},
		{"a path that leaves", packed(t, entry{name: "../../root/x", text: "up 1\n"}), `has a file "../../root/x", which leads out of its folder`},
		{"an absolute path", packed(t, entry{name: "/etc/x", text: "up 1\n"}), "leads out of its folder"},
		{"a name of control characters", packed(t, entry{name: "/\x1b[2J", text: "up 1\n"}), "leads out of its folder"},
		{"a file twice", packed(t, entry{name: "a", text: "up 1\n"}, entry{name: "./a", text: "up 2\n"}), `has two files "a"`},
		{"a part of an archive", whole[:len(whole)/2], "cannot be unpacked"},
		{"only links", packed(t, entry{name: "a", link: "/etc/passwd"}), "has no file that is read"},
		{"an archive in an archive", packed(t, entry{name: "a", text: string(whole)}), "has no file that is read"},
	} {
		_, _, err := Unpack("x", bytes.NewReader(c.archive))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: got %v, want %q", c.what, err, c.want)
		}
	}
}

// A file of an archive is unpacked as far as all files together may be long, also if it is compressed again.
func TestArchiveThatExpands(t *testing.T) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 300 {
		z.Write(zeros)
	}
	z.Close()
	if _, _, err := Unpack("x", bytes.NewReader(packed(t, entry{name: "a", text: b.String()}))); err == nil || !strings.Contains(err.Error(), "more than 256 MiB") {
		t.Errorf("got %v, want that it is too long", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("up 1\n"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, _, err := Unpack("x", bytes.NewReader(archive))
		if err == nil && len(files) == 0 {
			t.Error("neither a file nor an error")
		}
	})
}
