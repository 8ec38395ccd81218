// What the coupling did: powers and residuals of bonds and how far they are from a reference, step sizes, holds, error norms.

const area = byId("plots");
area.prepend(make("h2", {}, "Power, energy and steps"));
const bonds = [...new Set(runs.flatMap((run) => run.summary.bonds
  .filter((b) => `${b.name}.dP` in run.energy)
  .sort((a, b) => (b.residual_abs ?? Infinity) - (a.residual_abs ?? Infinity)).map((b) => b.name)))];
const SHOWN = 6;
for (const bond of bonds.slice(0, SHOWN)) {
  const ports = (run) => run.summary.bonds.find((b) => b.name === bond)?.ports ?? [];
  draw(area, `Power of bond ${bond}, out of each side`, "W", runs.flatMap((run, r) => ports(run).map((p, k) => ({
    label: of(run, p.name), data: () => run.energy[`${bond}.P.${p.name}`], hue: many ? r : k, dash: many ? dashes[k % 4] : undefined }))));
  const spikes = runs.flatMap((run) => run.summary.bonds.find((b) => b.name === bond)?.spikes ?? []).map((s) => [s.start, s.end]);
  draw(area, `Residual power δP of bond ${bond}${spikes.length ? " (spikes shaded)" : ""}`, "W",
    runs.map((run, r) => ({ label: of(run, "δP"), data: () => run.energy[`${bond}.dP`], hue: r })), { marks: spikes });
}
if (bonds.length > SHOWN) area.append(make("p", { class: "hint" }, `The ${SHOWN} bonds with the largest residual of ${runs[0].summary.bonds.length} are shown.`));
draw(area, "Residual energy since the start (above zero: created)", "J", runs.flatMap((run, r) => [
  ...bonds.slice(0, SHOWN).map((bond, k) => ({ label: of(run, bond), data: () => run.energy[`${bond}.dE_sum`], hue: many ? r : k, dash: many ? dashes[k % 4] : undefined })),
  ...(bonds.length > 1 ? [{ label: of(run, "all bonds"), data: () => run.energy["system.dE_sum"], hue: many ? r : bonds.length, dash: [2, 2] }] : []),
]));
// How far they are from those of a reference, below the differences of variables.
const linesApart = (columns) => compared.flatMap((run) => columns.map(([name, label], k) => ({
  label: of(run, label), data: () => run.energy_errors[name], hue: many ? runs.indexOf(run) : k, dash: many ? dashes[k % 4] : undefined })));
const apart = byId("errors");
for (const bond of bonds.slice(0, SHOWN)) {
  const ports = [...new Set(compared.flatMap((run) => run.summary.bonds.find((b) => b.name === bond)?.ports ?? []).map((p) => p.name))];
  draw(apart, `Difference ΔP of the power of bond ${bond}, out of each side, and of its residual`, "W",
    linesApart([...ports.map((port) => [`${bond}.P.${port}`, port]), [`${bond}.dP`, "δP"]]), { height: 180 });
}
draw(apart, "Difference ΔE of the energy over each bond since the start", "J",
  linesApart(bonds.slice(0, SHOWN).map((bond) => [`${bond}.E`, bond])), { height: 180 });
draw(apart, "Difference of the residual energy since the start", "J",
  linesApart([...bonds.slice(0, SHOWN).map((bond) => [`${bond}.dE_sum`, bond]), ...(bonds.length > 1 ? [["system.dE_sum", "all bonds"]] : [])]), { height: 180 });
draw(area, "Step size", "s", runs.map((run, r) => ({ label: of(run, "step size"), data: () => positive(run.energy.step_size), hue: r })), { log: live || runs.some((r) => r.summary.step_size.min !== r.summary.step_size.max), height: 180 });
// What the default method did: how every input was held, what bounded the steps.
const MOST_ROWS = 20;
for (const run of live ? [] : runs) {
  const ranked = [...(run.summary.choices?.inputs ?? [])].sort((a, b) => b.limited - a.limited).map((input) => input.name);
  const names = ranked.filter((name) => `order.${name}` in run.energy).slice(0, MOST_ROWS);
  const rows = names.flatMap((name) => [
    { label: name, data: run.energy[`order.${name}`], paint: (x) => (x === null ? null : [["line", "c5", "c0", "c4"][Math.round(x)] ?? "c4", 1]) },
    { label: name, data: run.energy[`given_back.${name}`], paint: (x) => (x ? ["c1", 0.3] : null) },
  ]);
  const bounds = { label: "bounded", data: run.energy.ceiling, paint: (x) => (x > 0 ? ["c2", 1] : null) };
  if (rows.length) strip(area, of(run, "How inputs were held, step by step"), [...rows, bounds],
    [["line", "order 0"], ["c5", "order 1"], ["c0", "order 2"], ["c1", "given back what it lacked"], ["c2", "bounded: the next step was bounded by the motion of inputs, not by the error norm"]]);
  if (ranked.length > names.length && rows.length) area.append(make("p", { class: "hint" }, `The ${MOST_ROWS} inputs that limited the most steps of ${ranked.length} are shown.`));
}
// Sub-steps where any step was divided, and what algebraic loops took.
const shown = (run, name) => run.energy[name]?.[1].some((x) => x > 1);
draw(area, "Sub-steps of subsystems that integrate with the step", "", runs.flatMap((run, r) => (run.summary.choices?.subsystems ?? [])
  .map((subsystem) => subsystem.name).filter((name) => shown(run, `sub_steps.${name}`))
  .map((name, k) => ({ label: of(run, name), data: () => run.energy[`sub_steps.${name}`], hue: many ? r : k, dash: many ? dashes[k % 4] : undefined }))), { log: true, height: 130 });
draw(area, "Evaluations of algebraic loops", "", runs.filter((run) => shown(run, "loops"))
  .map((run) => ({ label: of(run, "evaluations"), data: () => run.energy.loops, hue: runs.indexOf(run) })), { height: 130 });
const errors = runs.flatMap((run, r) => Object.keys(run.energy).filter((name) => name.startsWith("error.")).map((name, k) => ({
  label: of(run, name.slice(6)), data: () => positive(run.energy[name]), hue: many ? r : k, dash: many ? dashes[k % 4] : undefined, name, run })));
const above = (data, limit, from = -Infinity) => {
  const keep = data ? data[0].map((t, i) => [t, data[1][i]]).filter(([t, x]) => x > limit && t >= from) : [];
  return keep.length ? [keep.map((p) => p[0]), keep.map((p) => p[1])] : null;
};
const over = errors.filter((e, k) => e.name === errors.find((other) => other.run === e.run)?.name).map((e) => {
  // While an estimator still settles, steps do not count as over tolerance.
  const counts = e.run.energy.over_tolerance;
  const first = counts ? above(counts, 0)?.[0][0] ?? Infinity : -Infinity;
  const data = above(e.run.energy[e.name], 1, first);
  return { label: of(e.run, "over tolerance"), data: () => data, points: true, colour: "poor" };
});
draw(area, "Error norms (dashed: tolerance)", "", [...errors, ...(live ? [] : over)], { log: true, line: 1 });
const counted = (name) => runs.some((run) => run.energy[name]?.[1].some((x) => x > 0));
const counts = live ? [] : [["rejected", "rejected attempts"], ["over_tolerance", "steps accepted over tolerance"]].filter(([name]) => counted(name));
if (counts.length) {
  const sum = (name) => runs.reduce((total, run) => total + (run.summary.steps[name] ?? 0), 0);
  draw(area, `Steps that did not go smoothly: ${counts.map(([name, text]) => `${sum(name)} ${text}`).join(", ")}`, "",
    runs.flatMap((run) => counts.map(([name, text]) => ({
      label: of(run, text), data: () => above(run.energy[name], 0), points: true, colour: name === "rejected" ? "fair" : "poor" }))), { height: 130, range: (u, low, high) => [0, Math.max(high, 1) * 1.2] });
}
