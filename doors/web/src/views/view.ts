// What views have in common: a place on the page, and a result that they show.

import type { Engine } from "../engine/engine";
import type { Advices, Gpu, Gpus, KernelTexts, Opened, Predictions, Profile, Questions, Tool } from "../engine/answers";
import type { Numbers, Words } from "../text";

/** A kernel that could be opened. Even one with a fault has steps. */
export interface Attempt {
  /** Counts up with each run. */
  id: number;
  kernel: KernelTexts;
  opened: Opened;
}

/** What a run came to. */
export interface Result extends Attempt {
  /** Which version of what, in words. */
  name: string;
  gpu: string;
  ptx: Profile;
  cuda: Profile;
  predictions: Predictions;
  advice: Advices;
}

/** The page, as views see it. */
export interface Page {
  readonly words: Words;
  readonly numbers: Numbers;
  readonly engine: Engine;
  readonly gpus: Gpus;
  readonly gpu: Gpu;
  readonly result: Result | null;
  readonly attempt: Attempt | null;
  /** Asks the engine. What is wrong is shown; `null` then. */
  ask<T extends Tool>(tool: T, asks: Questions[T]["asks"], quiet?: boolean): Promise<Questions[T]["answers"] | null>;
  /** Puts the cursor at a line of the source, or of the PTX where it has none. */
  go(place: { source?: number | null; ptx?: number | null }): void;
  /** Marks the line at which something is, without going there. */
  here(place: { source?: number | null; ptx?: number | null }): void;
  /** The line at which the cursor stands, of the source if there is one. */
  readonly line: number | null;
}

export interface View {
  readonly id: string;
  readonly title: string;
  readonly element: HTMLElement;
  /** It is in sight, and something may have changed. */
  show(): void;
}

/** Carries a drawing of the engine. */
export function picture(svg: string): HTMLElement {
  const element = document.createElement("div");
  element.className = "picture";
  element.innerHTML = svg;
  const image = element.querySelector("svg");
  if (image) {
    // The picture keeps its proportions, and does not outgrow what it shows.
    image.style.maxWidth = `${image.getAttribute("width")}px`;
    image.removeAttribute("width");
    image.removeAttribute("height");
    image.setAttribute("tabindex", "-1");
  }
  element.tabIndex = 0;
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", image?.getAttribute("aria-label") ?? "");
  return element;
}

/** Ends what was asked for before, so that answers come in order. */
export function latest(): () => () => boolean {
  let last = 0;
  return () => {
    const own = ++last;
    return () => own === last;
  };
}

/** Waits until nobody has called for so long. */
export function calm(act: () => void, ms: number): () => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, ms);
  };
}
