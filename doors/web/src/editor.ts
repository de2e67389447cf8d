// An editor of a text with counts beside its lines, and lines that another text points at.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting, type StreamLanguage } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, RangeSet, StateEffect, StateField, type Extension } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  GutterMarker,
  gutter,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** What stands beside a line: a text, and how much of the whole it is. */
export interface Heat {
  text: string;
  share: number;
}

const setHeat = StateEffect.define<Map<number, Heat>>();
const setLinked = StateEffect.define<{ lines: number[]; kind: "linked" | "here" }>();

class HeatMarker extends GutterMarker {
  constructor(private readonly heat: Heat) {
    super();
  }

  override eq(other: HeatMarker): boolean {
    return other.heat.text === this.heat.text && other.heat.share === this.heat.share;
  }

  override toDOM(): Node {
    const cell = document.createElement("span");
    cell.className = `heat heat-${level(this.heat.share)}`;
    cell.textContent = this.heat.text;
    return cell;
  }
}

/** Six levels, each with twice the share of the one before. */
function level(share: number): number {
  return share <= 0 ? 0 : Math.max(1, Math.min(5, 5 + Math.ceil(Math.log2(share / 0.5))));
}

const heats = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(markers, transaction) {
    let next = markers.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setHeat)) continue;
      const { doc } = transaction.state;
      const ranges = [...effect.value]
        .filter(([line]) => line >= 1 && line <= doc.lines)
        .sort(([a], [b]) => a - b)
        .map(([line, heat]) => new HeatMarker(heat).range(doc.line(line).from));
      next = RangeSet.of(ranges);
    }
    return next;
  },
});

const linked = StateField.define<Record<"linked" | "here", DecorationSet>>({
  create: () => ({ linked: Decoration.none, here: Decoration.none }),
  update(all, transaction) {
    let next = { linked: all.linked.map(transaction.changes), here: all.here.map(transaction.changes) };
    for (const effect of transaction.effects) {
      if (!effect.is(setLinked)) continue;
      const { doc } = transaction.state;
      const { lines, kind } = effect.value;
      const style = Decoration.line({ class: kind === "linked" ? "cm-linked" : "cm-here" });
      const within = [...new Set(lines)].filter((line) => line >= 1 && line <= doc.lines).sort((a, b) => a - b);
      next = { ...next, [kind]: Decoration.set(within.map((line) => style.range(doc.line(line).from))) };
    }
    return next;
  },
  provide: (field) => [
    EditorView.decorations.from(field, (all) => all.linked),
    EditorView.decorations.from(field, (all) => all.here),
  ],
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], class: "tok-keyword" },
  { tag: [tags.comment], class: "tok-comment" },
  { tag: [tags.string], class: "tok-string" },
  { tag: [tags.number, tags.atom, tags.bool], class: "tok-number" },
  { tag: [tags.meta, tags.processingInstruction], class: "tok-meta" },
  { tag: [tags.labelName, tags.typeName], class: "tok-type" },
]);

const READ_ONLY = [EditorState.readOnly.of(true), EditorView.editorAttributes.of({ class: "read-only" })];

export interface EditorOptions {
  label: string;
  language: StreamLanguage<unknown>;
  /** Somebody has changed the text. */
  changed?: (text: string) => void;
  /** The cursor stands at a line. */
  at?: (line: number) => void;
  keys?: { key: string; run: () => boolean }[];
}

export class Editor {
  readonly view: EditorView;
  #silent = false;
  readonly #writable = new Compartment();

  constructor(private readonly options: EditorOptions) {
    this.view = new EditorView({ state: this.#state("") });
  }

  #state(text: string): EditorState {
    const { label, language, changed, at, keys = [] } = this.options;
    const extensions: Extension[] = [
      gutter({ class: "cm-heat", markers: (view) => view.state.field(heats) }),
      lineNumbers(),
      heats,
      linked,
      history(),
      bracketMatching(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSelectionMatches(),
      indentUnit.of("    "),
      language,
      syntaxHighlighting(colours),
      keymap.of([...keys, ...defaultKeymap, ...historyKeymap, ...searchKeymap, { key: "Alt-Tab", ...pick(indentWithTab) }]),
      // The editor writes its element's classes itself, whenever it gets the focus.
      EditorView.editorAttributes.of({ class: "editor" }),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocorrect: "off", tabindex: "0" }),
      this.#writable.of([]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.#silent) changed?.(update.state.doc.toString());
        if ((update.selectionSet || update.focusChanged) && update.view.hasFocus) {
          at?.(update.state.doc.lineAt(update.state.selection.main.head).number);
        }
      }),
    ];
    return EditorState.create({ doc: text, extensions });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Puts a text there that nobody has typed. */
  show(text: string, isReadOnly: boolean): void {
    this.#silent = true;
    if (text !== this.text) this.view.setState(this.#state(text));
    this.view.dispatch({
      effects: this.#writable.reconfigure(isReadOnly ? READ_ONLY : []),
    });
    this.#silent = false;
  }

  heat(lines: Map<number, Heat>): void {
    this.view.dispatch({ effects: setHeat.of(lines) });
  }

  /** Marks lines, and brings the first one into view. */
  mark(lines: number[], kind: "linked" | "here"): void {
    const { doc } = this.view.state;
    const first = Math.min(...lines.filter((line) => line <= doc.lines));
    const effects: StateEffect<unknown>[] = [setLinked.of({ lines, kind })];
    if (Number.isFinite(first) && first >= 1 && !this.#shows(first)) {
      effects.push(EditorView.scrollIntoView(doc.line(first).from, { y: "center" }));
    }
    this.view.dispatch({ effects });
  }

  /** Brings a line into view, if what is in view is above all code. */
  reveal(line: number): void {
    const { doc } = this.view.state;
    if (line > doc.lines || this.view.scrollDOM.scrollTop > 0) return;
    this.view.dispatch({ effects: EditorView.scrollIntoView(doc.line(line).from, { y: "start", yMargin: 20 }) });
  }

  /** Puts the cursor at a line. */
  go(line: number): void {
    const { doc } = this.view.state;
    if (line < 1 || line > doc.lines) return;
    const { from } = doc.line(line);
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  #shows(line: number): boolean {
    const { scrollTop, clientHeight } = this.view.scrollDOM;
    const block = this.view.lineBlockAt(this.view.state.doc.line(line).from);
    return block.top >= scrollTop && block.bottom <= scrollTop + clientHeight;
  }
}

// Tab leaves the editor, as the keyboard's users expect; with Alt it indents.
function pick(binding: typeof indentWithTab): { run: NonNullable<typeof binding.run>; shift: NonNullable<typeof binding.shift> } {
  return { run: binding.run!, shift: binding.shift! };
}
