// Data, elements, numbers and colours: what all parts of the page use.

const data = JSON.parse(document.getElementById("data").textContent);
const runs = data.runs;
const live = data.live;
const many = runs.length > 1;
const byId = (id) => document.getElementById(id);

// Elements: text is always text, never markup.
const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") element.className = value;
    else if (key === "style") element.style.cssText = value;
    else element[key] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

// Text between backticks is code.
const prose = (text) => {
  const parts = text.split("`");
  return parts.length % 2 ? parts.map((part, k) => (k % 2 ? make("code", {}, part) : part)) : [text];
};

// Numbers as people read them.
const digits = (x, n = 4) => {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(n - 1).replace(/\.?0+e/, "e");
  return String(Number(x.toPrecision(n)));
};
// A number with its unit, everywhere in this way: prefixes where a unit is one symbol that has them.
const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
const SYMBOLS = new Set(["s", "m", "N", "J", "W", "V", "A", "Pa", "Hz", "C", "F", "H", "T", "Ohm", "Ω"]);
const quantity = (x, unit, n = 4) => {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (!unit || unit === "1") return digits(x, n);
  if (x === 0 || !SYMBOLS.has(unit)) return `${digits(x, n)} ${unit}`;
  const [scale, prefix] = PREFIXES.find(([s]) => Math.abs(x) >= 0.9995 * s) ?? [1e-9, "n"];
  return `${digits(x / scale, n)} ${prefix}${unit}`;
};
// The numbers of an axis share the prefix of the largest of them.
const ticksOf = (list, unit, n = 4) => {
  const largest = Math.max(0, ...list.map((x) => Math.abs(x ?? 0)));
  if (!SYMBOLS.has(unit) || largest === 0) return list.map((x) => (x === null ? "" : quantity(x, unit, n)));
  const [scale, prefix] = PREFIXES.find(([s]) => largest >= 0.9995 * s) ?? [1e-9, "n"];
  return list.map((x) => (x === null ? "" : `${digits(x / scale, n)} ${prefix}${unit}`));
};
const percent = (x) => (x === null || x === undefined ? "–" : `${digits(100 * x, 3)} %`);

// Colours follow the theme.
const root = document.documentElement;
const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const series = (k) => colour(`c${k % 8}`);
let kept = null;
try { kept = localStorage.getItem("powerbond-theme"); } catch { /* a page from a file may have no storage */ }
const wanted = new URLSearchParams(location.search).get("theme") ?? kept;
const dark = wanted ? wanted === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
root.classList.toggle("dark", dark);

// Every cell knows its column, as a narrow window shows a row as a list.
const table = (header, rows) => {
  const line = (cells, tag) => make("tr", {}, ...cells.map((c, k) => {
    const cell = make(tag, {}, c instanceof Node ? c : String(c));
    if (tag === "td") cell.dataset.column = header[k];
    return cell;
  }));
  return make("div", { class: "scroll list" },
    make("table", {}, make("thead", {}, line(header, "th")), make("tbody", {}, ...rows.map((r) => line(r, "td")))));
};
const level = (share) => (share === null || !Number.isFinite(share) ? "poor" : share < 0.01 ? "good" : share < 0.05 ? "fair" : "poor");
const word = (w) => make("span", { class: `word ${w}` }, w);
const swatch = (k) => make("span", { class: "swatch", style: `background: var(--c${k % 8})` });
