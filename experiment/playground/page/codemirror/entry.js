export { EditorView, keymap, lineNumbers, highlightSpecialChars, drawSelection } from "@codemirror/view";
export { EditorState } from "@codemirror/state";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { syntaxHighlighting, HighlightStyle, bracketMatching, indentUnit } from "@codemirror/language";
export { setDiagnostics, lintGutter, lintKeymap } from "@codemirror/lint";
export { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
