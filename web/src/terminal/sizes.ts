/** How many cells fit into a box, and how big letters may be so that a grid fits. Pure. */

export interface Grid {
  cols: number;
  rows: number;
}

export interface Box {
  width: number;
  height: number;
}

/** The server takes no smaller wishes: they come from pages that are being laid out. */
export const LEAST: Grid = { cols: 20, rows: 5 };
const MOST = 1000;
export const SMALLEST_FONT = 6;

/** Returns the grid for a box; null for a box or cells of no size. */
export function gridFor(box: Box, cell: Box): Grid | null {
  if (!(cell.width > 0 && cell.height > 0 && box.width > 0 && box.height > 0)) return null;
  return {
    cols: Math.min(MOST, Math.max(LEAST.cols, Math.floor(box.width / cell.width))),
    rows: Math.min(MOST, Math.max(LEAST.rows, Math.floor(box.height / cell.height))),
  };
}

/**
 * Returns the font size with which a grid of another's choice fits into a box: the wished one, or smaller, in half pixels.
 * `cell` is the size of a cell with letters of `font` pixels.
 */
export function fontFor(grid: Grid, box: Box, cell: Box, font: number, wished: number): number {
  if (!(cell.width > 0 && cell.height > 0 && box.width > 0 && box.height > 0)) return wished;
  const perPixel = { width: cell.width / font, height: cell.height / font };
  const fits = Math.min(box.width / (grid.cols * perPixel.width), box.height / (grid.rows * perPixel.height));
  return Math.min(wished, Math.max(SMALLEST_FONT, Math.floor(fits * 2) / 2));
}
