// @ts-check
// Logging in by name and password.

/** @param {import('playwright-core').Page} page @param {string} name @param {string} password */
export async function logIn(page, name, password) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}
