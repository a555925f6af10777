// Package reports holds the tests of what its packages do together: from a scenario to the files
// and pages that people read. docs/background/layout.md says what each of the packages is for.
package reports
