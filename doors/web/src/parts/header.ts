// The first lines of the page: what somebody works on, the GPU, language and appearance.

import { appear } from "../appearance";
import { choice, field, h } from "../dom";
import type { Task } from "../engine/answers";
import type { WholePage } from "../page";
import { LANGUAGES, type Language } from "../text";

const SOLVED = " ✓";

export class Header {
  readonly element: HTMLElement;
  readonly #work: HTMLSelectElement;

  constructor(page: WholePage) {
    const { words, memory, works, language } = page;
    const group = (label: string, names: [string, string][]) =>
      h("optgroup", { label }, names.map(([value, text]) => h("option", { value }, text)));
    const title = (task: Task) =>
      `${Number(task.name.slice(0, 2))}. ${task.told[language].title}${memory.tasks[task.name]?.done ? SOLVED : ""}`;
    this.#work = h("select", { onchange: () => void page.open(this.#work.value) },
      group(words.tasks, works.tasks.map((task) => [task.name, title(task)])),
      group(words.corpus, works.kernels.map((kernel) => [works.nameOf(kernel), kernel.name])));
    const gpus = page.gpus.gpus.map((gpu): [string, string] => [gpu.name, gpu.title]);
    const gpu = choice(gpus, page.gpu.name, (name) => page.useGpu(name));
    const languages = Object.entries(LANGUAGES).map(([value, { language }]): [Language, string] => [value as Language, language]);
    const speaks = choice(languages, language, (language) => page.speak(language));
    const { label, auto, light, dark } = words.appearance;
    const looks = choice([["auto", auto], ["light", light], ["dark", dark]], memory.appearance ?? "auto", (value) => {
      memory.appearance = value;
      page.remember();
      appear(memory);
    });
    this.element = h("header", {},
      h("h1", {}, "gpucast ", h("span", {}, words.name)),
      field(words.kernel, this.#work), field(words.gpu, gpu),
      h("div", { class: "settings" }, field(words.languageLabel, speaks), field(label, looks)));
  }

  opened(name: string): void {
    this.#work.value = name;
  }

  solved(task: Task): void {
    const option = [...this.#work.options].find(({ value }) => value === task.name);
    if (option && !option.text.endsWith(SOLVED)) option.text += SOLVED;
  }
}
