// Light or dark, as the system is or as somebody has chosen. Paper is light.

import type { Memory } from "./session";

export function appear({ appearance = "auto" }: Memory): void {
  const isDark = appearance === "dark" || (appearance === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", isDark);
}

/** Follows the system and the printer. */
export function follow(memory: Memory): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => appear(memory));
  addEventListener("beforeprint", () => document.documentElement.classList.remove("dark"));
  addEventListener("afterprint", () => appear(memory));
}
