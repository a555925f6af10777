package format

import (
	_ "embed"
	"html/template"
	"regexp"
	"strings"
)

// Capitalized begins the head of a column as pages do.
func Capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Breakable returns text whose long names may break behind what separates their parts.
func Breakable(text string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(Printable(text))))
}

// BeforeUnit is the space between a number and its unit, where a line is not to end.
var BeforeUnit = regexp.MustCompile(`(\d) ((?:%|[nµm]?s|min|h|[kMG])(?:\W|$))`)

var breaks = strings.NewReplacer(":", ":<wbr>", "/", "/<wbr>", "{", "{<wbr>")
