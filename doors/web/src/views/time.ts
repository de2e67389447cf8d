// The predicted time, what it goes into, what would help, and a GPU that changes.

import { field, fill, h, marked } from "../dom";
import type { AdviceItem, Advices, Predictions } from "../engine/answers";
import { calm, latest, picture, type Page, type View } from "./view";

/** Factors of a figure, as powers of two: a quarter to four times. */
const SPAN = 2;

export class TimeView implements View {
  readonly id = "time";
  readonly title: string;
  readonly element = h("div", { class: "time" });
  readonly #headline = h("div", { class: "headline", role: "status" });
  readonly #spent = h("div");
  readonly #roof = h("div");
  readonly #advice = h("div");
  readonly #changes = new Map<string, string>();
  readonly #sliders = h("fieldset", { class: "sliders" });
  readonly #next = latest();
  #shown = "";

  constructor(private readonly page: Page) {
    const { words } = page;
    this.title = words.views.time;
    const main = h("div", { class: "time-main" }, this.#headline, this.#spent, this.#roof, this.#advice);
    fill(this.element, main, this.#sliders);
  }

  show(): void {
    const { result, gpu, words } = this.page;
    this.#sliders.hidden = !result;
    if (!result) {
      // What is drawn is of an earlier kernel, and so is what is still asked for.
      this.#next();
      this.element.setAttribute("aria-busy", "false");
      for (const place of [this.#spent, this.#roof, this.#advice]) fill(place);
      return fill(this.#headline, h("p", { class: "muted" }, words.runFirst));
    }
    const key = `${result.id} ${gpu.name}`;
    if (this.#shown === key) return;
    if (!this.#shown.endsWith(` ${gpu.name}`)) this.#drawSliders();
    this.#shown = key;
    void this.#update();
  }

  get #set(): string[] {
    return [...this.#changes].filter(([, change]) => change).map(([name, change]) => `${name}=${change}`);
  }

  #drawSliders(): void {
    const { words, gpu, gpus, numbers } = this.page;
    this.#changes.clear();
    const update = calm(() => void this.#update(), 120);
    const inputs: HTMLInputElement[] = [];
    const rows = gpu.figures.map(({ field: name, value, unit }) => {
      const output = h("output", {});
      const input = h("input", { type: "range", min: String(-SPAN), max: String(SPAN), step: "0.25", value: "0" });
      const tell = () => {
        const factor = 2 ** Number(input.value);
        const rounded = Math.round(factor * 1000) / 1000;
        // What is counted is whole; everything else takes a factor.
        const isWhole = Number.isInteger(value);
        this.#changes.set(name, rounded === 1 ? "" : isWhole ? `${Math.max(1, Math.round(value * rounded))} ${unit}`.trim() : `${rounded}x`);
        const text = `${numbers.number(Number((value * rounded).toPrecision(4)))} ${unit}`.trim();
        output.value = text;
        input.setAttribute("aria-valuetext", text);
      };
      input.oninput = () => {
        tell();
        update();
      };
      tell();
      inputs.push(input);
      const label = h("span", {}, name.replaceAll("_", " "));
      const row = field("", input);
      fill(row.querySelector("label")!, label, output);
      row.title = gpus.meanings[name] ?? "";
      return row;
    });
    const reset = h("button", {
      type: "button",
      onclick: () => {
        for (const input of inputs) {
          input.value = "0";
          input.dispatchEvent(new Event("input"));
        }
      },
    }, words.time.resetGpu);
    fill(this.#sliders, h("legend", {}, words.time.sliders), h("p", { class: "muted" }, words.time.slidersHelp), rows, reset);
  }

  async #update(): Promise<void> {
    const { result, page } = { result: this.page.result, page: this.page };
    if (!result) return;
    const isLatest = this.#next();
    const set = this.#set;
    this.element.setAttribute("aria-busy", "true");
    const on = { ...result.kernel, gpu: page.gpu.name, set };
    const asBuilt = set.length === 0 && result.gpu === page.gpu.name;
    const predictions = asBuilt ? result.predictions : await page.ask("predict", on, true);
    if (!isLatest()) return;
    if (predictions) this.#drawHeadline(predictions, result.advice, asBuilt);
    const spent = await page.ask("plot", { ...on, ...WARP, picture: "spent" }, true);
    if (!isLatest()) return;
    fill(this.#spent, spent && picture(spent.svg));
    const roof = await page.ask("plot", { ...on, ...WARP, picture: "roofline" }, true);
    if (!isLatest()) return;
    fill(this.#roof, roof && picture(roof.svg));
    const advice = asBuilt ? result.advice : await page.ask("advise", on, true);
    if (!isLatest()) return;
    if (advice) this.#drawAdvice(advice);
    this.element.setAttribute("aria-busy", "false");
  }

  #drawHeadline({ predictions }: Predictions, advice: Advices, asBuilt: boolean): void {
    const { words, numbers, result } = this.page;
    const all = predictions.map((prediction, at) => {
      const { time_ms, interval, bound, warnings } = prediction;
      const before = result?.predictions.predictions[at];
      const ratio = !asBuilt && before ? ` (${numbers.number(Number((time_ms / before.time_ms).toPrecision(3)))} ×)` : "";
      const cost = asBuilt ? advice.advice[at]?.verdict.costliest : undefined;
      return [
        h("p", { class: "muted" }, words.time.predicted, predictions.length > 1 ? ` ${prediction.kernel}` : ""),
        h("p", { class: "big" }, numbers.time(time_ms), h("span", { class: "ratio" }, ratio)),
        interval &&
          h("p", { class: "muted" }, words.time.interval(
            numbers.time(interval.low_ms), numbers.time(interval.high_ms), numbers.percent(interval.coverage))),
        h("p", {}, words.time.bound(bound), " ", cost && h("button", {
          type: "button",
          class: "link",
          onclick: () => this.page.go(cost.file.endsWith(".ptx") ? { ptx: cost.line } : { source: cost.line }),
        }, words.time.costliest(cost.line, numbers.percent(cost.share)))),
        warnings.length > 0 &&
          h("details", {}, h("summary", {}, `${words.time.warnings} (${warnings.length})`),
            h("ul", {}, warnings.map((warning) => h("li", {}, warning)))),
      ];
    });
    fill(this.#headline, all.flat());
  }

  #drawAdvice({ advice }: Advices): void {
    const { words } = this.page;
    const items = advice.flatMap((one) => one.items);
    const list = items.length > 0 ? h("ul", { class: "advice" }, items.map((item) => this.#item(item)))
      : h("p", { class: "muted" }, words.time.noAdvice);
    fill(this.#advice, h("h3", {}, words.time.advice), list);
  }

  #item({ title, change, places, speed_up }: AdviceItem): HTMLElement {
    const { page } = this;
    const place = places[0];
    const gain = speed_up === undefined ? "" : page.words.time.faster(`${page.numbers.number(Number(speed_up.toPrecision(3)))} ×`);
    return h("li", {},
      h("p", {}, h("strong", {}, gain || title), gain && ` – ${title}`),
      h("p", {}, marked(change), " ", place && h("button", {
        type: "button",
        class: "link",
        onclick: () => page.go(place.file.endsWith(".ptx") ? { ptx: place.line } : { source: place.line }),
      }, page.words.code.line(place.line))));
  }
}

const WARP = { of_launch: 0, cta: [0, 0, 0] as [number, number, number], warp: 0 };
