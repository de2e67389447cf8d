// The page: what somebody works on, its code, its views.

import licences from "virtual:licences";

import "./style.css";

import { checkedTask } from "./check";
import { choice, field, fill, h, marked, prose, save } from "./dom";
import { Editor, type Heat } from "./editor";
import type { Answer, CorpusKernel, Fault, Gpu, Gpus, Line, Questions, Task, Tool } from "./engine/answers";
import { Ended, begin, type Engine } from "./engine/engine";
import { cudaLanguage, launchLanguage, ptxLanguage, sourceLines } from "./ptx";
import { kernelOf, parameters, recalled, remember, type Memory, type Remembered, type Version, type VersionName, type Work } from "./session";
import { tabs } from "./tabs";
import { compiled } from "./tasks";
import { LANGUAGES, Numbers, usual, type Language, type Words } from "./text";
import { CompareView } from "./views/compare";
import { OccupancyView } from "./views/occupancy";
import { PictureView, type WarpChoice } from "./views/pictures";
import { StepsView } from "./views/steps";
import { TimeView } from "./views/time";
import { latest, type Attempt, type Page, type Result, type View } from "./views/view";

const USUAL_GPU = "h100-sxm";
const FIRST_TASK = "01-indexing";

/** Counts of lines that a heat map can show, the most telling first. */
const HEATS = [
  "share_time", "machine_warp_executions", "warp_executions", "thread_executions", "requests", "sectors",
  "shared_requests", "shared_passes", "divergent_branches", "dram_read_sectors",
];

class App implements Page {
  readonly memory: Memory = recalled();
  engine: Engine;
  words: Words;
  numbers: Numbers;
  gpus!: Gpus;
  gpu!: Gpu;
  result: Result | null = null;
  attempt: Attempt | null = null;
  line: number | null = null;

  #tasks: Task[] = [];
  #kernels: CorpusKernel[] = [];
  #work!: Work;
  #version: VersionName = "start";
  #params = new Map<string, number>();
  #heat = "share_time";
  #views: View[] = [];
  #view = "time";
  #runs = 0;
  readonly #nextRun = latest();
  #isRunning = false;
  #linked = new Map<number, number>();
  readonly #warp: WarpChoice = { cta: [0, 0, 0], warp: 0 };
  readonly #root = document.getElementById("page")!;

  // Parts of the page that change.
  readonly #status = h("p", { class: "status", role: "status" });
  readonly #bar = h("progress", { max: 1, value: 0, hidden: true });
  readonly #faults = h("div", { class: "faults", role: "alert" });
  #source!: Editor;
  #ptx!: Editor;
  #launch!: Editor;
  #runButton!: HTMLButtonElement;
  #compare!: CompareView;

  constructor() {
    this.engine = begin((share) => {
      this.#bar.hidden = false;
      this.#bar.value = share;
    });
    const language = this.memory.language ?? usual();
    this.words = LANGUAGES[language];
    this.numbers = new Numbers(language);
    this.#speak(language);
    this.#appear();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#appear());
    addEventListener("beforeprint", () => document.documentElement.classList.remove("dark"));
    addEventListener("afterprint", () => this.#appear());
  }

  async start(): Promise<void> {
    const [gpus, tasks, kernels] = await Promise.all([
      this.ask("gpus", {}), this.ask("tasks", {}), this.ask("kernels", {}),
    ]);
    if (!gpus || !tasks || !kernels) return fill(this.#root, this.#faults);
    this.gpus = gpus;
    this.#tasks = tasks.tasks;
    this.#kernels = kernels.kernels;
    document.head.append(h("style", {}, `@media screen {\n${gpus.dark_style}}`));
    const named = (name: string | undefined) => gpus.gpus.find((gpu) => gpu.name === name);
    this.gpu = named(this.memory.gpu) ?? named(USUAL_GPU) ?? gpus.gpus[0]!;
    this.#build();
    await this.#open(this.memory.work ?? FIRST_TASK);
  }

  // --- asking -----------------------------------------------------------------------------------

  async ask<T extends Tool>(tool: T, asks: Questions[T]["asks"], quiet = false): Promise<Questions[T]["answers"] | null> {
    let answer: Answer<Questions[T]["answers"]>;
    try {
      answer = await this.engine.ask(tool, asks);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      if (error.why !== "stopped") this.#say([{ message: error.why === "broken" ? this.words.code.broken : error.message }]);
      return null;
    }
    if (answer.printed) {
      this.#faults.append(h("details", {}, h("summary", {}, this.words.code.printed), h("pre", {}, answer.printed)));
    }
    if (answer.errors.length > 0 && !quiet) this.#say(answer.errors);
    return answer.document;
  }

  #say(faults: Fault[]): void {
    const list = faults.map(({ message, place, hint, facts = [] }) => {
      const go = () => (place?.file.endsWith(".toml") ? this.#launch.go(place.line) : place && this.#ptx.go(place.line));
      return h("li", {},
        place && h("button", { type: "button", class: "link", onclick: go }, `${place.file.split("/").pop()}:${place.line}`), place && " ",
        message, [...facts, ...(hint ? [hint] : [])].map((more) => h("span", { class: "muted more" }, more)));
    });
    fill(this.#faults, h("h3", {}, this.words.code.faults), h("ul", {}, list));
  }

  // --- the frame --------------------------------------------------------------------------------

  #build(): void {
    const { words } = this;
    this.#views = this.#makeViews();
    const keys = [
      { key: "Mod-Enter", run: () => (void this.run(), true) },
      { key: "Mod-Shift-Enter", run: () => (void this.#check(), true) },
    ];
    const isNative = this.engine.isNative;
    this.#source = new Editor({
      label: words.code.source, language: cudaLanguage, keys,
      changed: (text) => isNative && this.#edited({ source: text }),
      at: (line) => this.#pointed(line, "source"),
    });
    this.#ptx = new Editor({
      label: words.code.ptx, language: ptxLanguage, keys,
      changed: (text) => !(isNative && this.#has("cuda")) && this.#edited({ source: text }),
      at: (line) => this.#pointed(line, "ptx"),
    });
    this.#launch = new Editor({
      label: words.code.launch, language: launchLanguage, keys, changed: (text) => this.#edited({ launch: text }),
    });
    fill(this.#root,
      h("a", { class: "skip", href: "#code" }, words.skip),
      this.#header(),
      h("div", { class: "columns" },
        this.#lessonElement,
        h("main", {}, this.#codeSection(), this.#viewSection())),
      this.#footer());
  }

  readonly #lessonElement = h("aside", { class: "lesson" });

  #header(): HTMLElement {
    const { words, memory } = this;
    const group = (label: string, names: [string, string][]) => {
      const element = h("optgroup", { label }, names.map(([value, text]) => h("option", { value }, text)));
      return element;
    };
    const mark = (task: Task) => (memory.tasks[task.name]?.done ? ` ✓` : "");
    const work = h("select", { onchange: () => void this.#open(work.value) },
      group(words.tasks, this.#tasks.map((task) => [task.name, `${Number(task.name.slice(0, 2))}. ${task.title}${mark(task)}`])),
      group(words.corpus, this.#kernels.map(({ name }) => [`corpus/${name}`, name])));
    work.value = this.memory.work ?? FIRST_TASK;
    this.#workSelect = work;
    const gpus = this.gpus.gpus.map((gpu): [string, string] => [gpu.name, gpu.title]);
    const gpu = choice(gpus, this.gpu.name, (name) => {
      this.gpu = this.gpus.gpus.find((one) => one.name === name)!;
      memory.gpu = name;
      remember(memory);
      void this.run();
    });
    const languages = Object.entries(LANGUAGES).map(([value, { language }]): [Language, string] => [value as Language, language]);
    const language = choice(languages, this.#language, (language) => {
      memory.language = language;
      remember(memory);
      this.words = LANGUAGES[language];
      this.numbers = new Numbers(language);
      this.#speak(language);
      this.#build();
      this.#showWork();
      this.#showResult();
    });
    const appearance = choice(
      [["auto", words.appearance.auto], ["light", words.appearance.light], ["dark", words.appearance.dark]],
      memory.appearance ?? "auto",
      (value) => {
        memory.appearance = value;
        remember(memory);
        this.#appear();
      });
    return h("header", {},
      h("h1", {}, "gpucast ", h("span", {}, words.name)),
      field(words.kernel, work), field(words.gpu, gpu),
      h("div", { class: "settings" }, field(words.languageLabel, language), field(words.appearance.label, appearance)));
  }

  #workSelect!: HTMLSelectElement;

  #footer(): HTMLElement {
    const { words } = this;
    const dialog = h("dialog", { class: "licences", "aria-label": words.licences });
    const open = () => {
      fill(dialog, h("pre", { tabIndex: 0 }, licences), h("button", { type: "button", onclick: () => dialog.close() }, words.close));
      dialog.showModal();
    };
    const done = this.#tasks.filter((task) => this.memory.tasks[task.name]?.done).length;
    this.#progress = h("span", {}, words.lesson.progress(done, this.#tasks.length));
    return h("footer", {},
      this.#progress,
      h("button", { type: "button", class: "link", onclick: () => this.#export() }, words.lesson.exported),
      h("span", { class: "push" }, `gpucast ${this.gpus.version}`),
      h("button", { type: "button", class: "link", onclick: open }, words.licences),
      dialog);
  }

  #progress!: HTMLElement;

  get #language(): Language {
    return document.documentElement.lang === "de" ? "de" : "en";
  }

  #speak(language: Language): void {
    document.documentElement.lang = language;
    document.title = `gpucast ${this.words.name}`;
  }

  #appear(): void {
    const { appearance = "auto" } = this.memory;
    const isDark = appearance === "dark" || (appearance === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.classList.toggle("dark", isDark);
  }

  // --- the code ---------------------------------------------------------------------------------

  #versions = h("div", { class: "segments", role: "group" });
  #paramFields = h("div", { class: "params" });
  #panes = h("div", { class: "panes" });

  #codeSection(): HTMLElement {
    const { words } = this;
    const heats = HEATS.map((name): [string, string] => [name, words.metrics[name] ?? name]);
    const heat = choice([...heats, ["", words.code.noHeat] as [string, string]], this.#heat, (name) => {
      this.#heat = name;
      this.#showHeat();
    });
    this.#runButton = h("button", {
      type: "button", class: "primary", title: "Ctrl+Enter",
      onclick: () => (this.#isRunning ? this.#stop() : void this.run()),
    }, words.code.run);
    this.#versions.setAttribute("aria-label", words.code.variant);
    const tab = (id: "ptx" | "launch", text: string, editor: Editor): [string, string, HTMLElement] => [id, text, editor.view.dom];
    const right = tabs(words.code.title, [tab("ptx", words.code.ptx, this.#ptx), tab("launch", words.code.launch, this.#launch)], "ptx");
    fill(this.#panes,
      h("section", { class: "pane" }, h("h2", {}, words.code.source), this.#source.view.dom),
      h("section", { class: "pane", "aria-label": words.code.ptx }, right.element));
    return h("section", { class: "code", id: "code", tabIndex: -1, "aria-label": words.code.title },
      h("div", { class: "toolbar" }, this.#versions, this.#paramFields, field(words.code.heat, heat),
        h("div", { class: "push run" }, this.#runButton)),
      h("div", { class: "statusbar" }, this.#status, this.#bar),
      this.#faults, this.#panes);
  }

  #has(name: "cuda"): boolean {
    return this.#current?.[name] !== null && this.#current?.[name] !== undefined;
  }

  get #current(): Version | undefined {
    return this.#work.versions[this.#version];
  }

  /** Somebody has changed a text: it becomes their own version. */
  #edited(change: Partial<Version>): void {
    const before = this.#current;
    if (!before) return;
    const isNative = this.engine.isNative;
    const mine = { ...before, ...change };
    if (change.source !== undefined && isNative && before.cuda) mine.cuda = { name: "kernel.cu", text: change.source };
    this.#work.versions.mine = mine;
    if (this.#version !== "mine") {
      this.#version = "mine";
      this.#showVersions();
    }
    if (change.launch !== undefined) this.#showParams();
    if (this.#work.task) {
      this.#remembered.mine = mine;
      remember(this.memory);
    }
    fill(this.#status, this.words.code.changed);
  }

  get #remembered(): Remembered {
    return (this.memory.tasks[this.#work.name] ??= {});
  }

  #showVersions(): void {
    const { words } = this;
    const names: Record<VersionName, string> = { start: words.code.start, solution: words.code.solved, mine: words.code.mine };
    const buttons = (["start", "mine", "solution"] as const).filter((name) => this.#work.versions[name]).map((name) =>
      h("button", {
        type: "button",
        "aria-pressed": this.#version === name,
        onclick: () => {
          this.#version = name;
          this.#showCode();
          void this.run();
        },
      }, names[name]));
    fill(this.#versions, buttons);
    this.#versions.hidden = buttons.length < 2;
  }

  #showParams(): void {
    const usual = parameters(this.#current?.launch ?? "");
    const inputs = [...usual].map(([name, value]) => {
      const input = h("input", { type: "number", min: "1", class: "short", value: String(this.#params.get(name) ?? value) });
      input.onchange = () => {
        this.#params.set(name, Math.max(1, Number(input.value) || 1));
        void this.run();
      };
      return field(name, input);
    });
    for (const name of this.#params.keys()) if (!usual.has(name)) this.#params.delete(name);
    const measured = Object.entries(this.#work.task?.measured ?? {});
    const isMeasured = measured.length > 0 && measured.every(([name, value]) => this.#params.get(name) === value);
    const resize = () => {
      this.#params = new Map(isMeasured ? [] : measured);
      this.#showParams();
      void this.run();
    };
    const { code } = this.words;
    fill(this.#paramFields, inputs,
      measured.length > 0 && h("button", { type: "button", onclick: resize }, isMeasured ? code.usual : code.measured));
  }

  #showCode(): void {
    const version = this.#current;
    if (!version) return;
    const isNative = this.engine.isNative && version.cuda !== null;
    this.#showVersions();
    this.#showParams();
    this.#source.show(version.cuda?.text ?? "", !isNative);
    if (version.source.includes(".version")) this.#ptx.show(version.source, isNative);
    this.#launch.show(version.launch, false);
    this.#link();
  }

  #link(): void {
    this.#linked = sourceLines(this.#ptx.text);
  }

  /** The cursor stands at a line: the lines of the other text are marked that belong to it. */
  #pointed(line: number, from: "source" | "ptx"): void {
    if (from === "source") {
      this.line = line;
      this.#ptx.mark([...this.#linked].filter(([, source]) => source === line).map(([ptx]) => ptx), "linked");
    } else {
      const source = this.#linked.get(line) ?? null;
      this.line = source ?? (this.#linked.size === 0 ? line : null);
      this.#source.mark(source === null ? [] : [source], "linked");
    }
  }

  go(place: { source?: number | null; ptx?: number | null }): void {
    if (place.source) this.#source.go(place.source);
    else if (place.ptx) this.#ptx.go(place.ptx);
  }

  here(place: { source?: number | null; ptx?: number | null }): void {
    if (place.source !== undefined) this.#source.mark(place.source ? [place.source] : [], "here");
    if (place.ptx !== undefined) this.#ptx.mark(place.ptx ? [place.ptx] : [], "here");
  }

  // --- running ----------------------------------------------------------------------------------

  async run(): Promise<void> {
    const version = this.#current;
    if (!version || this.#isRunning) return;
    const { words, gpu } = this;
    const isLatest = this.#nextRun();
    this.#running(true);
    fill(this.#faults);
    fill(this.#status, words.code.running);
    const began = performance.now();
    const kernel = kernelOf(version, this.#params);
    const on = { ...kernel, gpu: gpu.name, set: [] };
    const opened = await this.ask("open", kernel);
    if (!isLatest()) return;
    if (opened && !version.source.includes(".version")) {
      this.#ptx.show(opened.ptx, true);
      this.#link();
    }
    const ptx = opened && (await this.ask("profile", { ...on, source_lines: "ptx" }));
    const cuda = ptx && (await this.ask("profile", { ...on, source_lines: "cuda" }));
    const predictions = cuda && (await this.ask("predict", on));
    const advice = predictions && (await this.ask("advise", on, true));
    // Somebody may have opened another kernel meanwhile.
    if (!isLatest()) return;
    this.#running(false);
    this.attempt = opened && { id: ++this.#runs, kernel, opened };
    if (!opened || !ptx || !cuda || !predictions) {
      this.result = null;
      fill(this.#status, this.#faults.childElementCount > 0 ? words.code.faulted : words.code.stopped);
      return this.#showResult();
    }
    const name = `${this.#work.title}, ${this.#versionName}, ${gpu.title}`;
    const id = this.#runs;
    this.result = { id, name, kernel, gpu: gpu.name, opened, ptx, cuda, predictions, advice: advice ?? { advice: [] } };
    fill(this.#status, words.code.seconds(this.numbers.number(Number(((performance.now() - began) / 1000).toPrecision(2)))));
    this.#compare.offer(this.result);
    this.#showResult();
  }

  get #versionName(): string {
    const { code } = this.words;
    return { start: code.start, solution: code.solved, mine: code.mine }[this.#version];
  }

  #running(isRunning: boolean): void {
    this.#isRunning = isRunning;
    this.#bar.hidden = true;
    this.#bar.value = 0;
    this.#runButton.textContent = isRunning ? this.words.code.stop : this.words.code.run;
    this.#runButton.classList.toggle("stop", isRunning);
  }

  #stop(): void {
    this.engine.stop();
  }

  #showResult(): void {
    this.#showHeat();
    this.here({ source: null, ptx: null });
    this.#views.find(({ id }) => id === this.#view)?.show();
  }

  #scrolledFor = 0;

  #showHeat(): void {
    const { result, numbers } = this;
    const metric = this.#heat;
    const heat = (lines: Line[], place: "ptx_line" | "cuda_line"): Map<number, Heat> => {
      const all = new Map<number, number>();
      for (const line of lines) {
        const [at, value] = [line[place], line[metric]];
        if (typeof at === "number" && typeof value === "number") all.set(at, (all.get(at) ?? 0) + value);
      }
      const sum = [...all.values()].reduce((a, b) => a + b, 0);
      const text = (value: number) => (metric.startsWith("share") ? numbers.percent(value) : numbers.short(value));
      return new Map([...all].filter(([, value]) => value > 0).map(([at, value]) => [at, { text: text(value), share: value / sum }]));
    };
    const lines = (profile: Result["ptx"] | undefined) => profile?.launches.flatMap((launch) => launch.lines) ?? [];
    const first = lines(result?.ptx)[0]?.ptx_line;
    if (first !== undefined && this.#scrolledFor !== result?.id) {
      this.#scrolledFor = result?.id ?? 0;
      this.#ptx.reveal(first);
    }
    this.#ptx.heat(metric ? heat(lines(result?.ptx), "ptx_line") : new Map());
    this.#source.heat(metric ? heat(lines(result?.cuda), "cuda_line") : new Map());
  }

  // --- what somebody works on -------------------------------------------------------------------

  async #open(name: string): Promise<void> {
    const isCorpus = name.startsWith("corpus/");
    const work = isCorpus ? await this.#corpusWork(name.slice("corpus/".length)) : this.#taskWork(name);
    if (!work) return;
    this.engine.stop();
    this.#work = work;
    this.#version = work.versions.mine ? "mine" : "start";
    this.#params.clear();
    this.result = null;
    this.attempt = null;
    this.#compare.forget();
    this.memory.work = name;
    remember(this.memory);
    this.#workSelect.value = name;
    this.#warp.cta = [0, 0, 0];
    this.#warp.warp = 0;
    this.#showWork();
    this.#isRunning = false;
    await this.run();
  }

  #taskWork(name: string): Work | null {
    const task = this.#tasks.find((one) => one.name === name) ?? this.#tasks[0];
    if (!task) return null;
    const isNative = this.engine.isNative;
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
    if (mine && mine.source.includes(".version") !== isNative) versions.mine = mine;
    return { kind: "task", name: task.name, title: task.title, task, versions };
  }

  async #corpusWork(name: string): Promise<Work | null> {
    const about = this.#kernels.find((one) => one.name === name);
    const opened = about && (await this.ask("open", { corpus: name, size: "small" }));
    if (!about || !opened) return null;
    const version: Version = { source: opened.ptx, cuda: opened.cuda, launch: opened.launch ?? "" };
    return { kind: "corpus", name, title: `${name}: ${about.summary}`, task: null, versions: { start: version } };
  }

  readonly #shownSolutions = new Set<string>();

  #showWork(): void {
    this.#showLesson();
    this.#showCode();
    this.#showHeat();
    fill(this.#faults);
    for (const view of this.#views) if (view.id === this.#view) view.show();
  }

  #showLesson(): void {
    const { words } = this;
    const { task, title } = this.#work;
    if (!task) {
      return fill(this.#lessonElement, h("h2", {}, this.#work.name), h("p", {}, title.slice(this.#work.name.length + 2)));
    }
    const remembered = this.memory.tasks[task.name] ?? {};
    const { hints = 0, check } = remembered;
    const left = task.hints.length - hints;
    const keys = task.may_change.map((key) => `\`${key}\``).join(", ");
    const check_ = h("div", { class: "check" }, check ? checkedTask(check, this) : null);
    this.#checkPlace = check_;
    const showsSolution = this.#work.versions.solution !== undefined;
    fill(this.#lessonElement,
      h("h2", {}, `${Number(task.name.slice(0, 2))}. ${task.title}`),
      // Lessons are English, whatever the page speaks.
      h("div", { class: "prose", lang: "en" }, prose(task.lesson)),
      h("p", { class: "muted" }, this.engine.isNative ? words.lesson.native : words.lesson.offline),
      h("h3", {}, words.lesson.doneIs),
      h("ul", {}, h("li", {}, words.lesson.right), task.targets.map((target) => h("li", { lang: "en" }, marked(target)))),
      keys && h("p", {}, marked(words.lesson.mayChange(keys))),
      task.hints.slice(0, hints).map((hint, at) => h("p", { class: "hint" }, h("strong", {}, words.lesson.hint(at + 1)), " ", marked(hint))),
      h("div", { class: "buttons" },
        h("button", { type: "button", class: "primary", title: "Ctrl+Shift+Enter", onclick: () => void this.#check() }, words.lesson.check),
        left > 0 && h("button", {
          type: "button",
          onclick: () => {
            this.#remembered.hints = hints + 1;
            remember(this.memory);
            this.#showLesson();
          },
        }, words.lesson.nextHint(left)),
        !showsSolution && h("button", { type: "button", onclick: () => this.#showSolution(task) }, words.lesson.solution),
        this.#work.versions.mine && h("button", { type: "button", onclick: () => this.#reset(task) }, words.lesson.reset)),
      check_);
  }

  #checkPlace!: HTMLElement;

  #showSolution(task: Task): void {
    if (!confirm(this.words.lesson.solutionSure)) return;
    this.#shownSolutions.add(task.name);
    const { solution } = this.#taskWork(task.name)?.versions ?? {};
    if (solution) this.#work.versions.solution = solution;
    this.#showLesson();
    this.#showVersions();
  }

  #reset(task: Task): void {
    delete this.#remembered.mine;
    remember(this.memory);
    void this.#open(task.name);
  }

  async #check(): Promise<void> {
    const { task } = this.#work;
    const version = this.#current;
    if (!task || !version || this.#isRunning) return;
    const isLatest = this.#nextRun();
    const { words } = this;
    fill(this.#checkPlace, h("p", { class: "muted", role: "status" }, words.lesson.checking));
    fill(this.#faults);
    this.#running(true);
    const { source, launch, cuda } = version;
    const isPtx = source.includes(".version");
    const checked = await this.ask("lab-check", {
      task: task.name, source, launch, gpu: USUAL_GPU, ...(cuda && isPtx ? { cuda } : {}),
    });
    if (!isLatest()) return;
    this.#running(false);
    if (!checked) return fill(this.#checkPlace);
    const remembered = this.#remembered;
    remembered.check = checked;
    remembered.points = Math.max(remembered.points ?? 0, checked.points);
    // Whoever has seen the solution and checks it has not solved the task.
    if (checked.done && this.#version !== "solution") remembered.done = true;
    remember(this.memory);
    const done = this.#tasks.filter((one) => this.memory.tasks[one.name]?.done).length;
    fill(this.#progress, words.lesson.progress(done, this.#tasks.length));
    const option = [...this.#workSelect.options].find(({ value }) => value === task.name);
    if (option && remembered.done && !option.text.endsWith("✓")) option.text += " ✓";
    fill(this.#checkPlace, checkedTask(checked, this));
    this.#checkPlace.scrollIntoView({ block: "nearest" });
  }

  #export(): void {
    const { schema, tasks } = this.memory;
    save("gpucast-classroom.json", "application/json", `${JSON.stringify({ schema, tasks }, null, 2)}\n`);
  }

  // --- views ------------------------------------------------------------------------------------

  #makeViews(): View[] {
    const { views } = this.words;
    this.#compare = new CompareView(this);
    const drawn = (id: string, title: string, kind: "access" | "banks" | "divergence" | "timeline") =>
      new PictureView(this, id, title, kind, this.#warp);
    return [
      new TimeView(this),
      drawn("access", views.access, "access"),
      drawn("banks", views.banks, "banks"),
      drawn("lanes", views.lanes, "divergence"),
      new StepsView(this, this.#warp),
      drawn("timeline", views.timeline, "timeline"),
      new OccupancyView(this),
      this.#compare,
    ];
  }

  #viewSection(): HTMLElement {
    const { words } = this;
    const list = tabs(words.views.label, this.#views.map(({ id, title, element }) => [id, title, element]), this.#view, (id) => {
      this.#view = id;
      this.here({ source: null, ptx: null });
      this.#views.find((view) => view.id === id)?.show();
    });
    return h("section", { class: "views", "aria-label": words.views.label }, list.element);
  }
}

void new App().start();
