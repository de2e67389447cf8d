// The result of a check, in words.

import { h, marked } from "./dom";
import type { LabCheck, Told } from "./engine/answers";
import type { Page } from "./views/view";

/** What a check came to: the same reasons and numbers as on the command line. The engine's sentences are English. */
export function checkedTask(checked: LabCheck, told: Told, page: Pick<Page, "words" | "numbers" | "go">): HTMLElement {
  const { words, numbers } = page;
  const verdict = (isGood: boolean, good: string, bad: string) =>
    h("span", { class: isGood ? "good" : "bad" }, isGood ? `✓ ${good}` : `✗ ${bad}`);
  const right = checked.cases.filter((one) => one.right).length;
  const cases = checked.cases.map((one) => h("li", {},
    verdict(one.right, words.check.right, words.check.wrong), ` ${one.size}`,
    one.reasons.slice(0, 3).map(({ message, line }) => h("p", { class: "reason" },
      line !== null && h("button", { type: "button", class: "link", onclick: () => page.go({ source: line }) }, words.code.line(line)),
      line !== null && " ", h("span", { lang: "en" }, message)))));
  const targets = checked.targets?.map(({ target, value, met }, at) => h("li", {},
    verdict(met, words.check.met, words.check.open), " ",
    words.check.now(value === null ? words.check.nothing : numbers.number(value)), " ", marked(told.targets[at] ?? target)));
  const { time_ms, solution_time_ms } = checked;
  return h("div", { role: "status" },
    h("h3", {}, words.lesson.points(checked.points)),
    h("progress", { max: 100, value: checked.points, "aria-label": words.lesson.points(checked.points) }),
    h("ul", { class: "verdicts" }, cases, targets),
    time_ms !== null && solution_time_ms !== null && h("p", {}, words.check.times(numbers.time(time_ms), numbers.time(solution_time_ms))),
    h("p", {}, h("strong", {}, checked.done ? words.check.allDone : words.check.sizes(right, checked.sizes))),
    !checked.done && !checked.targets && h("p", { class: "muted" }, words.check.targetsLater),
    checked.notes.map((note) => h("p", { class: "muted", lang: "en" }, note)));
}
