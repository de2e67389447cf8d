"use strict";
// Everything here is a convenience: without it the page shows all panels and whole tables.
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  document.documentElement.classList.add("scripted");

  // One GPU and one model at a time.
  for (const section of all("section[data-launch]")) {
    const chosen = {};
    const show = () => {
      let shown = 0;
      for (const panel of all("[data-gpu]", section)) {
        const model = panel.dataset.model;
        const fits = panel.dataset.gpu === chosen.gpu && (!model || model === chosen.model);
        panel.hidden = !fits;
        shown += fits && model ? 1 : 0;
      }
      const none = section.querySelector(".no-panel");
      if (none) none.hidden = shown > 0;
    };
    for (const select of all("select[data-switch]", section)) {
      chosen[select.dataset.switch] = select.value;
      select.addEventListener("change", () => {
        chosen[select.dataset.switch] = select.value;
        show();
      });
    }
    for (const switches of all(".switches", section)) switches.hidden = false;
    show();
  }

  // The contents mark the section that is read, and keep its mark in view.
  const contents = document.querySelector("nav.contents");
  if (contents) {
    const links = all("a[href^='#']", contents);
    const places = links.map((link) => document.getElementById(link.hash.slice(1)));
    const launches = all("ul ul", contents).map((list) => list.parentElement);
    contents.classList.toggle("several", launches.length > 1);
    let marked;
    const mark = () => {
      const edge = window.innerHeight / 4;
      const root = document.documentElement;
      const isEnd = window.scrollY > 0 && window.scrollY + window.innerHeight >= root.scrollHeight - 2;
      let at = 0;
      places.forEach((place, index) => {
        if (place.getBoundingClientRect().top <= edge) at = index;
      });
      const link = isEnd ? links[links.length - 1] : links[at];
      if (link === marked) return;
      marked?.removeAttribute("aria-current");
      marked = link;
      link.setAttribute("aria-current", "location");
      for (const launch of launches) launch.classList.toggle("open", launch.contains(link));
      const [own, whole] = [link.getBoundingClientRect(), contents.getBoundingClientRect()];
      if (own.left < whole.left || own.right > whole.right) {
        contents.scrollLeft += own.left - whole.left - (whole.width - own.width) / 2;
      }
      if (own.top < whole.top || own.bottom > whole.bottom) {
        contents.scrollTop += own.top - whole.top - (whole.height - own.height) / 2;
      }
    };
    let asked = false;
    const later = () => {
      if (!asked) requestAnimationFrame(() => { asked = false; mark(); });
      asked = true;
    };
    window.addEventListener("scroll", later, { passive: true });
    window.addEventListener("resize", later);
    mark();
  }

  // Tables that can be sorted by the buttons in their headings.
  const value = (row, at) => {
    const cell = row.cells[at];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number(text.replace(/,/g, ""));
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = Array.from(body.rows);
        rows.sort((a, b) => {
          const [x, y] = [value(a, at), value(b, at)];
          const order = typeof x === "number" && typeof y === "number"
            ? x - y : String(x).localeCompare(String(y));
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }

  // Tables that can be searched.
  for (const input of all("input[data-filter]")) {
    const table = document.getElementById(input.dataset.filter);
    const said = document.getElementById(`${input.dataset.filter}-found`);
    input.closest(".search").hidden = false;
    const differing = document.querySelector(`input[data-differing="${input.dataset.filter}"]`);
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        const isSame = differing?.checked && row.classList.contains("muted");
        row.hidden = isSame || !words.every((word) => text.includes(word));
        found += row.hidden ? 0 : 1;
      }
      said.textContent = `${found} of ${table.tBodies[0].rows.length} rows`;
    };
    input.addEventListener("input", show);
    if (differing) {
      differing.addEventListener("change", show);
      show();
    }
  }

  // Narrow screens leave columns out until somebody asks for them.
  for (const box of all("input[data-columns]")) {
    const table = document.getElementById(box.dataset.columns);
    box.closest(".columns").hidden = false;
    box.addEventListener("change", () => table.classList.toggle("all-columns", box.checked));
  }

  // A long source begins at the line that costs most.
  for (const frame of all("div.source")) {
    const part = (cell) => parseFloat(cell.style.getPropertyValue("--part")) || 0;
    const cells = all("td.share", frame);
    const most = cells.reduce((most, cell) => (most && part(most) >= part(cell) ? most : cell), null);
    const top = most?.closest("tr").offsetTop ?? 0;
    if (top > frame.clientHeight * 0.8) frame.scrollTop = top - frame.clientHeight / 2;
  }

  // Values of pictures, where they are pointed at and where the keyboard is.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const open = (mark) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const at = mark.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
    tip.style.top = `${Math.max(at.top - tip.offsetHeight - 6, 4) + window.scrollY}px`;
  };
  const close = () => { tip.hidden = true; };
  for (const mark of all(".reading")) {
    // The browser's own hint would cover this one.
    mark.querySelector("title")?.remove();
    mark.addEventListener("pointerenter", () => open(mark));
    mark.addEventListener("focus", () => open(mark));
    mark.addEventListener("pointerleave", close);
    mark.addEventListener("blur", close);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
})();
