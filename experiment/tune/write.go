package tune

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"apfsim/core/config"
	"apfsim/document/yaml"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
)

// Names of the files of an answer.
const (
	AnswerFile = "tune.json"
	ChangeFile = "change.yaml"
	DiffFile   = "change.diff"
)

// Files are the names of all of them.
var Files = []string{AnswerFile, ChangeFile, DiffFile}

// Write adds the files of an answer to a set. Files with a change that an earlier answer has left are removed if there is
// none now.
func (a *Answer) Write(set *atomicfile.Set, dir string) error {
	var text strings.Builder
	if err := format.WriteJSON(&text, a); err != nil {
		return err
	}
	if err := set.Write(filepath.Join(dir, AnswerFile), []byte(text.String())); err != nil {
		return err
	}
	if a.Selected == nil {
		set.Remove(filepath.Join(dir, ChangeFile))
		set.Remove(filepath.Join(dir, DiffFile))
		return nil
	}
	change, err := a.Manifest()
	if err != nil {
		return err
	}
	before, err := a.objectsText(a.former())
	if err != nil {
		return err
	}
	if err := set.Write(filepath.Join(dir, ChangeFile), change); err != nil {
		return err
	}
	return set.Write(filepath.Join(dir, DiffFile), []byte(unified("present.yaml", ChangeFile, before, string(change))))
}

// Manifest returns the objects of the selected change for kubectl apply, in a version that the release serves. A comment
// says how to undo it, and what the servers have to be started with.
func (a *Answer) Manifest() ([]byte, error) {
	c := a.Selected
	var head strings.Builder
	fmt.Fprintf(&head, "# %s\n", c.Sentence)
	if c.requests > 0 {
		fmt.Fprintf(&head, "# kube-apiserver: --max-requests-inflight=%d\n", c.requests)
	}
	var added []string
	changed := false
	for _, s := range c.objects.FlowSchemas {
		if a.search.present.Objects.FlowSchema(s.Name) == nil {
			added = append(added, "flowschema/"+s.Name)
		} else {
			changed = true
		}
	}
	for _, l := range c.objects.PriorityLevels {
		if a.search.present.Objects.PriorityLevel(l.Name) == nil {
			added = append(added, "prioritylevelconfiguration/"+l.Name)
		} else {
			changed = true
		}
	}
	if len(added) > 0 {
		fmt.Fprintf(&head, "# To undo it: kubectl delete %s\n", strings.Join(added, " "))
	}
	if changed {
		fmt.Fprintf(&head, "# To undo it: patch -R change.yaml < %s, then kubectl apply -f change.yaml\n", DiffFile)
	}
	text, err := a.objectsText(c.objects)
	return []byte(head.String() + text), err
}

// former returns the objects that the selected change changes, as they are now.
func (a *Answer) former() (former config.Objects) {
	for _, s := range a.Selected.objects.FlowSchemas {
		if old := a.search.present.Objects.FlowSchema(s.Name); old != nil {
			former.FlowSchemas = append(former.FlowSchemas, old)
		}
	}
	for _, l := range a.Selected.objects.PriorityLevels {
		if old := a.search.present.Objects.PriorityLevel(l.Name); old != nil {
			former.PriorityLevels = append(former.PriorityLevels, old)
		}
	}
	return former
}

// objectsText writes objects as YAML, "" without any. Objects that servers maintain get the annotation with which they
// keep their changes.
func (a *Answer) objectsText(o config.Objects) (string, error) {
	if len(o.FlowSchemas)+len(o.PriorityLevels) == 0 {
		return "", nil
	}
	list := o.Manifest(a.search.problem.rules).(map[string]any)
	for _, item := range list["items"].([]any) {
		metadata := item.(map[string]any)["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if item.(map[string]any)["kind"] == "PriorityLevelConfiguration" && a.search.problem.builtIn.PriorityLevel(name) != nil {
			metadata["annotations"] = map[string]any{config.AutoupdateAnnotation: "false"}
		}
	}
	text, err := yaml.Marshal(list)
	return string(text), err
}

// textOf writes a value of a field as JSON, and a text as it is.
func textOf(v any) string {
	var text string
	b, err := json.Marshal(v)
	if err != nil {
		panic("tune: a value that cannot be JSON: " + err.Error())
	}
	if json.Unmarshal(b, &text) == nil {
		return text
	}
	return string(b)
}

// around is how many equal lines a unified diff has before and after a change.
const around = 3

// unified returns the differences of two texts as a unified diff.
func unified(nameA, nameB, textA, textB string) string {
	a, b := linesOf(textA), linesOf(textB)
	// longest[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	type line struct {
		sign byte
		text string
		a, b int // lines of both texts before it
	}
	var all []line
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, line{' ', a[i], i, j})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			all = append(all, line{'-', a[i], i, j})
			i++
		default:
			all = append(all, line{'+', b[j], i, j})
			j++
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	for from := 0; from < len(all); {
		if all[from].sign == ' ' {
			from++
			continue
		}
		begin, end, last := max(0, from-around), from+1, from
		for ; end < len(all) && end-last <= 2*around; end++ {
			if all[end].sign != ' ' {
				last = end
			}
		}
		end = min(len(all), last+1+around)
		counts := map[byte]int{}
		for _, l := range all[begin:end] {
			counts[l.sign]++
		}
		nA, nB := counts[' ']+counts['-'], counts[' ']+counts['+']
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", hunk(all[begin].a, nA), hunk(all[begin].b, nB))
		for _, l := range all[begin:end] {
			out.WriteByte(l.sign)
			out.WriteString(l.text + "\n")
		}
		from = end
	}
	return out.String()
}

// hunk writes where a part of a diff begins, after so many lines, and how many it has.
func hunk(before, n int) string {
	if n > 0 {
		before++
	}
	return fmt.Sprintf("%d,%d", before, n)
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
