/** Administration: a user with a group, a role taken and given back, a count before retention, a setting undone. */
import type { Test } from 'tap';
import type { ConsoleBrowser } from '../helpers/browser.ts';

export async function adminScreens(t: Test, console: ConsoleBrowser): Promise<void> {
  const page = await console.page(t);
  const { rest } = console.server;

  await console.open(page, '/admin/users');
  await page.getByRole('button', { name: 'Add a user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User name').fill('ada');
  await dialog.getByLabel('readers').check();
  await dialog.getByRole('button', { name: 'Add a user' }).click();
  await page.getByText('The password is shown once').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'ada', level: 1 }).waitFor();
  await page.getByRole('row', { name: /ROLE_ALARM_READ Everywhere group readers/ }).waitFor();
  await rest.createDevice('Halls of ada', { type: 'c8y_DeviceGroup', c8y_IsDeviceGroup: {} });
  await page.reload();
  await page.getByRole('combobox', { name: 'Group or device' }).fill('Halls of ada');
  await page.getByRole('option', { name: 'Halls of ada' }).click();
  await page.getByLabel('Role', { exact: true }).selectOption('Reader');
  await page.getByRole('button', { name: 'Give' }).click();
  // Of its roles, and of what it may do now.
  await page
    .getByRole('row', { name: /Reader/ })
    .nth(1)
    .waitFor();
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('ada is disabled').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  t.match(await rest.read('/user/t1/users/ada'), { enabled: true });
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByRole('button', { name: 'Enable' }).waitFor();
  await rest.put('/user/t1/users/ada', { enabled: true });
  await page.getByRole('button', { name: 'Undo' }).last().click();
  await page.getByText(/Not undone: It was changed meanwhile/).waitFor();

  await console.open(page, '/admin/users/admin');
  // It says why it cannot be pressed when it is.
  await page.getByRole('button', { name: 'Delete' }).first().click({ force: true });
  await page.getByRole('status').or(page.locator('.notice')).getByText('neither disable nor delete').waitFor();

  await console.open(page, '/admin/retention');
  await page.getByRole('button', { name: 'Count what would go' }).click();
  await page.getByRole('row', { name: /a person Done 0 would go/ }).waitFor();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByRole('button', { name: 'Count what it would remove' }).click();
  await page.getByRole('dialog').getByText('0 would go').waitFor();

  await console.open(page, '/admin/options');
  await page.getByRole('button', { name: 'Set an option' }).click();
  await page.getByLabel('Category').fill('plant');
  await page.getByLabel('Key').fill('shift');
  await page.getByRole('dialog').getByLabel('Value').fill('early');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Delete: plant/shift' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('button', { name: 'Delete: plant/shift' }).waitFor();

  await console.open(page, '/admin/tenants');
  await page.getByText('The management tenant makes tenants').waitFor();
  await console.open(page, '/admin/server');
  await page.getByText('The server is well').waitFor();
}
