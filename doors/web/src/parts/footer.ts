// The last line of the page: how far somebody is, and what the page is made of.

import licences from "virtual:licences";

import { fill, h, save } from "../dom";
import type { WholePage } from "../page";

export class Footer {
  readonly element: HTMLElement;
  readonly #progress = h("span");

  constructor(private readonly page: WholePage) {
    const { words, memory } = page;
    const dialog = h("dialog", { class: "licences", "aria-label": words.licences });
    const open = () => {
      fill(dialog, h("pre", { tabIndex: 0 }, licences), h("button", { type: "button", onclick: () => dialog.close() }, words.close));
      dialog.showModal();
    };
    const keep = () => {
      const { schema, tasks } = memory;
      save("gpucast-classroom.json", "application/json", `${JSON.stringify({ schema, tasks }, null, 2)}\n`);
    };
    this.progressed();
    this.element = h("footer", {},
      this.#progress,
      h("button", { type: "button", class: "link", onclick: keep }, words.lesson.exported),
      h("span", { class: "push" }, `gpucast ${page.gpus.version}`),
      h("button", { type: "button", class: "link", onclick: open }, words.licences),
      dialog);
  }

  progressed(): void {
    const { words, works } = this.page;
    fill(this.#progress, words.lesson.progress(works.solved, works.tasks.length));
  }
}
