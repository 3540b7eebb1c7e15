// Building elements. Text is always set as text, never parsed: names come from the cluster.

/** Make an element: tag, properties (class, data-*, title, on*), children (nodes, text, null). */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an SVG element. */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Put new children into the element of that id. */
export function fill(id, ...children) {
  byId(id).replaceChildren(...children.flat().filter((child) => child !== null));
}

/** Write text only when it differs, so that an unchanged page causes no work. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
