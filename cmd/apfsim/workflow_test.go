package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

// step is what these tests know of a step of GitHub Actions.
type step struct {
	ID, Name, Uses, Run, If, Shell string
	Env, With                      map[string]string
}

// action is what they know of an action.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

const pullRequestGuide = "docs/guides/thresholds-in-ci.md"

// documentedInputs returns what the workflow of the guide gives to the action.
func documentedInputs(t *testing.T) map[string]string {
	t.Helper()
	_, after, _ := strings.Cut(documents(t)[pullRequestGuide], "```yaml\n")
	block, _, _ := strings.Cut(after, "```\n")
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	if err := yamlv3.Unmarshal([]byte(block), &workflow); err != nil {
		t.Fatal(err)
	}
	for _, s := range workflow.Jobs["compare"].Steps {
		if strings.HasPrefix(s.Uses, "OWNER/apfsim@") {
			return s.With
		}
	}
	t.Fatal("the workflow of the guide does not use the action")
	return nil
}

// readAction returns the action of the repository.
func readAction(t *testing.T) *action {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yamlv3.Unmarshal(text, &a); err != nil || a.Runs.Using != "composite" {
		t.Fatalf("action.yml: %v; it uses %q", err, a.Runs.Using)
	}
	return &a
}

// The table of the guide has all inputs, with their defaults.
func TestGuideHasTheInputsOfTheAction(t *testing.T) {
	guide := documents(t)[pullRequestGuide]
	for name, input := range readAction(t).Inputs {
		_, row, found := strings.Cut(guide, "| `"+name+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		want := input.Default
		switch {
		case input.Required:
			want = "required"
		case want == "":
			want = "none"
		case strings.HasPrefix(want, "${{"):
			want = "that of the job"
		}
		if !found || !strings.HasSuffix(row, "| "+want+" |") {
			t.Errorf("%s: input %s: %q does not end with the default %q", pullRequestGuide, name, row, want)
		}
	}
}

// The shell steps of the action with the inputs of the guide, on a repository with the merge of a pull request checked
// out: they let a change pass that does not hurt, stop one that does, and show both.
func TestPullRequestAction(t *testing.T) {
	noWindows(t)
	for _, program := range []string{"git", "bash", "make", "curl", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	cluster, err := os.ReadFile("../../scenarios/config/cluster-flowcontrol.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from, to string
		inputs         map[string]string // beside those of the guide
		failing        string            // the step that fails
		summary        []string          // what the summary contains; nil without a summary
	}{
		{"no change", "", "", map[string]string{"replications": "2"}, "", []string{"exactly equal", "✓  rejected{workload:shops}  rate < 0.001  0"}},
		{"more queues", "queues: 128", "queues: 256", map[string]string{"replications": "3"}, "", []string{"### Limits: no limit is significantly exceeded"}},
		{"one queue a flow", "handSize: 6", "handSize: 1", nil, "Compare",
			[]string{"✗ | `rejected{workload:shops}.rate > +0.001`", "✗  rejected{workload:shops}  rate < 0.001  0.0"}},
		{"a mistake", "handSize: 6", "handSize: 600", nil, "Check the configuration", nil},
		{"two scenarios of one name", "", "", map[string]string{"scenarios": "shops.yaml\nmore/shops.yaml\n", "replications": "2"}, "",
			[]string{"## shops.yaml", "## more/shops.yaml"}},
		// The command runs in the base and in the head: the comment has what differs.
		{"rendered", "queues: 128", "queues: 8", rendered("cat flowcontrol.yaml"), "", []string{"| fewer-queues | warning |", "| colliding-hands | warning |"}},
		{"rendered, and new", "", "", rendered("cat new.yaml"), "", []string{"kubelet (control plane) | get secrets in namespace default |", "| takes-control-plane | warning |"}},
		{"rendered, and without flow control", "", "", rendered("echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: flowcontrol.apiserver.k8s.io}}'"), "", []string{"The requests of all clients go to the same priority levels"}},
		{"rendered with a mistake", "", "", rendered("exit 3"), "Check the configuration", nil},
		{"both", "", "", map[string]string{"render": "cat flowcontrol.yaml"}, "Check the inputs", nil},
		{"a flag", "", "", map[string]string{"scenarios": "  --junit=shops.yaml\n"}, "Check the inputs", nil},
		{"a release", "", "", map[string]string{"version": "v1.2.3", "scenarios": ""}, "", []string{"No priority level has other limits"}},
		{"a release that is not the one", "", "", map[string]string{"version": "v1.2.4", "scenarios": ""}, "Install apfsim", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newPullRequest(t, string(cluster), strings.ReplaceAll(string(cluster), c.from, c.to))
			inputs := documentedInputs(t)
			maps.Copy(inputs, c.inputs)
			if failing := r.run(t, readAction(t), inputs); failing != c.failing {
				t.Errorf("step %q has failed, want %q\n%s", failing, c.failing, r.log.String())
			}
			summary, _ := os.ReadFile(filepath.Join(r.tools, "summary"))
			comment, _ := os.ReadFile(filepath.Join(r.tools, "comment"))
			for _, want := range c.summary {
				if !strings.Contains(string(summary), want) {
					t.Errorf("the summary has no %q:\n%s\n%s", want, summary, r.log.String())
				}
			}
			if c.summary == nil {
				if len(summary) > 0 {
					t.Errorf("there is a summary:\n%s", summary)
				}
				return
			}
			if string(comment) != string(summary) {
				t.Errorf("the comment is not the summary:\n%s", comment)
			}
			if inputs["scenarios"] == "" {
				return
			}
			for i := range strings.Fields(inputs["scenarios"]) {
				if _, err := os.Stat(filepath.Join(r.dir, "flow-control", "shops"+strings.Repeat("-2", i), "comparison.html")); err != nil {
					t.Error(err)
				}
			}
			junit, _ := os.ReadFile(filepath.Join(r.dir, "flow-control", "junit.xml"))
			if !strings.Contains(string(junit), `<testcase name="rejected{workload:shops}: rate &lt; 0.001" classname="shops"`) {
				t.Errorf("the thresholds are not in the JUnit XML:\n%s", junit)
			}
			for name, output := range readAction(t).Outputs {
				if _, err := os.Stat(filepath.Join(r.dir, r.replace(output.Value))); err != nil {
					t.Errorf("output %s: %v", name, err)
				}
			}
		})
	}
}

// rendered are the inputs of a chart without scenarios.
func rendered(command string) map[string]string {
	return map[string]string{"config": "", "render": command, "scenarios": ""}
}

// pullRequest is a repository with the merge of a pull request checked out, as Actions does it.
type pullRequest struct {
	dir, tools string
	inputs     map[string]string // of the action
	log        strings.Builder
}

// newPullRequest returns that of a change of flowcontrol.yaml.
func newPullRequest(t *testing.T, base, head string) *pullRequest {
	t.Helper()
	r := &pullRequest{dir: t.TempDir(), tools: t.TempDir()}
	apfsim, err := exec.LookPath("apfsim")
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	// Two releases for this machine, of which the second has the checksum of the first; the clone that is built, and GitHub's client, which keeps what it is given for a comment.
	write(filepath.Join(r.tools, "action", "Makefile"), "build:\n\tmkdir -p bin && ln -s '"+apfsim+"' bin/apfsim\n", 0o666)
	platform := runtime.GOOS + "_" + runtime.GOARCH
	for i, version := range []string{"v1.2.3", "v1.2.4"} {
		name, dir := "apfsim_"+version+"_"+platform, filepath.Join(r.tools, "releases", "OWNER", "apfsim", "releases", "download", version)
		write(filepath.Join(dir, name, "apfsim"), "#!/bin/sh\nexec '"+apfsim+"' \"$@\"\n", 0o777)
		if p := newProcess(t, dir, "tar", "czf", name+".tar.gz", name); p.wait(t) != 0 {
			t.Fatal(p.err.String())
		}
		archive, err := os.ReadFile(filepath.Join(dir, name+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(dir, "SHA256SUMS"), fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(archive[i:]), name), 0o666)
	}
	write(filepath.Join(r.tools, "gh"), `#!/bin/sh
test "$*" = "pr comment 7 --edit-last --create-if-none --body-file flow-control/comment.md" && test "$GH_TOKEN" = secret || exit 1
cp flow-control/comment.md "$(dirname "$0")/comment"
`, 0o777)
	git := func(args ...string) {
		t.Helper()
		p := newProcess(t, r.dir, "git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"}, args...)...)
		if p.wait(t) != 0 {
			t.Fatalf("git %q: %s", args, &p.err)
		}
	}
	git("init", "-q")
	for _, c := range docCommands(pullRequestGuide, documents(t)[pullRequestGuide]) {
		if strings.HasPrefix(c.line, "cat > shops.yaml ") {
			runLine(t, r.dir, c.at, c.line)
		}
	}
	shops, err := os.ReadFile(filepath.Join(r.dir, "shops.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(r.dir, "more", "shops.yaml"), strings.Replace(string(shops), "metadata: {name: shops}", "metadata: {name: more}", 1), 0o666)
	write(filepath.Join(r.dir, "flowcontrol.yaml"), base, 0o666)
	git("add", ".")
	git("commit", "-q", "-m", "base")
	git("checkout", "-q", "-b", "change")
	write(filepath.Join(r.dir, "flowcontrol.yaml"), head, 0o666)
	write(filepath.Join(r.dir, "new.yaml"), `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: readers}
spec:
  matchingPrecedence: 300
  priorityLevelConfiguration: {name: workload-low}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: "system:authenticated"}}]
    resourceRules: [{verbs: [get], apiGroups: [""], resources: [secrets], namespaces: ["*"]}]
`, 0o666)
	git("add", ".")
	git("commit", "-q", "-m", "change")
	git("checkout", "-q", "main")
	git("merge", "-q", "--no-ff", "-m", "merge", "change")
	return r
}

// replace replaces the expressions in a text of the action by what they are in this pull request.
func (r *pullRequest) replace(text string) string {
	values := []string{"${{ github.token }}", "secret", "${{ github.event.pull_request.number }}", "7",
		"${{ github.server_url }}", "file://" + filepath.ToSlash(filepath.Join(r.tools, "releases")), "${{ github.action_repository }}", "OWNER/apfsim"}
	for name, value := range r.inputs {
		values = append(values, "${{ inputs."+name+" }}", value)
	}
	return strings.NewReplacer(values...).Replace(text)
}

// condition says whether a step runs, given which has failed.
func (r *pullRequest) condition(t *testing.T, condition, failing string) bool {
	t.Helper()
	if condition == "" {
		return failing == ""
	}
	for _, term := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(condition, "${{ "), " }}"), " && ") {
		switch term {
		case "!cancelled()", "inputs.comment == 'true'", "github.event.pull_request.head.repo.full_name == github.repository":
		case "inputs.scenarios != ''":
			if r.inputs["scenarios"] == "" {
				return false
			}
		case "steps.check.outcome == 'success'":
			if failing != "" && failing != "Compare" {
				return false
			}
		default:
			t.Fatalf("this test does not know the condition %s", term)
		}
	}
	return true
}

// run runs the steps that are shell, and returns the first that fails.
func (r *pullRequest) run(t *testing.T, a *action, given map[string]string) (failing string) {
	t.Helper()
	r.inputs = map[string]string{}
	for name, input := range a.Inputs {
		r.inputs[name] = input.Default
		if value, ok := given[name]; ok {
			r.inputs[name] = value
		}
	}
	for name := range given {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("the action has no input %s", name)
		}
	}
	paths, summary := filepath.Join(r.tools, "path"), filepath.Join(r.tools, "summary")
	shellSteps := 0
	for _, step := range a.Runs.Steps {
		if step.Run == "" {
			continue
		}
		shellSteps++
		if step.Shell != "bash" {
			t.Errorf("%s: shell %q, want bash", step.Name, step.Shell)
		}
		if !r.condition(t, step.If, failing) {
			continue
		}
		added, _ := os.ReadFile(paths)
		script := filepath.Join(r.tools, "step")
		if err := os.WriteFile(script, []byte(step.Run), 0o666); err != nil {
			t.Fatal(err)
		}
		p := newProcess(t, r.dir, "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		p.Env = append(os.Environ(), "GITHUB_PATH="+paths, "GITHUB_STEP_SUMMARY="+summary, "RUNNER_TEMP="+filepath.Join(r.tools, "temp"),
			"GITHUB_ACTION_PATH="+filepath.Join(r.tools, "action"), "RUNNER_OS="+map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS],
			"RUNNER_ARCH="+map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH],
			"PATH="+strings.Join([]string{strings.TrimSpace(string(added)), r.tools, "/usr/local/bin", "/usr/bin", "/bin"}, ":"))
		for name, value := range step.Env {
			p.Env = append(p.Env, name+"="+r.replace(r.replace(value))) // the default of an input is an expression, too
		}
		status := p.wait(t)
		r.log.WriteString(step.Name + ":\n" + p.out.String() + p.err.String())
		if status != 0 && failing == "" {
			failing = step.Name
		}
	}
	if shellSteps < 8 {
		t.Errorf("the action has only %d shell steps", shellSteps)
	}
	return failing
}
