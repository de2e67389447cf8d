// Pictures of one warp, and of a simulated SM: drawn by the engine.

import { choice, field, fill, h, save } from "../dom";
import type { Picture } from "../engine/answers";
import { calm, latest, picture, type Page, type View } from "./view";

/** Which warp is meant; views of a warp share it. */
export interface WarpChoice {
  cta: [number, number, number];
  warp: number;
}

export class PictureView implements View {
  readonly element = h("div", { class: "drawing" });
  readonly #place = h("div", { class: "place" });
  readonly #controls = h("div", { class: "controls" });
  readonly #next = latest();
  #shown = "";
  #line: number | null = null;
  #execution = 1;
  #svg = "";

  constructor(
    private readonly page: Page,
    readonly id: string,
    readonly title: string,
    private readonly kind: Picture,
    private readonly warp: WarpChoice,
  ) {
    fill(this.element, this.#controls, this.#place);
  }

  show(): void {
    const { result, words } = this.page;
    if (!result) {
      this.#next();
      this.element.setAttribute("aria-busy", "false");
      return fill(this.#place, h("p", { class: "muted" }, words.runFirst));
    }
    if (this.#isOfAccess && this.page.line !== null) this.#line = this.#lines.includes(this.page.line) ? this.page.line : null;
    this.#drawControls();
    void this.#draw();
  }

  get #isOfAccess(): boolean {
    return this.kind === "access" || this.kind === "banks";
  }

  /** The lines that have accesses to the memory of this picture. */
  get #lines(): number[] {
    const metric = this.kind === "banks" ? "shared_requests" : "requests";
    const { result } = this.page;
    const lines = (result?.cuda.launches[0]?.lines ?? []).filter((line) => {
      const all = Number(line["requests"] ?? 0);
      const shared = Number(line["shared_requests"] ?? 0);
      return metric === "requests" ? all > 0 : shared > 0;
    });
    return [...new Set(lines.map((line) => line.cuda_line ?? line.ptx_line ?? 0))].sort((a, b) => a - b);
  }

  #drawControls(): void {
    const { words } = this.page;
    const draw = calm(() => void this.#draw(), 200);
    const controls: HTMLElement[] = this.kind === "timeline" ? [] : warpFields(this.page, this.warp, draw);
    if (this.#isOfAccess) {
      const lines: [string, string][] = this.#lines.map((line) => [String(line), words.code.line(line)]);
      const all: [string, string] = ["", words.picture.allLines];
      controls.push(field(words.picture.line, choice([all, ...lines], String(this.#line ?? ""), (line) => {
        this.#line = line ? Number(line) : null;
        if (this.#line) this.page.here({ source: this.#line });
        void this.#draw();
      })));
      const execution = h("input", { type: "number", min: "1", value: String(this.#execution), class: "short" });
      execution.oninput = () => {
        this.#execution = Math.max(1, Number(execution.value) || 1);
        draw();
      };
      controls.push(field(words.picture.execution, execution));
    }
    controls.push(h("button", {
      type: "button",
      class: "push",
      onclick: () => this.#svg && save(`${this.kind}.svg`, "image/svg+xml", this.#svg),
    }, words.picture.save));
    fill(this.#controls, controls);
  }

  async #draw(): Promise<void> {
    const { result, words, gpu } = this.page;
    if (!result) return;
    const { cta, warp } = this.warp;
    const asks = {
      ...result.kernel, gpu: gpu.name, set: [], picture: this.kind, of_launch: 0, cta, warp,
      ...(this.#isOfAccess && this.#line !== null ? { line: this.#line } : {}),
      ...(this.#isOfAccess ? { execution: this.#execution - 1 } : {}),
    };
    const key = JSON.stringify([result.id, asks.gpu, cta, warp, this.#line, this.#execution]);
    if (key === this.#shown) return;
    const isLatest = this.#next();
    this.element.setAttribute("aria-busy", "true");
    const drawn = await this.page.ask("plot", asks, true);
    if (!isLatest()) return;
    this.element.setAttribute("aria-busy", "false");
    this.#shown = key;
    this.#svg = drawn?.svg ?? "";
    const none = this.kind === "banks" ? words.picture.banksNone : words.picture.none;
    fill(this.#place, drawn ? picture(drawn.svg) : h("p", { class: "muted" }, none));
  }
}

/** The fields that choose a warp. */
export function warpFields(page: Page, warp: WarpChoice, changed: () => void): HTMLElement[] {
  const { words, attempt } = page;
  const launch = attempt?.opened.launches[0];
  const grid = launch?.grid ?? [1, 1, 1];
  const warps = Math.ceil((launch?.block ?? [32]).reduce((a, b) => a * b, 1) / 32);
  const within = (value: number, most: number) => Math.max(0, Math.min(most - 1, Math.trunc(value) || 0));
  warp.cta = warp.cta.map((place, axis) => within(place, grid[axis] ?? 1)) as [number, number, number];
  warp.warp = within(warp.warp, warps);
  const axes = warp.cta.map((place, axis) => {
    const most = (grid[axis] ?? 1) - 1;
    const input = h("input", {
      type: "number", min: "0", max: String(most), value: String(place), class: "short", disabled: most === 0,
      "aria-label": `${words.picture.cta}: ${"xyz"[axis]}`,
    });
    input.oninput = () => {
      warp.cta[axis] = within(Number(input.value), grid[axis] ?? 1);
      changed();
    };
    return input;
  });
  const group = h("div", { class: "field", role: "group", "aria-label": words.picture.cta },
    h("span", { class: "label" }, words.picture.cta), h("span", { class: "axes" }, axes));
  const input = h("input", { type: "number", min: "0", max: String(warps - 1), value: String(warp.warp), class: "short" });
  input.oninput = () => {
    warp.warp = within(Number(input.value), warps);
    changed();
  };
  return [group, field(words.picture.warp, input)];
}
