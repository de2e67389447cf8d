// The parameters of a launch: a field for each, and the sizes at which targets are measured.

import { field, fill, h } from "../dom";
import type { WholePage } from "../page";
import { parameters } from "../session";

export class Sizes {
  readonly element = h("div", { class: "params" });

  constructor(private readonly page: WholePage) {}

  show(): void {
    const { page } = this;
    const { desk, words: { code } } = page;
    const usual = parameters(page.current?.launch ?? "");
    for (const name of desk.params.keys()) if (!usual.has(name)) desk.params.delete(name);
    const inputs = [...usual].map(([name, value]) => {
      const input = h("input", { type: "number", min: "1", class: "short", value: String(desk.params.get(name) ?? value) });
      input.onchange = () => {
        desk.params.set(name, Math.max(1, Number(input.value) || 1));
        void page.run();
      };
      return field(name, input);
    });
    const measured = Object.entries(desk.work.task?.measured ?? {});
    const isMeasured = measured.length > 0 && measured.every(([name, value]) => desk.params.get(name) === value);
    const resize = () => {
      desk.params = new Map(isMeasured ? [] : measured);
      this.show();
      void page.run();
    };
    fill(this.element, inputs,
      measured.length > 0 && h("button", { type: "button", onclick: resize }, isMeasured ? code.usual : code.measured));
  }
}
