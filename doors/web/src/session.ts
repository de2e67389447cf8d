// What somebody works on: a task or a kernel, its versions, the GPU, and what is remembered.

import type { KernelTexts, LabCheck, Named, Task } from "./engine/answers";
import type { Language } from "./text";

export type VersionName = "start" | "solution" | "mine";

/** A version of a kernel. */
export interface Version {
  /** PTX, or CUDA where the engine compiles it. */
  source: string;
  cuda: Named | null;
  launch: string;
}

/** A task, or a kernel of the corpus with what it computes. */
export interface Work {
  name: string;
  task: Task | null;
  summary: string;
  versions: Partial<Record<VersionName, Version>>;
}

/** What somebody works on at the moment, and how. */
export interface Desk {
  work: Work;
  version: VersionName;
  /** Parameters of the launch that are not as its file has them. */
  params: Map<string, number>;
  /** The count that the heat map shows; none where it is empty. */
  heat: string;
}

export function titleOf({ task, name, summary }: Work, language: Language): string {
  return task ? task.told[language].title : `${name}: ${summary}`;
}

/** What of a task is remembered. */
export interface Remembered {
  mine?: Version;
  points?: number;
  done?: boolean;
  hints?: number;
  check?: LabCheck;
}

export interface Memory {
  schema: "gpucast.classroom/1";
  language?: Language;
  appearance?: "auto" | "light" | "dark";
  gpu?: string;
  work?: string;
  tasks: Record<string, Remembered>;
}

const KEY = "gpucast-classroom";

/** What this browser has kept; nothing where it keeps nothing. */
export function recalled(): Memory {
  const empty: Memory = { schema: "gpucast.classroom/1", tasks: {} };
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "null") as Memory | null;
    return kept?.schema === empty.schema ? kept : empty;
  } catch {
    return empty;
  }
}

export function remember(memory: Memory): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(memory));
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}

/** The parameters of a launch file with their usual values, as its text has them. */
export function parameters(launch: string): Map<string, number> {
  const section = /^\[parameters\]\s*\n((?:(?!\[).*\n?)*)/m.exec(launch)?.[1] ?? "";
  const lines = section.matchAll(/^\s*(\w+)\s*=\s*([\d_.]+)/gm);
  return new Map([...lines].map(([, name, value]) => [name!, Number(value!.replaceAll("_", ""))]));
}

export function kernelOf(version: Version, params: Map<string, number>): KernelTexts {
  return {
    source: version.source,
    launch: version.launch,
    params: [...params].map(([name, value]) => `${name}=${value}`),
    ...(version.cuda && version.source.includes(".version") ? { cuda: version.cuda } : {}),
  };
}
