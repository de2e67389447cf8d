// The tasks' kernels as they were compiled beforehand: no compiler works in a page.

const modules = import.meta.glob<string>("../../../studies/lab/tasks/*/{start,solution}.ptx", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** The PTX of a task's start code or solution. */
export function compiled(task: string, which: "start" | "solution"): string {
  const text = modules[`../../../studies/lab/tasks/${task}/${which}.ptx`];
  if (text === undefined) throw new Error(`${task} has no ${which}.ptx`);
  return text;
}
