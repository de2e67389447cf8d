// The views of a result, one of them in sight.

import { h } from "../dom";
import type { WholePage } from "../page";
import { tabs } from "../tabs";
import { CompareView } from "../views/compare";
import { OccupancyView } from "../views/occupancy";
import { PictureView, type WarpChoice } from "../views/pictures";
import { StepsView } from "../views/steps";
import { TimeView } from "../views/time";
import type { View } from "../views/view";

/** What of the views stays when the page speaks another language. */
export interface Sight {
  view: string;
  /** The warp that views of a warp share. */
  readonly warp: WarpChoice;
}

export class Views {
  readonly element: HTMLElement;
  readonly compare: CompareView;
  readonly #all: View[];

  constructor(page: WholePage, private readonly sight: Sight) {
    const { views } = page.words;
    this.compare = new CompareView(page);
    this.#all = [
      new TimeView(page),
      new PictureView(page, "access", views.access, "access", sight.warp),
      new PictureView(page, "banks", views.banks, "banks", sight.warp),
      new PictureView(page, "lanes", views.lanes, "divergence", sight.warp),
      new StepsView(page, sight.warp),
      new PictureView(page, "timeline", views.timeline, "timeline", sight.warp),
      new OccupancyView(page),
      this.compare,
    ];
    const list = tabs(views.label, this.#all.map(({ id, title, element }) => [id, title, element]), sight.view, (id) => {
      sight.view = id;
      page.here({ source: null, ptx: null });
      this.show();
    });
    this.element = h("section", { class: "views", "aria-label": views.label }, list.element);
  }

  /** Something may have changed that the view in sight shows. */
  show(): void {
    this.#all.find(({ id }) => id === this.sight.view)?.show();
  }
}
