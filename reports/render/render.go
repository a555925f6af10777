// Package render writes reports in the formats that users read or feed to other programs, one format a
// file: text for terminals, HTML pages that need no other file and no network, Markdown, CSV, JUnit XML and the
// Go benchmark format that benchstat reads. Package charts, which needs large libraries, draws SVG and PNG.
//
// What a report contains is decided in package report; a file here only lays it out.
package render
