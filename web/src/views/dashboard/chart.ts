/** A chart of bars, one for each minute. Where the bars stand is pure; drawing them is below. */
import { h } from '../../ui/dom';
import { w } from '../words';

export interface Bar {
  x: number;
  y: number;
  width: number;
  height: number;
  value: number;
}

export const CHART = { width: 600, height: 120, gap: 2 } as const;

/** Returns a round number that all values fit under. */
export function ceiling(values: readonly number[]): number {
  const most = Math.max(4, ...values);
  const step = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 5, 10].map((times) => times * step).find((each) => each >= most) ?? most;
}

export function bars(values: readonly number[]): Bar[] {
  const top = ceiling(values);
  const slot = CHART.width / Math.max(1, values.length);
  return values.map((value, index) => {
    const height = (value / top) * CHART.height;
    return { x: index * slot + CHART.gap / 2, y: CHART.height - height, width: slot - CHART.gap, height, value };
  });
}

const SVG = 'http://www.w3.org/2000/svg';

function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

export function chart(values: readonly number[]): HTMLElement {
  const top = ceiling(values);
  const total = values.reduce((sum, each) => sum + each, 0);
  const summary = w.chartSummary(total, Math.max(0, ...values));
  const drawing = svg('svg', { viewBox: `0 0 ${CHART.width} ${CHART.height}`, preserveAspectRatio: 'none', class: 'chart', role: 'img', 'aria-label': summary });
  for (const part of [0, 0.5]) {
    drawing.append(svg('line', { x1: 0, x2: CHART.width, y1: CHART.height * part + 0.5, y2: CHART.height * part + 0.5, class: 'chart-line' }));
  }
  const minutes = values.length;
  bars(values).forEach((bar, index) => {
    const slot = svg('g', {});
    const title = svg('title', {});
    const ago = minutes - 1 - index;
    title.textContent = w.minuteValue(ago === 0 ? w.now : w.minutesAgo(ago), bar.value);
    slot.append(
      title,
      svg('rect', { x: bar.x - CHART.gap / 2, y: 0, width: bar.width + CHART.gap, height: CHART.height, class: 'chart-slot' }),
      svg('rect', { x: bar.x, y: bar.y, width: bar.width, height: bar.height, class: 'chart-bar' }),
    );
    drawing.append(slot);
  });
  return h(
    'figure',
    { class: 'chart-box' },
    h('figcaption', {}, h('strong', {}, w.perMinute), h('span', { class: 'soft' }, summary)),
    h(
      'div',
      { class: 'chart-area' },
      h('div', { class: 'chart-scale soft', 'aria-hidden': 'true' }, h('span', {}, String(top)), h('span', {}, String(top / 2)), h('span', {}, '0')),
      drawing as unknown as HTMLElement,
    ),
    h(
      'div',
      { class: 'chart-times soft', 'aria-hidden': 'true' },
      h('span', {}, w.minutesAgo(60)),
      h('span', {}, w.minutesAgo(30)),
      h('span', {}, w.now),
    ),
  );
}
