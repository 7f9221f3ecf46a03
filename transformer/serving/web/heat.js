// Attention as pictures: a heat map with its pieces, and small ones without.

import { element } from "./dom.js";
import { percent } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const strength = (share) => Math.sqrt(share).toFixed(3);

// A heat map; rows after `step` are empty, that of `step` is framed. `room` is the width in pixels.
export function heatMap(values, rows, columns, step, room, name) {
  const wide = Math.max(...rows.map((text) => text.length)) * 7.5 + 8;
  const size = Math.max(16, Math.min(44, Math.floor((room - wide - 34) / columns.length)));
  const isSquare = rows === columns; // then the columns are the same pieces, some still to come
  const high = Math.max(...columns.map((text) => text.length)) * 6 + 10;
  const [width, height] = [wide + size * columns.length + 34, high + size * rows.length + 4];
  const cells = columns.map((text, j) => {
    const x = wide + size * (j + 0.65);
    const shown = isSquare && step !== null && j > step ? "·" : text;
    return svg("text", { x, y: high - 6, transform: `rotate(-50 ${x} ${high - 6})` }, shown);
  });
  rows.forEach((text, i) => {
    const y = high + size * i;
    const isLater = step !== null && i > step;
    const side = { x: wide - 5, y: y + size / 2 + 4, "text-anchor": "end", class: isLater ? "later" : "" };
    cells.push(svg("text", side, isLater ? "·" : text));
    columns.forEach((column, j) => {
      const place = { x: wide + size * j, y, width: size - 1, height: size - 1 };
      const fill = { ...place, class: isLater ? "none" : "fill", "fill-opacity": isLater ? 0 : strength(values[i][j]) };
      const title = svg("title", {}, `${text} → ${column}: ${percent(values[i][j])}`);
      cells.push(svg("rect", { ...place, class: "cell" }), svg("rect", fill, title));
    });
  });
  if (step !== null) {
    const frame = { x: wide - 1, y: high + size * step - 1, width: size * columns.length + 1, height: size + 1 };
    cells.push(svg("rect", { ...frame, class: "frame" }));
  }
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name }, ...cells);
}

// A map with a pixel for each weight; rows after `step` are left empty.
export function thumbnail(values, step) {
  const canvas = element("canvas", { width: values[0].length, height: values.length });
  const brush = canvas.getContext("2d");
  brush.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--heat").trim();
  values.forEach((row, i) => row.forEach((share, j) => {
    brush.globalAlpha = step !== null && i > step ? 0 : strength(share);
    brush.fillRect(j, i, 1, 1);
  }));
  return canvas;
}
