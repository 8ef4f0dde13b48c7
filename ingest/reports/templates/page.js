"use strict";
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
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// ------------------------------------------------------------ colours

const themes = { "": "system", light: "light", dark: "dark" };
const root = document.documentElement;
const setTheme = (name) => {
  if (name) root.dataset.theme = name;
  else delete root.dataset.theme;
  document.querySelector("#theme span").textContent = themes[name];
};
const startTheme = () => {
  const button = document.getElementById("theme");
  const names = Object.keys(themes);
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = names[(names.indexOf(root.dataset.theme || "") + 1) % names.length];
    setTheme(next);
  });
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

const copyText = async (text, within = document.body) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No clipboard outside secure contexts, or if the user forbids it.
    const area = make("textarea", "", { readonly: "", class: "off" });
    area.value = text;
    within.append(area);
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

// ------------------------------------------------------------ links

/** The names by which a page can be asked for: of objects and of types. */
const NAMES = ["object", "type"];
const charts = [];
const keyOf = (link) => NAMES.map((kind) => [kind, link.dataset[kind]]).find(([, name]) => name);
/** Quotes a word for a shell. */
const quoted = (word) => (/^[\w.:@%+=\/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

const goTo = (place) => {
  place.scrollIntoView({ block: "center" });
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.classList.add("found");
  setTimeout(() => place.classList.remove("found"), 2500);
};
const showRow = (row) => {
  const table = row.closest("table");
  const more = table.parentElement.nextElementSibling;
  if (table.classList.contains("short") && more?.matches(".more-rows")) more.click();
  row.hidden = false;
  goTo(row);
};

/** The menu of an address or a type: its row, its tile, its root paths. */
const startLinks = () => {
  const rows = new Map(all("[data-row]").map((row) => [row.dataset.row, row]));
  const menu = document.getElementById("menu");
  const add = (text, act) => {
    const button = make("button", text, { type: "button" });
    button.addEventListener("click", () => { menu.hidePopover(); act(); });
    menu.append(button);
  };
  const open = (link) => {
    const [kind, name] = keyOf(link);
    menu.replaceChildren(make("p", clip(name, 200)));
    const row = rows.get(`${kind} ${name}`);
    if (row && !row.contains(link)) add(`Row in “${row.closest("section").querySelector("h2").textContent}”`, () => showRow(row));
    for (const chart of charts) {
      const at = chart.find(kind, name);
      if (at > 0) add(`Tile in “${chart.title}”`, () => chart.showTile(at));
    }
    if (document.body.dataset.why) { // a page of one loaded dump
      const command = document.body.dataset.why.replace("'{}'", () => quoted(name));
      const line = make("p", "", { class: "command" });
      const said = make("span", "", { class: "said", role: "status" });
      const copy = make("button", "Copy", { type: "button" });
      copy.addEventListener("click", async () => {
        said.textContent = (await copyText(command, menu)) ? "Copied." : "Select it, and press Ctrl+C.";
      });
      line.append(make("code", command), copy, said);
      menu.append(make("p", "What keeps it alive:", { class: "quiet" }), line);
    }
    menu.showPopover();
    const box = link.getBoundingClientRect();
    const left = Math.min(box.left, root.clientWidth - menu.offsetWidth - 8);
    const below = box.bottom + 4;
    const fits = below + menu.offsetHeight < innerHeight;
    menu.style.left = `${Math.max(8, left)}px`;
    menu.style.top = `${fits ? below : Math.max(8, box.top - menu.offsetHeight - 4)}px`;
    menu.querySelector("button").focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.ref");
    if (!link || !menu.showPopover) return;
    event.preventDefault();
    open(link);
  });
};

// ------------------------------------------------------------ printing

const startPrinting = () => {
  let opened = [];
  addEventListener("beforeprint", () => {
    root.toggleAttribute("data-printing", true);
    opened = all("details:not([open]):not(.query)");
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => {
    root.toggleAttribute("data-printing", false);
    opened.forEach((one) => { one.open = false; });
  });
};
