/** The load suite: `npm run bench`. See README.md beside this file. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { facts } from './machine.ts';
import { parseOptions, USAGE, type Options } from './options.ts';
import { endAllOnExit } from './processes.ts';
import { markdownReport, scenarioTable, textTable, verdictTable } from './report.ts';
import { runScenarios } from './run.ts';
import type { Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/all.ts';

/** The compiled file is dist/bench/main.js. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function select(options: Options): Scenario[] {
  const unknown = options.only.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0) throw new Error(`--only ${unknown.join(',')}: no such scenario`);
  return SCENARIOS.filter((scenario) =>
    options.only.length === 0 ? scenario.standard : options.only.includes(scenario.name),
  );
}

async function run(options: Options, scenarios: Scenario[]): Promise<void> {
  endAllOnExit();
  mkdirSync(options.out, { recursive: true });
  const machineFacts = facts(options, ROOT);
  const resultFile = join(options.out, `${new Date().toISOString().replace(/[:.]/g, '-')}.json`);
  writeFileSync(resultFile, `${JSON.stringify({ facts: Object.fromEntries(machineFacts) })}\n`);
  for (const [name, value] of machineFacts) print(`${name}: ${value}`);
  const begunMs = performance.now();
  let failures = 0;
  const record = await runScenarios(scenarios, options, resultFile, {
    progress: (text) =>
      void process.stderr.write(`  ${((performance.now() - begunMs) / 1000).toFixed(0)} s  ${text}\n`),
    finished: (scenario, samples) => {
      const table = scenarioTable(scenario, samples);
      if (table.length > 1) print(`\n${scenario.name}: ${scenario.question}\n${textTable(table)}`);
    },
    failed: (scenario, error) => {
      failures++;
      print(`\n${scenario.name} FAILED: ${error.message}`);
    },
  });
  print(`\n${textTable(verdictTable(record.samples))}`);
  for (const note of record.notes) print(note);
  const report = join(options.out, 'latest.md');
  writeFileSync(
    report,
    markdownReport({ facts: machineFacts, scenarios: SCENARIOS, samples: record.samples, notes: record.notes }),
  );
  print(`\n${((performance.now() - begunMs) / 1000).toFixed(0)} s; ${resultFile}; ${report}`);
  process.exit(failures === 0 ? 0 : 1);
}

function main(): void {
  let options: Options;
  let scenarios: Scenario[];
  try {
    options = parseOptions(process.argv.slice(2), join(ROOT, 'bench', 'results'));
    scenarios = select(options);
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n${USAGE}`);
    process.exit(2);
  }
  if (options.list) {
    for (const scenario of SCENARIOS)
      print(`${scenario.name}${scenario.standard ? '' : ' (only by --only)'}: ${scenario.question}`);
    return;
  }
  run(options, scenarios).catch((error: unknown) => {
    process.stderr.write(`bench: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}

main();
