// Elements in one expression.

type Child = Node | string | number | null | undefined | false;
export type Children = Child | Child[];

type Properties<K extends keyof HTMLElementTagNameMap> = {
  [P in keyof HTMLElementTagNameMap[K]]?: HTMLElementTagNameMap[K][P];
};

/** Attributes beside an element's own properties: `aria-*`, `role`, `data-*`, `class`, `for`. */
type Attributes = Record<`aria-${string}` | `data-${string}`, string | number | boolean> &
  { role?: string; class?: string; for?: string; style?: string; list?: string };

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties?: Omit<Properties<K>, "style" | "role" | "list"> & Partial<Attributes>,
  ...children: Children[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.includes("-") || ["role", "class", "for", "style", "list"].includes(name)) {
      element.setAttribute(name, String(value));
    } else {
      (element as unknown as Record<string, unknown>)[name] = value;
    }
  }
  append(element, children);
  return element;
}

function append(element: Element, children: Children[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

/** Replaces everything in an element. */
export function fill(element: Element, ...children: Children[]): void {
  element.replaceChildren();
  append(element, children);
}

let last = 0;

/** A label with its control. */
export function field(text: string, control: HTMLElement, hint?: string): HTMLElement {
  control.id ||= `f${++last}`;
  return h("div", { class: "field" }, h("label", { for: control.id, ...(hint ? { title: hint } : {}) }, text), control);
}

/** A list of choices. */
export function choice<T extends string>(
  choices: readonly (readonly [T, string])[],
  value: T,
  change: (value: T) => void,
): HTMLSelectElement {
  const select = h(
    "select",
    { onchange: () => change(select.value as T) },
    choices.map(([value, text]) => h("option", { value }, text)),
  );
  select.value = value;
  return select;
}

/** Texts with `code` in backquotes, in paragraphs and lists. */
export function prose(text: string): HTMLElement[] {
  return text.trim().split(/\n\s*\n/).map((paragraph) => h("p", {}, marked(paragraph.replaceAll("\n", " "))));
}

export function marked(text: string): (Node | string)[] {
  return text.split(/(`[^`]+`)/).map((part) =>
    part.startsWith("`") && part.length > 2 ? h("code", {}, breakable(part.slice(1, -1))) : part,
  );
}

/** Long names break behind an underscore. */
export function breakable(name: string): (Node | string)[] {
  return name.split(/(?<=_)/).flatMap((part, at) => (at === 0 ? [part] : [document.createElement("wbr"), part]));
}

/** Offers a text as a file. */
export function save(name: string, type: string, text: string): void {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
