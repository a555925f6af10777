package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is a small change of a package's source: the bytes from begin to end of a file are replaced by text.
type mutant struct {
	file       *sourceFile
	begin, end int
	text       string
	place      ast.Node  // what is shown of the change: the expression or the statement around it
	name       string    // of the function, such as "Divide" or "(*Level).Divide", or of the constant or variable
	function   *function // the outermost one around the change; nil if there is none
}

// function is a declared function or a function literal.
type function struct {
	body    *ast.BlockStmt
	results *ast.FieldList
}

// mutate returns the text of a file with the change.
func (m *mutant) mutate() string { return m.replace(0, len(m.file.text)) }

// replace returns the text between two offsets, which are around the change, with the change.
func (m *mutant) replace(begin, end int) string {
	return m.file.text[begin:m.begin] + m.text + m.file.text[m.end:end]
}

func (m *mutant) line() int { return m.file.fset.Position(m.file.pos(m.begin)).Line }

// describe returns the place and the change of a mutant, in one line. The file is named from a folder that contains it.
func (m *mutant) describe(dir string) string {
	return fmt.Sprintf("%s:%d: %s: %s", strings.TrimPrefix(m.file.path, dir+string(filepath.Separator)), m.line(), m.name, m.change())
}

// change returns what the mutant changes, such as "a < b → a <= b" or "drop n++", in one line.
func (m *mutant) change() string {
	before := oneLine(m.file.source(m.place))
	after := oneLine(m.replace(m.file.offset(m.place.Pos()), m.file.offset(m.place.End())))
	if after == "" {
		return "drop " + before
	}
	return before + " → " + after
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// swaps are the operators that replace an operator.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.ADD: token.SUB, token.SUB: token.ADD,
	token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// candidates returns all mutants of a file, in the order of the text. Not all of them compile.
func candidates(file *sourceFile) []*mutant {
	var all []*mutant
	for _, declaration := range file.tree.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				name := d.Name.Name
				if d.Recv != nil {
					name = "(" + file.source(d.Recv.List[0].Type) + ")." + name
				}
				v := &visitor{file: file, name: name, found: &all}
				v.within(d.Type, d.Body)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok {
					for _, value := range values.Values {
						ast.Walk(&visitor{file: file, name: values.Names[0].Name, found: &all}, value)
					}
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.text, b.text))
	})
	return all
}

// visitor collects the mutants below a node.
type visitor struct {
	file    *sourceFile
	name    string
	outer   *function      // the outermost one around the node
	results *ast.FieldList // of the innermost one
	found   *[]*mutant
}

// within collects the mutants in the body of a function.
func (v *visitor) within(signature *ast.FuncType, body *ast.BlockStmt) {
	inner := *v
	inner.results = signature.Results
	if inner.outer == nil {
		inner.outer = &function{body, signature.Results}
	}
	ast.Walk(&inner, body)
}

// add adds the mutant that replaces the text from begin to end.
func (v *visitor) add(begin, end token.Pos, text string, place ast.Node) {
	*v.found = append(*v.found, &mutant{file: v.file, begin: v.file.offset(begin), end: v.file.offset(end), text: text,
		place: place, name: v.name, function: v.outer})
}

func (v *visitor) swap(operator token.Token, pos token.Pos, place ast.Node) {
	if other, ok := swaps[operator]; ok {
		v.add(pos, pos+token.Pos(len(operator.String())), other.String(), place)
	}
}

// Visit implements ast.Visitor.
func (v *visitor) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.BinaryExpr:
		v.swap(n.Op, n.OpPos, n)
	case *ast.IncDecStmt:
		v.swap(n.Tok, n.TokPos, n)
	case *ast.AssignStmt:
		v.swap(n.Tok, n.TokPos, n)
	case *ast.IfStmt:
		v.negate(n.Cond)
	case *ast.Ident:
		switch n.Name {
		case "true":
			v.add(n.Pos(), n.End(), "false", n)
		case "false":
			v.add(n.Pos(), n.End(), "true", n)
		}
	case *ast.BasicLit:
		if value, err := strconv.ParseInt(n.Value, 0, 63); err == nil && n.Kind == token.INT {
			v.add(n.Pos(), n.End(), strconv.FormatInt(value+1, 10), n)
			v.add(n.Pos(), n.End(), strconv.FormatInt(value-1, 10), n)
		}
	case *ast.BlockStmt:
		v.drop(n.List)
	case *ast.CaseClause:
		v.drop(n.Body)
	case *ast.CommClause:
		v.drop(n.Body)
	case *ast.ReturnStmt:
		v.zero(n)
	case *ast.FuncLit:
		v.within(n.Type, n.Body)
		return nil
	case *ast.ArrayType:
		return nil // the length of an array is not a decision
	case *ast.CallExpr:
		switch name, _ := n.Fun.(*ast.Ident); {
		case name == nil:
		case name.Name == "panic":
			return nil // what a broken invariant says is not tested
		case name.Name == "make" && len(n.Args) == 3:
			ast.Walk(v, n.Args[1]) // a capacity does not change what a program does
			return nil
		}
	}
	return v
}

// negate negates a condition, unless the swap of its operator does.
func (v *visitor) negate(condition ast.Expr) {
	if b, ok := condition.(*ast.BinaryExpr); !ok || b.Op != token.EQL && b.Op != token.NEQ {
		v.add(condition.Pos(), condition.End(), "!("+v.file.source(condition)+")", condition)
	}
}

// drop adds a mutant for each statement that can be left out.
func (v *visitor) drop(statements []ast.Stmt) {
	for _, statement := range statements {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					continue
				}
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ReturnStmt:
			if len(s.Results) > 0 {
				continue // see zero
			}
		case *ast.IncDecStmt, *ast.BranchStmt, *ast.DeferStmt, *ast.GoStmt:
		default:
			continue
		}
		v.add(statement.Pos(), statement.End(), "", statement)
	}
}

// zero adds the mutant that returns the zero value of each result, unless a statement does so already.
func (v *visitor) zero(statement *ast.ReturnStmt) {
	isZero := func(e ast.Expr) bool { return slices.Contains([]string{"nil", "false", "0", `""`}, v.file.source(e)) }
	if v.results == nil || len(statement.Results) == 0 || !slices.ContainsFunc(statement.Results, func(e ast.Expr) bool { return !isZero(e) }) {
		return
	}
	if len(statement.Results) == 1 && (v.file.source(statement.Results[0]) == "true") {
		return // true → false does the same
	}
	var zeros []string
	for _, field := range v.results.List {
		zeros = append(zeros, slices.Repeat([]string{"*new(" + v.file.source(field.Type) + ")"}, max(1, len(field.Names)))...)
	}
	v.add(statement.Results[0].Pos(), statement.End(), strings.Join(zeros, ", "), statement)
}
