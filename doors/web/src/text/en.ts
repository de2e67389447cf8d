// English. `Words` says what every language has.

export interface Words {
  language: string;
  name: string;
  appearance: { label: string; auto: string; light: string; dark: string };
  languageLabel: string;
  kernel: string;
  tasks: string;
  corpus: string;
  gpu: string;
  skip: string;
  lesson: {
    doneIs: string;
    right: string;
    mayChange(keys: string): string;
    hint(number: number): string;
    nextHint(left: number): string;
    solution: string;
    solutionSure: string;
    check: string;
    checking: string;
    points(points: number): string;
    progress(done: number, all: number): string;
    exported: string;
    reset: string;
    offline: string;
    native: string;
  };
  check: {
    right: string;
    wrong: string;
    met: string;
    open: string;
    now(value: string): string;
    nothing: string;
    times(own: string, solution: string): string;
    allDone: string;
    sizes(right: number, all: number): string;
    targetsLater: string;
  };
  code: {
    title: string;
    source: string;
    ptx: string;
    launch: string;
    start: string;
    solved: string;
    mine: string;
    variant: string;
    run: string;
    stop: string;
    running: string;
    stopped: string;
    faulted: string;
    broken: string;
    changed: string;
    faults: string;
    heat: string;
    noHeat: string;
    measured: string;
    usual: string;
    seconds(seconds: string): string;
    printed: string;
    line(line: number): string;
  };
  metrics: Record<string, string>;
  views: {
    label: string;
    time: string;
    access: string;
    banks: string;
    lanes: string;
    steps: string;
    timeline: string;
    occupancy: string;
    compare: string;
  };
  runFirst: string;
  time: {
    predicted: string;
    interval(low: string, high: string, coverage: string): string;
    bound(bound: string): string;
    costliest(line: number, share: string): string;
    sliders: string;
    slidersHelp: string;
    resetGpu: string;
    advice: string;
    faster(times: string): string;
    noAdvice: string;
    warnings: string;
    roofline: string;
    spent: string;
  };
  picture: {
    cta: string;
    warp: string;
    execution: string;
    line: string;
    allLines: string;
    drawing: string;
    save: string;
    none: string;
    banksNone: string;
  };
  steps: {
    record: string;
    recording: string;
    first: string;
    back: string;
    forward: string;
    last: string;
    nextOfLine: string;
    position(at: number, all: number): string;
    keys: string;
    lanes: string;
    executing: string;
    lane: string;
    register: string;
    registers: string;
    watch: string;
    allLanes: string;
    ended: string;
    faulted: string;
    cut(kept: number, all: number): string;
    wrote: string;
    none: string;
    base: string;
    decimal: string;
    hexadecimal: string;
  };
  occupancy: {
    threads: string;
    registers: string;
    shared: string;
    result(blocks: number, warps: number, most: number, percent: string): string;
    limit: string;
    blocks: string;
    binds: string;
    noLimit: string;
    fromLaunch: string;
  };
  compare: {
    keep: string;
    kept(name: string): string;
    none: string;
    metric: string;
    before: string;
    after: string;
    ratio: string;
    time: string;
    help: string;
  };
  licences: string;
  close: string;
}

export const en: Words = {
  language: "English",
  name: "classroom",
  appearance: { label: "Appearance", auto: "As the system", light: "Light", dark: "Dark" },
  languageLabel: "Language",
  kernel: "Kernel",
  tasks: "Tasks",
  corpus: "Kernels of publications",
  gpu: "GPU",
  skip: "Skip to the code",
  lesson: {
    doneIs: "Done is",
    right: "Results are right at all sizes, without races and stray accesses.",
    mayChange: (keys) => `Besides the kernel you may change ${keys} of the launch.`,
    hint: (number) => `Hint ${number}`,
    nextHint: (left) => `Show a hint (${left} left)`,
    solution: "Show the solution",
    solutionSure: "The solution is best read after a try of your own. Show it now?",
    check: "Check",
    checking: "Checking …",
    points: (points) => `${points} of 100 points`,
    progress: (done, all) => `${done} of ${all} tasks are done`,
    exported: "Save my progress",
    reset: "Begin this task anew",
    offline: "CUDA is shown, and its PTX is executed. Change the PTX or the launch.",
    native: "CUDA is compiled on this computer. Change the source or the launch.",
  },
  check: {
    right: "right",
    wrong: "wrong",
    met: "met",
    open: "open",
    now: (value) => `${value} now.`,
    nothing: "nothing to count",
    times: (own, solution) => `Predicted time ${own}; the solution's ${solution}.`,
    allDone: "Everything is done.",
    sizes: (right, all) => `Right at ${right} of ${all} sizes.`,
    targetsLater: "Targets are measured when all sizes are right.",
  },
  code: {
    title: "Code",
    source: "CUDA",
    ptx: "PTX",
    launch: "Launch",
    start: "Start",
    solved: "Solution",
    mine: "Mine",
    variant: "Version",
    run: "Run",
    stop: "Stop",
    running: "Running …",
    stopped: "Stopped.",
    faulted: "No result: see what is wrong. The steps of a warp may show it.",
    broken: "The engine broke off; a new one starts with the next run.",
    changed: "Changed since the last run.",
    faults: "What is wrong",
    heat: "Heat map",
    noHeat: "no heat map",
    measured: "Size of the targets",
    usual: "Small size",
    seconds: (seconds) => `Executed in ${seconds} s.`,
    printed: "The kernel printed",
    line: (line) => `Line ${line}`,
  },
  metrics: {
    share_time: "time of warps",
    warp_executions: "PTX instructions of warps",
    machine_warp_executions: "machine instructions",
    thread_executions: "instructions of threads",
    requests: "memory requests",
    sectors: "sectors",
    shared_requests: "shared requests",
    shared_passes: "passes over banks",
    divergent_branches: "divergent branches",
    dram_read_sectors: "sectors read from DRAM",
  },
  views: {
    label: "Views",
    time: "Time",
    access: "Sectors",
    banks: "Banks",
    lanes: "Lanes",
    steps: "Steps",
    timeline: "Timeline",
    occupancy: "Occupancy",
    compare: "Compare",
  },
  runFirst: "Run the kernel to see this.",
  time: {
    predicted: "Predicted time",
    interval: (low, high, coverage) => `${low} to ${high}: ${coverage} of measured kernels lie in such an interval.`,
    bound: (bound) => `Bound by ${bound}.`,
    costliest: (line, share) => `Line ${line} costs most: ${share}.`,
    sliders: "Change the GPU",
    slidersHelp: "A factor of each figure. Everything that follows from it changes with it.",
    resetGpu: "As built",
    advice: "What would help",
    faster: (times) => `${times} faster`,
    noAdvice: "No rule finds a change that would gain 5 %.",
    warnings: "Mind",
    roofline: "Roofline",
    spent: "What the time goes into",
  },
  picture: {
    cta: "Block (x, y, z)",
    warp: "Warp",
    execution: "Execution",
    line: "Line",
    allLines: "all",
    drawing: "Drawing …",
    save: "Save as SVG",
    none: "This warp has no access to global memory there.",
    banksNone: "This warp has no access to shared memory there.",
  },
  steps: {
    record: "Record this warp",
    recording: "Recording …",
    first: "First step",
    back: "Back",
    forward: "Forward",
    last: "Last step",
    nextOfLine: "Next step of this line",
    position: (at, all) => `Step ${at} of ${all}`,
    keys: "Arrow keys step, Page keys go 20 steps, Home and End to the ends.",
    lanes: "Lanes on the way",
    executing: "execute it",
    lane: "Lane",
    register: "Register",
    registers: "Registers",
    watch: "Lane shown",
    allLanes: "all lanes",
    ended: "The warp has ended.",
    faulted: "The kernel came to a fault here:",
    cut: (kept, all) => `The first ${kept} of ${all} steps are recorded.`,
    wrote: "written here",
    none: "no register written yet",
    base: "Numbers",
    decimal: "decimal",
    hexadecimal: "hexadecimal",
  },
  occupancy: {
    threads: "Threads of a block",
    registers: "Registers of a thread",
    shared: "Shared memory of a block (bytes)",
    result: (blocks, warps, most, percent) =>
      `${blocks} blocks, ${warps} of ${most} warps: ${percent} of an SM.`,
    limit: "Limit",
    blocks: "Blocks it allows",
    binds: "binds",
    noLimit: "no limit",
    fromLaunch: "As launched",
  },
  compare: {
    keep: "Keep this version to compare",
    kept: (name) => `Compared with: ${name}.`,
    none: "Keep a version, change something, and run: both then stand side by side.",
    metric: "Metric",
    before: "Kept",
    after: "Now",
    ratio: "Now ÷ kept",
    time: "predicted time",
    help: "The kept version stands on the left.",
  },
  licences: "Licences",
  close: "Close",
};
