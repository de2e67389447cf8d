// How hot lines are: a count of each line, and its share of all.

import type { Heat } from "./editor";
import type { Profile } from "./engine/answers";
import type { Numbers } from "./text";

/** Counts of lines that a heat map can show, the most telling first. */
export const HEATS = [
  "share_time", "machine_warp_executions", "warp_executions", "thread_executions", "requests", "sectors",
  "shared_requests", "shared_passes", "divergent_branches", "dram_read_sectors",
] as const;

export function heatOf(profile: Profile, place: "ptx_line" | "cuda_line", metric: string, numbers: Numbers): Map<number, Heat> {
  const all = new Map<number, number>();
  for (const line of profile.launches.flatMap((launch) => launch.lines)) {
    const [at, value] = [line[place], line[metric]];
    if (typeof at === "number" && typeof value === "number") all.set(at, (all.get(at) ?? 0) + value);
  }
  const sum = [...all.values()].reduce((a, b) => a + b, 0);
  const text = (value: number) => (metric.startsWith("share") ? numbers.percent(value) : numbers.short(value));
  return new Map([...all].filter(([, value]) => value > 0).map(([at, value]) => [at, { text: text(value), share: value / sum }]));
}
