// What a reader gains where scripts run: theme, values under the pointer, lines to hide, zoom, tables as CSV. The page is
// whole without it.
"use strict";
const root = document.documentElement, make = (tag, props) => Object.assign(document.createElement(tag), props);

const themes = ["", "light", "dark"], names = ["Theme: system", "Theme: light", "Theme: dark"];
const toggle = make("button", { type: "button", textContent: names[0] });
toggle.onclick = () => {
  const next = (themes.indexOf(root.dataset.theme || "") + 1) % 3;
  root.dataset.theme = themes[next];
  toggle.textContent = names[next];
};
document.querySelector(".tools").append(toggle);

const tip = make("div", { id: "tip", hidden: true });
document.body.append(tip);
for (const title of document.querySelectorAll("svg.chart title")) {
  title.parentNode.dataset.tip = title.textContent;
  title.remove();
}
const points = new WeakMap();
function places(d) { // the points of a line: where a stretch begins (M), then steps (l)
  let u = 0, v = 0;
  return [...d.matchAll(/([Ml])([^Ml]*)/g)].flatMap(([, pen, pairs]) => {
    const n = pairs.match(/-?[\d.]+/g).map(Number);
    return n.flatMap((x, i) => i % 2 ? [] : [[u, v] = pen === "M" ? [x, n[i + 1]] : [u + x, v + n[i + 1]]]);
  });
}
function readout(svg, event) { // the nearest point of a line, if one is near
  if (!points.has(svg)) points.set(svg, [...svg.querySelectorAll("path[data-axes]")].flatMap((path) => {
    const [x0, sx, y0, sy] = path.dataset.axes.split(" ").map(Number), units = path.dataset.units.split("|");
    return places(path.getAttribute("d")).map(([u, v]) => ({ path, u, v, say: () =>
      path.dataset.tip + ": " + [(u - x0) / sx, (v - y0) / sy].map((n, i) => `${+n.toPrecision(4)} ${units[i]}`.trim()).join(", ") }));
  }));
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  let best = null, least = 180;
  for (const point of points.get(svg)) {
    const distance = (point.u - at.x) ** 2 + (point.v - at.y) ** 2;
    if (distance < least && !point.path.closest(".off")) { least = distance; best = point; }
  }
  return best?.say();
}
document.addEventListener("pointermove", (event) => {
  const svg = event.target.closest?.("svg.chart"), mark = event.target.closest?.("[data-tip]");
  const text = svg && ((mark && !mark.dataset.axes && mark.dataset.tip) || readout(svg, event));
  tip.hidden = !text;
  if (!text) return;
  (svg.closest("dialog") || document.body).append(tip);
  tip.textContent = text;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + "px";
});

function zoom(svg) {
  const dialog = make("dialog"), bar = make("div", { className: "bar" }), view = svg.cloneNode(true);
  const box = view.viewBox.baseVal, whole = [box.x, box.y, box.width, box.height];
  const scale = () => Math.max(box.width / view.clientWidth, box.height / view.clientHeight);
  const about = (x, y, by) => {
    const factor = Math.min(by, whole[2] / box.width);
    box.x = x - (x - box.x) * factor; box.y = y - (y - box.y) * factor;
    box.width *= factor; box.height *= factor;
  };
  const reset = () => { [box.x, box.y, box.width, box.height] = whole; };
  const middle = (by) => () => about(box.x + box.width / 2, box.y + box.height / 2, by);
  for (const [textContent, onclick] of [["Zoom in", middle(0.8)], ["Zoom out", middle(1.25)], ["Whole chart", reset], ["Close", () => dialog.close()]])
    bar.append(make("button", { type: "button", textContent, onclick }));
  dialog.onclose = () => { document.body.append(tip); tip.hidden = true; dialog.remove(); };
  view.ondblclick = reset;
  view.onwheel = (event) => {
    event.preventDefault();
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(view.getScreenCTM().inverse());
    about(point.x, point.y, 1.25 ** Math.sign(event.deltaY));
  };
  view.onpointermove = (event) => {
    if (event.buttons & 1) { box.x -= event.movementX * scale(); box.y -= event.movementY * scale(); }
  };
  dialog.append(bar, view);
  document.body.append(dialog);
  dialog.showModal();
}
for (const figure of document.querySelectorAll("figure")) {
  const button = make("button", { type: "button", className: "corner", textContent: "Enlarge" });
  button.onclick = () => zoom([...figure.querySelectorAll("svg")].find((svg) => svg.clientWidth));
  figure.append(button);

  const parts = [...figure.querySelectorAll("[data-series]")], series = [...new Set(parts.map((part) => part.dataset.series))];
  if (series.length < 2) continue;
  const bar = make("div", { className: "bar" });
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Lines and marks to show");
  for (const name of series) {
    const show = make("button", { type: "button", textContent: name, ariaPressed: "true" });
    show.onclick = () => {
      const off = show.ariaPressed === "true";
      show.ariaPressed = String(!off);
      for (const part of parts) if (part.dataset.series === name) part.classList.toggle("off", off);
    };
    bar.append(show);
  }
  figure.querySelector("figcaption").before(bar);
}

const field = (text) => /^[=+@\t-]/.test(text) && isNaN(Number(text)) ? "'" + text : text;
const quote = (text) => '"' + field(text.trim()).replaceAll('"', '""') + '"';
for (const holder of document.querySelectorAll(".table")) {
  const button = make("button", { type: "button", className: "corner", textContent: "Copy as CSV" });
  button.onclick = async () => {
    const rows = [...holder.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => quote(cell.textContent)).join(","));
    const area = make("textarea", { value: rows.join("\n") });
    document.body.append(area);
    area.select();
    try { await navigator.clipboard.writeText(area.value); } catch { document.execCommand("copy"); }
    area.remove();
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
  };
  holder.append(button);
}
