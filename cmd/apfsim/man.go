package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"apfsim/internal/atomicfile"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan returns the command for packagers. The help does not list it.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write man pages",
		Long:   "Write a man page for each command to DIR, as apfsim.1, apfsim-run.1 and so on.",
		Hidden: true,
		Args:   exactlyOne("the folder to write to"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return invalid(fmt.Errorf("the name of the folder is empty"))
			}
			var p paths
			p.folder("", args[0])
			if err := p.prepare(cmd, &atomicfile.Set{}); err != nil {
				return err
			}
			return writeMan(cmd.Root(), args[0])
		},
	}
}

// writeMan writes the pages of a command and its subcommands.
func writeMan(cmd *cobra.Command, dir string) error {
	cmd.DisableAutoGenTag = true // the tag would contain the current date
	var page bytes.Buffer
	header := doc.GenManHeader{Section: "1", Source: "apfsim " + buildVersion(), Manual: "apfsim"}
	if os.Getenv("SOURCE_DATE_EPOCH") == "" { // which GenMan uses
		committed := commitTime()
		header.Date = &committed
	}
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	if err := atomicfile.WriteFile(filepath.Join(dir, name), page.Bytes()); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// commitTime returns the time of the commit that the program was built from, so that the pages do not
// depend on the current date; 1970 if the build has no such information.
func commitTime() time.Time {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
					return at.UTC()
				}
			}
		}
	}
	return time.Unix(0, 0).UTC()
}
