// What the run came to: verdict, all runs side by side, energies.

const names = runs.map((run) => run.label);
byId("title").textContent = many ? names.join(" · ") : runs[0].summary.system;

// The verdict.
const verdictOf = (run, k) => {
  if (live) return make("div", { id: "progress" }, make("p", {}, "The run has begun."));
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
    fold([...reasons, ...notes.map(([kind, text]) => make("li", { class: kind }, ...prose(text)))], advice),
  ];
  return make("div", {}, ...parts.filter(Boolean));
};
// Many reasons are folded, so that the plots are near.
const fold = (reasons, advice) => {
  const list = [make("ul", {}, ...reasons), ...advice];
  if (reasons.length + advice.length <= 3) return make("div", {}, ...list);
  const count = (list, one, many) => (list.length ? [`${list.length} ${list.length === 1 ? one : many}`] : []);
  const words = [...count(reasons, "reason or note", "reasons and notes"), ...count(advice, "advice", "pieces of advice")];
  return make("details", {}, make("summary", {}, words.join(", ")), ...list);
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
