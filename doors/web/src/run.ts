// A run: everything that the page shows of a kernel on a GPU, one question after the other.

import type { Advices, KernelTexts, Opened, Predictions, Profile } from "./engine/answers";
import type { Page } from "./views/view";

/** The answers, as far as they came. */
export interface Run {
  opened: Opened | null;
  counted: { ptx: Profile; cuda: Profile; predictions: Predictions; advice: Advices } | null;
}

/**
 * Asks for it. `opened` hears of the kernel before it is executed. `null` if somebody has begun something else
 * meanwhile.
 */
export async function run(
  page: Pick<Page, "ask" | "gpu">,
  kernel: KernelTexts,
  isLatest: () => boolean,
  hear: (opened: Opened) => void,
): Promise<Run | null> {
  const on = { ...kernel, gpu: page.gpu.name, set: [] };
  const opened = await page.ask("open", kernel);
  if (!isLatest()) return null;
  if (opened) hear(opened);
  const ptx = opened && (await page.ask("profile", { ...on, source_lines: "ptx" }));
  const cuda = ptx && (await page.ask("profile", { ...on, source_lines: "cuda" }));
  const predictions = cuda && (await page.ask("predict", on));
  const advice = predictions && (await page.ask("advise", on, true));
  if (!isLatest()) return null;
  const counted = ptx && cuda && predictions && { ptx, cuda, predictions, advice: advice ?? { advice: [] } };
  return { opened, counted };
}
