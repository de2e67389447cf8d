// The page: its parts, what they share, and what somebody does with it.

import "./style.css";

import { appear, follow } from "./appearance";
import { fill, h } from "./dom";
import type { Answer, Gpu, Gpus, Questions, Task, Tool } from "./engine/answers";
import { Ended, begin, type Engine } from "./engine/engine";
import { Faults } from "./faults";
import type { WholePage } from "./page";
import { Code } from "./parts/code";
import { Footer } from "./parts/footer";
import { Header } from "./parts/header";
import { Lesson } from "./parts/lesson";
import { versionTitle } from "./parts/versions";
import { Views, type Sight } from "./parts/views";
import { run } from "./run";
import { kernelOf, recalled, remember, titleOf, type Desk, type Memory, type Remembered, type Version, type VersionName } from "./session";
import { LANGUAGES, Numbers, usual, type Language, type Words } from "./text";
import { latest, type Attempt, type Result } from "./views/view";
import { Works } from "./works";

const USUAL_GPU = "h100-sxm";
const FIRST_TASK = "01-indexing";

class App implements WholePage {
  readonly memory: Memory = recalled();
  readonly engine: Engine = begin((share) => this.#code?.progress(share));
  language!: Language;
  words!: Words;
  numbers!: Numbers;
  gpus!: Gpus;
  gpu!: Gpu;
  works!: Works;
  desk!: Desk;
  result: Result | null = null;
  attempt: Attempt | null = null;
  line: number | null = null;
  isRunning = false;

  #runs = 0;
  readonly #nextRun = latest();
  readonly #sight: Sight = { view: "time", warp: { cta: [0, 0, 0], warp: 0 } };
  readonly #root = document.getElementById("page")!;
  readonly #faults = new Faults(() => this.#code?.compiles ?? false, ({ text, line }) => this.#code?.go({ [text]: line }));
  // The parts speak one language: another one takes other parts.
  #header!: Header;
  #lesson!: Lesson;
  #code: Code | undefined;
  #views!: Views;
  #footer!: Footer;

  constructor() {
    this.#useLanguage(this.memory.language ?? usual());
    appear(this.memory);
    follow(this.memory);
  }

  async start(): Promise<void> {
    const [gpus, tasks, kernels] = await Promise.all([
      this.ask("gpus", {}), this.ask("tasks", {}), this.ask("kernels", {}),
    ]);
    if (!gpus || !tasks || !kernels) return fill(this.#root, this.#faults.element);
    this.gpus = gpus;
    document.head.append(h("style", {}, `@media screen {\n${gpus.dark_style}}`));
    const named = (name: string | undefined) => gpus.gpus.find((gpu) => gpu.name === name);
    this.gpu = named(this.memory.gpu) ?? named(USUAL_GPU) ?? gpus.gpus[0]!;
    this.works = new Works(tasks.tasks, kernels.kernels, this.memory, this.engine.isNative, (tool, asks) => this.ask(tool, asks));
    await this.open(this.memory.work ?? FIRST_TASK);
    // A kernel that is remembered may be gone from the corpus.
    if (!this.#code) await this.open(FIRST_TASK);
  }

  async ask<T extends Tool>(tool: T, asks: Questions[T]["asks"], quiet = false): Promise<Questions[T]["answers"] | null> {
    let answer: Answer<Questions[T]["answers"]>;
    try {
      answer = await this.engine.ask(tool, asks);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      if (error.why !== "stopped") {
        this.#faults.say([{ message: error.why === "broken" ? this.words.code.broken : error.message }], this.words);
      }
      return null;
    }
    if (answer.printed) this.#faults.printed(answer.printed, this.words);
    if (answer.errors.length > 0 && !quiet) this.#faults.say(answer.errors, this.words);
    return answer.document;
  }

  // --- the page ---------------------------------------------------------------------------------

  #build(): Code {
    this.#header = new Header(this);
    this.#lesson = new Lesson(this);
    this.#code = new Code(this, this.#faults);
    this.#views = new Views(this, this.#sight);
    this.#footer = new Footer(this);
    fill(this.#root,
      h("a", { class: "skip", href: "#code" }, this.words.skip),
      this.#header.element,
      h("div", { class: "columns" }, this.#lesson.element, h("main", {}, this.#code.element, this.#views.element)),
      this.#footer.element);
    return this.#code;
  }

  #useLanguage(language: Language): void {
    this.language = language;
    this.words = LANGUAGES[language];
    this.numbers = new Numbers(language);
    document.documentElement.lang = language;
    document.title = `gpucast ${this.words.name}`;
  }

  speak(language: Language): void {
    this.memory.language = language;
    this.remember();
    this.#useLanguage(language);
    this.#build();
    this.#showDesk();
    this.#showResult();
  }

  go(place: { source?: number | null; ptx?: number | null }): void {
    this.#code?.go(place);
  }

  here(place: { source?: number | null; ptx?: number | null }): void {
    this.#code?.here(place);
  }

  #showDesk(): void {
    this.#header.opened(this.memory.work ?? FIRST_TASK);
    this.#lesson.show();
    this.#code?.show();
    this.#code?.showRunning();
    this.#faults.clear();
  }

  #showResult(): void {
    this.#code?.showHeat();
    this.here({ source: null, ptx: null });
    this.#views.show();
  }

  // --- what somebody works on -------------------------------------------------------------------

  get current(): Version | undefined {
    return this.desk.work.versions[this.desk.version];
  }

  get remembered(): Remembered {
    return (this.memory.tasks[this.desk.work.name] ??= {});
  }

  remember(): void {
    remember(this.memory);
  }

  async open(name: string): Promise<void> {
    const work = await this.works.find(name);
    if (!work) return;
    this.engine.stop();
    const heat = this.desk?.heat ?? "share_time";
    this.desk = { work, version: work.versions.mine ? "mine" : "start", params: new Map(), heat };
    this.result = null;
    this.attempt = null;
    this.isRunning = false;
    this.#sight.warp.cta = [0, 0, 0];
    this.#sight.warp.warp = 0;
    this.memory.work = name;
    this.remember();
    if (!this.#code) this.#build();
    this.#views.compare.forget();
    this.#showDesk();
    this.#showResult();
    await this.run();
  }

  choose(version: VersionName): void {
    this.desk.version = version;
    this.#code?.show();
    void this.run();
  }

  edited(change: Partial<Version>): void {
    const before = this.current;
    if (!before) return;
    const { desk } = this;
    const mine = { ...before, ...change };
    if (change.source !== undefined && this.engine.isNative && before.cuda) mine.cuda = { name: "kernel.cu", text: change.source };
    desk.work.versions.mine = mine;
    const isFirst = desk.version !== "mine";
    desk.version = "mine";
    if (isFirst || change.launch !== undefined) this.#code?.showVersions();
    if (desk.work.task) {
      this.remembered.mine = mine;
      this.remember();
    }
    this.#code?.say(this.words.code.changed);
  }

  showSolution(task: Task): void {
    const solution = this.works.showSolution(task);
    if (solution) this.desk.work.versions.solution = solution;
    this.#lesson.show();
    this.#code?.showVersions();
  }

  reset(task: Task): void {
    delete this.remembered.mine;
    this.remember();
    void this.open(task.name);
  }

  useGpu(name: string): void {
    this.gpu = this.gpus.gpus.find((one) => one.name === name) ?? this.gpu;
    this.memory.gpu = name;
    this.remember();
    void this.run();
  }

  // --- running and checking ---------------------------------------------------------------------

  #running(isRunning: boolean): void {
    this.isRunning = isRunning;
    this.#code?.showRunning();
  }

  stop(): void {
    this.engine.stop();
  }

  async run(): Promise<void> {
    const version = this.current;
    if (!version || this.isRunning) return;
    const isLatest = this.#nextRun();
    this.#running(true);
    this.#faults.clear();
    this.#code?.say(this.words.code.running);
    const began = performance.now();
    const kernel = kernelOf(version, this.desk.params);
    const ran = await run(this, kernel, isLatest, (opened) => this.#code?.compiled(opened));
    if (!ran) return;
    this.#running(false);
    const { opened, counted } = ran;
    const { words, numbers, gpu } = this;
    const id = ++this.#runs;
    this.attempt = opened && { id, kernel, opened };
    if (!opened || !counted) {
      this.result = null;
      this.#code?.say(this.#faults.areThere ? words.code.faulted : words.code.stopped);
      return this.#showResult();
    }
    const name = [titleOf(this.desk.work, this.language), versionTitle(this.desk.version, words), gpu.title].join(", ");
    this.result = { id, name, kernel, gpu: gpu.name, opened, ...counted };
    const seconds = Number(((performance.now() - began) / 1000).toPrecision(2));
    this.#code?.say(words.code.seconds(numbers.number(seconds)));
    this.#views.compare.offer(this.result);
    this.#showResult();
  }

  async check(): Promise<void> {
    const { desk: { work: { task }, version }, current } = this;
    if (!task || !current) return;
    // Whoever wants a check does not wait for the run.
    if (this.isRunning) {
      this.engine.stop();
      this.#code?.say(this.words.code.stopped);
    }
    const isLatest = this.#nextRun();
    this.#lesson.checking();
    this.#running(true);
    const { source, launch, cuda } = current;
    const isPtx = source.includes(".version");
    const checked = await this.ask("lab-check", {
      task: task.name, source, launch, gpu: USUAL_GPU, ...(cuda && isPtx ? { cuda } : {}),
    });
    if (!isLatest()) return;
    this.#running(false);
    if (checked) {
      const { remembered } = this;
      remembered.check = checked;
      remembered.points = Math.max(remembered.points ?? 0, checked.points);
      // Whoever has seen the solution and checks it has not solved the task.
      if (checked.done && version !== "solution") remembered.done = true;
      this.remember();
      this.#footer.progressed();
      if (remembered.done) this.#header.solved(task);
    }
    this.#lesson.checked(task, checked);
  }
}

void new App().start();
