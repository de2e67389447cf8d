// The code: source and PTX side by side, linked by line, with a heat map; the launch; and what a run came to.

import { choice, field, fill, h } from "../dom";
import { Editor } from "../editor";
import type { Opened } from "../engine/answers";
import type { Faults } from "../faults";
import { HEATS, heatOf } from "../heat";
import type { WholePage } from "../page";
import { cudaLanguage, launchLanguage, ptxLanguage, sourceLines } from "../ptx";
import { tabs } from "../tabs";
import { Sizes } from "./sizes";
import { Versions } from "./versions";

/** A line of one of the texts. */
interface Place {
  source?: number | null;
  ptx?: number | null;
  launch?: number | null;
}

export class Code {
  readonly element: HTMLElement;
  readonly #versions: Versions;
  readonly #sizes: Sizes;
  readonly #source: Editor;
  readonly #ptx: Editor;
  readonly #launch: Editor;
  /** PTX and launch, one of them in sight. */
  readonly #right: { element: HTMLElement; select: (id: string) => void };
  readonly #status = h("p", { class: "status", role: "status" });
  readonly #bar = h("progress", { max: 1, value: 0, hidden: true });
  readonly #runButton: HTMLButtonElement;
  /** The line of the source that each line of PTX stands for. */
  #linked = new Map<number, number>();
  /** The run for which the PTX was scrolled to its first instruction. */
  #scrolledFor = 0;

  constructor(private readonly page: WholePage, faults: Faults) {
    const { words: { code } } = page;
    this.#versions = new Versions(page);
    this.#sizes = new Sizes(page);
    const keys = [
      { key: "Mod-Enter", run: () => (void page.run(), true) },
      { key: "Mod-Shift-Enter", run: () => (void page.check(), true) },
    ];
    this.#source = new Editor({
      label: code.source, language: cudaLanguage, keys,
      changed: (text) => this.compiles && page.edited({ source: text }),
      at: (line) => this.#pointed(line, "source"),
    });
    this.#ptx = new Editor({
      label: code.ptx, language: ptxLanguage, keys,
      changed: (text) => !this.compiles && page.edited({ source: text }),
      at: (line) => this.#pointed(line, "ptx"),
    });
    this.#launch = new Editor({
      label: code.launch, language: launchLanguage, keys, changed: (text) => page.edited({ launch: text }),
    });
    const heats = HEATS.map((name): [string, string] => [name, page.words.metrics[name] ?? name]);
    const heat = choice([...heats, ["", code.noHeat] as [string, string]], page.desk.heat, (name) => {
      page.desk.heat = name;
      this.showHeat();
    });
    this.#runButton = h("button", {
      type: "button", class: "primary", title: "Ctrl+Enter", onclick: () => (page.isRunning ? page.stop() : void page.run()),
    }, code.run);
    this.#right = tabs(code.title, [["ptx", code.ptx, this.#ptx.view.dom], ["launch", code.launch, this.#launch.view.dom]], "ptx");
    this.element = h("section", { class: "code", id: "code", tabIndex: -1, "aria-label": code.title },
      h("div", { class: "toolbar" }, this.#versions.element, this.#sizes.element, field(code.heat, heat)),
      h("div", { class: "statusbar" }, h("div", { class: "run" }, this.#runButton), this.#status, this.#bar),
      faults.element,
      h("div", { class: "panes" },
        h("section", { class: "pane" }, h("h2", {}, code.source), this.#source.view.dom),
        h("section", { class: "pane", "aria-label": code.ptx }, this.#right.element)));
  }

  /** True if the source is compiled here: it can be changed then, and its PTX cannot. */
  get compiles(): boolean {
    return this.page.engine.isNative && Boolean(this.page.current?.cuda);
  }

  /** Shows the version on the desk. */
  show(): void {
    const version = this.page.current;
    if (!version) return;
    this.showVersions();
    this.#source.show(version.cuda?.text ?? "", !this.compiles);
    if (version.source.includes(".version")) this.#ptx.show(version.source, this.compiles);
    this.#launch.show(version.launch, false);
    this.#linked = sourceLines(this.#ptx.text);
  }

  showVersions(): void {
    this.#versions.show();
    this.#sizes.show();
  }

  /** Shows the PTX that the source was compiled to. */
  compiled({ ptx }: Opened): void {
    if (this.page.current?.source.includes(".version")) return;
    this.#ptx.show(ptx, true);
    this.#linked = sourceLines(ptx);
  }

  showHeat(): void {
    const { result, numbers, desk: { heat } } = this.page;
    const first = result?.ptx.launches.flatMap((launch) => launch.lines)[0]?.ptx_line;
    if (result && first !== undefined && this.#scrolledFor !== result.id) {
      this.#scrolledFor = result.id;
      this.#ptx.reveal(first);
    }
    this.#ptx.heat(result && heat ? heatOf(result.ptx, "ptx_line", heat, numbers) : new Map());
    this.#source.heat(result && heat ? heatOf(result.cuda, "cuda_line", heat, numbers) : new Map());
  }

  say(status: string): void {
    fill(this.#status, status);
  }

  progress(share: number): void {
    this.#bar.hidden = false;
    this.#bar.value = share;
  }

  showRunning(): void {
    const { isRunning, words: { code } } = this.page;
    this.#bar.hidden = true;
    this.#bar.value = 0;
    this.#runButton.textContent = isRunning ? code.stop : code.run;
    this.#runButton.classList.toggle("stop", isRunning);
  }

  /** Puts the cursor at a line. */
  go({ source, ptx, launch }: Place): void {
    if (source) return this.#source.go(source);
    if (ptx || launch) this.#right.select(launch ? "launch" : "ptx");
    if (ptx) this.#ptx.go(ptx);
    else if (launch) this.#launch.go(launch);
  }

  /** Marks the line at which something is. */
  here({ source, ptx }: Place): void {
    if (source !== undefined) this.#source.mark(source ? [source] : [], "here");
    if (ptx !== undefined) this.#ptx.mark(ptx ? [ptx] : [], "here");
  }

  /** The cursor stands at a line: the lines of the other text are marked that belong to it. */
  #pointed(line: number, from: "source" | "ptx"): void {
    if (from === "source") {
      this.page.line = line;
      this.#ptx.mark([...this.#linked].filter(([, source]) => source === line).map(([ptx]) => ptx), "linked");
    } else {
      const source = this.#linked.get(line) ?? null;
      this.page.line = source ?? (this.#linked.size === 0 ? line : null);
      this.#source.mark(source === null ? [] : [source], "linked");
    }
  }
}
