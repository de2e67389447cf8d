// Two versions side by side.

import { breakable, fill, h } from "../dom";
import { latest, picture, type Page, type Result, type View } from "./view";

/** The counts that tell versions apart, if one of them has them. */
const METRICS = [
  "ptx_instructions", "inst_executed", "global_load_requests", "global_store_requests", "global_load_sectors_per_request",
  "global_store_sectors_per_request", "shared_conflict_degree", "warp_execution_efficiency", "theoretical_occupancy",
  "ptx_barriers", "dram_bytes", "flop_count_sp",
];

export class CompareView implements View {
  readonly id = "compare";
  readonly title: string;
  readonly element = h("div", { class: "compare" });
  readonly #place = h("div");
  readonly #pictures = h("div", { class: "beside" });
  readonly #next = latest();
  #kept: Result | null = null;

  constructor(private readonly page: Page) {
    const { words } = page;
    this.title = words.views.compare;
    const keep = h("button", {
      type: "button",
      onclick: () => {
        this.#kept = page.result;
        this.show();
      },
    }, words.compare.keep);
    fill(this.element, h("div", { class: "controls" }, keep), this.#place, this.#pictures);
  }

  /** Keeps a version that nobody has asked to keep, such as that which somebody begins with. */
  offer(result: Result): void {
    this.#kept ??= result;
  }

  forget(): void {
    this.#kept = null;
  }

  show(): void {
    const { words, numbers, result } = this.page;
    const kept = this.#kept;
    fill(this.#pictures);
    if (!result) return fill(this.#place, h("p", { class: "muted" }, words.runFirst));
    if (!kept || kept.id === result.id) return fill(this.#place, h("p", { class: "muted" }, words.compare.none));
    const time = (of: Result) => of.predictions.predictions.reduce((sum, { time_ms }) => sum + time_ms, 0);
    const value = (of: Result, name: string) => of.predictions.counts[0]?.metrics[name]?.value;
    const row = (name: string, before: string, after: string, ratio: string) =>
      h("tr", {}, h("th", { scope: "row" }, breakable(name)), h("td", {}, before), h("td", {}, after), h("td", {}, ratio));
    const ratio = (before: number, after: number) =>
      before > 0 ? `${numbers.number(Number((after / before).toPrecision(3)))} ×` : "–";
    const rows = METRICS.flatMap((name) => {
      const [before, after] = [value(kept, name), value(result, name)];
      if (!before && !after) return [];
      const text = (one: number | undefined) => (one === undefined ? "–" : numbers.number(one));
      return [row(name, text(before), text(after), ratio(before ?? 0, after ?? 0))];
    });
    fill(this.#place,
      h("p", { class: "muted" }, words.compare.kept(kept.name), " ", words.compare.help),
      h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": this.title },
        h("table", {},
          h("thead", {}, h("tr", {}, [words.compare.metric, words.compare.before, words.compare.after, words.compare.ratio]
            .map((text) => h("th", { scope: "col" }, text)))),
          h("tbody", {}, row(words.compare.time, numbers.time(time(kept)), numbers.time(time(result)),
            ratio(time(kept), time(result))), rows))));
    void this.#draw(kept, result);
  }

  async #draw(kept: Result, result: Result): Promise<void> {
    const isLatest = this.#next();
    const drawn: HTMLElement[] = [];
    for (const one of [kept, result]) {
      const asks = { ...one.kernel, gpu: one.gpu, set: [], picture: "spent" as const, of_launch: 0, warp: 0 };
      const answer = await this.page.ask("plot", { ...asks, cta: [0, 0, 0] }, true);
      if (!isLatest()) return;
      const figure = h("figure", {}, h("figcaption", {}, one.name));
      if (answer) figure.append(picture(answer.svg));
      drawn.push(figure);
    }
    fill(this.#pictures, drawn);
  }
}
