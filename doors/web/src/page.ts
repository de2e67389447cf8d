// The page, as its own parts see it. Views see less of it.

import type { Task } from "./engine/answers";
import type { Desk, Memory, Remembered, Version, VersionName } from "./session";
import type { Language } from "./text";
import type { Page } from "./views/view";
import type { Works } from "./works";

export interface WholePage extends Page {
  readonly memory: Memory;
  readonly language: Language;
  readonly works: Works;
  readonly desk: Desk;
  /** The version on the desk. */
  readonly current: Version | undefined;
  readonly isRunning: boolean;
  line: number | null;
  open(name: string): Promise<void>;
  run(): Promise<void>;
  stop(): void;
  check(): Promise<void>;
  /** Shows a version, and runs it. */
  choose(version: VersionName): void;
  /** Somebody has changed a text: it becomes their own version. */
  edited(change: Partial<Version>): void;
  /** Puts a task's solution among the versions. */
  showSolution(task: Task): void;
  /** Forgets somebody's own version of a task. */
  reset(task: Task): void;
  useGpu(name: string): void;
  speak(language: Language): void;
  /** What is remembered of the work on the desk. Whoever changes it calls `remember`. */
  readonly remembered: Remembered;
  remember(): void;
}
