// The editor of the scenario, with errors at their places: CodeMirror.
import {
  EditorView, EditorState, keymap, lineNumbers, highlightSpecialChars, drawSelection, defaultKeymap, history, historyKeymap, searchKeymap, lintKeymap,
  syntaxHighlighting, HighlightStyle, bracketMatching, indentUnit, setDiagnostics, lintGutter, yaml, tags, autocompletion, completionKeymap,
} from "./codemirror/codemirror.js";

const style = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--line1)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--line3)" },
  { tag: tags.comment, color: "var(--soft)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--soft)" },
]);

// fieldAt completes names of fields: those that the schema has for the object around the cursor, as far as the lines before it
// say which one that is.
function completions(schema) {
  const resolve = s => {
    while (s && s.$ref) s = schema.$defs[s.$ref.split("/").pop()];
    return s;
  };
  const parts = s => [s, ...(s.oneOf || []), ...(s.anyOf || []), ...(s.allOf || [])].map(resolve).filter(Boolean);
  const child = (s, name) => {
    for (const p of parts(s)) {
      const found = p.properties && p.properties[name];
      if (found) return resolve(found);
    }
    return null;
  };
  const item = s => {
    for (const p of parts(s)) if (p.items) return resolve(p.items);
    return null;
  };
  return context => {
    const word = context.matchBefore(/[A-Za-z]*/), line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, word.from - line.from), own = /^[\s-]*$/.exec(before);
    if (!own || word.from === word.to && !context.explicit) return null;
    // The lines with less indentation than the one before them are the path to the cursor.
    const path = [];
    let indent = before.length, list = before.includes("-") ? before.indexOf("-") : -1;
    if (list >= 0) path.unshift("[]"), indent = list + 1;
    for (let n = line.number - 1; n > 0 && indent > 0; n--) {
      const m = /^(\s*)((?:- )*)([A-Za-z]\w*):/.exec(context.state.doc.line(n).text);
      if (!m) continue;
      const at = m[1].length + m[2].length;
      if (m[2] && at === indent) { path.unshift("[]"); indent = m[1].length + 1; continue; }
      if (at < indent) { path.unshift(m[3]); indent = at; if (m[2]) { path.unshift("[]"); indent = m[1].length + 1; } }
    }
    let s = resolve(schema);
    for (const step of path) {
      s = step === "[]" ? s && item(s) : s && child(s, step);
      if (!s) return null;
    }
    const options = parts(s).flatMap(p => Object.entries(p.properties || {})).map(([name, p]) => {
      const field = resolve(p) || {};
      return { label: name, apply: name + ": ", type: "property", info: p.description || field.description };
    });
    return options.length ? { from: word.from, options, validFor: /^[A-Za-z]*$/ } : null;
  };
}

// editor makes an editor in an element. changed is called with each text that the reader writes.
export function editor(parent, changed) {
  let schema = null, quiet = false;
  const complete = context => schema ? completions(schema)(context) : null;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(), highlightSpecialChars(), drawSelection(), history(), bracketMatching(), indentUnit.of("  "), lintGutter(),
        yaml(), syntaxHighlighting(style), autocompletion({ override: [complete] }),
        EditorView.contentAttributes.of({ "aria-label": "Scenario as YAML", tabindex: "0" }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, ...completionKeymap]),
        EditorView.updateListener.of(u => { if (u.docChanged && !quiet) changed(u.state.doc.toString()); }),
      ],
    }),
  });
  return {
    get text() { return view.state.doc.toString(); },
    set text(text) {
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      quiet = false;
    },
    // The errors of the scenario, each with line and column from 1.
    set errors(all) {
      const doc = view.state.doc, diagnostics = all.filter(e => !e.file && e.line > 0 && e.line <= doc.lines).map(e => {
        const line = doc.line(e.line), from = Math.min(line.to, line.from + Math.max(0, (e.column || 1) - 1));
        const word = /^[^\s,\]}]*/.exec(line.text.slice(from - line.from))[0].length;
        return { from, to: Math.min(line.to, from + Math.max(1, word)), severity: "error", message: (e.path ? e.path + ": " : "") + e.message };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    set schema(s) { schema = s; },
    goto(line, column) {
      const at = view.state.doc.line(Math.min(line, view.state.doc.lines));
      const from = Math.min(at.to, at.from + Math.max(0, (column || 1) - 1));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
  };
}
