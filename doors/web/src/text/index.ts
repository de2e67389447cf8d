// The languages, and how they write numbers.

import { de } from "./de";
import { en, type Words } from "./en";

export type { Words };
export type Language = "en" | "de";
export const LANGUAGES: Record<Language, Words> = { en, de };

/** The language of the browser, or English. */
export function usual(): Language {
  return navigator.languages.some((one) => one.toLowerCase().startsWith("de")) &&
    !navigator.languages[0]?.toLowerCase().startsWith("en")
    ? "de"
    : "en";
}

export class Numbers {
  readonly #locale: string;

  constructor(language: Language) {
    this.#locale = language;
  }

  /** A number with up to four significant digits; whole ones in full. */
  number(value: number): string {
    const digits = Number.isInteger(value) ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 };
    return value.toLocaleString(this.#locale, digits);
  }

  /** A number that fits a narrow column: 12.3k. */
  short(value: number): string {
    if (value < 1000) return value.toLocaleString(this.#locale, { maximumSignificantDigits: 3 });
    return value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
  }

  percent(share: number): string {
    if (share > 0 && share < 0.0005) return `< ${this.percent(0.001)}`;
    return share.toLocaleString(this.#locale, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 });
  }

  /** A time in the unit in which it is one to a thousand. */
  time(ms: number): string {
    const units: [string, number][] = [["s", 1e-3], ["ms", 1], ["µs", 1e3], ["ns", 1e6]];
    const [unit, factor] = units.find(([, factor]) => ms * factor >= 1) ?? ["ns", 1e6];
    const value = (ms * factor).toLocaleString(this.#locale, { maximumSignificantDigits: 4 });
    return `${value} ${unit}`;
  }
}
