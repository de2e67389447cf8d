// What can be worked on: tasks with their versions, and kernels of the corpus.

import type { CorpusKernel, Questions, Task } from "./engine/answers";
import type { Memory, Version, Work } from "./session";
import { compiled } from "./tasks";

type Ask = (tool: "open", asks: Questions["open"]["asks"]) => Promise<Questions["open"]["answers"] | null>;

const OF_CORPUS = "corpus/";

export class Works {
  /** Tasks whose solution somebody has asked for since the page was opened. */
  readonly #shownSolutions = new Set<string>();

  constructor(
    readonly tasks: Task[],
    readonly kernels: CorpusKernel[],
    private readonly memory: Memory,
    private readonly isNative: boolean,
    private readonly ask: Ask,
  ) {}

  get solved(): number {
    return this.tasks.filter((task) => this.memory.tasks[task.name]?.done).length;
  }

  /** The name of a kernel of the corpus among the works. */
  nameOf(kernel: CorpusKernel): string {
    return OF_CORPUS + kernel.name;
  }

  async find(name: string): Promise<Work | null> {
    if (name.startsWith(OF_CORPUS)) return this.#ofCorpus(name.slice(OF_CORPUS.length));
    const task = this.tasks.find((one) => one.name === name) ?? this.tasks[0];
    return task ? this.#ofTask(task) : null;
  }

  /** From now on, the task has its solution among its versions. */
  showSolution(task: Task): Version | undefined {
    this.#shownSolutions.add(task.name);
    return this.#ofTask(task).versions.solution;
  }

  #ofTask(task: Task): Work {
    const { isNative } = this;
    const version = (which: "start" | "solution", cuda: string, launch: string): Version => ({
      source: isNative ? cuda : compiled(task.name, which),
      cuda: { name: isNative ? "kernel.cu" : `${which}.cu`, text: cuda },
      launch,
    });
    const remembered = this.memory.tasks[task.name];
    const versions: Work["versions"] = { start: version("start", task.start, task.launch) };
    const { cuda, launch } = task.solution;
    if (cuda && (remembered?.done || this.#shownSolutions.has(task.name))) {
      versions.solution = version("solution", cuda, launch ?? task.launch);
    }
    const mine = remembered?.mine;
    // What was written for the other engine cannot run in this one.
    if (mine && mine.source.includes(".version") !== isNative) versions.mine = mine;
    return { name: task.name, task, summary: "", versions };
  }

  async #ofCorpus(name: string): Promise<Work | null> {
    const about = this.kernels.find((one) => one.name === name);
    const opened = about && (await this.ask("open", { corpus: name, size: "small" }));
    if (!about || !opened) return null;
    const start: Version = { source: opened.ptx, cuda: opened.cuda, launch: opened.launch ?? "" };
    return { name, task: null, summary: about.summary, versions: { start } };
  }
}
