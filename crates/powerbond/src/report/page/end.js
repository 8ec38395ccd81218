// The first look, and what follows the window.

byId("footer").textContent = `Made by powerbond from ${live ? "a run that goes on" : runs.map((r) => `${r.rows} rows`).join(", ")}. Lines are thinned for display; the smallest and largest value of every stretch is kept.`;
show(start, end);
if (window.powerbondKept?.view) show(...window.powerbondKept.view);
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => plots.forEach((plot) => plot.setSize({ width: widthOf(plot.root.parentElement), height: plot.height })), 100);
});
window.powerbondReport = { plots, show, view: () => view };
