
// ------------------------------------------------------------ trees

// Paul Tol's "light" scheme: distinguishable with colour blindness, readable under text.
const PALETTE = ["#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff",
  "#44bb99", "#bbcc33", "#aaaa00"];
const OTHER = "#c9ced3";
const GROUND = [16, 20, 25];
const NIGHT = 0.52;
/** A colour of the palette, darker in the dark theme. */
const shade = (colour) => {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at, i) => Math.round(part(at) * (1 - NIGHT) + GROUND[i] * NIGHT));
  return `light-dark(${colour}, rgb(${mixed.join(",")}))`;
};

const AGES = ["gen 0", "gen 1", "gen 2", "large objects", "pinned objects"];
const COLOURINGS = {
  growth: {
    title: "growth",
    of: (data, at) => data.growth[at],
    if: (data) => Boolean(data.growth),
    colours: { new: "#ee8866", grown: "#eedd88", "as before": "#c9ced3", shrunk: "#99ddff" },
  },
  type: { title: "type", of: (data, at) => data.types[data.type[at]][0] },
  namespace: { title: "namespace", of: (data, at) => data.types[data.type[at]][2] || "(none)" },
  generation: {
    title: "generation",
    of: (data, at) => AGES[data.generation[at]] ?? "(unknown)",
    if: (data) => data.generation !== null,
  },
};
const MOST_ROWS = 12;
const MOST_DEPTH = { treemap: 6, icicle: 7 };
/** Smallest tile to draw, and smallest one to draw others or text in, in pixels. */
const LEAST = 3;
const LEAST_OPEN = { width: 44, height: 40 };
const LEAST_TEXT = { width: 34, height: 15 };
const HEAD = 19;
const PAD = 3;

/**
 * Divides a rectangle by the sizes of items, the largest first, into almost squares.
 *
 * Source: Bruls, Huizing, van Wijk, Squarified Treemaps (2000).
 */
const squarify = (items, box, place) => {
  let { x, y, width, height } = box;
  let left = items.reduce((sum, item) => sum + item.size, 0);
  for (let first = 0; first < items.length && left > 0;) {
    const scale = (width * height) / left;
    const side = Math.min(width, height);
    const worst = (sum, most, least) =>
      Math.max((side * side * most) / (sum * sum * scale), (sum * sum * scale) / (side * side * least));
    let end = first;
    let sum = 0;
    let ratio = Infinity;
    while (end < items.length) {
      const next = worst(sum + items[end].size, items[first].size, items[end].size);
      if (next > ratio) break;
      sum += items[end].size;
      ratio = next;
      end += 1;
    }
    const deep = sum === left ? Math.max(width, height) : (sum * scale) / side;
    let at = 0;
    for (; first < end; first += 1) {
      const long = side * (items[first].size / sum);
      place(items[first], width >= height
        ? { x, y: y + at, width: deep, height: long } : { x: x + at, y, width: long, height: deep });
      at += long;
    }
    if (width >= height) { x += deep; width -= deep; } else { y += deep; height -= deep; }
    left -= sum;
  }
};

/** Shows lines of text beside the pointer while it is over what `of` has lines for. */
const startTip = (plot, of) => {
  const tip = make("div", "", { class: "hint", hidden: "" });
  plot.after(tip);
  plot.addEventListener("pointermove", (event) => {
    const lines = of(event.target);
    tip.hidden = !lines;
    if (!lines) return;
    tip.textContent = lines.join("\n");
    const room = root.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, room))}px`;
    tip.style.top = `${event.clientY + 18}px`;
  });
  plot.addEventListener("pointerleave", () => { tip.hidden = true; });
};

class Chart {
  constructor(section) {
    this.section = section;
    this.data = JSON.parse(section.querySelector("script").textContent);
    this.plot = section.querySelector(".plot");
    this.title = section.querySelector("h2").textContent;
    this.children = this.data.parent.map(() => []);
    this.data.parent.forEach((parent, at) => parent >= 0 && this.children[parent].push(at));
    this.children.forEach((list) => list.sort((a, b) => this.data.bytes[b] - this.data.bytes[a]));
    this.rest = new Set(this.data.rest);
    this.hasAddresses = this.data.address.some(Boolean);
    this.hasCounts = this.data.count.some((found) => found !== null);
    this.at = 0;
    this.startControls();
    this.colourBy(section.querySelector("select").value);
    this.plot.hidden = false;
    startTip(this.plot, (target) => this.hint(target.closest(".tile")));
    this.plot.addEventListener("click", (event) => this.clicked(event.target.closest(".tile")));
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.show(0);
  }

  label(at) {
    return this.data.labels[at] ?? this.data.types[this.data.type[at]][0];
  }

  fullType(at) {
    return this.data.types[this.data.type[at]][1];
  }

  /** Whether it is neither the top, nor a kind of root, nor a leaf for the rest. */
  isTyped(at) {
    return this.fullType(at) !== "";
  }

  /** The tile of an object, or the largest of a type; -1 if there is none. */
  find(kind, name) {
    const { data } = this;
    if (kind === "object") return data.address.indexOf(name);
    if (this.hasAddresses) return -1;
    return data.bytes.reduce((best, size, at) =>
      (this.fullType(at) === name && (best < 0 || size > data.bytes[best]) ? at : best), -1);
  }

  startControls() {
    this.section.querySelector(".controls").hidden = false;
    const select = this.section.querySelector("select");
    for (const [name, colouring] of Object.entries(COLOURINGS)) {
      if (colouring.if && !colouring.if(this.data)) continue;
      select.append(make("option", colouring.title, { value: name }));
    }
    select.addEventListener("change", () => {
      this.colourBy(select.value);
      this.draw();
    });
  }

  show(at) {
    this.at = at;
    this.showCrumbs();
    this.showRows();
    this.draw();
  }

  /** Shows a tile inside its parent, and marks it. */
  showTile(at) {
    this.show(this.data.parent[at]);
    const drawn = this.plot.querySelector(`[data-at="${at}"]`);
    this.section.scrollIntoView({ block: "start" });
    if (drawn) goTo(drawn);
    else goTo(this.section.querySelector(".level-table"));
  }

  clicked(tile) {
    if (!tile) return;
    const at = Number(tile.dataset.at);
    if (at === this.top()) this.show(Math.max(this.data.parent[at], 0));
    else this.show(at);
  }

  showCrumbs() {
    const path = [];
    for (let at = this.at; at >= 0; at = this.data.parent[at]) path.unshift(at);
    const list = this.section.querySelector(".crumbs");
    const hadFocus = list.contains(document.activeElement);
    const items = path.map((at) => {
      const item = make("li");
      if (at === this.at) {
        item.append(make("span", clip(this.label(at), 60), { "aria-current": "true", tabindex: "-1" }));
      } else {
        const button = make("button", clip(this.label(at), 40), { type: "button" });
        button.addEventListener("click", () => this.show(at));
        item.append(button);
      }
      return item;
    });
    if (items.length > 7) items.splice(3, items.length - 6, make("li", `… ${items.length - 6} more`));
    list.replaceChildren(...items);
    if (hadFocus) list.querySelector("[aria-current]").focus();
  }

  showRows() {
    const { data } = this;
    const table = this.section.querySelector(".level-table");
    const hadFocus = table.contains(document.activeElement);
    const inside = this.children[this.at];
    const rows = inside.slice(0, MOST_ROWS).map((at) => {
      const row = make("tr");
      const head = make("th", "", { scope: "row" });
      const full = this.fullType(at);
      if (full) head.title = full;
      if (this.children[at].length) {
        const button = make("button", this.label(at), { type: "button" });
        button.addEventListener("click", () => this.show(at));
        head.append(button);
      } else {
        head.textContent = this.label(at);
      }
      row.append(head, ...(this.hasAddresses ? [this.addressCell(at)] : []),
        ...(this.hasCounts ? [make("td", data.count[at] === null ? "" : count(data.count[at]), { class: "number", "data-head": "objects" })] : []),
        make("td", count(data.bytes[at]), { class: "number", "data-head": "bytes" }),
        make("td", share(data.bytes[at], data.bytes[0]), { class: "number", "data-head": "share" }));
      return row;
    });
    this.section.querySelector(".level-said").replaceChildren(...this.said(inside, rows.length));
    table.tBodies[0].replaceChildren(...rows);
    if (hadFocus) this.section.querySelector(".crumbs [aria-current]").focus();
  }

  addressCell(at) {
    const cell = make("td", "", { class: "address", "data-head": "address" });
    const link = this.addressLink(at);
    if (link) cell.append(link);
    return cell;
  }

  addressLink(at) {
    const address = this.data.address[at];
    return address
      ? make("a", address, { class: "ref", href: `#${this.section.id}`, "data-object": address }) : "";
  }

  /** What the chart shows, in a sentence. */
  said(inside, shown) {
    const { data, at } = this;
    const text = `: ${bytes(data.bytes[at])}` +
      (data.own[at] && inside.length ? `, shallow size ${bytes(data.own[at])}` : "") +
      (inside.length ? `; ${inside.length > shown ? `the largest ${shown} of ${count(inside.length)}` : count(inside.length)} child${inside.length === 1 ? "" : "ren"}` : this.leafSaid());
    return [this.label(at), data.address[at] ? " " : "", this.addressLink(at), text];
  }

  /** What is said of a tile without tiles inside. */
  leafSaid() {
    const { data, at } = this;
    if (this.rest.has(at)) return "; each is too small for a tile of its own";
    return data.count[at] > 1 ? "; nothing inside is large enough for a tile" : "; no children";
  }

  /** Chooses a colour for each of the largest names; the same at each level. */
  colourBy(colouring) {
    const { data } = this;
    const { of, colours: fixed } = COLOURINGS[colouring];
    const total = new Map();
    data.bytes.forEach((size, at) => {
      if (!this.isTyped(at)) return;
      const name = of(data, at);
      // Tiles inside a tile of the same name are counted there.
      if (!data.parent[at] || of(data, data.parent[at]) !== name) {
        total.set(name, (total.get(name) || 0) + size);
      }
    });
    const largest = [...total].sort((a, b) => b[1] - a[1]).slice(0, PALETTE.length);
    const chosen = new Map(largest.map(([name], at) => [name, shade(fixed?.[name] ?? PALETTE[at])]));
    this.names = [...chosen, ["roots", "var(--root)"], ["other", shade(OTHER)]];
    const colours = new Map(this.names);
    /** The name by which a tile is coloured. */
    this.nameOf = (at) => {
      if (!this.isTyped(at)) return this.rest.has(at) ? "other" : "roots";
      const name = of(data, at);
      return chosen.has(name) ? name : "other";
    };
    this.colourOf = (at) => (at ? colours.get(this.nameOf(at)) : "var(--code)");
  }

  /** The top of the drawing: for a leaf, its parent. */
  top() {
    return this.children[this.at].length || !this.at ? this.at : this.data.parent[this.at];
  }

  draw() {
    this.width = this.plot.clientWidth;
    this.height = this.plot.clientHeight;
    if (!this.width) return;
    this.drawn = [];
    const box = { x: 0, y: 0, width: this.width, height: this.height };
    this.place(this.top(), box, MOST_DEPTH[this.data.form]);
    this.plot.replaceChildren(...this.drawn.map(({ tile }) => tile));
    this.showLegend();
  }

  /** Draws a tile, and those in it that are large enough. */
  place(at, box, depth) {
    const opens = this.data.form === "icicle" ? this.row(at, box) : this.frame(at, box);
    const hasText = box.width >= LEAST_TEXT.width && box.height >= LEAST_TEXT.height;
    this.drawn.push({ at, tile: this.tile(at, box, hasText) });
    if (!opens || !depth) return;
    const items = this.children[at].map((child) => ({ at: child, size: this.data.bytes[child] }))
      .filter((item) => item.size > 0);
    const own = this.data.bytes[at] - items.reduce((sum, item) => sum + item.size, 0);
    if (this.data.form === "icicle") {
      let x = box.x;
      for (const item of items) {
        const width = (box.width * item.size) / this.data.bytes[at];
        if (width < LEAST) break; // the following ones are smaller
        this.place(item.at, { ...opens, x, width: Math.max(width - 1, 1) }, depth - 1);
        x += width;
      }
      return;
    }
    if (own > 0) items.push({ at: -1, size: own });
    items.sort((a, b) => b.size - a.size);
    squarify(items, opens, (item, inner) => {
      if (item.at < 0 || inner.width < LEAST || inner.height < LEAST) return;
      this.place(item.at, { ...inner, width: inner.width - 2, height: inner.height - 2 }, depth - 1);
    });
  }

  /** The inner rectangle of a tile of a treemap; null if it is too small. */
  frame(_at, box) {
    if (box.width < LEAST_OPEN.width || box.height < LEAST_OPEN.height) return null;
    return {
      x: box.x + PAD, y: box.y + HEAD,
      width: box.width - 2 * PAD + 2, height: box.height - HEAD - PAD + 2,
    };
  }

  /** Makes the box of an icicle one row high, and returns the rows below it. */
  row(_at, box) {
    const rows = MOST_DEPTH.icicle + 1;
    const high = this.height / rows;
    box.height = high - 1;
    return { y: box.y + high, height: high };
  }

  tile(at, box, hasText) {
    const tile = make("div", "", { class: "tile", "data-at": at });
    const style = tile.style;
    style.left = `${(100 * box.x) / this.width}%`;
    style.width = `${(100 * box.width) / this.width}%`;
    style.top = `${box.y}px`;
    style.height = `${box.height}px`;
    style.background = this.colourOf(at);
    if (hasText) tile.append(make("b", this.label(at)), ` ${bytes(this.data.bytes[at])}`);
    if (at === this.at) tile.classList.add("current");
    return tile;
  }

  hint(tile) {
    if (!tile) return null;
    const { data } = this;
    const at = Number(tile.dataset.at);
    const lines = [clip(this.label(at), 120)];
    const full = this.fullType(at);
    if (full && full !== lines[0]) lines.push(clip(full, 120));
    if (data.address[at]) lines.push(data.address[at]);
    lines.push(`${bytes(data.bytes[at])}, ${share(data.bytes[at], data.bytes[0])}`);
    const many = data.count[at];
    if (many !== null) lines.push(`${count(many)} object${many === 1 ? "" : "s"}`);
    return lines;
  }

  /** Names the colours that are to be seen. */
  showLegend() {
    const seen = new Set(this.drawn.filter(({ at }) => at).map(({ at }) => this.nameOf(at)));
    const items = this.names.filter(([name]) => seen.has(name)).map(([name, colour]) => {
      const item = make("li");
      const swatch = make("span");
      swatch.style.background = colour;
      item.append(swatch, clip(name, 60));
      return item;
    });
    this.section.querySelector(".legend").replaceChildren(...items);
  }
}

// ------------------------------------------------------------ collections

// A shape for each generation as well: not everybody can distinguish the colours.
const OLD_AGES = [
  { title: "generation 0", colour: "#77aadd", shape: "circle" },
  { title: "generation 1", colour: "#eedd88", shape: "square" },
  { title: "generation 2", colour: "#ee8866", shape: "diamond" },
  { title: "generation unknown", colour: OTHER, shape: "circle" },
];
const NO_AGE = OLD_AGES.length - 1;
/** Paths of marks around 0, 0 with about one area, by the radius of the circle. */
const SHAPES = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (r) => `M${-r * 0.9} ${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}z`,
  diamond: (r) => `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0z`,
};
const MOST_TICKS = 6;

/** Round steps in bytes from 0 to at least `most`. */
const byteTicks = (most) => {
  const least = Math.max(most, 1) / MOST_TICKS;
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(least) / 10));
  const step = unit * [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024].find((one) => one * unit >= least);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
};
/** Round steps in seconds between two times. */
const timeTicks = (first, last) => {
  const least = (last - first || 1) / MOST_TICKS;
  const unit = 10 ** Math.floor(Math.log10(least));
  const step = unit * [1, 2, 5, 10].find((one) => one * unit >= least);
  const ticks = [];
  for (let at = Math.ceil(first / step); at * step <= last; at += 1) ticks.push(at * step);
  return ticks.map((tick) => [tick, tick.toFixed(Math.max(0, -Math.floor(Math.log10(step))))]);
};
const time = (us) => (us < 1e3 ? `${us} µs` : us < 1e6 ? `${(us / 1e3).toFixed(1)} ms` : `${(us / 1e6).toFixed(2)} s`);

const svg = (name, attributes = {}, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
};

class Timeline {
  constructor(section) {
    this.section = section;
    this.data = JSON.parse(section.querySelector("script").textContent);
    this.plot = section.querySelector(".plot");
    this.seconds = this.data.started_us.map((start, at) =>
      (start + (this.data.duration_us[at] ?? 0)) / 1e6);
    this.ages = this.data.generation.map((age) => (OLD_AGES[age] && age !== null ? Math.min(age, NO_AGE) : NO_AGE));
    this.plot.hidden = false;
    this.showLegend();
    startTip(this.plot, (target) => (target.dataset?.at ? this.hint(Number(target.dataset.at)) : null));
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.draw();
  }

  hint(at) {
    const { data } = this;
    const lines = [`Collection ${data.number[at]}` + (data.is_dump[at] ? ": the dump" : "")];
    lines.push(OLD_AGES[this.ages[at]].title + (data.mode[at] ? `, ${data.mode[at]}` : ""));
    if (data.reason[at]) lines.push(clip(data.reason[at], 60));
    if (data.duration_us[at] !== null) lines.push(`took ${time(data.duration_us[at])}`);
    if (data.promoted_bytes[at] !== null) lines.push(`${bytes(data.promoted_bytes[at])} promoted`);
    lines.push(data.heap_bytes[at] === null ? "heap size unknown" : `${bytes(data.heap_bytes[at])} after it`);
    return lines;
  }

  draw() {
    const { data } = this;
    const [width, height] = [this.plot.clientWidth, this.plot.clientHeight];
    if (!width) return;
    const ticks = byteTicks(Math.max(...data.heap_bytes.map((size) => size ?? 0)));
    const [first, last] = [Math.min(...this.seconds), Math.max(...this.seconds)];
    const [left, right, top, bottom] = [70, width - 16, 14, height - 42];
    const x = (second) => left + 12 + ((second - first) / (last - first || 1)) * (right - left - 24);
    const y = (size) => bottom - (size / (ticks.at(-1) || 1)) * (bottom - top);
    const drawn = svg("svg", { width: "100%", height, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" });
    for (const tick of ticks) {
      drawn.append(svg("path", { class: "grid", d: `M${left} ${y(tick)}H${right}` }),
        svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, bytes(tick)));
    }
    for (const [tick, text] of timeTicks(first, last)) {
      drawn.append(svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, text));
    }
    drawn.append(svg("text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" },
      "seconds since the start of the trace"));
    const known = data.heap_bytes.flatMap((size, at) => (size === null ? [] : [at]));
    if (known.length) {
      const steps = known.map((at, i) => (i ? `H${x(this.seconds[at])}` : `M${x(this.seconds[at])} ${y(data.heap_bytes[at])}`) + `V${y(data.heap_bytes[at])}`).join("");
      const [from, to] = [known[0], known.at(-1)].map((at) => x(this.seconds[at]));
      drawn.append(svg("path", { class: "area", d: `${steps}H${to}V${bottom}H${from}z` }),
        svg("path", { class: "steps", d: steps }));
    }
    const radius = data.number.length > 200 ? 3 : 5;
    data.number.forEach((_, at) => {
      const move = `translate(${x(this.seconds[at])} ${y(data.heap_bytes[at] ?? 0)})`;
      if (data.is_dump[at]) drawn.append(svg("path", { class: "ring", d: SHAPES.circle(9), transform: move }));
      const age = OLD_AGES[this.ages[at]];
      const mark = svg("path", { class: `mark ${age.shape}`, d: SHAPES[age.shape](radius), transform: move, "data-at": at });
      mark.style.fill = shade(age.colour);
      drawn.append(mark);
    });
    this.plot.replaceChildren(drawn);
  }

  showLegend() {
    const used = OLD_AGES.filter((_, number) => this.ages.includes(number))
      .map((age) => [age.title, age.shape, shade(age.colour)]);
    const items = [["heap after a collection", "line", "var(--accent)"], ...used];
    if (this.data.is_dump.includes(true)) items.push(["the dump", "ring", "var(--dominator)"]);
    const unknown = this.data.heap_bytes.includes(null) ? [make("li", "at 0: heap size unknown")] : [];
    this.section.querySelector(".legend").replaceChildren(...items.map(([title, swatch, colour]) => {
      const item = make("li");
      const mark = make("span", "", { class: swatch });
      if (swatch === "ring") mark.style.borderColor = colour;
      else mark.style.background = colour;
      item.append(mark, title);
      return item;
    }), ...unknown);
  }
}

// ------------------------------------------------------------ start

startTheme();
all("table.sortable").forEach(startSorting);
all("main > section table:not(.level-table)").forEach(startShortening);
all("[data-filters]").forEach(startFilter);
all("[data-copy]").forEach(startCopy);
startPrinting();
startLinks();
all("section.chart").forEach((section) => charts.push(new Chart(section)));
all("section.timeline").forEach((section) => new Timeline(section));
root.dataset.drawn = "";
