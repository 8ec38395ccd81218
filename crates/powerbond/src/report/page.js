"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent).runs;
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
  const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const quantity = (x, unit) => {
    if (x === null || x === undefined || !Number.isFinite(x)) return "–";
    if (x === 0) return `0 ${unit}`;
    const [scale, prefix] = PREFIXES.find(([s]) => Math.abs(x) >= 0.9995 * s) ?? [1e-9, "n"];
    return `${digits(x / scale)} ${prefix}${unit}`;
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

  const table = (header, rows) => {
    const line = (cells, tag) => make("tr", {}, ...cells.map((c) => make(tag, {}, c instanceof Node ? c : String(c))));
    return make("div", { class: "scroll" },
      make("table", {}, make("thead", {}, line(header, "th")), make("tbody", {}, ...rows.map((r) => line(r, "td")))));
  };
  const level = (share) => (share === null || !Number.isFinite(share) ? "poor" : share < 0.01 ? "good" : share < 0.05 ? "fair" : "poor");
  const word = (w) => make("span", { class: `word ${w}` }, w);
  const swatch = (k) => make("span", { class: "swatch", style: `background: var(--c${k % 8})` });

  const names = runs.map((run) => run.label);
  byId("title").textContent = many ? names.join(" · ") : runs[0].summary.system;

  // The verdict.
  const verdictOf = (run, k) => {
    const { verdict, steps, step_size: size, time, seconds, exceeded, warnings } = run.summary;
    const facts = [
      ["time", `${digits(time.start)} s to ${digits(time.reached)} s`],
      ["outcome", run.summary.outcome],
      ["steps", `${steps.accepted} accepted, ${steps.rejected} rejected, ${steps.over_tolerance} over tolerance, ${steps.at_floor} at the floor`],
      ["step size", size.min === size.max ? quantity(size.max, "s") : `${quantity(size.min, "s")} to ${quantity(size.max, "s")}, median ${quantity(size.median, "s")}`],
      ["computed in", quantity(seconds, "s")],
    ];
    const reasons = verdict.reasons.map((r) => make("li", { class: r.level },
      r.bond ? `bond ${r.bond}: ` : "", ...prose(r.text),
      r.time !== null && r.code !== "spike" ? ` (worst at t = ${quantity(r.time, "s")})` : ""));
    const advice = (verdict.advice ?? []).map((way) => make("span", { class: "advice" }, "→ ", ...prose(way)));
    const notes = [...(run.notes ?? []).map((text) => ["check", text]), ...(exceeded ?? []).map((text) => ["unreliable", `limit exceeded: ${text}`]), ...warnings.map((text) => ["check", text])];
    const parts = [
      many ? make("h3", {}, swatch(k), run.label) : null,
      make("div", {}, word(verdict.word), make("span", { class: "text" }, ...prose(verdict.text))),
      make("div", { class: "facts" }, ...facts.map(([key, value]) => make("span", {}, `${key} `, make("b", {}, value)))),
      run.summary.error ? make("p", { class: "poor" }, ...prose(run.summary.error)) : null,
      make("ul", {}, ...reasons, ...notes.map(([kind, text]) => make("li", { class: kind }, ...prose(text)))),
      ...advice,
    ];
    return make("div", {}, ...parts.filter(Boolean));
  };
  byId("verdict").append(...runs.map(verdictOf));

  if (many) {
    const rows = runs.map((run, k) => {
      const s = run.summary;
      return [make("span", {}, swatch(k), run.label), word(s.verdict.word), s.verdict.error.large ? "large" : percent(s.verdict.error.estimate),
        s.steps.accepted, quantity(s.step_size.median, "s"), quantity(s.energy.exchanged, "J"), quantity(s.energy.residual, "J"),
        percent(Math.abs(s.energy.residual_share)), quantity(s.seconds, "s")];
    });
    byId("runs").hidden = false;
    byId("runs").append(make("h2", {}, "Runs"),
      table(["run", "verdict", "estimated error", "steps", "median step", "exchanged", "residual", "of exchanged", "computed in"], rows));
  }

  // The ledger.
  const residual = (x) => (x === null ? "–" : x === 0 ? "0 J" : `${quantity(Math.abs(x), "J")} ${x > 0 ? "created" : "lost"}`);
  const ledger = byId("ledger");
  ledger.append(make("h2", {}, "Energy ledger"));
  runs.forEach((run, k) => {
    const s = run.summary;
    if (many) ledger.append(make("h3", {}, swatch(k), run.label));
    if (s.bonds.length === 0) {
      ledger.append(make("p", { class: "hint" }, "No power bonds: add [bonds.name] to the system to measure whether the coupling conserves energy."));
      return;
    }
    const share = (x) => make("span", { class: level(x === null ? null : Math.abs(x)) }, percent(x === null ? null : Math.abs(x)));
    const rows = s.bonds.map((b) => [b.name, quantity(b.transmitted, "J"), quantity(b.exchanged, "J"), residual(b.residual), share(b.residual_share),
      quantity(b.mean_power, "W"), quantity(b.half_mean_residual_power, "W"), `${quantity(b.worst_power, "W")} at ${quantity(b.worst_time, "s")}`]);
    if (s.bonds.length > 1) rows.push(["all bonds", "", quantity(s.energy.exchanged, "J"), residual(s.energy.residual), share(s.energy.residual_share), "", "", ""]);
    ledger.append(table(["bond", "transmitted", "exchanged", "residual", "of exchanged", "mean power", "½ mean |δP|", "largest |δP|"], rows));
    const net = s.subsystems.filter((sub) => sub.net_energy !== null).map((sub) => [sub.name, quantity(sub.net_energy, "J")]);
    if (net.length) ledger.append(make("h3", {}, "Net energy into subsystems"), table(["subsystem", "through its bonds"], net));
  });

  // Plots: all share one stretch of time.
  const plots = [];
  const start = Math.min(...runs.map((r) => r.summary.time.start));
  const end = Math.max(...runs.map((r) => r.summary.time.reached));
  let view = [start, end];
  const show = (from, to) => {
    const least = 1e-9 * (end - start || 1);
    if (!(to - from > least)) return;
    view = [Math.max(start, from), Math.min(end, to)];
    if (!(view[1] - view[0] > least)) return;
    byId("range").textContent = `t = ${digits(view[0], 5)} s to ${digits(view[1], 5)} s`;
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
  const timeAxis = { ...axis, values: (u, list) => list.map((x) => `${digits(x, 7)} s`) };
  const place = (parent, title) => {
    const holder = make("div", { class: "plot" });
    parent.append(make("h3", {}, title), holder);
    return holder;
  };
  const widthOf = (holder) => Math.max(320, holder.clientWidth || 1000);
  // A stretch that is dragged over is shown.
  const select = (u) => {
    if (u.select.width > 2) show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  };
  const mount = (setup, data, holder) => {
    const plot = new uPlot(setup, data, holder);
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
      width, height: 44 + 20 * labels.length,
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
    parent.append(make("p", { class: "hint" }, ...key.flatMap(([name, text]) => [make("span", { class: "swatch", style: `background: var(--${name})` }), `${text}   `])));
  };

  // Lines: { label, points: [times, values], dash, points only }.
  const draw = (parent, title, unit, lines, options = {}) => {
    lines = lines.filter((line) => line.data && line.data[0].length > 0);
    if (lines.length === 0) return null;
    const joined = join(lines.map((line) => line.data));
    const log = options.log === true;
    const value = (u, x) => (x === null || x === undefined ? "–" : quantityOr(x, unit));
    const quantityOr = (x, u) => (u ? quantity(x, u) : digits(x));
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
        { ...axis, ...(log ? { grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } } : {}), size: 78, values: (u, list) => list.map((x) => (x === null ? "" : log ? logTick(x, unit) : quantityOr(Math.abs(x) < 1e-300 ? 0 : x, unit))) },
      ],
      series: [{ label: "time", value: (u, x) => (x === null ? "–" : `${digits(x, 7)} s`) },
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
        draw: [(u) => {
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
    return mount(setup, joined, holder);
  };
  const logTick = (x, unit) => {
    const power = Math.log10(x);
    return Math.abs(power - Math.round(power)) < 1e-9 ? (unit ? quantity(x, unit) : digits(x)) : "";
  };
  const positive = (data) => data && [data[0], data[1].map((x) => (x > 0 ? x : null))];
  const dashes = [undefined, [8, 4], [3, 3], [10, 3, 2, 3]];
  const of = (run, name) => (many ? `${run.label}: ${name}` : name);

  const area = byId("plots");
  area.prepend(make("h2", {}, "Power, energy and steps"));
  const bonds = [...new Set(runs.flatMap((run) => run.summary.bonds
    .filter((b) => `${b.name}.dP` in run.energy)
    .sort((a, b) => (b.residual_abs ?? Infinity) - (a.residual_abs ?? Infinity)).map((b) => b.name)))];
  const SHOWN = 6;
  for (const bond of bonds.slice(0, SHOWN)) {
    const ports = (run) => run.summary.bonds.find((b) => b.name === bond)?.ports ?? [];
    draw(area, `Power of bond ${bond}, out of each side`, "W", runs.flatMap((run, r) => ports(run).map((p, k) => ({
      label: of(run, p.name), data: run.energy[`${bond}.P.${p.name}`], hue: many ? r : k, dash: many ? dashes[k % 4] : undefined }))));
    const spikes = runs.flatMap((run) => run.summary.bonds.find((b) => b.name === bond)?.spikes ?? []).map((s) => [s.start, s.end]);
    draw(area, `Residual power δP of bond ${bond}${spikes.length ? " (spikes shaded)" : ""}`, "W",
      runs.map((run, r) => ({ label: of(run, "δP"), data: run.energy[`${bond}.dP`], hue: r })), { marks: spikes });
  }
  if (bonds.length > SHOWN) area.append(make("p", { class: "hint" }, `The ${SHOWN} bonds with the largest residual of ${runs[0].summary.bonds.length} are shown.`));
  draw(area, "Residual energy since the start (above zero: created)", "J", runs.flatMap((run, r) => [
    ...bonds.slice(0, SHOWN).map((bond, k) => ({ label: of(run, bond), data: run.energy[`${bond}.dE_sum`], hue: many ? r : k, dash: many ? dashes[k % 4] : undefined })),
    ...(bonds.length > 1 ? [{ label: of(run, "all bonds"), data: run.energy["system.dE_sum"], hue: many ? r : bonds.length, dash: [2, 2] }] : []),
  ]));
  draw(area, "Step size", "s", runs.map((run, r) => ({ label: of(run, "step size"), data: positive(run.energy.step_size), hue: r })), { log: runs.some((r) => r.summary.step_size.min !== r.summary.step_size.max), height: 180 });
  // What the default method did: how every input was held, what bounded the steps.
  const MOST_ROWS = 20;
  for (const run of runs) {
    const ranked = [...(run.summary.choices?.inputs ?? [])].sort((a, b) => b.limited - a.limited).map((input) => input.name);
    const names = ranked.filter((name) => `order.${name}` in run.energy).slice(0, MOST_ROWS);
    const rows = names.flatMap((name) => [
      { label: name, data: run.energy[`order.${name}`], paint: (x) => (x === null ? null : [["line", "c5", "c0", "c4"][Math.round(x)] ?? "c4", 1]) },
      { label: name, data: run.energy[`given_back.${name}`], paint: (x) => (x > 0 ? ["c1", 0.3] : null) },
    ]);
    const bounds = { label: "bounded by the motion", data: run.energy.ceiling, paint: (x) => (x > 0 ? ["c2", 1] : null) };
    if (rows.length) strip(area, of(run, "How inputs were held, step by step"), [...rows, bounds],
      [["line", "order 0"], ["c5", "order 1"], ["c0", "order 2"], ["c1", "given back what it lacked"], ["c2", "the next step was bounded by the motion of inputs, not by the error norm"]]);
    if (ranked.length > names.length && rows.length) area.append(make("p", { class: "hint" }, `The ${MOST_ROWS} inputs that limited the most steps of ${ranked.length} are shown.`));
  }
  const errors = runs.flatMap((run, r) => Object.keys(run.energy).filter((name) => name.startsWith("error.")).map((name, k) => ({
    label: of(run, name.slice(6)), data: positive(run.energy[name]), hue: many ? r : k, dash: many ? dashes[k % 4] : undefined, name, run })));
  const above = (data, limit, from = -Infinity) => {
    const keep = data ? data[0].map((t, i) => [t, data[1][i]]).filter(([t, x]) => x > limit && t >= from) : [];
    return keep.length ? [keep.map((p) => p[0]), keep.map((p) => p[1])] : null;
  };
  const over = errors.filter((e, k) => e.name === errors.find((other) => other.run === e.run)?.name).map((e) => {
    // While an estimator still settles, steps do not count as over tolerance.
    const counts = e.run.energy.over_tolerance;
    const first = counts ? above(counts, 0)?.[0][0] ?? Infinity : -Infinity;
    return { label: of(e.run, "over tolerance"), data: above(e.run.energy[e.name], 1, first), points: true, colour: "poor" };
  });
  draw(area, "Error norms (dashed: tolerance)", "", [...errors, ...over], { log: true, line: 1 });
  const counted = (name) => runs.some((run) => run.energy[name]?.[1].some((x) => x > 0));
  const counts = [["rejected", "rejected attempts"], ["over_tolerance", "steps accepted over tolerance"]].filter(([name]) => counted(name));
  if (counts.length) {
    const sum = (name) => runs.reduce((total, run) => total + (run.summary.steps[name] ?? 0), 0);
    draw(area, `Steps that did not go smoothly: ${counts.map(([name, text]) => `${sum(name)} ${text}`).join(", ")}`, "",
      runs.flatMap((run) => counts.map(([name, text]) => ({
        label: of(run, text), data: above(run.energy[name], 0), points: true, colour: name === "rejected" ? "fair" : "poor" }))), { height: 130, range: (u, low, high) => [0, Math.max(high, 1) * 1.2] });
  }

  // Recorded variables, as chosen.
  const outputs = byId("outputs");
  const variables = [...new Set(runs.flatMap((run) => Object.keys(run.results)))];
  if (variables.length) {
    const coupled = new Set(runs.flatMap((run) => run.summary.inputs.flatMap((i) => i.sources)));
    const first = variables.filter((v) => coupled.has(v));
    const chosen = new Set((first.length ? first : variables).slice(0, 4));
    const shown = new Map();
    const space = make("div");
    const toggle = (name, on) => {
      if (on && !shown.has(name)) {
        const holder = make("div");
        space.append(holder);
        const unit = runs.map((run) => run.summary.units?.[name]).find((u) => u && u !== "1");
        const plot = draw(holder, unit ? `${name} in ${unit}` : name, "", runs.map((run, r) => ({ label: of(run, "value"), data: run.results[name], hue: r })), { height: 180 });
        shown.set(name, [holder, plot]);
      } else if (!on && shown.has(name)) {
        const [holder, plot] = shown.get(name);
        if (plot) {
          plots.splice(plots.indexOf(plot), 1);
          plot.destroy();
        }
        holder.remove();
        shown.delete(name);
      }
    };
    const boxes = variables.map((name) => {
      const box = make("input", { type: "checkbox", checked: chosen.has(name) });
      box.onchange = () => toggle(name, box.checked);
      return make("label", {}, box, name);
    });
    const hidden = runs.reduce((sum, run) => sum + run.hidden, 0);
    outputs.append(make("h2", {}, "Recorded variables"), make("div", { class: "chooser" }, ...boxes),
      ...(hidden ? [make("p", { class: "hint" }, `${hidden} more are in results.csv.`)] : []), space);
    chosen.forEach((name) => toggle(name, true));
  } else outputs.remove();

  // Jumps.
  const inputs = byId("inputs");
  inputs.append(make("h2", {}, "Jumps of inputs at communication points"));
  runs.forEach((run, k) => {
    const list = [...run.summary.inputs].sort((a, b) => (b.score ?? Infinity) - (a.score ?? Infinity)).slice(0, 40);
    if (many) inputs.append(make("h3", {}, swatch(k), run.label));
    inputs.append(table(["input", "score", "rms", "largest", "of its std. deviation", "half oscillations", "correlation"], list.map((i) => [
      `${i.name} ← ${i.sources.join(" + ")}`, digits(i.score, 3), digits(i.jump_rms, 3), `${digits(i.jump_max, 3)} at ${quantity(i.jump_time, "s")}`,
      percent(i.spread > 0 ? i.jump_rms / i.spread : null), digits(i.swings, 3), digits(i.correlation, 3)])));
    if (run.summary.inputs.length > list.length) inputs.append(make("p", { class: "hint" }, `${run.summary.inputs.length - list.length} more are in summary.json.`));
  });

  // Cost.
  const cost = byId("cost");
  cost.append(make("h2", {}, "Time per subsystem"));
  runs.forEach((run, k) => {
    const s = run.summary;
    if (many) cost.append(make("h3", {}, swatch(k), run.label));
    const most = Math.max(s.engine_seconds, ...s.subsystems.map((sub) => sub.seconds), 1e-12);
    const bar = (name, seconds, note, kind = "") => make("div", { class: "bar" }, make("span", { class: "name" }, name),
      make("div", { class: "track" }, make("div", { class: `fill ${kind}`, style: `width: ${(100 * seconds) / most}%` })),
      make("span", { class: "value" }, `${quantity(seconds, "s")}${note}`));
    const subs = [...s.subsystems].sort((a, b) => b.seconds - a.seconds).slice(0, 40);
    cost.append(...subs.map((sub) => bar(sub.name, sub.seconds, "")), bar("engine and results", s.engine_seconds, "", "engine"));
  });

  // Configuration, versions, hashes.
  const config = byId("config");
  config.append(make("h2", {}, "Configuration"));
  runs.forEach((run, k) => {
    const s = run.summary;
    if (many) config.append(make("h3", {}, swatch(k), run.label));
    const rows = [...Object.entries(s.versions), ...Object.entries(s.hashes ?? {}).map(([name, hash]) => [`SHA-256 of ${name}`, hash ?? "–"])];
    const limits = make("pre", {}, JSON.stringify(s.config, null, 2));
    config.append(make("div", { class: "facts" }, ...rows.map(([name, value]) => make("span", {}, `${name} `, make("b", {}, String(value))))),
      make("details", { open: !many }, make("summary", {}, "effective configuration"), limits));
  });
  byId("footer").textContent = `Made by powerbond from ${runs.map((r) => `${r.rows} rows`).join(", ")}. Lines are thinned for display; the smallest and largest value of every stretch is kept.`;

  show(start, end);
  let resizing = 0;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => plots.forEach((plot) => plot.setSize({ width: Math.max(320, plot.root.parentElement.clientWidth), height: plot.height })), 100);
  });
  window.powerbondReport = { plots, show, view: () => view };
})();
