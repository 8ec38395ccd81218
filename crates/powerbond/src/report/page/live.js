// A run that goes on: what comes from the server that the page came from. In the end it sends the page of the whole run.

if (live) {
  const events = new EventSource(`events${location.search}`);
  const progress = byId("progress");
  const hide = ["picture", "ledger", "inputs", "cost"];
  hide.forEach((id) => { byId(id).hidden = true; });
  let whole = true;
  events.addEventListener("progress", (event) => {
    const p = JSON.parse(event.data);
    const facts = [
      ["time", `${quantity(p.time, "s")} of ${quantity(p.stop, "s")}`],
      ["steps", String(p.steps)],
      ["step size", quantity(p.step_size, "s")],
      ...(p.error === null ? [] : [["error norm", digits(p.error, 3)]]),
      ["running for", quantity(p.seconds, "s", 3)],
    ];
    const name = p.run > 1 ? `finer run ${p.run - 1}, which verifies this one` : "running";
    progress.replaceChildren(
      make("div", {}, make("span", { class: "word judged" }, `${Math.floor(100 * p.done)} %`), make("span", { class: "text" }, name)),
      make("div", { class: "track" }, make("div", { class: "fill", style: `width: ${100 * p.done}%` })),
      make("div", { class: "facts" }, ...facts.map(([key, value]) => make("span", {}, `${key} `, make("b", {}, value)))),
      ...(p.warning ? [make("ul", {}, make("li", { class: "check" }, ...prose(p.warning)))] : []));
  });
  events.addEventListener("lines", (event) => {
    Object.assign(runs[0], JSON.parse(event.data));
    whole = view[0] <= start && view[1] >= end;
    end = Object.values(runs[0].energy).reduce((last, [times]) => Math.max(last, times.at(-1) ?? last), end);
    for (const plot of plots) if (plot.again) plot.setData(plot.again(), false);
    if (whole) show(start, end);
    else show(...view);
  });
  events.addEventListener("page", (event) => {
    events.close();
    // What is shown stays as it is.
    window.powerbondKept = { chosen: [...(kept_choice ?? [])], view: whole ? null : view };
    const page = JSON.parse(event.data);
    document.open();
    document.write(page);
    document.close();
  });
  events.addEventListener("error", () => {
    events.close();
    progress.append(make("p", { class: "poor" }, "The run has ended without its page, or the connection is lost."));
  });
}
