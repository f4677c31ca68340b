/**
 * Tells ClickHouse to synchronise what it stores. The embedded engine has these settings for all tables; a server's
 * tables get them here.
 */
import type { ClickHouse } from './adapter.ts';
import { DURABILITY, TABLES, USAGE_TABLES } from './schema.ts';

interface Setting {
  readonly name: string;
  readonly value: string;
}

/**
 * Resolves when every table of ours has the settings. Repeatable; changes nothing where the server has them by itself.
 */
export async function synchroniseParts(clickHouse: ClickHouse): Promise<void> {
  const lacking = await settingsLacking(clickHouse);
  if (lacking.length === 0) return;
  const tables = await clickHouse.query<{ name: string; definition: string }>(
    'SELECT name, engine_full AS definition FROM system.tables WHERE database = currentDatabase() AND name IN {names:Array(String)}',
    { names: [...Object.keys(TABLES), ...Object.keys(USAGE_TABLES)] },
  );
  for (const { name, definition } of tables) {
    const missing = lacking.filter(
      (setting) => !new RegExp(`\\b${setting.name} = ${setting.value}\\b`).test(definition),
    );
    if (missing.length === 0) continue;
    await clickHouse.command(
      `ALTER TABLE ${name} MODIFY SETTING ${missing.map((setting) => `${setting.name} = ${setting.value}`).join(', ')}`,
    );
  }
}

/**
 * Those that a table without settings of its own does not have. Servers that do not know one (before 20.10) are used
 * without it.
 */
async function settingsLacking(clickHouse: ClickHouse): Promise<Setting[]> {
  const found = await clickHouse.query<Setting>(
    'SELECT name, value FROM system.merge_tree_settings WHERE name IN {names:Array(String)}',
    { names: Object.keys(DURABILITY) },
  );
  return found
    .filter(({ name, value }) => value !== DURABILITY[name])
    .map(({ name }) => ({ name, value: DURABILITY[name] }));
}
