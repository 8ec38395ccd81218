// Tables at the end: prediction defects, cost, configuration.

const inputs = byId("inputs");
inputs.append(make("h2", {}, "Prediction defects of inputs"));
runs.forEach((run, k) => {
  const list = [...run.summary.inputs].sort((a, b) => (b.score ?? Infinity) - (a.score ?? Infinity)).slice(0, 40);
  if (many) inputs.append(make("h3", {}, swatch(k), run.label));
  inputs.append(table(["input", "score", "rms", "largest", "of its std. deviation", "half oscillations", "correlation"], list.map((i) => {
    const jump = (x) => quantity(x, run.summary.units?.[i.name], 3);
    return [`${i.name} ← ${i.sources.join(" + ")}`, digits(i.score, 3), jump(i.jump_rms), `${jump(i.jump_max)} at ${quantity(i.jump_time, "s")}`,
      percent(i.spread > 0 ? i.jump_rms / i.spread : null), digits(i.swings, 3), digits(i.correlation, 3)];
  })));
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
