// How a person reaches the controls of the panel, at any width.

import type { FrameLocator, Page } from 'playwright-core';

/** The panel: a page of its own, or a frame of the workbench. */
type Panel = Page | FrameLocator;

/** Opens a menu of the toolbar, where it is not open already. */
export async function openMenu(page: Panel, name: string): Promise<void> {
  const menu = page.locator('.menu', { has: page.locator(`summary:text-is("${name}")`) });
  if ((await menu.getAttribute('open')) === null) {
    await menu.locator('summary').click();
  }
}

/** Shows a view by its tab, which may have to be scrolled to. */
export async function showView(page: Panel, name: string): Promise<void> {
  await page.locator(`.tab:text-is("${name}")`).click();
}

/** Red, green and blue. */
export type Colour = readonly [number, number, number];

/** A colour as style sheets write it: `#d55e00`. */
export const rgbOf = (hex: string): Colour => {
  const word = Number.parseInt(hex.slice(1), 16);
  return [word >> 16, (word >> 8) & 255, word & 255];
};

/** How many pixels of the picture have a colour. */
export const pixelsOf = (page: Panel, colour: Colour): Promise<number> =>
  page.locator('.frame canvas').evaluate((canvas: HTMLCanvasElement, [red, green, blue]) => {
    const data = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      count += data[i] === red && data[i + 1] === green && data[i + 2] === blue && data[i + 3] === 255 ? 1 : 0;
    }
    return count;
  }, colour);

/** The name of the view that is shown. */
export const shownView = async (page: Panel): Promise<string> =>
  (await page.locator('.tab[aria-pressed="true"]').textContent()) ?? '';
