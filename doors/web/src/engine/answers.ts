// Questions and answers of the engine. Documents are those that `gpucast … --format json` prints.

import type { Language } from "../text";

/** A text with the name by which another one refers to it. */
export interface Named {
  name: string;
  text: string;
}

/** A kernel: texts and parameters. */
export interface KernelTexts {
  source: string;
  launch: string;
  params: string[];
  cuda?: Named;
}

export interface OnGpu extends KernelTexts {
  gpu: string;
  set: string[];
}

export interface Warp {
  of_launch: number;
  cta: [number, number, number];
  warp: number;
}

export type Picture = "access" | "banks" | "divergence" | "timeline" | "roofline" | "spent";

export interface Questions {
  gpus: { asks: object; answers: Gpus };
  kernels: { asks: object; answers: { kernels: CorpusKernel[] } };
  tasks: { asks: object; answers: { tasks: Task[] } };
  open: { asks: { corpus: string; size: "small" | "paper" } | KernelTexts; answers: Opened };
  profile: { asks: OnGpu & { source_lines: "ptx" | "cuda" }; answers: Profile };
  predict: { asks: OnGpu; answers: Predictions };
  advise: { asks: OnGpu; answers: Advices };
  plot: {
    asks: OnGpu & Warp & { picture: Picture; line?: number; execution?: number };
    answers: Drawing;
  };
  occupancy: {
    asks: (KernelTexts | { threads: number; registers?: number; shared_bytes: number }) & { gpu: string; set: string[] };
    answers: Occupancy;
  };
  steps: { asks: KernelTexts & Warp & { first?: number; most?: number }; answers: Steps };
  "lab-check": {
    asks: { task: string; source: string; launch: string; cuda?: Named; gpu: string };
    answers: LabCheck;
  };
}

export type Tool = keyof Questions;

export interface Gpus {
  version: string;
  has_compiler: boolean;
  dark_style: string;
  meanings: Record<string, string>;
  gpus: Gpu[];
}

export interface Gpu {
  name: string;
  title: string;
  capability: string | null;
  figures: { field: string; value: number; unit: string }[];
}

export interface CorpusKernel {
  name: string;
  family: string;
  summary: string;
}

/** A task's texts in one language. */
export interface Told {
  title: string;
  lesson: string;
  hints: string[];
  targets: string[];
}

export interface Task {
  name: string;
  told: Record<Language, Told>;
  may_change: string[];
  cases: Record<string, number>[];
  measured: Record<string, number>;
  launch: string;
  start: string;
  solution: { cuda: string | null; launch: string | null };
}

export interface Opened {
  ptx: string;
  launch: string | null;
  cuda: Named | null;
  parameters: Record<string, number> | null;
  launches: { kernel: string; grid: number[]; block: number[] }[];
}

export interface Line {
  ptx_line?: number;
  cuda_file?: string;
  cuda_line?: number;
  [metric: string]: unknown;
}

export interface Profile {
  launches: { kernel: string; grid: number[]; block: number[]; lines: Line[] }[];
}

export interface Metric {
  value: number;
  unit: string;
  kind: string;
}

export interface Predictions {
  counts: { kernel: string; origin: string; metrics: Record<string, Metric> }[];
  predictions: Prediction[];
}

export interface Prediction {
  kernel: string;
  gpu: string;
  model: string;
  time_ms: number;
  interval?: { low_ms: number; high_ms: number; coverage: number };
  bound: string;
  explanation: string;
  warnings: string[];
}

export interface Advices {
  advice: {
    verdict: {
      spent: { state: string; text: string; share: number }[];
      costliest?: { file: string; line: number; text: string; share: number; share_of: string };
    };
    items: AdviceItem[];
  }[];
}

export interface AdviceItem {
  rule: string;
  title: string;
  change: string;
  places: { file: string; line: number }[];
  /** Absent where no model says it. */
  speed_up?: number;
}

export interface Drawing {
  svg: string;
  width: number;
  height: number;
}

export interface Occupancy {
  gpu: string;
  threads: number;
  registers: number | null;
  shared_bytes: number;
  blocks: number;
  warps: number;
  most_warps: number;
  theoretical: number;
  limits: { name: string; blocks: number | null; binds: boolean }[];
  pictures: string[];
}

/** A number, or hexadecimal digits of one that numbers here do not hold. */
export type Bits = number | string;

/** One for all lanes; the first and the step from lane to lane; or one for each lane. */
export type LaneValues = Bits | [Bits, number] | (Bits | null)[] | null;

export interface StepAccess {
  space: string;
  kind: string;
  bytes: number;
  lanes: number;
  addresses: LaneValues;
}

/** Instruction, lanes on the way, lanes that execute it, registers written, accesses. */
export type Step = [number, number, number, [number, LaneValues][], StepAccess[]];

export interface Steps {
  kernel: string;
  grid: [number, number, number];
  block: [number, number, number];
  cta: [number, number, number];
  warp: number;
  first: number;
  all_steps: number;
  has_ended: boolean;
  faults: string[];
  instructions: { ptx_line: number; ptx: string; cuda_file: string | null; cuda_line: number | null }[];
  registers: { name: string; type: string }[];
  objects: { space: string; name: string; address: number; bytes: number }[];
  steps: Step[];
}

export interface LabCheck {
  name: string;
  task: string;
  points: number;
  done: boolean;
  notes: string[];
  sizes: number;
  cases: { size: string; right: boolean; reasons: Reason[] }[];
  targets: { target: string; value: number | null; met: boolean }[] | null;
  time_ms: number | null;
  solution_time_ms: number | null;
}

export interface Reason {
  code: string;
  message: string;
  file: string | null;
  line: number | null;
}

/** One thing that is wrong with the input. */
export interface Fault {
  message: string;
  place?: { file: string; line: number; column: number };
  facts?: string[];
  hint?: string;
}

/** An answer as it comes. */
export interface Answer<T> {
  document: T | null;
  errors: Fault[];
  notes: string[];
  printed: string;
}
