// Tabs, by mouse and by keys.

import { h } from "./dom";

/** Tabs as the ARIA Authoring Practices describe them: arrow keys move, the one in sight is in the order of Tab. */
export function tabs(
  label: string,
  all: [id: string, title: string, element: HTMLElement][],
  selected: string,
  changed: (id: string) => void = () => undefined,
): { element: HTMLElement; select: (id: string) => void } {
  const buttons = all.map(([id, title]) => h("button", {
    type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, onclick: () => select(id),
  }, title));
  const panels = all.map(([id, , element]) =>
    h("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, class: "panel" }, element));
  const list = h("div", { role: "tablist", "aria-label": label, class: "tabs" }, buttons);
  const select = (id: string, isFirst = false) => {
    all.forEach(([other], at) => {
      const isSelected = other === id;
      buttons[at]!.setAttribute("aria-selected", String(isSelected));
      buttons[at]!.tabIndex = isSelected ? 0 : -1;
      panels[at]!.hidden = !isSelected;
    });
    if (!isFirst) changed(id);
  };
  list.onkeydown = (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = (to + buttons.length) % buttons.length;
    buttons[next]!.focus();
    select(all[next]![0]);
  };
  select(selected, true);
  return { element: h("div", {}, list, panels), select };
}
