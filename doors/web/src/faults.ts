// What is wrong with the input, with links to its lines, and what a kernel printed.

import { fill, h } from "./dom";
import type { Fault } from "./engine/answers";
import type { Words } from "./text";

/** One of the texts that can have a fault, and its line. */
export interface FaultyLine {
  text: "source" | "ptx" | "launch";
  line: number;
}

/** How the engine names what CUDA was compiled to. */
const COMPILED = "(its PTX)";

export class Faults {
  readonly element = h("div", { class: "faults", role: "alert" });

  /** `compiles` says whether the kernel's file is CUDA; PTX otherwise. */
  constructor(
    private readonly compiles: () => boolean,
    private readonly go: (line: FaultyLine) => void,
  ) {}

  get areThere(): boolean {
    return this.element.childElementCount > 0;
  }

  clear(): void {
    fill(this.element);
  }

  say(faults: Fault[], words: Words): void {
    const list = faults.map(({ message, place, hint, facts = [] }) => h("li", {},
      place && this.#link(this.#lineOf(place), words), place && " ", message, [...facts, ...(hint ? [hint] : [])].map((more) => h("span", { class: "muted more" }, more))));
    fill(this.element, h("h3", {}, words.code.faults), h("ul", {}, list));
  }

  #lineOf({ file, line }: { file: string; line: number }): FaultyLine {
    if (file.endsWith(".toml")) return { text: "launch", line };
    return { text: this.compiles() && !file.endsWith(COMPILED) ? "source" : "ptx", line };
  }

  #link(line: FaultyLine, { code }: Words): HTMLElement {
    const name = { source: code.source, ptx: code.ptx, launch: code.launch }[line.text];
    return h("button", { type: "button", class: "link", onclick: () => this.go(line) }, `${name}:${line.line}`);
  }

  printed(text: string, words: Words): void {
    this.element.append(h("details", {}, h("summary", {}, words.code.printed), h("pre", {}, text)));
  }
}
