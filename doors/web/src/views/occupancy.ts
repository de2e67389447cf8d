// The occupancy of an SM, with inputs to change.

import { field, fill, h } from "../dom";
import type { KernelTexts } from "../engine/answers";
import { calm, latest, picture, type Page, type View } from "./view";

export class OccupancyView implements View {
  readonly id = "occupancy";
  readonly title: string;
  readonly element = h("div", { class: "occupancy" });
  readonly #controls = h("div", { class: "controls" });
  readonly #place = h("div", { role: "status" });
  readonly #pictures = h("div", { class: "pictures" });
  readonly #next = latest();
  readonly #inputs: Record<"threads" | "registers" | "shared", HTMLInputElement>;
  #shown = "";

  constructor(private readonly page: Page) {
    const { words } = page;
    this.title = words.views.occupancy;
    const update = calm(() => void this.#update(), 150);
    const input = (most: number, step: number) =>
      h("input", { type: "number", min: "0", max: String(most), step: String(step), class: "short", oninput: update });
    this.#inputs = { threads: input(1024, 32), registers: input(255, 1), shared: input(233_472, 256) };
    const { threads, registers, shared } = this.#inputs;
    fill(this.#controls,
      field(words.occupancy.threads, threads),
      field(words.occupancy.registers, registers),
      field(words.occupancy.shared, shared),
      h("button", { type: "button", class: "push", onclick: () => this.#asLaunched() }, words.occupancy.fromLaunch));
    fill(this.element, this.#controls, this.#place, this.#pictures);
  }

  show(): void {
    const { result, gpu, words } = this.page;
    if (!result) {
      this.#next();
      this.#controls.hidden = true;
      fill(this.#pictures);
      return fill(this.#place, h("p", { class: "muted" }, words.runFirst));
    }
    this.#controls.hidden = false;
    const key = `${result.id} ${gpu.name}`;
    if (key === this.#shown) return;
    this.#shown = key;
    this.#asLaunched();
  }

  #asLaunched(): void {
    const { result } = this.page;
    if (result) void this.#update(result.kernel);
  }

  /** The occupancy of what the inputs say, or of a kernel as it is launched. */
  async #update(kernel?: KernelTexts): Promise<void> {
    const { words, numbers, gpu } = this.page;
    const { threads, registers, shared } = this.#inputs;
    const number = (input: HTMLInputElement) => Math.max(0, Math.trunc(Number(input.value)) || 0);
    const isLatest = this.#next();
    const asks = kernel ?? {
      threads: Math.max(1, number(threads)),
      shared_bytes: number(shared),
      ...(number(registers) > 0 ? { registers: number(registers) } : {}),
    };
    const answer = await this.page.ask("occupancy", { ...asks, gpu: gpu.name, set: [] });
    if (!answer || !isLatest()) return;
    if (kernel) {
      threads.value = String(answer.threads);
      registers.value = String(answer.registers ?? "");
      shared.value = String(answer.shared_bytes);
    }
    const { blocks, warps, most_warps, theoretical, limits, pictures } = answer;
    const row = ({ name, blocks, binds }: (typeof limits)[number]) =>
      h("tr", binds ? { class: "binds" } : {},
        h("th", { scope: "row" }, name),
        h("td", {}, blocks === null ? words.occupancy.noLimit : numbers.number(blocks)),
        h("td", {}, binds ? words.occupancy.binds : ""));
    fill(this.#place,
      h("p", { class: "big" }, numbers.percent(theoretical)),
      h("p", {}, words.occupancy.result(blocks, warps, most_warps, numbers.percent(theoretical))),
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, words.occupancy.limit),
          h("th", { scope: "col" }, words.occupancy.blocks), h("td", {}))),
        h("tbody", {}, limits.map(row))));
    fill(this.#pictures, pictures.map(picture));
  }
}
