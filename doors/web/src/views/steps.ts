// A warp, instruction by instruction, forwards and back.

import { choice, field, fill, h } from "../dom";
import type { Steps, StepAccess } from "../engine/answers";
import { ofLane, written } from "../values";
import { latest, type Page, type View } from "./view";
import { warpFields, type WarpChoice } from "./pictures";

/** Steps that are asked for at once: more are megabytes. */
const MOST = 20_000;

export class StepsView implements View {
  readonly id = "steps";
  readonly title: string;
  readonly element = h("div", { class: "steps" });
  readonly #controls = h("div", { class: "controls" });
  readonly #place = h("div");
  readonly #next = latest();
  #record: Steps | null = null;
  #of = 0;
  #at = 0;
  #lane = -1;
  #isHexadecimal = false;
  /** Of each step, the registers that are known then, with the step that wrote each. */
  #wroteLast: Map<number, number>[] = [];
  #draw: () => void = () => undefined;

  constructor(
    private readonly page: Page,
    private readonly warp: WarpChoice,
  ) {
    this.title = page.words.views.steps;
    fill(this.element, this.#controls, this.#place);
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  show(): void {
    const { attempt, words } = this.page;
    if (!attempt) {
      fill(this.#controls);
      return fill(this.#place, h("p", { class: "muted" }, words.runFirst));
    }
    if (this.#of !== attempt.id) {
      this.#record = null;
      fill(this.#place);
    }
    const record = h("button", { type: "button", class: "primary", onclick: () => void this.#recordWarp() }, words.steps.record);
    fill(this.#controls, warpFields(this.page, this.warp, () => undefined), record);
    if (this.#record) this.#draw();
    else void this.#recordWarp();
  }

  async #recordWarp(): Promise<void> {
    const { attempt, words } = this.page;
    if (!attempt) return;
    const isLatest = this.#next();
    this.element.setAttribute("aria-busy", "true");
    fill(this.#place, h("p", { class: "muted", role: "status" }, words.steps.recording));
    const { cta, warp } = this.warp;
    const record = await this.page.ask("steps", { ...attempt.kernel, of_launch: 0, cta, warp, most: MOST });
    if (!isLatest()) return;
    this.element.setAttribute("aria-busy", "false");
    fill(this.#place);
    if (!record) return;
    this.#record = record;
    this.#of = attempt.id;
    this.#at = 0;
    this.#index(record);
    this.#build(record);
  }

  /** Finds once who wrote which register last, so that going back is as fast as going forth. */
  #index(record: Steps): void {
    // A map for every hundredth step: from it, a hundred steps are soon read again.
    this.#wroteLast = [];
    const known = new Map<number, number>();
    record.steps.forEach(([, , , writes], at) => {
      if (at % 100 === 0) this.#wroteLast.push(new Map(known));
      for (const [register] of writes) known.set(register, at);
    });
  }

  #knownAt(record: Steps, at: number): Map<number, number> {
    const known = new Map(this.#wroteLast[Math.floor(at / 100)]);
    for (let step = at - (at % 100); step <= at; step++) {
      for (const [register] of record.steps[step]?.[3] ?? []) known.set(register, step);
    }
    return known;
  }

  #build(record: Steps): void {
    const { words } = this.page;
    const all = record.steps.length;
    const go = (to: number) => {
      this.#at = Math.max(0, Math.min(all - 1, to));
      draw();
    };
    const button = (text: string, sign: string, act: () => void) =>
      h("button", { type: "button", onclick: act, "aria-label": text, title: text }, sign);
    const slider = h("input", { type: "range", min: "0", max: String(Math.max(0, all - 1)), "aria-label": words.steps.position(1, all) });
    slider.oninput = () => go(Number(slider.value));
    const position = h("output", { class: "position" });
    const line = () => {
      const here = record.instructions[record.steps[this.#at]?.[0] ?? 0];
      const next = record.steps.findIndex(([of], at) => at > this.#at && record.instructions[of]?.ptx_line === here?.ptx_line);
      if (next >= 0) go(next);
    };
    const lanes: [string, string][] = [["-1", words.steps.allLanes],
      ...Array.from({ length: 32 }, (_, lane): [string, string] => [String(lane), `${words.steps.lane} ${lane}`])];
    const lane = choice(lanes, String(this.#lane), (value) => {
      this.#lane = Number(value);
      draw();
    });
    const base = choice([["10", words.steps.decimal], ["16", words.steps.hexadecimal]], this.#isHexadecimal ? "16" : "10", (value) => {
      this.#isHexadecimal = value === "16";
      draw();
    });
    const what = h("div", { class: "now", "aria-live": "polite" });
    const grid = h("div", { class: "lane-grid", "aria-hidden": "true" }, Array.from({ length: 32 }, (_, lane) => h("span", {}, lane)));
    const table = h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": words.steps.registers });
    const draw = () => {
      slider.value = String(this.#at);
      slider.setAttribute("aria-valuetext", words.steps.position(this.#at + 1, all));
      position.value = words.steps.position(this.#at + 1, all);
      const step = record.steps[this.#at];
      if (!step) return;
      const [index, onWay, executing, , accesses] = step;
      const instruction = record.instructions[index];
      this.page.here({ ptx: instruction?.ptx_line ?? null, source: instruction?.cuda_line ?? null });
      const count = (mask: number) => mask.toString(2).replaceAll("0", "").length;
      const isLast = this.#at === all - 1;
      fill(what,
        h("p", { class: "instruction" }, h("code", {}, instruction?.ptx ?? "")),
        h("p", { class: "muted" }, `${words.steps.lanes}: ${count(onWay >>> 0)}`,
          executing !== onWay && `; ${count(executing >>> 0)} ${words.steps.executing}`),
        accesses.map((access) => h("p", {}, this.#access(record, access))),
        isLast && record.faults.map((fault) => h("p", { class: "fault" }, words.steps.faulted, " ", fault)),
        isLast && record.has_ended && all === record.all_steps && h("p", { class: "muted" }, words.steps.ended));
      [...grid.children].forEach((cell, lane) => {
        cell.className = (executing >>> lane) & 1 ? "on" : (onWay >>> lane) & 1 ? "guarded" : "off";
      });
      this.#showRegisters(record, table);
    };
    this.#draw = draw;
    fill(this.#place,
      h("div", { class: "transport", role: "group", "aria-label": this.title },
        button(words.steps.first, "|◀", () => go(0)),
        button(words.steps.back, "◀", () => go(this.#at - 1)),
        button(words.steps.forward, "▶", () => go(this.#at + 1)),
        button(words.steps.last, "▶|", () => go(all - 1)),
        button(words.steps.nextOfLine, "↓", line),
        slider, position),
      h("p", { class: "muted keys" }, words.steps.keys, " ",
        record.steps.length < record.all_steps && words.steps.cut(all, record.all_steps)),
      what, grid,
      h("div", { class: "controls" }, field(words.steps.watch, lane), field(words.steps.base, base)),
      table);
    this.#go = go;
    draw();
  }

  #go: (to: number) => void = () => undefined;

  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (!this.#record || ["INPUT", "SELECT"].includes(target.tagName) || event.ctrlKey || event.altKey) return;
    const steps: Record<string, number> = {
      ArrowLeft: this.#at - 1, ArrowRight: this.#at + 1, PageUp: this.#at - 20, PageDown: this.#at + 20,
      Home: 0, End: this.#record.steps.length - 1,
    };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#go(to);
  }

  #access(record: Steps, access: StepAccess): string {
    const { space, kind, bytes, lanes, addresses } = access;
    const mask = lanes >>> 0;
    const first = Array.from({ length: 32 }, (_, lane) => ofLane(addresses, lane, mask)).find((one) => one !== null) ?? 0n;
    const object = record.objects.find((one) =>
      one.space === space && BigInt(one.address) <= first && first < BigInt(one.address) + BigInt(Math.max(1, one.bytes)));
    const name = object ? `${object.name} + ${first - BigInt(object.address)}` : `0x${first.toString(16)}`;
    const stride = Array.isArray(addresses) && addresses.length === 2 ? `, + ${addresses[1]} × lane` : Array.isArray(addresses) ? ", …" : "";
    return `${kind} ${space}: ${bytes} B @ ${name}${stride}`;
  }

  /** The rows on show: those that a step leaves as they are stay where they are. */
  #rows = new Map<number, { last: number; row: HTMLElement }>();
  #shownAs = "";

  #showRegisters(record: Steps, place: HTMLElement): void {
    const { words } = this.page;
    const lanes = this.#lane < 0 ? Array.from({ length: 32 }, (_, lane) => lane) : [this.#lane];
    const shownAs = `${this.#of} ${this.warp.cta} ${this.warp.warp} ${this.#lane} ${this.#isHexadecimal}`;
    if (this.#shownAs !== shownAs || !place.firstChild) {
      this.#shownAs = shownAs;
      this.#rows.clear();
      const head = h("tr", {}, h("th", { scope: "col" }, words.steps.register), lanes.map((lane) => h("th", { scope: "col" }, lane)));
      fill(place, h("table", { class: "registers" }, h("thead", {}, head), h("tbody")), h("p", { class: "muted" }, words.steps.none));
    }
    const known = this.#knownAt(record, this.#at);
    const body = place.querySelector("tbody")!;
    place.querySelector("p")!.hidden = known.size > 0;
    for (const [register, { row }] of this.#rows) {
      if (known.has(register)) continue;
      row.remove();
      this.#rows.delete(register);
    }
    for (const [register, last] of [...known].sort(([, a], [, b]) => a - b)) {
      const shown = this.#rows.get(register);
      if (shown?.last !== last) {
        const row = this.#registerRow(record, register, last, lanes);
        if (shown) shown.row.replaceWith(row);
        else body.prepend(row);
        this.#rows.set(register, { last, row });
      }
      const { row } = this.#rows.get(register)!;
      row.classList.toggle("new", last === this.#at);
      row.querySelector(".hidden")!.textContent = last === this.#at ? ` ${words.steps.wrote}` : "";
    }
  }

  /** A register with its value in each lane. Lanes that a step left alone keep what an earlier one wrote. */
  #registerRow(record: Steps, register: number, last: number, lanes: number[]): HTMLElement {
    const { name, type } = record.registers[register]!;
    const cells = lanes.map((lane) => {
      const value = this.#value(record, register, lane, last, type);
      return h("td", {}, value === null ? "" : written(value, type, this.#isHexadecimal));
    });
    return h("tr", {}, h("th", { scope: "row", title: type }, name, h("span", { class: "hidden" })), cells);
  }

  #value(record: Steps, register: number, lane: number, last: number, type: string): bigint | null {
    for (let at = last, tries = 0; at >= 0 && tries < 4000; at--, tries++) {
      const step = record.steps[at]!;
      const executing = step[2] >>> 0;
      if (((executing >>> lane) & 1) === 0) continue;
      const write = step[3].find(([of]) => of === register);
      if (!write) continue;
      if (type === "pred") return BigInt((Number(write[1]) >>> lane) & 1);
      return ofLane(write[1], lane, executing);
    }
    return null;
  }
}
