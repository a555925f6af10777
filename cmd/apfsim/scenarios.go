package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/experiment"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/scenarios"

	"github.com/spf13/cobra"
)

func newScenarios() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenarios",
		Short: "List or print the scenarios of the library",
	}
	cmd.AddCommand(newScenariosList(), &cobra.Command{
		Use:   "show NAME",
		Short: "Print the file of a library scenario",
		Long: `Print the file of a library scenario, as a start for a scenario of your own. A file that the
scenario refers to can be printed in the same way, by its name.`,
		Example: `  apfsim scenarios show elephants-and-mice > mine.yaml
  mkdir -p config
  apfsim scenarios show config/cluster-flowcontrol.yaml > config/cluster-flowcontrol.yaml
  apfsim run mine.yaml`,
		Args:              exactlyOne("the name of a scenario; 'apfsim scenarios list' prints them"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			if scenarios.Has(file) {
				file = scenarios.File(file)
			}
			text, err := fs.ReadFile(scenarios.Files, file)
			if err != nil {
				return invalid(fmt.Errorf("the library has no scenario %q%s\nsee 'apfsim scenarios list'",
					args[0], document.Suggest(args[0], scenarios.Names())))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	})
	return cmd
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}

// incidentFormats are the formats in which published figures can be printed.
var incidentFormats = render.Names(report.Quoted)

func newScenariosList() *cobra.Command {
	var incidents, quiet bool
	var as string
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List the scenarios of the library by subject, or compare published figures with simulated ones",
		Long: `List the scenarios of the library by subject. With a text, list only the scenarios whose name, description
or source contains it, such as the URL of an issue.

With --incidents, run the scenarios that reproduce published incidents and measurements, and print each
published figure beside the simulated one.`,
		Example: `  apfsim scenarios list
  apfsim scenarios list https://github.com/kubernetes/kubernetes/issues/47899
  apfsim scenarios list --incidents --format json`,
		Args: count(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, "")
			for _, flag := range []string{"format", "quiet"} {
				if cmd.Flags().Changed(flag) && !incidents {
					return invalid(fmt.Errorf("--%s: needs --incidents", flag))
				}
			}
			if err := oneOf("format", as, incidentFormats); err != nil {
				return invalid(err)
			}
			listed, err := listedScenarios(text)
			switch {
			case err != nil:
				return invalid(err)
			case incidents:
				return runIncidents(cmd, listed, as, quiet)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for i, group := range listed {
				if i > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintln(w, group.Title)
				for _, s := range group.Scenarios {
					title := s.Title
					if url := sourceURL(s.Name); url != "" {
						title += " (" + url + ")"
					}
					fmt.Fprintf(w, "  %s\t%s\n", s.Name, title)
				}
			}
			return w.Flush()
		},
	}
	f := cmd.Flags()
	f.BoolVar(&incidents, "incidents", false, "run the scenarios of published incidents, and print published figures beside simulated ones")
	addFormat(cmd, &as, "text", "figures", incidentFormats)
	f.BoolVarP(&quiet, "quiet", "q", false, "do not show progress")
	return cmd
}

// listedScenarios returns the groups of the library, only with the scenarios whose name, title or source contains a text.
func listedScenarios(text string) ([]scenarios.Group, error) {
	var listed []scenarios.Group
	contains := func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(text)) }
	for _, group := range scenarios.Groups {
		group.Scenarios = slices.DeleteFunc(slices.Clone(group.Scenarios), func(s scenarios.Entry) bool {
			url := sourceURL(s.Name)
			return !contains(s.Name) && !contains(s.Title) && !contains(url) && (url == "" || !strings.HasPrefix(text, url))
		})
		if len(group.Scenarios) > 0 {
			listed = append(listed, group)
		}
	}
	if len(listed) == 0 {
		return nil, fmt.Errorf("no scenario of the library has %q in its name, its description or its source\nsee 'apfsim scenarios list'", document.Abridge(text))
	}
	return listed, nil
}

// sourceURL returns where the source of a scenario of the library can be read, "" without one. It is read from the file
// without the rest, which takes a hundred times as long for the whole library.
func sourceURL(name string) string {
	text, err := fs.ReadFile(scenarios.Files, scenarios.File(name))
	if err != nil {
		panic(err) // the name is one of the library
	}
	docs, _ := yaml.Parse(name, text)
	for _, doc := range docs {
		if url := doc.Root.Get("metadata").Get("source").Get("url"); url != nil {
			return url.Text
		}
	}
	return ""
}

// runIncidents runs the scenarios with published figures among those that are listed, and prints the figures.
func runIncidents(cmd *cobra.Command, listed []scenarios.Group, as string, quiet bool) error {
	var names []string
	for _, group := range listed {
		for _, s := range group.Scenarios {
			if sourceURL(s.Name) != "" {
				names = append(names, s.Name)
			}
		}
	}
	loaded, err := experiment.LoadIncidents(names)
	if err != nil {
		return invalid(err)
	}
	if len(loaded.Scenarios) == 0 {
		return invalid(errors.New("none of these scenarios has published figures"))
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	progress := newProgress(cmd.ErrOrStderr(), loaded.Scenarios, quiet)
	all, err := loaded.Run(ctx, progress)
	progress.pause()
	if err != nil {
		return err
	}
	return render.Write(cmd.OutOrStdout(), report.IncidentsDocument(all), as, textOptions(cmd.OutOrStdout(), false))
}
