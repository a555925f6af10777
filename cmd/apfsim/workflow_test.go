package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

// workflow is what these tests know of a workflow of GitHub Actions.
type workflow struct {
	Jobs map[string]struct {
		Steps []workflowStep
	}
}

type workflowStep struct {
	Name, Uses, Run, If string
	Env                 map[string]string
}

const pullRequestGuide = "docs/guides/pull-requests.md"

// documentedWorkflow returns the workflow of the guide.
func documentedWorkflow(t *testing.T) workflow {
	t.Helper()
	_, after, _ := strings.Cut(pages(t)[pullRequestGuide], "```yaml\n")
	block, _, found := strings.Cut(after, "```\n")
	var w workflow
	if err := yamlv3.Unmarshal([]byte(block), &w); err != nil || !found {
		t.Fatalf("the guide has no workflow: %v", err)
	}
	return w
}

// The shell steps of the workflow, on a repository with the merge of a pull request checked
// out: they let a change pass that does not hurt, stop one that does, and show both.
func TestPullRequestWorkflow(t *testing.T) {
	noWindows(t)
	for _, program := range []string{"git", "bash", "make"} {
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
		failing        string // the step that fails
		summary        string
	}{
		{"no change", "", "", "", "exactly equal"},
		{"more queues", "queues: 128", "queues: 256", "", "### Limits: no limit is significantly exceeded"},
		{"one queue a flow", "handSize: 6", "handSize: 1", "Compare", "✗ | `rejected{workload:shops}.rate > +0.001`"},
		{"a mistake", "handSize: 6", "handSize: 600", "Check the configuration", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newPullRequest(t, string(cluster), strings.ReplaceAll(string(cluster), c.from, c.to))
			if failing := r.run(t, documentedWorkflow(t)); failing != c.failing {
				t.Errorf("step %q has failed, want %q\n%s", failing, c.failing, r.log.String())
			}
			summary, _ := os.ReadFile(filepath.Join(r.tools, "summary"))
			comment, _ := os.ReadFile(filepath.Join(r.tools, "comment"))
			if !strings.Contains(string(summary), c.summary) {
				t.Errorf("the summary has no %q:\n%s\n%s", c.summary, summary, r.log.String())
			}
			if string(comment) != string(summary) {
				t.Errorf("the comment is not the summary:\n%s", comment)
			}
		})
	}
}

// pullRequest is a repository with the merge of a pull request checked out, as Actions does it.
type pullRequest struct {
	dir, tools string
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
	// The clone that is built, and GitHub's client, which keeps what it is given for a comment.
	write(filepath.Join(r.dir, ".apfsim", "Makefile"), "build:\n\tmkdir -p bin && ln -s '"+apfsim+"' bin/apfsim\n", 0o666)
	write(filepath.Join(r.tools, "gh"), `#!/bin/sh
test "$*" = "pr comment 7 --edit-last --create-if-none --body-file comparison.md" && test "$GH_TOKEN" = secret || exit 1
cp comparison.md "$(dirname "$0")/comment"
`, 0o777)
	git := func(args ...string) {
		t.Helper()
		p := newProcess(t, r.dir, "git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main"}, args...)...)
		if p.wait(t) != 0 {
			t.Fatalf("git %q: %s", args, &p.err)
		}
	}
	git("init", "-q")
	for _, c := range docCommands(pullRequestGuide, pages(t)[pullRequestGuide]) {
		if strings.HasPrefix(c.line, "cat > shops.yaml ") {
			runLine(t, r.dir, c.at, c.line)
		}
	}
	write(filepath.Join(r.dir, "flowcontrol.yaml"), base, 0o666)
	git("add", "shops.yaml", "flowcontrol.yaml")
	git("commit", "-q", "-m", "base")
	git("checkout", "-q", "-b", "change")
	write(filepath.Join(r.dir, "flowcontrol.yaml"), head, 0o666)
	git("commit", "-q", "-a", "--allow-empty", "-m", "change")
	git("checkout", "-q", "main")
	git("merge", "-q", "--no-ff", "-m", "merge", "change")
	return r
}

// run runs the steps that are shell, and returns the first that fails.
func (r *pullRequest) run(t *testing.T, w workflow) (failing string) {
	t.Helper()
	values := strings.NewReplacer("${{ github.token }}", "secret", "${{ github.event.pull_request.number }}", "7")
	paths, summary := filepath.Join(r.tools, "path"), filepath.Join(r.tools, "summary")
	shellSteps := 0
	for _, step := range w.Jobs["compare"].Steps {
		if step.Run == "" {
			continue
		}
		shellSteps++
		if failing != "" && !strings.Contains(step.If, "!cancelled()") {
			continue
		}
		added, _ := os.ReadFile(paths)
		script := filepath.Join(r.tools, "step")
		if err := os.WriteFile(script, []byte(step.Run), 0o666); err != nil {
			t.Fatal(err)
		}
		p := newProcess(t, r.dir, "bash", "-e", script)
		p.Env = append(os.Environ(), "GITHUB_PATH="+paths, "GITHUB_STEP_SUMMARY="+summary,
			"PATH="+strings.Join([]string{strings.TrimSpace(string(added)), r.tools, "/usr/local/bin", "/usr/bin", "/bin"}, ":"))
		for name, value := range step.Env {
			p.Env = append(p.Env, name+"="+values.Replace(value))
		}
		status := p.wait(t)
		r.log.WriteString(step.Name + ":\n" + p.out.String() + p.err.String())
		if status != 0 && failing == "" {
			failing = step.Name
		}
	}
	if shellSteps < 5 {
		t.Errorf("the workflow has only %d shell steps", shellSteps)
	}
	return failing
}
