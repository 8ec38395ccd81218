// Plots: lines over time with both limits, strips, and the hands that move them. All share one stretch of time.

const plots = [];
const start = Math.min(...runs.map((r) => r.summary.time.start));
let end = Math.max(...runs.map((r) => (live ? Math.max(r.summary.time.reached, r.summary.time.start) : r.summary.time.reached)));
let view = [start, end];
const show = (from, to) => {
  const least = 1e-9 * (end - start || 1);
  if (!(to - from > least)) return;
  view = [Math.max(start, from), Math.min(end, to)];
  if (!(view[1] - view[0] > least)) return;
  byId("range").textContent = `t = ${quantity(view[0], "s", 5)} to ${quantity(view[1], "s", 5)}`;
  for (const plot of plots) plot.setScale("x", { min: view[0], max: view[1] });
};
const move = (share) => {
  const width = view[1] - view[0];
  const by = share > 0 ? Math.min(share * width, end - view[1]) : Math.max(share * width, start - view[0]);
  show(view[0] + by, view[1] + by);
};
const zoom = (factor, at = (view[0] + view[1]) / 2) => show(at - factor * (at - view[0]), at + factor * (view[1] - at));
byId("back").onclick = () => move(-0.5);
byId("forth").onclick = () => move(0.5);
byId("closer").onclick = () => zoom(0.5);
byId("farther").onclick = () => zoom(2);
byId("whole").onclick = () => show(start, end);
byId("theme").onclick = () => {
  const now = root.classList.toggle("dark");
  try { localStorage.setItem("powerbond-theme", now ? "dark" : "light"); } catch { /* as above */ }
  plots.forEach((plot) => plot.redraw(false));
};

const hands = (plot) => {
  const over = plot.over;
  over.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
    zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
  }, { passive: false });
  over.addEventListener("mousedown", (event) => {
    if (!event.shiftKey && event.button !== 1) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const [from, to] = view;
    const scale = (to - from) / over.clientWidth;
    const drag = (e) => {
      const by = (event.clientX - e.clientX) * scale;
      if (from + by >= start && to + by <= end) show(from + by, to + by);
    };
    const drop = () => {
      removeEventListener("mousemove", drag);
      removeEventListener("mouseup", drop);
    };
    addEventListener("mousemove", drag);
    addEventListener("mouseup", drop);
  }, true);
  over.addEventListener("dblclick", () => show(start, end));
};

// Lines on one axis of times. A time stands there as often as in the line that has it most: twice where one jumps. What
// holds from then on comes last; a line that has it once has it there.
const join = (lines) => {
  const places = lines.map(() => 0);
  const joined = [[], ...lines.map(() => [])];
  for (;;) {
    const t = Math.min(...lines.map(([times], k) => times[places[k]] ?? Infinity));
    if (t === Infinity) return joined;
    const counts = lines.map(([times], k) => {
      let n = 0;
      while (times[places[k] + n] === t) n += 1;
      return n;
    });
    const most = Math.max(...counts);
    for (let n = 0; n < most; n += 1) joined[0].push(t);
    lines.forEach(([, values], k) => {
      for (let n = 0; n < most; n += 1) {
        const from = n === most - 1 ? counts[k] - 1 : n < counts[k] - 1 ? n : -1;
        joined[k + 1].push(from < 0 ? undefined : values[places[k] + from]);
      }
      places[k] += counts[k];
    });
  }
};

// Both limits at a place where a line jumps: [left, right].
const limits = (u, line, at) => {
  const times = u.data[0];
  const values = u.data[line];
  let first = at;
  while (times[first - 1] === times[at]) first -= 1;
  while (first < at && (values[first] === undefined || values[first] === null)) first += 1;
  return [values[first], values[at]];
};

// What the cursor shows: at a jump what holds from then on, and of a line without a point here the nearest one.
const shownAt = (u, line, at) => {
  const times = u.data[0];
  while (times[at + 1] === times[at]) at += 1;
  const values = u.data[line];
  if (line === 0 || values[at] !== undefined) return at;
  let [before, after] = [at, at];
  while (before >= 0 && values[before] === undefined) before -= 1;
  while (after < values.length && values[after] === undefined) after += 1;
  while (after < values.length && times[after + 1] === times[after] && values[after + 1] !== undefined) after += 1;
  if (before < 0 || after >= values.length) return before >= 0 ? before : after < values.length ? after : null;
  return times[at] - times[before] <= times[after] - times[at] ? before : after;
};

const axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { stroke: () => colour("line"), width: 1 }, font: "12px system-ui, sans-serif" };
// The same for all plots, so that their times are below each other, but where a number is longer than most.
const roomOf = (u, values) => Math.max(96, 20 + 6.8 * Math.max(0, ...(values ?? []).map((text) => String(text ?? "").length)));
const timeAxis = { ...axis, values: (u, list) => ticksOf(list, "s", 7) };
const place = (parent, title) => {
  const holder = make("div", { class: "plot" });
  parent.append(make("h3", {}, title), holder);
  return holder;
};
const widthOf = (holder) => Math.max(240, holder.clientWidth || 1000);
// A stretch that is dragged over is shown.
const select = (u) => {
  if (u.select.width > 2) show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
  u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
};
const mount = (setup, data, holder, again) => {
  const plot = new uPlot(setup, data, holder);
  plot.again = again;
  hands(plot);
  plots.push(plot);
  plot.setScale("x", { min: view[0], max: view[1] });
  return plot;
};

// Rows of coloured stretches: { label, data: [ends of stretches, values], paint: value → [name of a colour, share of the height] }.
const strip = (parent, title, rows, key) => {
  rows = rows.filter((row) => row.data && row.data[0].length > 0);
  if (rows.length === 0) return;
  const labels = [...new Set(rows.map((row) => row.label))];
  const holder = place(parent, title);
  const width = widthOf(holder);
  const [room, letters] = width < 700 ? [110, 15] : [190, 27];
  const cut = (text) => (text.length > letters ? `…${text.slice(1 - letters)}` : text);
  mount({
    width, height: 50 + 22 * labels.length,
    scales: { x: { time: false }, y: { range: [0, labels.length] } },
    axes: [timeAxis, { ...axis, size: room, grid: { show: false }, splits: () => labels.map((_, k) => labels.length - k - 0.5), values: () => labels.map(cut) }],
    series: [{}, { show: false }],
    cursor: { drag: { x: true, y: false }, sync: { key: "powerbond" }, bind: { dblclick: () => null } },
    legend: { show: false },
    hooks: {
      setSelect: [select],
      draw: [(u) => {
        u.ctx.save();
        u.ctx.beginPath();
        u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
        u.ctx.clip();
        const high = u.bbox.height / labels.length;
        for (const row of rows) {
          const [times, values] = row.data;
          const top = u.bbox.top + high * labels.indexOf(row.label) + 0.1 * high;
          times.forEach((t, i) => {
            const from = i ? times[i - 1] : start;
            const painted = t >= view[0] && from <= view[1] ? row.paint(values[i]) : null;
            if (!painted) return;
            const [left, right] = [u.valToPos(from, "x", true), u.valToPos(t, "x", true)];
            u.ctx.fillStyle = colour(painted[0]);
            u.ctx.fillRect(left, top + 0.8 * high * (1 - painted[1]), right - left + 0.6, 0.8 * high * painted[1]);
          });
        }
        u.ctx.restore();
      }],
    },
  }, [[start, end], [null, null]], holder);
  parent.append(make("p", { class: "hint" }, ...key.map(([name, text]) => make("span", { class: "key" }, make("span", { class: "swatch", style: `background: var(--${name})` }), text))));
};

// Discontinuities in view are marked, if they are this many in a plot at most: an open circle at the left limit, a full one at the right.
const MOST_JUMPS = 60;
const markJumps = (u) => {
  const times = u.data[0];
  const [low, high] = [u.scales.x.min, u.scales.x.max];
  const found = [];
  for (let line = 1; line < u.data.length; line += 1) {
    for (let i = 1; i < times.length; i += 1) {
      if (times[i] !== times[i - 1] || times[i] < low || times[i] > high || times[i + 1] === times[i]) continue;
      const [left, right] = limits(u, line, i);
      if (typeof left === "number" && typeof right === "number" && left !== right) found.push([line, times[i], left, right]);
      if (found.length > MOST_JUMPS) return;
    }
  }
  for (const [line, t, left, right] of found) {
    const x = u.valToPos(t, "x", true);
    [[left, colour("card")], [right, u.series[line].stroke()]].forEach(([value, fill]) => {
      u.ctx.beginPath();
      u.ctx.arc(x, u.valToPos(value, "y", true), 3.2 * devicePixelRatio, 0, 2 * Math.PI);
      u.ctx.fillStyle = fill;
      u.ctx.strokeStyle = u.series[line].stroke();
      u.ctx.lineWidth = 1.2 * devicePixelRatio;
      u.ctx.fill();
      u.ctx.stroke();
    });
  }
};

// Lines: { label, data: () => [times, values], dash, points only }. Those of a run that goes on may still be empty.
const draw = (parent, title, unit, lines, options = {}) => {
  lines = lines.filter((line) => line.data() && (live || line.data()[0].length > 0));
  if (lines.length === 0) return null;
  const joined = () => join(lines.map((line) => line.data()));
  const log = options.log === true;
  const value = (u, x, line, at) => {
    if (x === null || x === undefined || at === null || at === undefined) return quantity(x, unit);
    const [left, right] = limits(u, line, at);
    return left === right || left === undefined ? quantity(x, unit) : `${quantity(left, unit)} → ${quantity(right, unit)}`;
  };
  // Of a logarithmic axis only whole powers of ten are drawn.
  const decades = (u, list) => list.map((x) => (Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9 ? x : null));
  const holder = place(parent, title);
  const marks = options.marks ?? [];
  const setup = {
    width: widthOf(holder),
    height: options.height ?? 210,
    scales: { x: { time: false }, y: { distr: log ? 3 : 1, ...(options.range ? { range: options.range } : {}) } },
    axes: [
      timeAxis,
      { ...axis, ...(log ? { grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } } : {}), size: roomOf, values: (u, list) => (log ? list.map((x) => (x === null ? "" : logTick(x, unit))) : ticksOf(list.map((x) => (Math.abs(x) < 1e-300 ? 0 : x)), unit)) },
    ],
    series: [{ label: "time", value: (u, x) => quantity(x, "s", 7) },
      ...lines.map((line, k) => ({
        label: line.label, value, spanGaps: true, width: line.points ? 0 : 1.3,
        stroke: () => (line.colour ? colour(line.colour) : series(line.hue ?? k)),
        dash: line.dash, pxAlign: 0, ...(line.points ? { paths: () => null, points: { show: true, size: 6, fill: () => colour(line.colour), stroke: () => colour(line.colour) } } : { points: { show: false } }),
      }))],
    cursor: { dataIdx: shownAt, drag: { x: true, y: false }, sync: { key: "powerbond" }, bind: { dblclick: () => null } },
    legend: { live: true },
    hooks: {
      setSelect: [select],
      drawClear: [(u) => {
        for (const [from, to] of marks) {
          const left = Math.max(u.valToPos(from, "x", true), u.bbox.left);
          const right = Math.min(u.valToPos(to, "x", true), u.bbox.left + u.bbox.width);
          if (right > left) {
            u.ctx.fillStyle = colour("poor-back");
            u.ctx.fillRect(left, u.bbox.top, Math.max(2, right - left), u.bbox.height);
          }
        }
      }],
      draw: [markJumps, (u) => {
        if (options.line === undefined) return;
        const y = u.valToPos(options.line, "y", true);
        if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) return;
        u.ctx.save();
        u.ctx.strokeStyle = colour("poor");
        u.ctx.setLineDash([6, 4]);
        u.ctx.lineWidth = 1.5;
        u.ctx.beginPath();
        u.ctx.moveTo(u.bbox.left, y);
        u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
        u.ctx.stroke();
        u.ctx.restore();
      }],
    },
  };
  return mount(setup, joined(), holder, joined);
};
const logTick = (x, unit) => {
  const power = Math.log10(x);
  return Math.abs(power - Math.round(power)) < 1e-9 ? (quantity(x, unit)) : "";
};
const positive = (data) => data && [data[0], data[1].map((x) => (x > 0 ? x : null))];
const dashes = [undefined, [8, 4], [3, 3], [10, 3, 2, 3]];
const of = (run, name) => (many ? `${run.label}: ${name}` : name);
