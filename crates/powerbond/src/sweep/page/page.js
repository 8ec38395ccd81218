"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
};
const columns = data.columns, rows = data.rows;
const place = Object.fromEntries(columns.map((column, k) => [column.name, k]));
const NUMBER = 0, ID = 1, STATUS = 2, VERDICT = 3, MESSAGE = 7;
const isNumber = (k) => columns[k].kind === "real" || columns[k].kind === "integer";
const of = (role) => columns.map((column, k) => k).filter((k) => columns[k].role === role);
const parameters = of("parameter"), outputs = of("output"), cases = of("case");
const varies = (k) => new Set(rows.map((row) => row[k])).size > 1;
const links = new Set(data.links);

const digits = (x) => {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e7) return String(x);
  const text = x.toPrecision(5);
  return text.includes("e") ? text : String(Number(text));
};
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const palette = () => [0, 1, 2, 3, 4, 5, 6, 7].map((k) => style(`--c${k}`));

// Which runs are shown: those inside all brushes of the parallel coordinates.
const brushes = new Map();
const share = (k, row) => axes.get(k).at(row[k]);
const isChosen = (row) => [...brushes].every(([k, [low, high]]) => {
  const x = share(k, row);
  return x !== null && x >= low && x <= high;
});
let chosen = rows;

/// An axis: numbers from the smallest to the largest one, or words side by side.
function axis(k, list = rows) {
  const values = list.map((row) => row[k]).filter((x) => x !== null);
  const numbers = values.filter((x) => typeof x === "number");
  if (isNumber(k)) {
    let low = Infinity, high = -Infinity;
    numbers.forEach((x) => { low = Math.min(low, x); high = Math.max(high, x); });
    if (!(low <= high)) [low, high] = [0, 1];
    if (low === high) { const room = Math.abs(low) / 2 || 0.5; low -= room; high += room; }
    const at = (x) => typeof x === "number" ? (x - low) / (high - low) : null;
    return { at, low, high, ticks: ticks(low, high).map((x) => [at(x), digits(x)]) };
  }
  const words = [...new Set(values)].sort();
  const index = new Map(words.map((word, n) => [word, n]));
  const at = (word) => index.has(word) ? (index.get(word) + 0.5) / words.length : null;
  return { at, words, ticks: words.slice(0, 12).map((word) => [at(word), String(word)]) };
}

function ticks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw * 0.999);
  const list = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n++) list.push(Number((n * step).toPrecision(12)));
  return list;
}

const axes = new Map(columns.map((_, k) => [k, axis(k)]));

/// A canvas ready to be drawn on, in CSS pixels.
function begin(id) {
  const canvas = $(id), scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  return { canvas, c, width, height };
}

function cut(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  while (text.length > 1 && c.measureText(text + "…").width > room) text = text.slice(0, -1);
  return text + "…";
}

const ROOM = 0.03;
/// Frame, ticks and names of a plot; where its inside is.
function frame(id, x, y, right = 12) {
  const { canvas, c, width, height } = begin(id);
  const box = { left: 76, top: 14, right: width - right, bottom: height - 42 };
  c.lineWidth = 1; c.strokeStyle = style("--grid"); c.fillStyle = style("--soft");
  const inside = (s) => ROOM + s * (1 - 2 * ROOM); // The smallest and the largest value keep off the frame.
  const X = (s) => box.left + inside(s) * (box.right - box.left), Y = (s) => box.bottom - inside(s) * (box.bottom - box.top);
  c.textAlign = "center"; c.textBaseline = "top";
  axes.get(x).ticks.forEach(([s, text]) => {
    c.beginPath(); c.moveTo(X(s), box.top); c.lineTo(X(s), box.bottom); c.stroke();
    c.fillText(cut(c, text, 110), X(s), box.bottom + 5);
  });
  c.textAlign = "right"; c.textBaseline = "middle";
  axes.get(y).ticks.forEach(([s, text]) => {
    c.beginPath(); c.moveTo(box.left, Y(s)); c.lineTo(box.right, Y(s)); c.stroke();
    c.fillText(cut(c, text, 62), box.left - 7, Y(s));
  });
  c.fillStyle = style("--ink"); c.textAlign = "center"; c.textBaseline = "bottom";
  c.fillText(columns[x].name, (box.left + box.right) / 2, height - 4);
  c.save(); c.translate(11, (box.top + box.bottom) / 2); c.rotate(-Math.PI / 2); c.textBaseline = "middle";
  c.fillText(cut(c, columns[y].name, box.bottom - box.top), 0, 0); c.restore();
  c.strokeStyle = style("--line"); c.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  return { canvas, c, box, X, Y, width };
}

const mix = (s) => { // From blue over green to yellow, readable on both backgrounds.
  const stops = [[59, 76, 192], [33, 145, 140], [94, 180, 80], [232, 180, 30]];
  const p = Math.min(Math.max(s, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(p), stops.length - 2), f = p - k;
  return `rgb(${stops[k].map((a, i) => Math.round(a + (stops[k + 1][i] - a) * f)).join(",")})`;
};
const colour = (k) => {
  const scale = axes.get(k);
  if (scale.words) { const list = palette(); return (row) => row[k] === null ? style("--soft") : list[scale.words.indexOf(row[k]) % list.length]; }
  return (row) => { const s = scale.at(row[k]); return s === null ? style("--soft") : mix(s); };
};

function choices(select, list, first, none) {
  if (none) select.append(new Option(none, "-1"));
  list.forEach((k) => select.append(new Option(columns[k].name, String(k))));
  select.value = String(first);
  select.addEventListener("change", draw);
}

const shown = columns.map((_, k) => k).filter((k) => ![ID, MESSAGE, place.started].includes(k));
const inputs = parameters.filter(varies), x0 = inputs[0] ?? parameters[0] ?? NUMBER, y0 = outputs[0] ?? place.error;
choices($("response-y"), outputs.concat([place.error, place.steps, place.seconds]), y0);
choices($("response-x"), parameters.concat(cases, [NUMBER]), x0);
choices($("response-by"), parameters.concat(cases, [VERDICT]), inputs.concat(cases).find((k) => k !== x0 && axes.get(k) && new Set(rows.map((r) => r[k])).size <= 8) ?? -1, "nothing");
choices($("scatter-y"), shown, outputs[1] ?? y0);
choices($("scatter-x"), shown, outputs.length > 1 ? outputs[0] : x0);
choices($("scatter-c"), shown, inputs[outputs.length > 1 ? 0 : 1] ?? inputs[0] ?? VERDICT);

/// The median over equal or neighbouring values of the parameter, and the part between the quartiles.
function response() {
  const y = +$("response-y").value, x = +$("response-x").value, by = +$("response-by").value;
  let groups = new Map([["", chosen]]);
  if (by >= 0) {
    groups = new Map();
    const scale = axes.get(by), many = !scale.words && new Set(rows.map((row) => row[by])).size > 8;
    const key = (row) => many && row[by] !== null
      ? `${digits(scale.low + Math.floor(Math.min(scale.at(row[by]), 0.999) * 4) / 4 * (scale.high - scale.low))} …`
      : digits(row[by]);
    [...chosen].sort((a, b) => a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0)
      .forEach((row) => groups.set(key(row), (groups.get(key(row)) ?? []).concat([row])));
  }
  const { c, box, X, Y } = frame("response-canvas", x, y, by >= 0 ? 170 : 12);
  const list = palette();
  let bands = false, n = 0;
  for (const [name, members] of groups) {
    const points = members.map((row) => [axes.get(x).at(row[x]), axes.get(y).at(row[y])]).filter(([a, b]) => a !== null && b !== null);
    const distinct = new Set(points.map(([a]) => a)).size;
    // As many parts as there are values; where nearly every value is new, parts of about eight runs.
    const parts = distinct <= Math.max(8, points.length / 3) ? null : Math.min(40, Math.max(4, Math.round(points.length / 8)));
    const bins = new Map();
    points.forEach(([a, b]) => {
      const bin = parts ? Math.min(Math.floor(a * parts), parts - 1) : a;
      bins.set(bin, (bins.get(bin) ?? []).concat([[a, b]]));
    });
    const quantile = (values, q) => { const p = q * (values.length - 1), k = Math.floor(p); return values[k] + ((values[k + 1] ?? values[k]) - values[k]) * (p - k); };
    const line = [...bins.values()].map((bin) => {
      const values = bin.map(([, b]) => b).sort((a, b) => a - b);
      return [bin.reduce((sum, [a]) => sum + a, 0) / bin.length, quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75), values.length];
    }).sort((a, b) => a[0] - b[0]);
    c.strokeStyle = c.fillStyle = list[n % list.length];
    if (line.some((p) => p[4] > 2)) {
      bands = true;
      c.globalAlpha = 0.15; c.beginPath();
      line.forEach((p, k) => c[k ? "lineTo" : "moveTo"](X(p[0]), Y(p[3])));
      [...line].reverse().forEach((p) => c.lineTo(X(p[0]), Y(p[1])));
      c.fill(); c.globalAlpha = 1;
    }
    c.lineWidth = 2; c.beginPath();
    line.forEach((p, k) => c[k ? "lineTo" : "moveTo"](X(p[0]), Y(p[2])));
    c.stroke();
    if (line.length <= 40) line.forEach((p) => { c.beginPath(); c.arc(X(p[0]), Y(p[2]), 3, 0, 7); c.fill(); });
    if (by >= 0 && n < 16) {
      c.textAlign = "left"; c.textBaseline = "middle";
      c.fillRect(box.right + 12, box.top + 14 + 20 * n, 10, 10);
      c.fillStyle = style("--ink");
      c.fillText(cut(c, name, 135), box.right + 28, box.top + 19 + 20 * n);
    }
    n++;
  }
  $("response-hint").textContent = bands ? "Lines are medians; half of the runs are inside the coloured band." : "";
}

let near = [];
function scatter() {
  const y = +$("scatter-y").value, x = +$("scatter-x").value, k = +$("scatter-c").value;
  const { c, box, X, Y } = frame("scatter-canvas", x, y, 170);
  const paint = colour(k), size = chosen.length > 3000 ? 1.5 : 3;
  near = [];
  c.globalAlpha = chosen.length > 3000 ? 0.6 : 0.85;
  for (const row of chosen) {
    const a = axes.get(x).at(row[x]), b = axes.get(y).at(row[y]);
    if (a === null || b === null) continue;
    c.fillStyle = paint(row); c.beginPath(); c.arc(X(a), Y(b), size, 0, 7); c.fill();
    near.push([X(a), Y(b), row]);
  }
  c.globalAlpha = 1;
  legend(c, box, k);
}

function legend(c, box, k) {
  const scale = axes.get(k), left = box.right + 14;
  c.textAlign = "left"; c.textBaseline = "middle"; c.fillStyle = style("--ink");
  c.fillText(cut(c, columns[k].name, 150), left, box.top + 6);
  if (scale.words) {
    const list = palette();
    scale.words.slice(0, 14).forEach((word, n) => {
      c.fillStyle = list[n % list.length]; c.fillRect(left, box.top + 20 + 20 * n, 10, 10);
      c.fillStyle = style("--ink"); c.fillText(cut(c, String(word), 130), left + 16, box.top + 25 + 20 * n);
    });
    return;
  }
  const top = box.top + 22, height = 140;
  for (let i = 0; i < height; i++) { c.fillStyle = mix(1 - i / height); c.fillRect(left, top + i, 12, 1.5); }
  c.fillStyle = style("--ink");
  scale.ticks.forEach(([s, text]) => { if (s >= 0 && s <= 1) c.fillText(text, left + 18, top + (1 - s) * height); });
}

const MOST_AXES = 12;
const lined = inputs.concat(cases, outputs, [VERDICT]).filter(varies).slice(0, MOST_AXES);
let band = null;
const parallelX = (n, width) => 70 + n * (width - 140) / Math.max(lined.length - 1, 1);
const TOP = 44, BELOW = 20;
function parallel() {
  const { c, width, height } = begin("parallel-canvas");
  const Y = (s) => height - BELOW - s * (height - TOP - BELOW);
  const paint = colour(outputs.find(varies) ?? lined[0] ?? NUMBER);
  const draw = (list, alpha, tint) => {
    c.globalAlpha = alpha; c.lineWidth = 1;
    for (const row of list) {
      c.strokeStyle = tint ?? paint(row); c.beginPath();
      let open = false;
      lined.forEach((k, n) => {
        const s = axes.get(k).at(row[k]);
        if (s === null) { open = false; return; }
        c[open ? "lineTo" : "moveTo"](parallelX(n, width), Y(s)); open = true;
      });
      c.stroke();
    }
  };
  if (brushes.size) draw(rows.slice(0, 2000), 0.15, style("--line"));
  draw(chosen, Math.max(0.06, Math.min(0.7, 60 / Math.sqrt(1 + chosen.length) / 5)));
  c.globalAlpha = 1;
  // Names that have no room side by side stand in two rows, and numbers on lines have a rim.
  const gap = (width - 140) / Math.max(lined.length - 1, 1), two = gap < 120;
  lined.forEach((k, n) => {
    const x = parallelX(n, width);
    c.strokeStyle = style("--soft"); c.lineWidth = 1.5; c.beginPath(); c.moveTo(x, TOP); c.lineTo(x, height - BELOW); c.stroke();
    c.fillStyle = style("--ink"); c.textAlign = "center"; c.textBaseline = "middle";
    c.fillText(cut(c, columns[k].name, Math.min((two ? 2 : 1) * gap - 8, 134)), x, two && n % 2 ? 12 : 28);
    c.textAlign = "left"; c.strokeStyle = style("--card"); c.lineWidth = 3;
    axes.get(k).ticks.forEach(([s, text]) => {
      const words = cut(c, text, 64);
      c.strokeText(words, x + 6, Y(s)); c.fillText(words, x + 6, Y(s));
    });
    if (brushes.has(k)) {
      const [low, high] = brushes.get(k);
      c.fillStyle = style("--c0"); c.globalAlpha = 0.35; c.fillRect(x - 8, Y(high), 16, Y(low) - Y(high)); c.globalAlpha = 1;
    }
  });
}

function axisAt(event) {
  const box = $("parallel-canvas").getBoundingClientRect();
  const x = event.clientX - box.left, s = (box.height - BELOW - (event.clientY - box.top)) / (box.height - TOP - BELOW);
  const n = lined.findIndex((_, n) => Math.abs(parallelX(n, box.width) - x) < 16);
  return n < 0 ? null : [lined[n], Math.min(Math.max(s, 0), 1)];
}
$("parallel-canvas").addEventListener("mousedown", (event) => {
  const at = axisAt(event);
  if (at) { band = { k: at[0], from: at[1] }; brushes.delete(at[0]); event.preventDefault(); }
});
window.addEventListener("mousemove", (event) => {
  if (!band) return;
  const box = $("parallel-canvas").getBoundingClientRect();
  const s = Math.min(Math.max((box.height - BELOW - (event.clientY - box.top)) / (box.height - TOP - BELOW), 0), 1);
  if (Math.abs(s - band.from) > 0.01) brushes.set(band.k, [Math.min(s, band.from), Math.max(s, band.from)]);
  choose();
});
window.addEventListener("mouseup", () => { if (band) { band = null; choose(); } });

const words = (row) => [`run ${row[NUMBER]}`, ...parameters.concat(cases, outputs, [STATUS, VERDICT]).filter((k) => row[k] !== null)
  .slice(0, 16).map((k) => `${columns[k].name}: ${digits(row[k])}`)].join("\n");
function nearest(event) {
  const box = $("scatter-canvas").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = null, least = 144;
  near.forEach(([a, b, row]) => { const d = (a - x) ** 2 + (b - y) ** 2; if (d < least) { least = d; best = row; } });
  return best;
}
$("scatter-canvas").addEventListener("mousemove", (event) => {
  const row = nearest(event), tip = $("tip");
  tip.hidden = !row;
  if (!row) return;
  tip.textContent = words(row);
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
});
$("scatter-canvas").addEventListener("mouseleave", () => { $("tip").hidden = true; });
$("scatter-canvas").addEventListener("click", (event) => {
  const row = nearest(event);
  if (row) { found = row; listed = 0; $("search").value = ""; $("failed").checked = false; table(true); $("runs").scrollIntoView(); }
});

const PAGE = 50;
let listed = 0, order = [NUMBER, 1], found = null;
const inTable = [NUMBER, STATUS, ...cases, ...parameters, ...outputs, VERDICT, place.error, place.steps, place.seconds, MESSAGE, ID];
function table(jump) {
  const text = $("search").value.trim().toLowerCase(), failed = $("failed").checked;
  const list = chosen.filter((row) => (!failed || row[STATUS] !== "ok") && (!text || row.some((x) => x !== null && digits(x).toLowerCase().includes(text))));
  const [by, sign] = order;
  list.sort((a, b) => sign * (a[by] === null ? 1 : b[by] === null ? -1 : a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0));
  if (jump && found) listed = Math.max(0, Math.floor(list.indexOf(found) / PAGE));
  const pages = Math.max(1, Math.ceil(list.length / PAGE));
  listed = Math.min(Math.max(listed, 0), pages - 1);
  $("page").textContent = `${list.length} runs, page ${listed + 1} of ${pages}`;
  const head = make("tr");
  inTable.forEach((k) => {
    const cell = make("th", columns[k].name + (k === by ? (sign > 0 ? " ▲" : " ▼") : ""), isNumber(k) ? "" : "text");
    if (columns[k].expression) cell.title = columns[k].expression;
    cell.addEventListener("click", () => { order = [k, k === order[0] ? -order[1] : 1]; table(); });
    head.append(cell);
  });
  const body = list.slice(listed * PAGE, (listed + 1) * PAGE).map((row) => {
    const line = make("tr", undefined, row === found ? "found" : "");
    inTable.forEach((k) => {
      const cell = make("td", undefined, isNumber(k) ? "" : "text");
      if (k === NUMBER && links.has(row[ID])) {
        const link = make("a", String(row[k]));
        link.href = `details/${row[ID]}/report.html`;
        cell.append(link);
      } else cell.textContent = k === place.error && typeof row[k] === "number" ? `${digits(Number((100 * row[k]).toPrecision(3)))} %` : row[k] === null ? "" : digits(row[k]);
      if (k === MESSAGE && row[k] !== null) cell.classList.add("long");
      if (k === STATUS) cell.classList.add(row[k] === "ok" ? "good" : "poor");
      if (k === VERDICT) cell.classList.add({ trustworthy: "good", check: "fair", unreliable: "poor" }[row[k]] ?? "soft");
      line.append(cell);
    });
    return line;
  });
  $("table").replaceChildren(head, ...body);
}
$("search").addEventListener("input", () => { listed = 0; table(); });
$("failed").addEventListener("change", () => { listed = 0; table(); });
$("earlier").addEventListener("click", () => { listed--; table(); });
$("later").addEventListener("click", () => { listed++; table(); });

function overview() {
  const section = $("overview"), count = new Map(), verdicts = new Map();
  rows.forEach((row) => {
    count.set(row[STATUS], (count.get(row[STATUS]) ?? 0) + 1);
    if (row[VERDICT] !== null) verdicts.set(row[VERDICT], (verdicts.get(row[VERDICT]) ?? 0) + 1);
  });
  const bar = (title, counts, paint) => {
    section.append(make("h3", title));
    const split = make("div", undefined, "split"), keys = make("div");
    for (const [word, n] of [...counts].sort()) {
      const part = make("div");
      part.style.background = style(paint(word)); part.style.flex = String(n); part.title = `${n} ${word}`;
      split.append(part);
      const key = make("span", undefined, "key"), swatch = make("span", undefined, "swatch");
      swatch.style.background = style(paint(word));
      key.append(swatch, `${word}: ${n}`);
      keys.append(key);
    }
    section.append(split, keys);
  };
  section.replaceChildren(make("h2", `${data.done} of ${data.planned} runs`));
  if (data.repeated) section.append(make("p", `${data.repeated} of the plan have the parameters of another one, and no row.`, "hint"));
  if (rows.length < data.done) section.append(make("p", `The page shows ${rows.length} of them, evenly chosen, and all that failed.`, "hint"));
  bar("Status", count, (word) => word === "ok" ? "--good" : word === "timeout" ? "--fair" : "--poor");
  if (verdicts.size) bar("Verdicts", verdicts, (word) => ({ trustworthy: "--good", check: "--fair", unreliable: "--poor" }[word] ?? "--soft"));
  if (!outputs.length) return;
  const list = make("table"), head = make("tr"), scroll = make("div", undefined, "scroll");
  ["output", "expression", "min", "median", "max", "run with max"].forEach((word) => head.append(make("th", word)));
  list.append(head);
  outputs.forEach((k) => {
    const values = chosen.filter((row) => typeof row[k] === "number").sort((a, b) => a[k] - b[k]), line = make("tr");
    // Between two values there are both, as for the command.
    const at = (q) => {
      const place = q * (values.length - 1);
      return values.length ? digits((values[Math.floor(place)][k] + values[Math.ceil(place)][k]) / 2) : "–";
    };
    [columns[k].name, columns[k].expression ?? "", at(0), at(0.5), at(1), values.length ? values[values.length - 1][NUMBER] : "–"].forEach((text) => line.append(make("td", String(text))));
    list.append(line);
  });
  section.append(make("h3", "Results"));
  scroll.append(list); section.append(scroll);
}

function draw() { response(); scatter(); parallel(); }
function choose() {
  chosen = brushes.size ? rows.filter(isChosen) : rows;
  $("chosen").textContent = brushes.size ? `${chosen.length} of ${rows.length} runs` : "";
  $("all").hidden = !brushes.size;
  overview(); draw(); table();
}
$("all").addEventListener("click", () => { brushes.clear(); choose(); });
$("theme").addEventListener("click", () => { document.documentElement.classList.toggle("dark"); choose(); });
if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.classList.add("dark");
$("title").textContent = data.name;
$("plan").textContent = data.text;
$("footer").textContent = `powerbond ${data.version}`;
addEventListener("resize", draw);
choose();
