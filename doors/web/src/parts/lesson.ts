// The lesson of a task: its text, what counts as done, hints, and the check.

import { checkedTask } from "../check";
import { fill, h, marked, prose } from "../dom";
import type { LabCheck, Task } from "../engine/answers";
import type { WholePage } from "../page";

export class Lesson {
  readonly element = h("aside", { class: "lesson" });
  readonly #check = h("div", { class: "check" });

  constructor(private readonly page: WholePage) {}

  show(): void {
    const { name, task, summary } = this.page.desk.work;
    if (task) this.#showTask(task);
    else fill(this.element, h("h2", {}, name), h("p", {}, summary));
  }

  #showTask(task: Task): void {
    const { page } = this;
    const { words, desk: { work } } = page;
    const { hints = 0, check } = page.remembered;
    const told = task.told[page.language];
    const left = told.hints.length - hints;
    const keys = task.may_change.map((key) => `\`${key}\``).join(", ");
    fill(this.#check, check && checkedTask(check, told, page));
    const unfold = () => {
      page.remembered.hints = hints + 1;
      page.remember();
      this.show();
    };
    const solve = () => confirm(words.lesson.solutionSure) && page.showSolution(task);
    fill(this.element,
      h("h2", {}, `${Number(task.name.slice(0, 2))}. ${told.title}`),
      h("div", { class: "prose" }, prose(told.lesson)),
      h("p", { class: "muted" }, page.engine.isNative ? words.lesson.native : words.lesson.offline),
      h("h3", {}, words.lesson.doneIs),
      h("ul", {}, h("li", {}, words.lesson.right), told.targets.map((target) => h("li", {}, marked(target)))),
      keys && h("p", {}, marked(words.lesson.mayChange(keys))),
      told.hints.slice(0, hints).map((hint, at) => h("p", { class: "hint" }, h("strong", {}, words.lesson.hint(at + 1)), " ", marked(hint))),
      h("div", { class: "buttons" },
        h("button", { type: "button", class: "primary", title: "Ctrl+Shift+Enter", onclick: () => void page.check() }, words.lesson.check),
        left > 0 && h("button", { type: "button", onclick: unfold }, words.lesson.nextHint(left)),
        !work.versions.solution && h("button", { type: "button", onclick: solve }, words.lesson.solution),
        work.versions.mine && h("button", { type: "button", onclick: () => page.reset(task) }, words.lesson.reset)),
      this.#check);
  }

  checking(): void {
    fill(this.#check, h("p", { class: "muted", role: "status" }, this.page.words.lesson.checking));
  }

  /** Shows what a check came to; `null` where it came to nothing. */
  checked(task: Task, check: LabCheck | null): void {
    fill(this.#check, check && checkedTask(check, task.told[this.page.language], this.page));
    if (check) this.#check.scrollIntoView({ block: "nearest" });
  }
}
