"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, text = "", attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const count = new Intl.NumberFormat("en").format;
  const bytes = (value) => {
    if (value < 1024) return `${value} B`;
    let unit = "";
    for (unit of ["KiB", "MiB", "GiB", "TiB"]) {
      value /= 1024;
      if (value < 999.5) break;
    }
    return `${value.toFixed(value < 99.95 ? 1 : 0)} ${unit}`;
  };
  const share = (part, whole) => `${whole ? ((100 * part) / whole).toFixed(1) : "0.0"} %`;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // ------------------------------------------------------------ colours

  const themes = { "": "system", light: "light", dark: "dark" };
  const root = document.documentElement;
  let printing = false;
  const isDark = () =>
    !printing && (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const repaints = [];
  const repaint = () => repaints.forEach((paint) => paint());
  const setTheme = (name) => {
    if (name) root.dataset.theme = name;
    else delete root.dataset.theme;
    document.querySelector("#theme span").textContent = themes[name];
    repaint();
  };
  const startTheme = () => {
    const button = document.getElementById("theme");
    const names = Object.keys(themes);
    button.hidden = false;
    button.addEventListener("click", () => {
      const next = names[(names.indexOf(root.dataset.theme || "") + 1) % names.length];
      setTheme(next);
    });
    dark.addEventListener("change", repaint);
  };

  // ------------------------------------------------------------ tables

  const startSorting = (table) => {
    const body = table.tBodies[0];
    all("thead th", table).forEach((head, at) => {
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      const value = (row) => {
        const cell = row.cells[at];
        return head.classList.contains("number") ? Number(cell.dataset.value ?? -1) : cell.textContent;
      };
      button.addEventListener("click", () => {
        const numeric = head.classList.contains("number");
        const was = head.getAttribute("aria-sort");
        const up = was ? was === "descending" : !numeric;
        all("th", table.tHead).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const order = (a, b) => (numeric ? value(a) - value(b) : value(a).localeCompare(value(b)));
        body.append(...[...body.rows].sort((a, b) => (up ? order(a, b) : order(b, a))));
      });
    });
  };

  const startFilter = (input) => {
    const table = document.getElementById(input.dataset.filters);
    const box = input.closest(".filter");
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) =>
      [...row.cells].map((cell) => `${cell.textContent} ${cell.title}`).join(" ").toLowerCase());
    box.hidden = false;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, at) => {
        row.hidden = !words.every((word) => texts[at].includes(word));
        shown += !row.hidden;
      });
      table.classList.toggle("filtered", words.length > 0);
      box.querySelector(".said").textContent = words.length
        ? `${count(shown)} of ${count(rows.length)} rows` : "";
    });
  };

  const FIRST_ROWS = 12;
  const startShortening = (table) => {
    const rows = table.tBodies[0].rows.length;
    if (rows <= FIRST_ROWS) return;
    const button = make("button", `Show all ${count(rows)} rows`, { type: "button", class: "more-rows", "aria-expanded": "false" });
    table.classList.add("short");
    button.addEventListener("click", () => {
      const short = table.classList.toggle("short");
      button.setAttribute("aria-expanded", String(!short));
      button.textContent = short ? `Show all ${count(rows)} rows` : `Show the first ${FIRST_ROWS} rows`;
    });
    table.parentElement.after(button);
  };

  // ------------------------------------------------------------ queries

  const copyText = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // No clipboard outside secure contexts, or if the user forbids it.
      const area = make("textarea", "", { readonly: "", class: "off" });
      area.value = text;
      document.body.append(area);
      const before = document.activeElement;
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      before?.focus();
      return done;
    }
  };
  const startCopy = (button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = document.getElementById(button.dataset.copy);
      const said = button.closest(".tools").querySelector(".said");
      if (await copyText(code.textContent)) {
        said.textContent = "Copied.";
      } else {
        getSelection().selectAllChildren(code);
        said.textContent = "Selected: press Ctrl+C.";
      }
      setTimeout(() => { said.textContent = ""; }, 4000);
    });
  };

  // ------------------------------------------------------------ charts

  // Paul Tol's "light" scheme: distinguishable with colour blindness, readable under text.
  const PALETTE = ["#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff",
    "#44bb99", "#bbcc33", "#aaaa00"];
  const GROUND = [16, 20, 25];
  const NIGHT = 0.52;
  const shade = (colour) => {
    if (!isDark()) return colour;
    const part = (at) => parseInt(colour.slice(at, at + 2), 16);
    const mixed = [1, 3, 5].map((at, i) => Math.round(part(at) * (1 - NIGHT) + GROUND[i] * NIGHT));
    return `rgb(${mixed.join(",")})`;
  };
  const css = (name) => {
    const probe = make("span", "", { style: `color: var(${name})` });
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  // Plotly interprets tags and entities in text: escape them.
  const literal = (text) =>
    text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  const AGES = ["gen 0", "gen 1", "gen 2", "large objects", "pinned objects"];
  const COLOURINGS = {
    type: { title: "type", of: (data, at) => data.types[data.type[at]][0] },
    namespace: { title: "namespace", of: (data, at) => data.types[data.type[at]][2] || "(none)" },
    generation: {
      title: "generation",
      of: (data, at) => AGES[data.generation[at]] ?? "(unknown)",
      if: (data) => data.generation !== null,
    },
  };
  const MOST_ROWS = 12;
  const OTHER = "#c9ced3";
  const LEAST_SCALE = 0.6;
  const MOST_TILES = 200;
  const MOST_DEPTH = { treemap: 4, icicle: 6 };
  const LEAST_SHARE = { treemap: 0.0003, icicle: 0.003 };
  const MOVE_MS = 250;

  class Chart {
    constructor(section) {
      this.section = section;
      this.data = JSON.parse(section.querySelector("script").textContent);
      this.plot = section.querySelector(".plot");
      this.title = section.querySelector("h2").textContent;
      const size = this.data.parent.length;
      this.children = Array.from({ length: size }, () => []);
      this.data.parent.forEach((parent, at) => parent >= 0 && this.children[parent].push(at));
      this.children.forEach((list) => list.sort((a, b) => this.data.bytes[b] - this.data.bytes[a]));
      this.rest = new Set(this.data.rest);
      this.hasAddresses = this.data.address.some(Boolean);
      this.at = 0;
      this.colouring = "type";
      this.startControls();
      this.show(0, false);
    }

    label(at) {
      return this.data.labels[at] ?? this.data.types[this.data.type[at]][0];
    }

    /** Whether it is neither the top, nor a kind of root, nor a leaf for the rest. */
    isTyped(at) {
      return this.data.types[this.data.type[at]][1] !== "";
    }

    startControls() {
      this.section.querySelector(".controls").hidden = false;
      const select = this.section.querySelector("select");
      for (const [name, colouring] of Object.entries(COLOURINGS)) {
        if (colouring.if && !colouring.if(this.data)) continue;
        select.append(make("option", colouring.title, { value: name }));
      }
      select.addEventListener("change", () => {
        this.colouring = select.value;
        this.repaint();
      });
    }

    show(at, drawn = true) {
      this.at = at;
      this.showCrumbs();
      this.showRows();
      if (drawn) this.move();
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
        const full = data.types[data.type[at]][1];
        if (full) head.title = full;
        if (this.children[at].length) {
          const button = make("button", this.label(at), { type: "button" });
          button.addEventListener("click", () => this.show(at));
          head.append(button);
        } else {
          head.textContent = this.label(at);
        }
        row.append(head, ...(this.hasAddresses ? [make("td", data.address[at], { class: "address" })] : []),
          make("td", data.count[at] === null ? "" : count(data.count[at]), { class: "number" }),
          make("td", count(data.bytes[at]), { class: "number" }),
          make("td", share(data.bytes[at], data.bytes[0]), { class: "number" }));
        return row;
      });
      const said = `${this.label(this.at)}: ${bytes(data.bytes[this.at])}` +
        (data.own[this.at] ? `, shallow size ${bytes(data.own[this.at])}` : "") +
        (inside.length ? `; ${inside.length > rows.length ? `the largest ${rows.length} of ${count(inside.length)}` : count(inside.length)} child${inside.length === 1 ? "" : "ren"}` : "; no children");
      this.section.querySelector(".level-said").textContent = said;
      table.tBodies[0].replaceChildren(...rows);
      if (hadFocus) this.section.querySelector(".crumbs [aria-current]").focus();
    }

    /** Chooses a colour for each of the largest names; the same at each level. */
    chooseColours() {
      const { data } = this;
      const of = COLOURINGS[this.colouring].of;
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
      const chosen = new Map(largest.map(([name], at) => [name, shade(PALETTE[at])]));
      const other = shade(OTHER);
      const items = [...chosen, ["other", other]].map(([name, colour]) => {
        const item = make("li");
        const swatch = make("span");
        swatch.style.background = colour;
        item.append(swatch, clip(name, 60));
        return item;
      });
      this.section.querySelector(".legend").replaceChildren(...items);
      const background = css("--code");
      const roots = css("--root");
      return (at) => {
        if (!at) return background;
        if (this.rest.has(at)) return other;
        return this.isTyped(at) ? chosen.get(of(data, at)) ?? other : roots;
      };
    }

    /** The tiles drawn at a level: the largest, and one for the rest of each. */
    visible() {
      const { data } = this;
      const top = this.top();
      const depth = MOST_DEPTH[data.form];
      const inside = [];
      const walk = (at, left) => this.children[at].forEach((child) => {
        if (!this.rest.has(child)) inside.push(child);
        if (left > 1) walk(child, left - 1);
      });
      walk(top, depth);
      inside.sort((a, b) => data.bytes[b] - data.bytes[a] || a - b);
      const least = data.bytes[top] * LEAST_SHARE[data.form];
      const shown = [top, ...inside.slice(0, MOST_TILES).filter((at) => data.bytes[at] >= least)];
      const chosen = new Set(shown);
      const tiles = shown.map((at) => ({
        id: String(at), above: at === top ? "" : String(data.parent[at]), at,
        label: this.label(at), size: data.bytes[at], many: data.count[at],
      }));
      for (const above of shown) {
        const small = this.children[above].filter((at) => !chosen.has(at));
        const drawn = this.children[above].some((at) => chosen.has(at));
        if (!small.length || (!drawn && above !== top)) continue;
        const size = small.reduce((sum, at) => sum + data.bytes[at], 0);
        const known = small.every((at) => data.count[at] !== null);
        const many = known ? small.reduce((sum, at) => sum + data.count[at], 0) : null;
        const label = known ? `${count(many)} others` : "others";
        tiles.push({ id: `${above}+`, above: String(above), at: -1, label, size, many });
      }
      return tiles;
    }

    hover(tile) {
      const { data } = this;
      const lines = [];
      if (tile.at < 0) {
        lines.push("small objects, not drawn one by one");
      } else {
        lines.push(clip(data.types[data.type[tile.at]][1] || tile.label, 100));
        if (data.address[tile.at]) lines.push(data.address[tile.at]);
      }
      lines.push(`${count(tile.size)} bytes, ${share(tile.size, data.bytes[0])}`);
      if (tile.many !== null) lines.push(`${count(tile.many)} object${tile.many === 1 ? "" : "s"}`);
      return lines.map(literal).join("<br>");
    }

    trace() {
      const form = this.data.form;
      const tiles = this.visible();
      const colour = this.colour;
      this.drawnIds = new Set(tiles.map((tile) => tile.id));
      return {
        type: form,
        ids: tiles.map((tile) => tile.id),
        parents: tiles.map((tile) => tile.above),
        labels: tiles.map((tile) => literal(clip(tile.label, 80))),
        text: tiles.map((tile) => bytes(tile.size)),
        values: tiles.map((tile) => tile.size),
        hovertext: tiles.map((tile) => this.hover(tile)),
        hoverinfo: "text",
        branchvalues: "total",
        sort: true,
        leaf: { opacity: 1 },
        level: tiles[0].id,
        maxdepth: MOST_DEPTH[form] + 1,
        texttemplate: form === "icicle" ? "%{label} %{text}" : "%{label}<br>%{text}",
        textfont: { color: isDark() ? "#f2f4f6" : "#14181c", size: 12 },
        marker: {
          colors: tiles.map((tile) => (tile.at < 0 ? shade(OTHER) : colour(tile.at))),
          line: { width: 1, color: css("--sheet") },
          pad: { t: 20, l: 3, r: 3, b: 3 },
        },
        pathbar: { visible: false },
        tiling: form === "icicle" ? { orientation: "v", pad: 1 } : { packing: "squarify", pad: 2 },
        hoverlabel: { align: "left", font: { size: 12 } },
      };
    }

    layout() {
      return {
        margin: { t: 0, l: 0, r: 0, b: 0 },
        paper_bgcolor: "rgba(0,0,0,0)",
        font: { family: getComputedStyle(document.body).fontFamily, color: css("--ink") },
      };
    }

    draw() {
      this.plot.hidden = false;
      this.colour = this.chooseColours();
      const options = { displayModeBar: false, responsive: true };
      return Plotly.newPlot(this.plot, [this.trace()], this.layout(), options).then(() => {
        this.plot.on(`plotly_${this.data.form}click`, (click) => {
          const at = Number.parseInt(click.points[0].id, 10);
          const isRest = click.points[0].id.endsWith("+");
          if (at === this.top()) this.show(Math.max(this.data.parent[at], 0));
          else if (isRest || this.children[at].length) this.show(at);
          return false;
        });
        this.plot.on("plotly_afterplot", () => this.hideTinyText());
        this.hideTinyText();
        repaints.push(() => this.repaint());
        this.drawn = true;
      });
    }

    /** Hides text that was scaled down until it is unreadable. */
    hideTinyText() {
      for (const text of all("text.slicetext", this.plot)) {
        const scale = /scale\(([\d.]+)/.exec(text.getAttribute("transform") || "");
        text.style.visibility = scale && Number(scale[1]) < LEAST_SCALE ? "hidden" : "";
      }
    }

    /** The top of the drawing: for a leaf, its parent. */
    top() {
      return this.children[this.at].length || !this.at ? this.at : this.data.parent[this.at];
    }

    repaint() {
      this.colour = this.chooseColours();
      this.paint();
    }

    paint() {
      if (this.drawn) Plotly.react(this.plot, [this.trace()], this.layout());
    }

    /** Moves to the tile of `show`: inwards with an animation, then redraws. */
    async move() {
      if (!this.drawn) return;
      const top = this.top();
      if (!calm.matches && this.drawnIds.has(String(top))) {
        await Plotly.animate(this.plot, { data: [{ level: String(top) }], traces: [0] }, {
          frame: { redraw: false, duration: MOVE_MS },
          transition: { duration: MOVE_MS, easing: "cubic-in-out" },
          mode: "immediate",
        }).catch(() => {}); // another movement replaced it
      }
      if (top === this.top()) this.paint();
    }
  }

  // ------------------------------------------------------------ collections

  // A shape for each generation as well: not everybody can distinguish the colours.
  const OLD_AGES = [
    { title: "generation 0", colour: "#77aadd", symbol: "circle", swatch: "round" },
    { title: "generation 1", colour: "#eedd88", symbol: "square", swatch: "" },
    { title: "generation 2", colour: "#ee8866", symbol: "diamond", swatch: "turned" },
    { title: "generation unknown", colour: OTHER, symbol: "circle", swatch: "round" },
  ];
  const NO_AGE = OLD_AGES.length - 1;
  const MOST_TICKS = 6;

  /** Round steps in bytes from 0 to at least `most`. */
  const byteTicks = (most) => {
    const least = Math.max(most, 1) / MOST_TICKS;
    const unit = 1024 ** Math.max(0, Math.floor(Math.log2(least) / 10));
    const step = unit * [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024].find((one) => one * unit >= least);
    return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
  };
  const time = (us) => (us < 1e3 ? `${us} µs` : us < 1e6 ? `${(us / 1e3).toFixed(1)} ms` : `${(us / 1e6).toFixed(2)} s`);

  class Timeline {
    constructor(section) {
      this.section = section;
      this.data = JSON.parse(section.querySelector("script").textContent);
      this.plot = section.querySelector(".plot");
      this.seconds = this.data.started_us.map((start, at) =>
        (start + (this.data.duration_us[at] ?? 0)) / 1e6);
      this.ages = this.data.generation.map((age) => (OLD_AGES[age] && age !== null ? Math.min(age, NO_AGE) : NO_AGE));
    }

    hover(at) {
      const { data } = this;
      const lines = [`Collection ${data.number[at]}` + (data.is_dump[at] ? ": the dump" : "")];
      lines.push(OLD_AGES[this.ages[at]].title + (data.mode[at] ? `, ${data.mode[at]}` : ""));
      if (data.reason[at]) lines.push(clip(data.reason[at], 60));
      if (data.duration_us[at] !== null) lines.push(`took ${time(data.duration_us[at])}`);
      if (data.promoted_bytes[at] !== null) lines.push(`${bytes(data.promoted_bytes[at])} promoted`);
      lines.push(data.heap_bytes[at] === null ? "heap size unknown" : `${bytes(data.heap_bytes[at])} after it`);
      return lines.map(literal).join("<br>");
    }

    traces() {
      const { data } = this;
      const known = data.heap_bytes.flatMap((size, at) => (size === null ? [] : [at]));
      const marks = (places, marker) => ({
        type: "scatter", mode: "markers", cliponaxis: false, marker,
        x: places.map((at) => this.seconds[at]),
        y: places.map((at) => data.heap_bytes[at] ?? 0),
      });
      const traces = [{
        type: "scatter", mode: "lines", hoverinfo: "skip", cliponaxis: false,
        line: { shape: "hv", width: 1.5, color: css("--accent") },
        fill: "tozeroy", fillcolor: css("--level"), opacity: 0.8,
        x: known.map((at) => this.seconds[at]), y: known.map((at) => data.heap_bytes[at]),
      }];
      const dumps = data.is_dump.flatMap((is, at) => (is ? [at] : []));
      traces.push({
        ...marks(dumps, { size: 19, symbol: "circle-open", color: css("--dominator"), line: { width: 2.5 } }),
        hoverinfo: "skip",
      });
      OLD_AGES.forEach((age, number) => {
        const places = this.ages.flatMap((one, at) => (one === number ? [at] : []));
        if (!places.length) return;
        traces.push({
          ...marks(places, {
            size: places.length > 200 ? 6 : 10, symbol: age.symbol, color: shade(age.colour),
            line: { width: 1, color: css("--ink") },
          }),
          hoverinfo: "text", hovertext: places.map((at) => this.hover(at)),
          hoverlabel: { align: "left", font: { size: 12 } },
        });
      });
      return traces;
    }

    layout() {
      const ticks = byteTicks(Math.max(...this.data.heap_bytes.map((size) => size ?? 0)));
      const [first, last] = [Math.min(...this.seconds), Math.max(...this.seconds)];
      const room = (last - first || 1) * 0.03;
      const axis = {
        gridcolor: css("--rule"), zeroline: false, automargin: true, fixedrange: true,
        tickfont: { size: 12, color: css("--quiet") },
      };
      return {
        margin: { t: 14, l: 8, r: 14, b: 8 },
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        showlegend: false, hovermode: "closest", dragmode: false,
        font: { family: getComputedStyle(document.body).fontFamily, color: css("--ink") },
        xaxis: {
          ...axis, range: [first - room, last + room], showgrid: false, nticks: 8,
          title: { text: "seconds since the start of the trace", font: { size: 12, color: css("--quiet") } },
        },
        yaxis: {
          ...axis, range: [0, ticks.at(-1)], tickmode: "array", tickvals: ticks, ticktext: ticks.map(bytes),
        },
      };
    }

    showLegend() {
      const used = OLD_AGES.filter((_, number) => this.ages.includes(number))
        .map((age) => [age.title, age.swatch, shade(age.colour)]);
      const items = [["heap after a collection", "line", css("--accent")], ...used];
      if (this.data.is_dump.includes(true)) items.push(["the dump", "ring", css("--dominator")]);
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

    draw() {
      this.plot.hidden = false;
      this.showLegend();
      const options = { displayModeBar: false, responsive: true };
      return Plotly.newPlot(this.plot, this.traces(), this.layout(), options).then(() => {
        repaints.push(() => {
          this.showLegend();
          Plotly.react(this.plot, this.traces(), this.layout());
        });
      });
    }
  }

  const unpacked = async (packed) => {
    const text = atob(packed);
    const raw = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) raw[at] = text.charCodeAt(at);
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  const startCharts = async () => {
    const charts = all("section.chart").map((section) => new Chart(section));
    charts.push(...all("section.timeline").map((section) => new Timeline(section)));
    const library = document.getElementById("library");
    if (!charts.length || !library) return;
    const code = await unpacked(library.textContent);
    library.remove();
    // The policy lists the digest of this text: any other script would not run.
    document.head.append(make("script", code));
    for (const chart of charts) {
      await chart.draw();
      await new Promise((go) => requestAnimationFrame(go));
    }
    root.dataset.charts = "drawn";
  };

  // ------------------------------------------------------------ printing

  const startPrinting = () => {
    let opened = [];
    const setPrinting = (is) => {
      printing = is;
      root.toggleAttribute("data-printing", is);
      repaint();
    };
    addEventListener("beforeprint", () => {
      setPrinting(true);
      opened = all("details:not([open]):not(.query)");
      opened.forEach((one) => { one.open = true; });
    });
    addEventListener("afterprint", () => {
      setPrinting(false);
      opened.forEach((one) => { one.open = false; });
    });
  };

  startTheme();
  all("table.sortable").forEach(startSorting);
  all("main > section table:not(.level-table)").forEach(startShortening);
  all("[data-filters]").forEach(startFilter);
  all("[data-copy]").forEach(startCopy);
  startPrinting();
  requestAnimationFrame(() => setTimeout(startCharts, 0));
})();
