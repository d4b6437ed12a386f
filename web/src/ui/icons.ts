/** Icons, drawn with lines of the colour of the text. They say nothing to screen readers: a label stands beside them. */

const PATHS = {
  terminal: 'M3 4h14v12H3z M6 8l2.5 2L6 12 M10 13h4',
  agent: 'M10 3v3 M5 6h10v8H5z M8 10v.5 M12 10v.5 M8 17h4 M3 9v3 M17 9v3',
  user: 'M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6z M4 17c.5-3.5 3-5 6-5s5.5 1.5 6 5',
  system: 'M10 7.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z M10 3v2 M10 15v2 M3 10h2 M15 10h2 M5 5l1.5 1.5 M13.5 13.5L15 15 M5 15l1.5-1.5 M13.5 6.5L15 5',
  node: 'M3 4h14v5H3z M3 11h14v5H3z M6 6.5h.01 M6 13.5h.01',
  plus: 'M10 4v12 M4 10h12',
  close: 'M5 5l10 10 M15 5L5 15',
  splitRight: 'M3 4h14v12H3z M10 4v12',
  splitDown: 'M3 4h14v12H3z M3 10h14',
  more: 'M4.6 10a.4.4 0 1 0 .8 0 .4.4 0 1 0-.8 0 M9.6 10a.4.4 0 1 0 .8 0 .4.4 0 1 0-.8 0 M14.6 10a.4.4 0 1 0 .8 0 .4.4 0 1 0-.8 0',
  search: 'M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10z M13 13l4 4',
  lock: 'M5 9h10v7H5z M7 9V6.5a3 3 0 0 1 6 0V9',
  unlock: 'M5 9h10v7H5z M7 9V6.5a3 3 0 0 1 5.800-1',
  eye: 'M2.5 10S5 5 10 5s7.5 5 7.5 5-2.5 5-7.5 5-7.5-5-7.5-5z M10 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  keyboard: 'M2.5 5.5h15v9h-15z M5.5 8.5h.01 M8.5 8.5h.01 M11.5 8.5h.01 M14.5 8.5h.01 M6.5 11.5h7',
  hand: 'M7 10V5a1 1 0 0 1 2 0v4V4a1 1 0 0 1 2 0v5V5a1 1 0 0 1 2 0v5.5V8a1 1 0 0 1 2 0v4c0 3-2 5-4.5 5-2 0-3.200-.8-4.200-2.5L4.5 11.5a1 1 0 0 1 1.700-1z',
  play: 'M6 4.5l9 5.5-9 5.5z',
  bell: 'M10 3a4 4 0 0 0-4 4c0 4-2 5-2 6h12c0-1-2-2-2-6a4 4 0 0 0-4-4z M8.5 16a1.5 1.5 0 0 0 3 0',
  help: 'M7.5 8a2.5 2.5 0 1 1 3.5 2.300c-.7.3-1 .8-1 1.5 M10 14.5v.01 M10 18a8 8 0 1 0 0-16 8 8 0 0 0 0 16z',
  sun: 'M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z M10 2v2 M10 16v2 M2 10h2 M16 10h2 M4.300 4.300l1.400 1.400 M14.300 14.300l1.400 1.400 M4.300 15.700l1.400-1.400 M14.300 5.700l1.400-1.400',
  menu: 'M3 5.5h14 M3 10h14 M3 14.5h14',
  sidebar: 'M3 4h14v12H3z M7.5 4v12',
  chevronDown: 'M5.5 8l4.5 4.5L14.5 8',
  chevronUp: 'M5.5 12L10 7.5l4.5 4.5',
  check: 'M4 10.5l4 4L16 6',
  warning: 'M10 3l7.5 13.5h-15z M10 8v4 M10 14.200v.01',
  command: 'M4 6l4 4-4 4 M10 14h6',
  copy: 'M7 7h9v10H7z M4 13V3h9',
  rerun: 'M16 10a6 6 0 1 1-2-4.5L16 7 M16 3v4h-4',
  list: 'M7 5h10 M7 10h10 M7 15h10 M3 5h.01 M3 10h.01 M3 15h.01',
  chart: 'M3 17h14 M5 14v-4 M9 14V6 M13 14V9 M17 14V4',
  gear: 'M10 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M10 2.5l.8 2.300 2.400-.3 1.300 2 2 1.200-.6 2.300.6 2.300-2 1.200-1.300 2-2.400-.3-.8 2.300-.8-2.300-2.400.3-1.300-2-2-1.200.6-2.300-.6-2.300 2-1.200 1.300-2 2.400.3z',
  record: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14z M10 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  folder: 'M2.5 5h5l1.5 2h8.5v9h-15z',
  download: 'M10 3v9 M6 8.5l4 4 4-4 M4 16.5h12',
  link: 'M8.5 11.5a3 3 0 0 0 4.2 0l3-3a3 3 0 0 0-4.200-4.200l-1 1 M11.5 8.5a3 3 0 0 0-4.200 0l-3 3a3 3 0 0 0 4.200 4.200l1-1',
  rules: 'M4 4h12v12H4z M7 8h6 M7 11h6 M7 14h3',
  hide: 'M4 10h12',
  logo: 'M4 6l5 4-5 4 M11 15h6',
} as const;

export type IconName = keyof typeof PATHS;

const SVG = 'http://www.w3.org/2000/svg';

export function icon(name: IconName, size = 16): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [key, value] of Object.entries({
    viewBox: '0 0 20 20',
    width: size,
    height: size,
    'aria-hidden': 'true',
    class: 'icon',
  })) {
    svg.setAttribute(key, String(value));
  }
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}
