// Recorded variables over time, as many in a plot as share a unit, and how far they are from a reference.

const outputs = byId("outputs");
const variables = [...new Set(runs.flatMap((run) => Object.keys(run.results)))];
const unitOf = (name) => {
  const unit = runs.map((run) => run.summary.units?.[name]).find(Boolean);
  return unit === "1" ? undefined : unit;
};
const compared = runs.filter((run) => run.errors);
let drawn = [];
let kept_choice = null;
if (variables.length) {
  const coupled = new Set(runs.flatMap((run) => run.summary.inputs.flatMap((i) => i.sources)));
  const first = variables.filter((v) => coupled.has(v));
  const wanted = (window.powerbondKept?.chosen ?? []).filter((name) => variables.includes(name));
  const chosen = new Set(wanted.length ? wanted : (first.length ? first : variables).slice(0, 4));
  kept_choice = chosen;
  // A variable keeps its colour as long as it is shown.
  const hues = new Map();
  const hueOf = (name) => {
    if (!hues.has(name)) {
      const taken = new Set(hues.values());
      let hue = 0;
      while (taken.has(hue)) hue += 1;
      hues.set(name, hue);
    }
    return hues.get(name);
  };
  const space = make("div", { id: "trajectories" });
  const errorSpace = make("div");
  const layout = make("select", { id: "layout", title: "which variables share a plot" },
    make("option", { value: "unit" }, "one plot per unit"), make("option", { value: "each" }, "one plot per variable"));
  const groups = () => {
    const found = new Map();
    for (const name of variables.filter((v) => chosen.has(v))) {
      const key = layout.value === "each" ? name : unitOf(name) ?? "";
      found.set(key, [...(found.get(key) ?? []), name]);
    }
    return [...found.values()];
  };
  const titleOf = (names, unit) => {
    const most = 3;
    const text = names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
    return unit ? `${text} in ${unit}` : text;
  };
  const linesOf = (names, from, key) => names.flatMap((name, k) => from.map((run) => {
    const r = runs.indexOf(run);
    return { label: of(run, name), data: () => run[key][name], hue: many ? r : hueOf(name), dash: many ? dashes[k % 4] : undefined };
  }));
  const redraw = () => {
    for (const plot of drawn) {
      plots.splice(plots.indexOf(plot), 1);
      plot.destroy();
    }
    [...hues.keys()].filter((name) => !chosen.has(name)).forEach((name) => hues.delete(name));
    space.replaceChildren();
    errorSpace.replaceChildren();
    drawn = groups().flatMap((names) => {
      const unit = unitOf(names[0]);
      return [
        draw(space, titleOf(names, unit), unit, linesOf(names, runs, "results"), { height: 220 }),
        draw(errorSpace, `Difference of ${titleOf(names, unit)}`, unit, linesOf(names, compared, "errors"), { height: 180 }),
      ].filter(Boolean);
    });
  };
  layout.onchange = redraw;
  const boxes = variables.map((name) => {
    const box = make("input", { type: "checkbox", checked: chosen.has(name) });
    box.onchange = () => {
      if (box.checked) chosen.add(name);
      else chosen.delete(name);
      redraw();
    };
    const unit = unitOf(name);
    return make("label", {}, box, unit ? `${name} in ${unit}` : name);
  });
  const hidden = runs.reduce((sum, run) => sum + run.hidden, 0);
  outputs.append(make("div", { class: "heading" }, make("h2", {}, "Trajectories"), layout), space,
    make("details", { open: variables.length <= 12 }, make("summary", {}, `${variables.length} recorded variables: tick those to be shown`),
      make("div", { class: "chooser" }, ...boxes)),
    ...(hidden ? [make("p", { class: "hint" }, `${hidden} more are in the table of results.`)] : []));
  if (compared.length) {
    const sources = [...new Set(compared.map((run) => run.reference))].join(", ");
    const more = compared.some((run) => Object.keys(run.energy_errors).length) ? ", and powers and energies of bonds," : "";
    byId("errors").hidden = false;
    byId("errors").append(make("h2", {}, "Error over time"),
      make("p", { class: "hint" }, `The variables above${more} less those of ${sources}, at the times of its rows.`), errorSpace);
  }
  redraw();
} else outputs.remove();
