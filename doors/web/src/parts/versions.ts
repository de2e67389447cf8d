// The versions of a kernel: as it is given, somebody's own, the solution.

import { fill, h } from "../dom";
import type { WholePage } from "../page";
import type { VersionName } from "../session";
import type { Words } from "../text";

export function versionTitle(version: VersionName, { code }: Words): string {
  return { start: code.start, mine: code.mine, solution: code.solved }[version];
}

export class Versions {
  readonly element: HTMLElement;

  constructor(private readonly page: WholePage) {
    this.element = h("div", { class: "segments", role: "group", "aria-label": page.words.code.variant });
  }

  show(): void {
    const { page } = this;
    const { work, version } = page.desk;
    const buttons = (["start", "mine", "solution"] as const).filter((name) => work.versions[name]).map((name) => h("button", {
      type: "button", "aria-pressed": version === name, onclick: () => page.choose(name),
    }, versionTitle(name, page.words)));
    fill(this.element, buttons);
    this.element.hidden = buttons.length < 2;
  }
}
