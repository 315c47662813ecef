// How a person reaches the controls of the panel, at any width.

/** Opens a menu of the toolbar. */
export const openMenu = (page, name) =>
  page
    .locator('.menu', { has: page.locator(`summary:text-is("${name}")`) })
    .locator('summary')
    .click();

/** Shows a view: by its tab, or in a narrow pane by the list of the views. */
export async function showView(page, name) {
  const tab = page.getByRole('button', { name, exact: true });
  const list = page.getByRole('combobox', { name: 'View', exact: true });
  await tab.or(list).first().waitFor();
  await ((await tab.isVisible()) ? tab.click() : list.selectOption({ label: name }));
}

/** The name of the view that is shown. */
export const shownView = (page) =>
  page.locator('.views').evaluate((list) => list.selectedOptions[0]?.textContent ?? '');
